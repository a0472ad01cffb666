# SPDX-License-Identifier: Apache-2.0
"""Starts the real program, talks to it over sockets, and looks at its processes in /proc."""
import http.client
import json
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time

TESTS = []
BINARY = None  # set by run
SANITIZED = False
# A user without rights: the one of the images when we are root, else ourselves.
PLAIN_USER = 65532 if os.geteuid() == 0 else os.geteuid()


def test(fn):
    TESTS.append(fn)
    return fn


class Failed(Exception):
    pass


def eq(got, want, what=""):
    if got != want:
        raise Failed(f"{what}: got {got!r:.600}, want {want!r:.600}")


def check(condition, what=""):
    if not condition:
        raise Failed(f"not true: {what}")


class Reply:
    def __init__(self, response):
        self.status = response.status
        self.headers = {k.lower(): v for k, v in response.getheaders()}
        self.body = response.read()

    def json(self):
        return json.loads(self.body)

    def __repr__(self):
        return f"{self.status} {self.body[:300]!r}"


def descendants(root):
    """pid -> (parent, state, name) of everything below root."""
    found = {}
    for entry in os.listdir("/proc"):
        if entry.isdigit():
            try:
                with open(f"/proc/{entry}/stat", encoding="utf-8", errors="replace") as f:
                    text = f.read()
            except OSError:
                continue
            name = text[text.index("(") + 1:text.rindex(")")]
            state, parent = text[text.rindex(")") + 2:].split()[:2]
            found[int(entry)] = (int(parent), state, name)
    below = {root}
    while True:
        more = {p for p, v in found.items() if v[0] in below} - below
        if not more:
            return {p: found[p] for p in below - {root} if p in found}
        below |= more


def alive(pids):
    """Those that still run; a zombie that nobody collects has ended."""
    found = []
    for pid in pids:
        try:
            with open(f"/proc/{pid}/stat", encoding="utf-8", errors="replace") as f:
                text = f.read()
        except OSError:
            continue
        if text[text.rindex(")") + 2] not in "ZX":
            found.append(pid)
    return found


def wait_for(condition, seconds=10, what="condition"):
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        if condition():
            return
        time.sleep(0.02)
    raise Failed(f"{what}: not within {seconds} s")


class Runtime:
    """One `sandbox-runtime serve` over a fresh directory. Use as a context manager."""

    def __init__(self, *args, env=None, uid=None, base=None, prefix=(), preexec=None, listen="127.0.0.1:0"):
        self.dir = tempfile.mkdtemp(prefix="runtime-test-")
        os.chmod(self.dir, 0o755)
        self.base = base or os.path.join(self.dir, "workspace")
        os.makedirs(self.base, exist_ok=True)
        if uid == os.geteuid():
            uid = None
        if uid is not None:
            os.chown(self.base, uid, uid)
        full_env = {"PATH": os.environ["PATH"], "SANDBOX_BASE_DIR": self.base, "HOME": "/tmp",
                    "ASAN_OPTIONS": "detect_stack_use_after_return=1:abort_on_error=0:exitcode=99",
                    "UBSAN_OPTIONS": "print_stacktrace=1:halt_on_error=1"}
        full_env.update(env or {})
        extra = {} if uid is None else {"user": uid, "group": uid, "extra_groups": []}
        self.process = subprocess.Popen(
            [*prefix, BINARY, "serve", f"--listen={listen}", *args], env=full_env,
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
            preexec_fn=preexec, start_new_session=True, **extra)
        self.log = []
        self.port = None
        self.pid = None
        self._ready = threading.Event()
        self._reader = threading.Thread(target=self._read_log, daemon=True)
        self._reader.start()
        if not self._ready.wait(20):
            raise Failed(f"does not start: {self.log}")

    def _read_log(self):
        for line in self.process.stderr:
            line = line.decode("utf-8", "replace")
            self.log.append(line)
            if '"msg":"serving"' in line:
                data = json.loads(line)
                self.port, self.pid = data["port"], data["pid"]
                self._ready.set()
        self._ready.set()

    def __enter__(self):
        return self

    def __exit__(self, kind, *_):
        code = self.stop()
        shutil.rmtree(self.dir, ignore_errors=True)
        if kind is None:
            eq(code, 0, "exit code; log " + "".join(self.log)[-3000:])

    def stop(self, signo=signal.SIGTERM, seconds=20):
        if self.process.poll() is None:
            self.process.send_signal(signo)
        try:
            code = self.process.wait(seconds)
        except subprocess.TimeoutExpired as late:
            self.process.kill()
            raise Failed(f"does not stop within {seconds} s") from late
        self._reader.join(5)
        text = "".join(self.log)
        if re.search(r"Sanitizer|runtime error:", text):
            raise Failed("sanitizer: " + text[-6000:])
        return code

    # ---- HTTP ----

    def connect(self, timeout=60):
        return http.client.HTTPConnection("127.0.0.1", self.port, timeout=timeout)

    def request(self, method, path, body=None, headers=None, connection=None):
        """The path goes out exactly as given."""
        c = connection or self.connect()
        c.putrequest(method, path, skip_accept_encoding=True)
        if isinstance(body, str):
            body = body.encode()
        for name, value in (headers or {}).items():
            c.putheader(name, value)
        if body is not None and "Transfer-Encoding" not in (headers or {}):
            c.putheader("Content-Length", str(len(body)))
        c.endheaders()
        if body is not None:
            c.send(body)
        reply = Reply(c.getresponse())
        if not connection:
            c.close()
        return reply

    def get(self, path, headers=None):
        return self.request("GET", path, headers=headers)

    def post_json(self, body, headers=None, connection=None):
        text = body if isinstance(body, (str, bytes)) else json.dumps(body)
        return self.request("POST", "/execute", text,
                            {"Content-Type": "application/json", **(headers or {})}, connection)

    def execute(self, command, connection=None, **members):
        reply = self.post_json({"command": command, **members}, connection=connection)
        eq(reply.status, 200, f"status of {command!r:.100}: {reply.body[:200]!r}")
        return reply.json()

    def upload(self, filename, data, field="file"):
        body = (b'--xyz\r\nContent-Disposition: form-data; name="' + field.encode() + b'"; filename="'
                + (filename if isinstance(filename, bytes) else filename.encode()) + b'"\r\n\r\n'
                + data + b"\r\n--xyz--\r\n")
        return self.request("POST", "/upload", body,
                            {"Content-Type": "multipart/form-data; boundary=xyz"})

    def raw(self, data, timeout=20, shut=False):
        """Sends bytes, returns all that comes back until the server closes or goes quiet."""
        with socket.create_connection(("127.0.0.1", self.port), timeout=timeout) as s:
            s.sendall(data)
            if shut:
                s.shutdown(socket.SHUT_WR)
            got = b""
            try:
                while chunk := s.recv(65536):
                    got += chunk
            except (TimeoutError, ConnectionResetError):
                pass
            return got

    # ---- processes ----

    def tree(self):
        return descendants(self.pid)

    def wait_quiet(self, seconds=10):
        wait_for(lambda: not self.tree(), seconds, f"processes left: {self.tree()}")

    def rss_kib(self, field="VmRSS"):
        with open(f"/proc/{self.pid}/status", encoding="ascii") as f:
            return int(re.search(field + r":\s+(\d+)", f.read()).group(1))

    def path(self, name):
        return os.path.join(self.base, name)

    def write(self, name, data=b"x", mode=None):
        os.makedirs(os.path.dirname(self.path(name)), exist_ok=True)
        with open(self.path(name), "wb") as f:
            f.write(data)
        if mode is not None:
            os.chmod(self.path(name), mode)


PROBE = """
import http.client, sys, threading, time
over = threading.Event()
threading.Thread(target=lambda: (sys.stdin.read(), over.set()), daemon=True).start()
while not over.is_set():
    begin = time.monotonic()
    c = http.client.HTTPConnection("127.0.0.1", int(sys.argv[1]), timeout=20)
    c.request("GET", "/")
    status = c.getresponse().status
    c.close()
    print(status, time.monotonic() - begin, flush=True)
    time.sleep(0.01)
"""


class HealthProbe:
    """Polls GET / from a process of its own while something else happens."""

    def __init__(self, runtime):
        self.process = subprocess.Popen([sys.executable, "-c", PROBE, str(runtime.port)], text=True,
                                        stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        self.first = self.process.stdout.readline()

    def finish(self):
        out, _ = self.process.communicate(timeout=30)
        eq(self.process.returncode, 0, "health probe")
        answers = [line.split() for line in (self.first + out).splitlines()]
        eq({status for status, _ in answers}, {"200"}, "health")
        times = sorted(float(t) for _, t in answers)
        print(f"    health: {len(times)} answers, median {times[len(times) // 2] * 1000:.1f} ms, "
              f"slowest {times[-1] * 1000:.1f} ms")
        check(len(times) >= 2, "health was probed meanwhile")
        check(times[len(times) // 2] < 0.2, f"median health answer {times[len(times) // 2]:.3f} s < 0.2 s")
        check(times[-1] < 1, f"slowest health answer {times[-1]:.3f} s < 1 s")


def run_all(label, names):
    """Runs the tests whose name contains one of `names` (all when empty); (passed, failed)."""
    passed = failed = 0
    for fn in TESTS:
        if names and not any(n in fn.__name__ for n in names):
            continue
        begin = time.monotonic()
        try:
            fn()
            passed += 1
            verdict = "ok"
        except Exception as error:  # pylint: disable=broad-except
            failed += 1
            verdict = f"FAILED {type(error).__name__}: {error}"
        print(f"{label} {fn.__name__} ({time.monotonic() - begin:.2f} s): {verdict}", flush=True)
    return passed, failed
