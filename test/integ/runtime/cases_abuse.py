# SPDX-License-Identifier: Apache-2.0
"""Commands and clients that behave badly; none costs anything but its own request."""
import json
import os
import re
import socket
import threading
import time

import harness
from harness import PLAIN_USER, HealthProbe, Runtime, check, eq, test, wait_for


def names(r):
    return sorted(v[2] for v in r.tree().values())


@test
def abuse_timeout_kills_whatever_was_started():
    python = ("import os,signal,time\n"
              "for s in (signal.SIGTERM, signal.SIGHUP, signal.SIGINT): signal.signal(s, signal.SIG_IGN)\n"
              "print('on', flush=True)\n"
              "for i in range(20):\n"
              "    if os.fork() == 0:\n"
              "        os.setsid()\n"
              "        if os.fork() == 0: os.setsid(); time.sleep(100)\n"
              "        os._exit(0)\n"
              "time.sleep(100)")
    with Runtime() as r:
        for command in (["sh", "-c", "trap '' TERM; echo on; sleep 100 & sleep 100"],
                        ["sh", "-c", "setsid sh -c 'setsid sleep 100 & exec sleep 100' & echo on; sleep 100"],
                        ["sh", "-c", "echo on; exec >&- 2>&- <&-; sleep 100"],
                        ["sh", "-c", "echo on; yes >/dev/null & yes >/dev/null & wait"],
                        ["python3", "-c", python]):
            begin = time.monotonic()
            result = r.execute(command, timeout_seconds=0.7)
            eq((result["exit_code"], result["timed_out"], result["stdout"]), (124, True, "on\n"), command)
            check(time.monotonic() - begin < 6, f"bounded wait: {time.monotonic() - begin:.1f} s")
            r.wait_quiet(3)


@test
def abuse_fork_bomb():
    """Every process forks and exits at once, in a session of its own, as fast as it can."""
    bomb = ("import os\n"
            "print('on', flush=True)\n"
            "for i in range(8):\n"
            "    if os.fork() == 0:\n"
            "        while True:\n"
            "            if os.fork(): os._exit(0)\n"
            "            os.setsid()\n"
            "import time; time.sleep(100)")
    with Runtime() as r:
        probe = HealthProbe(r)
        result = r.execute(["python3", "-c", bomb], timeout_seconds=1)
        eq((result["exit_code"], result["stdout"]), (124, "on\n"))
        r.wait_quiet(8)
        probe.finish()


@test
def abuse_background_process_holds_the_pipes():
    with Runtime() as r:
        begin = time.monotonic()
        result = r.execute(["sh", "-c", "echo started; setsid sleep 60 &"], timeout_seconds=50)
        eq((result["exit_code"], result["timed_out"], result["stdout"]), (0, False, "started\n"))
        check(time.monotonic() - begin < 6, "the reply does not wait for the background process")
        wait_for(lambda: names(r) == ["sleep"], what="only the background process lives on")
        begin = time.monotonic()
        result = r.execute(["sh", "-c", "sleep 60 >/dev/null 2>&1 & echo server up"])
        check(time.monotonic() - begin < 1.5, "nothing holds the pipes: no wait at all")
        wait_for(lambda: names(r) == ["sleep", "sleep"], what="both live on")


@test
def abuse_ten_gigabytes_of_output():
    size = 1 if harness.SANITIZED else 10
    with Runtime() as r:
        probe = HealthProbe(r)
        command = f"head -c {size}G /dev/zero; echo the end; head -c 100M /dev/zero >&2"
        result = r.execute(["sh", "-c", command], timeout_seconds=120)
        probe.finish()
        eq((result["exit_code"], result["stdout_truncated"], result["stdout_bytes"]), (0, True, (size << 30) + 8))
        check(result["stdout"].endswith("\0the end\n") and len(result["stdout"]) < 4 * 1024 * 1024 + 100, "kept")
        eq(result["stderr_bytes"], 100 << 20)
        peak = r.rss_kib("VmHWM")
        print(f"    peak memory {peak} KiB")
        if not harness.SANITIZED:
            check(peak < 16384, f"peak memory {peak} KiB")
            wait_for(lambda: r.rss_kib() < 6144, what="memory is given back")


@test
def abuse_output_during_a_timeout():
    with Runtime() as r:
        begin = time.monotonic()
        result = r.execute("yes", timeout_seconds=1)
        check(time.monotonic() - begin < 10, "in time")
        eq((result["exit_code"], result["timed_out"], result["stdout_truncated"]), (124, True, True))
        check(result["stdout"].startswith("y\ny\n"), "partial output")
        r.wait_quiet()


@test
def abuse_client_disconnects():
    with Runtime("--commands-max=2") as r:
        body = json.dumps({"command": ["sh", "-c", "setsid sleep 100 & sleep 100"]}).encode()
        head = (b"POST /execute HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n"
                b"Content-Length: %d\r\n\r\n" % len(body))
        for reset in (False, True):
            clients = [socket.create_connection(("127.0.0.1", r.port)) for _ in range(5)]
            for s in clients:
                s.sendall(head + body)
            wait_for(lambda: names(r).count("sleep") == 4, what="two commands run, three wait")
            if reset:
                for s in clients:
                    s.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\1\0\0\0\0\0\0\0")
            for s in reversed(clients):
                s.close()
            r.wait_quiet(8)
        eq(r.execute("echo alive")["stdout"], "alive\n")
        for cut in (head[:20], head, head + body[:10]):
            with socket.create_connection(("127.0.0.1", r.port)) as s:
                s.sendall(cut)
        eq(r.execute("echo alive")["stdout"], "alive\n")


@test
def abuse_slow_reader():
    """A client that takes a large result slowly, and one that never takes it."""
    with Runtime() as r:
        body = json.dumps({"command": "head -c 1500000 /dev/zero"}).encode()
        head = (b"POST /execute HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nConnection: close\r\n"
                b"Content-Length: %d\r\n\r\n" % len(body))

        def client():
            s = socket.socket()
            s.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 8192)
            s.connect(("127.0.0.1", r.port))
            s.sendall(head + body)
            return s

        idle, slow = client(), client()
        time.sleep(1)
        probe = HealthProbe(r)
        got = 0
        while chunk := slow.recv(400000):
            got += len(chunk)
            time.sleep(0.005)
        probe.finish()
        check(got > 1500000 * 6, f"{got} bytes: every NUL is six characters")
        if not harness.SANITIZED:
            check(r.rss_kib("VmHWM") < 24576, f"peak memory {r.rss_kib('VmHWM')} KiB")
        slow.close()
        idle.close()


@test
def abuse_results_that_nobody_takes():
    """Finished results wait for their readers: together they are bounded too."""
    with Runtime("--output-total=6000000") as r:
        body = json.dumps({"command": "sh -c 'head -c 4000000 /dev/urandom; sleep 0.3'"}).encode()
        head = (b"POST /execute HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n"
                b"Content-Length: %d\r\n\r\n" % len(body))
        clients = []
        for i in range(40):
            s = socket.socket()
            s.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 8192)
            s.connect(("127.0.0.1", r.port))
            s.sendall(head + body)
            clients.append(s)
            if i == 0:  # alone, so that it is kept whole and is more than sockets take off the budget
                wait_for(r.tree, 60, "the first command has begun")
                wait_for(lambda: not r.tree(), 60, "the first command has ended")
        wait_for(lambda: not r.tree(), 60, "all commands have ended")
        result = r.execute("head -c 4000000 /dev/zero")
        eq((result["exit_code"], result["stdout_truncated"], result["stdout_bytes"]), (0, True, 4000000))
        if not harness.SANITIZED:
            # Each connection also holds what is queued for its socket.
            check(r.rss_kib("VmHWM") < 6000 + 40 * 600 + 4096, f"peak memory {r.rss_kib('VmHWM')} KiB")
        for s in clients:
            s.close()
        wait_for(lambda: not r.execute("head -c 4000000 /dev/zero")["stdout_truncated"], 30, "memory is given back")


@test
def abuse_slow_sender():
    with Runtime() as r:
        body = b'{"command": "echo slow"}'
        request = (b"POST /execute HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n"
                   b"Connection: close\r\nContent-Length: %d\r\n\r\n" % len(body)) + body
        with socket.create_connection(("127.0.0.1", r.port)) as s:
            for i in range(len(request)):
                s.sendall(request[i:i + 1])
                time.sleep(0.001)
            got = b""
            while chunk := s.recv(65536):
                got += chunk
        check(b'"stdout":"slow\\n"' in got, got)


@test
def abuse_health_while_everything_is_busy():
    with Runtime() as r:
        threads = [threading.Thread(target=r.execute, args=(["sh", "-c", "sleep 1; echo x"],)) for _ in range(60)]
        probe = HealthProbe(r)
        for t in threads:
            t.start()
        for t in threads:
            t.join()
        probe.finish()


@test
def abuse_many_idle_connections():
    with Runtime() as r:
        idle = [socket.create_connection(("127.0.0.1", r.port)) for _ in range(300)]
        eq(r.get("/").status, 200)
        eq(r.execute("echo ok")["stdout"], "ok\n")
        for s in idle:
            s.close()


@test
def abuse_many_members():
    """A body of many small members must not cost more than its size."""
    with Runtime() as r:
        members = ",".join(f'"m{i}":{i}' for i in range(70000))
        probe = HealthProbe(r)
        begin = time.monotonic()
        for _ in range(10):
            reply = r.post_json('{"command":"true",' + members + "}")
            eq(reply.status, 200)
        check(time.monotonic() - begin < 10, f"in time: {time.monotonic() - begin:.2f} s")
        probe.finish()


@test
def abuse_supervisor_is_killed():
    with Runtime() as r:
        result = r.execute(["sh", "-c", "echo part; kill -KILL $PPID; sleep 60"], timeout_seconds=30)
        eq((result["exit_code"], result["stdout"]), (-9, "part\n"))
        check("supervisor was killed" in result["stderr"], result)
        r.wait_quiet()
        result = r.execute(["sh", "-c", "kill -TERM $PPID; kill -INT $PPID; echo fine"])
        eq((result["exit_code"], result["stdout"]), (0, "fine\n"), "only SIGKILL ends a supervisor")


@test
def abuse_command_cannot_read_the_runtime():
    """Same user, but not the same secrets: memory and environment of the runtime are closed."""
    with Runtime(uid=PLAIN_USER, env={"SANDBOX_TOKEN": "do-not-tell"}) as r:
        result = r.execute(["sh", "-c", f"cat /proc/{r.pid}/environ /proc/$PPID/environ /proc/{r.pid}/mem"])
        check("do-not-tell" not in result["stdout"], result)
        eq(len(re.findall("Permission denied", result["stderr"])), 3, result)
        result = r.execute(["sh", "-c", "cat /proc/self/environ"])
        check("do-not-tell" not in result["stdout"] and "PATH=" in result["stdout"], result)


@test
def abuse_reports_no_command_text():
    with Runtime("--log-level=debug") as r:
        r.execute("echo SECRET-IN-ARGV")
        r.execute("nope SECRET-IN-ARGV")
        r.post_json('{"command": "SECRET-IN-ARGV", "env": 1}')
        wait_for(lambda: any("command ended" in line for line in r.log), what="log")
        check("SECRET-IN-ARGV" not in "".join(r.log), "the log holds no command")
        eq(os.listdir(r.base), [])
