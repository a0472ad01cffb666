# SPDX-License-Identifier: Apache-2.0
"""The program itself: start, flags, signals, PID 1, a kernel that lacks what it needs."""
import ctypes
import os
import signal
import struct
import subprocess
import threading
import time

import harness
from harness import Failed, Runtime, alive, check, eq, test, wait_for


def run(*args, env=None, preexec=None):
    full = {"PATH": os.environ["PATH"], **(env or {})}
    p = subprocess.run([harness.BINARY, *args], env=full, capture_output=True, text=True, timeout=20,
                       preexec_fn=preexec, check=False)
    return p.returncode, p.stdout, p.stderr


@test
def process_usage():
    code, out, _ = run("--version")
    check(code == 0 and out.startswith("sandbox-runtime"), out)
    code, out, _ = run("--help")
    check(code == 0 and "serve" in out and "manager" not in out, out)
    code, out, _ = run("serve", "--help")
    check(code == 0 and "listen" in out and "SANDBOX_BASE_DIR" in out, out)
    for args, text in (((), "Usage"), (("nope",), 'unknown subcommand "nope"'), (("serve", "--nope"), "nope"),
                       (("serve", "stray"), "stray"), (("serve", "--commands-max=0"), "--commands-max must be"),
                       (("serve", "--listen"), "listen")):
        code, _, err = run(*args)
        eq(code, 2, args)
        check(text in err, err)


@test
def process_cannot_start():
    with Runtime() as r:
        code, _, err = run("serve", f"--listen=127.0.0.1:{r.port}", f"--base-dir={r.base}")
        check(code == 1 and "cannot start" in err, err)
        for base in ("/dev/null", "/proc/no/such"):
            code, _, err = run("serve", "--listen=127.0.0.1:0", env={"SANDBOX_BASE_DIR": base})
            check(code == 1 and base in err, err)
        for listen in ("nonsense", "127.0.0.1:99999", "example.invalid:80"):
            code, _, err = run("serve", f"--listen={listen}", f"--base-dir={r.base}")
            check(code in (1, 2) and err, err)


def deny_openat2(error):
    """A seccomp filter under which openat2 (437 everywhere) fails with `error`."""
    def install():
        code = [(0x20, 0, 0, 0), (0x15, 0, 1, 437), (0x06, 0, 0, 0x00050000 | error), (0x06, 0, 0, 0x7FFF0000)]
        program = ctypes.create_string_buffer(b"".join(struct.pack("HBBI", *c) for c in code))
        fprog = struct.pack("HxxxxxxP", len(code), ctypes.addressof(program))
        libc = ctypes.CDLL(None, use_errno=True)
        if libc.prctl(38, 1, 0, 0, 0) or libc.prctl(22, 2, fprog, 0, 0):
            os._exit(120)
    return install


@test
def process_fails_closed_without_openat2():
    with Runtime() as r:
        for error, text in ((38, "this kernel has no openat2"), (1, "forbidden by a seccomp profile")):
            code, _, err = run("serve", "--listen=127.0.0.1:0", f"--base-dir={r.base}", preexec=deny_openat2(error))
            eq(code, 1, err)
            check(text in err, err)


@test
def process_warns_about_a_bad_timeout():
    with Runtime(env={"SANDBOX_EXEC_TIMEOUT_SECONDS": "soon"}) as r:
        check("SANDBOX_EXEC_TIMEOUT_SECONDS is not a number above 0" in "".join(r.log), r.log)
        eq(r.execute("true")["exit_code"], 0)


@test
def process_makes_a_missing_root():
    with Runtime() as r:
        base = os.path.join(r.dir, "fresh")
        with Runtime(env={"SANDBOX_BASE_DIR": base}, base=base) as other:
            eq(other.upload("x", b"1").status, 200)
            check(os.path.isfile(base + "/x"), "made")


@test
def process_listens_on_both_families_by_default():
    """Only the flag's meaning: a free port in place of 8888."""
    with Runtime(listen=":0") as r:
        import http.client
        for host in ("127.0.0.1", "::1"):
            c = http.client.HTTPConnection(host, r.port, timeout=5)
            c.request("GET", "/")
            eq(c.getresponse().status, 200, host)
            c.close()


@test
def process_sigterm_ends_everything_quickly():
    with Runtime() as r:
        eq(r.execute(["sh", "-c", "setsid sleep 100 >/dev/null 2>&1 & exit 0"])["exit_code"], 0)
        replies = []
        threads = [threading.Thread(target=lambda: replies.append(r.execute("sleep 100"))) for _ in range(3)]
        for t in threads:
            t.start()
        wait_for(lambda: sum(1 for v in r.tree().values() if v[2] == "sleep") == 4, what="four sleeps")
        pids = list(r.tree())
        begin = time.monotonic()
        eq(r.stop(), 0, "exit code")
        took = time.monotonic() - begin
        check(took < (3 if harness.SANITIZED else 1), f"took {took:.2f} s")
        for t in threads:
            t.join()
        eq([x["exit_code"] for x in replies], [-15] * 3, "commands in flight are answered")
        eq(alive(pids), [], "nothing is left")


@test
def process_sigterm_kills_what_does_not_listen():
    with Runtime("--shutdown-timeout=500ms") as r:
        threads = [threading.Thread(target=ignore_errors, args=(r, ["sh", "-c", "trap '' TERM; sleep 100; sleep 100"]))]
        threads[0].start()
        wait_for(lambda: len(r.tree()) >= 3, what="command runs")
        pids = list(r.tree())
        begin = time.monotonic()
        eq(r.stop(), 0, "exit code")
        took = time.monotonic() - begin
        check(0.4 < took < 5, f"took {took:.2f} s")
        threads[0].join()
        eq(alive(pids), [], "nothing is left")


def ignore_errors(r, command):
    try:
        r.execute(command)
    except (OSError, Failed, Exception):  # pylint: disable=broad-except
        pass


@test
def process_is_killed_and_takes_commands_along():
    r = Runtime()
    thread = threading.Thread(target=ignore_errors, args=(r, ["sh", "-c", "setsid sleep 100 & sleep 100"]))
    thread.start()
    wait_for(lambda: sum(1 for v in r.tree().values() if v[2] == "sleep") == 2, what="command runs")
    pids = list(r.tree())
    eq(r.stop(signal.SIGKILL), -9)
    thread.join()
    wait_for(lambda: not alive(pids), what="supervisors kill their trees")


@test
def process_as_pid_1():
    r = Runtime(prefix=["unshare", "--pid", "--fork", "--kill-child", "--mount-proc"])
    eq(r.pid, 1, "it is PID 1")
    # In its own PID namespace; seen from here it is the child of unshare.
    r.pid = next(iter(harness.descendants(r.process.pid)))
    eq(r.execute(["sh", "-c", "(setsid sh -c 'sleep 0.2' >/dev/null 2>&1 &); (sleep 0.1 &) ; exit 3"])["exit_code"], 3)
    time.sleep(0.5)
    wait_for(lambda: not r.tree(), what="orphans are collected")
    eq(r.execute(["sh", "-c", "setsid sleep 100 & sleep 100"], timeout_seconds=0.5)["exit_code"], 124)
    eq(r.execute(["sh", "-c", "setsid sleep 100 >/dev/null 2>&1 &"])["exit_code"], 0)
    wait_for(lambda: [v[2] for v in r.tree().values()] == ["sleep"], what="only the background process lives on")
    begin = time.monotonic()
    os.kill(r.pid, signal.SIGTERM)
    r.process.wait(10)
    check(time.monotonic() - begin < 3, "PID 1 obeys SIGTERM")


@test
def process_idle_memory_and_size():
    with Runtime() as r:
        r.get("/")
        size, rss = os.path.getsize(harness.BINARY), r.rss_kib()
        print(f"    {size} bytes unstripped, {rss} KiB resident")
        if not harness.SANITIZED:
            check(rss <= 4096, f"idle memory {rss} KiB <= 4 MiB")
            libraries = subprocess.run(["ldd", harness.BINARY], capture_output=True, text=True, check=True).stdout
            for name in ("libcurl", "libwebsockets", "libssl"):
                check(name not in libraries, libraries)
