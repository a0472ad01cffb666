# SPDX-License-Identifier: Apache-2.0
"""What the demo prints: headings, steps with their times, progress of what takes longer than 2 s."""
import contextlib
import os
import sys
import threading
import time

TTY = sys.stdout.isatty() and not os.environ.get("NO_COLOR") and os.environ.get("TERM", "dumb") != "dumb"
BOLD, DIM, RED, GREEN, OFF = ("\033[1m", "\033[2m", "\033[31m", "\033[32m", "\033[0m") if TTY else ("",) * 5
ERASE = "\r\033[K" if TTY else ""
PROGRESS_AFTER = 2.0
PROGRESS_EVERY = 0.5 if TTY else 5.0


class Failed(Exception):
    """A step did not do what it promises."""


def heading(text):
    print(f"\n{BOLD}{text}{OFF}", flush=True)


def note(text):
    for line in text.rstrip("\n").split("\n"):
        print(f"    {DIM}{line}{OFF}", flush=True)


def took(seconds):
    return f"{seconds * 1000:.0f} ms" if seconds < 1 else f"{seconds:.1f} s"


class Step:
    """One line. `status` is shown while it goes on; `notes` come below it when it is done."""

    def __init__(self, what):
        self.what = what
        self.status = ""
        self.notes = []
        self.began = time.monotonic()
        self.done = threading.Event()

    def note(self, text):
        self.notes.append(text)

    def tick(self):
        wait = PROGRESS_AFTER
        while not self.done.wait(wait):
            wait = PROGRESS_EVERY
            elapsed = took(time.monotonic() - self.began)
            if TTY:
                print(f"{ERASE}  {self.what:<44} {elapsed:>8}  {DIM}{self.status}{OFF}", end="", flush=True)
            else:
                print(f"    ... {elapsed}: {self.status or self.what}", flush=True)


@contextlib.contextmanager
def step(what):
    """The block is the step; when it raises, the line says FAILED and Failed carries the reason on."""
    s = Step(what)
    if TTY:
        print(f"  {what:<44}", end="", flush=True)
    ticker = threading.Thread(target=s.tick, daemon=True)
    ticker.start()
    colour, verdict, failure = GREEN, "", None
    try:
        yield s
    except Exception as e:  # whatever a client library raises is a failed step
        colour, verdict, failure = RED, " FAILED", e
    finally:
        elapsed = time.monotonic() - s.began
        s.done.set()
        ticker.join()
    print(f"{ERASE}  {what:<44} {colour}{took(elapsed):>8}{verdict}{OFF}", flush=True)
    for text in s.notes:
        note(text)
    if failure is not None:
        raise Failed(f"{what}: {type(failure).__name__}: {failure}") from failure
