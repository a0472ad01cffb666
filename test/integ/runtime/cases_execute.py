# SPDX-License-Identifier: Apache-2.0
"""POST /execute: words, errors, environment, directory, exit codes, output."""
import base64
import json
import os
import threading
import time

from harness import Runtime, check, eq, test, wait_for

ARGV = "python3 -c 'import json,sys; print(json.dumps(sys.argv[1:]))' "
FAILED = "Failed to execute command: "


@test
def execute_splits_words_without_a_shell():
    with Runtime() as r:
        for text, words in (
                ('a  "b c"', ["a", "b c"]), (r'a "b\c\"d\\e\$f"', ["a", r'b\c"d\e\$f']), (r"a 'b\c'", ["a", r"b\c"]),
                (r"a\ b", ["a b"]), ("a\\\nb", ["a\nb"]), ("a \"\" ''", ["a", "", ""]), ("a\"b\"c'd'", ["abcd"]),
                ("a #b", ["a", "#b"]), ("a;b|c>d && e", ["a;b|c>d", "&&", "e"]), ("$HOME * ~", ["$HOME", "*", "~"]),
                ("a\tb\rc\nd", ["a", "b", "c", "d"]), ("a\vb\fc\u00a0d", ["a\vb\fc\u00a0d"]), ("é '漢 字'", ["é", "漢 字"])):
            eq(json.loads(r.execute(ARGV + text)["stdout"]), words, text)
        eq(r.execute(["printf", "%s|", "a b", "", "$X"])["stdout"], "a b||$X|")


@test
def execute_tells_why_a_command_cannot_run():
    with Runtime() as r:
        r.write("script", b"no interpreter\n", 0o755)
        r.write("plain", b"x", 0o644)
        os.mkdir(r.path("dir"))
        for command, reason in (
                ("nope --x", "[Errno 2] No such file or directory: 'nope'"),
                ("./nope", "[Errno 2] No such file or directory: './nope'"),
                ("./plain", "[Errno 13] Permission denied: './plain'"),
                ("/tmp", "[Errno 13] Permission denied: '/tmp'"),
                ("./dir", "[Errno 13] Permission denied: './dir'"),
                ("./script", "[Errno 8] Exec format error: './script'"),
                ("./plain/x", "[Errno 20] Not a directory: './plain/x'"),
                ("\"it's\"", "[Errno 2] No such file or directory: \"it's\""),
                ("", "list index out of range"), ("  ", "list index out of range"), ([], "list index out of range"),
                ('"x', "No closing quotation"), ("x\\", "No escaped character"), ("a\0b", "embedded null byte"),
                ("echo " + "x" * 200000, "[Errno 7] Argument list too long: 'echo'")):
            result = r.execute(command)
            eq((result["stdout"], result["stderr"], result["exit_code"], result["timed_out"]),
               ("", FAILED + reason, 1, False), repr(command)[:60])


@test
def execute_environment():
    with Runtime(env={"KEPT": "1", "SANDBOX_SECRET": "s", "SANDBOX_EXEC_TIMEOUT_SECONDS": "9"}) as r:
        text = r.execute("env")["stdout"]
        check("KEPT=1\n" in text and "SANDBOX_" not in text, text)
        text = r.execute("env", env={"KEPT": "2", "NEW": "a=b c", "EMPTY": ""})["stdout"]
        check("KEPT=2\n" in text and "NEW=a=b c\n" in text and "EMPTY=\n" in text and "KEPT=1" not in text, text)
        check("NEW" not in r.execute("env")["stdout"], "nothing is kept between requests")
        r.write("bin/own-tool", b"#!/bin/sh\necho own\n", 0o755)
        eq(r.execute("own-tool", env={"PATH": r.path("bin") + ":/bin:/usr/bin"})["stdout"], "own\n")


@test
def execute_working_directory():
    with Runtime() as r:
        os.makedirs(r.path("sub/deep"))
        r.write("file")
        os.symlink("/etc", r.path("out"))
        os.symlink("sub", r.path("in"))
        base = os.path.realpath(r.base)
        for cwd, want in ((None, base), ("", base), (".", base), ("sub", base + "/sub"), ("/sub/deep", base + "/sub/deep"),
                          (base + "/sub", base + "/sub"), ("sub/../sub", base + "/sub"), ("in/deep", base + "/sub/deep")):
            eq(r.execute("pwd -P", cwd=cwd)["stdout"], want + "\n", cwd)
        for cwd in ("..", "/../etc", "out", "sub/../../x"):
            reply = r.post_json({"command": "pwd", "cwd": cwd})
            eq((reply.status, reply.json()), (403, {"message": "Access denied"}), cwd)
        for cwd, reason in (("missing", "[Errno 2] No such file or directory: 'missing'"),
                            ("file", "[Errno 20] Not a directory: 'file'")):
            result = r.execute("pwd", cwd=cwd)
            eq((result["exit_code"], result["stderr"]), (1, FAILED + reason))
        r.write("sub/tool", b"#!/bin/sh\necho here\n", 0o755)
        eq(r.execute("./tool", cwd="sub")["stdout"], "here\n")


@test
def execute_exit_codes():
    with Runtime() as r:
        for script, code in (("exit 0", 0), ("exit 3", 3), ("exit 255", 255), ("exit 124", 124),
                             ("kill -KILL $$", -9), ("kill -TERM $$", -15), ("kill -ABRT $$", -6)):
            result = r.execute(["sh", "-c", script])
            eq((result["exit_code"], result["timed_out"]), (code, False), script)
        eq(r.execute("cat")["stdout"], "", "standard input is empty")


@test
def execute_timeouts():
    with Runtime(env={"SANDBOX_EXEC_TIMEOUT_SECONDS": "1", "SANDBOX_EXEC_TIMEOUT_MAX": "60"}) as r:
        begin = time.monotonic()
        result = r.execute(["sh", "-c", "echo out; echo err >&2; sleep 50"], timeout_seconds=0.5)
        check(time.monotonic() - begin < 5, "in time")
        eq((result["exit_code"], result["timed_out"], result["stdout"]), (124, True, "out\n"))
        eq(result["stderr"], "err\n" + FAILED + "Command '['sh', '-c', 'echo out; echo err >&2; sleep 50']'"
           " timed out after 0.5 seconds")
        result = r.execute("sleep 50")
        eq((result["exit_code"], result["stderr"]),
           (124, FAILED + "Command '['sleep', '50']' timed out after 1.0 seconds"))
        eq(r.execute("sleep 1.3", timeout_seconds=30)["exit_code"], 0)
        eq(r.post_json({"command": "true", "timeout_seconds": 61}).status, 422)
        r.wait_quiet()


@test
def execute_output_is_exact():
    with Runtime() as r:
        eq(r.execute(["printf", r"a\n\nb\r\n\n\rc\r"])["stdout"], "a\n\nb\r\n\n\rc\r")
        eq(r.execute(["printf", r"\0\1\033x"])["stdout"], "\0\1\033x")
        eq(r.execute(["printf", "é漢😀"])["stdout"], "é漢😀")
        data = bytes(range(256)) * 5
        r.write("bytes", data)
        result = r.execute("cat bytes")
        eq(result["exit_code"], 0)
        eq(base64.b64decode(result["stdout_base64"]), data)
        eq(result["stdout"].count("\ufffd"), 128 * 5)
        check("stderr_base64" not in result, "only the stream that needs it")
        check("stdout_base64" not in r.execute("echo text"), "text has no base64")


@test
def execute_output_is_bounded():
    with Runtime("--output-max=1000000") as r:
        r.write("big", b"".join(b"%09d\n" % i for i in range(500000)))
        result = r.execute("cat big")
        text = result["stdout"]
        eq((result["stdout_truncated"], result["stdout_bytes"], result["stderr_truncated"]), (True, 5000000, False))
        check(text.startswith("000000000\n000000001\n") and text.endswith("\n000499999\n"), "head and tail")
        check("\n[4000000 bytes of output left out]\n" in text, "the gap is marked")
        eq(len(text), 1000000 + len("\n[4000000 bytes of output left out]\n"))
        r.write("half", b"y" * 1000000)
        result = r.execute("cat half")
        eq((len(result["stdout"]), result["stdout_truncated"]), (1000000, False))
        check("stdout_bytes" not in result, "only when truncated")


@test
def execute_reuses_a_connection():
    with Runtime() as r:
        c = r.connect()
        begin = time.monotonic()
        count = 60 if os.environ.get("QUICK") else 300
        for i in range(count):
            eq(r.execute(f"echo {i}", connection=c)["stdout"], f"{i}\n")
        print(f"    {1000 * (time.monotonic() - begin) / count:.2f} ms a command")
        r.wait_quiet()


@test
def execute_in_parallel_keeps_every_exit_code():
    with Runtime() as r:
        bad = []

        def worker(n):
            c = r.connect()
            for i in range(15):
                code = (n * 15 + i) % 256
                got = r.execute(["sh", "-c", f"(sleep 0.1 &); echo {code}; exit {code}"], connection=c)
                if (got["exit_code"], got["stdout"]) != (code, f"{code}\n"):
                    bad.append(got)

        threads = [threading.Thread(target=worker, args=(n,)) for n in range(20)]
        for t in threads:
            t.start()
        for t in threads:
            t.join()
        eq(bad, [])
        r.wait_quiet()


@test
def execute_bounds_how_many_run():
    with Runtime("--commands-max=2", "--queue-max=2") as r:
        results = []
        threads = [threading.Thread(target=lambda: results.append(r.post_json({"command": "sleep 1"}).status))
                   for _ in range(4)]
        for t in threads:
            t.start()
        wait_for(lambda: sum(1 for p in r.tree().values() if p[2] == "sleep") == 2, what="two run")
        time.sleep(0.3)
        reply = r.post_json({"command": "true"})
        eq((reply.status, reply.json(), reply.headers["retry-after"]),
           (503, {"message": "Too many commands: 2 are running and 2 are waiting."}, "1"))
        eq(r.get("/").status, 200)
        for t in threads:
            t.join()
        eq(results, [200] * 4)
        eq(r.execute("echo again")["stdout"], "again\n")
