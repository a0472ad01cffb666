# SPDX-License-Identifier: Apache-2.0
"""What clients of the Python runtime rely on: the assertions of its black-box testers, the shapes of
its errors, and the requests that the public SDKs send."""
import json
import os
import socket

from harness import Runtime, check, eq, test

FORM = "multipart/form-data; boundary=xyz"


@test
def contract_black_box_assertions():
    with Runtime() as r:
        eq(r.get("/").json(), {"status": "ok", "message": "Sandbox Runtime is active."})
        eq(r.execute("echo 'hello world'")["stdout"], "hello world\n")
        eq(r.get("/list/.").json(), [])
        eq(r.get("/exists/.").json(), {"path": ".", "exists": True})
        eq(r.get("/exists/does_not_exist").json(), {"path": "does_not_exist", "exists": False})
        for path in ("..%2F..%2Fetc%2Fpasswd", "%2F..%2Fetc%2Fpasswd"):
            reply = r.get("/exists/" + path)
            eq((reply.status, reply.json()), (403, {"message": "Access denied"}), path)
        reply = r.upload("test_upload.txt", b"content\n")
        check("uploaded successfully" in reply.json()["message"], reply)
        eq(r.get("/exists/test_upload.txt").json()["exists"], True)
        eq(r.get("/download/test_upload.txt").body, b"content\n")
        eq(r.execute("rm test_upload.txt")["exit_code"], 0)
        reply = r.upload("../../unsafe_upload.txt", b"x")
        eq((reply.status, reply.json()), (403, {"message": "Access denied"}))
        code = "import sys; print('\"'\"'ml-ok'\"'\"', len(sys.argv) + 1)"
        eq(r.execute(f"python3 -c '{code}'")["stdout"], "ml-ok 2\n")


@test
def contract_health():
    with Runtime() as r:
        for path in ("/", "/healthz", "/?x=y"):
            reply = r.get(path)
            eq((reply.status, reply.headers["content-type"]), (200, "application/json"), path)
            reply = r.request("HEAD", path)
            eq((reply.status, reply.body), (200, b""), path)


@test
def contract_error_shapes():
    with Runtime() as r:
        for path in ("/nope", "//exists/x", "/execute/", "/listing", "/docs", "/files2/x"):
            reply = r.get(path)
            eq((reply.status, reply.json()), (404, {"detail": "Not Found"}), path)
        for method, path, allow in (
                ("GET", "/execute", "POST"), ("GET", "/upload", "POST"), ("POST", "/", "GET, HEAD"),
                ("DELETE", "/list/x", "GET, HEAD"), ("GET", "/files/x", "DELETE"),
                ("OPTIONS", "/execute", "POST"), ("PUT", "/download/x", "GET, HEAD"),
                ("BREW", "/exists/x", "GET, HEAD")):
            reply = r.request(method, path, b"" if method != "GET" else None)
            eq((reply.status, reply.json(), reply.headers["allow"]),
               (405, {"detail": "Method Not Allowed"}, allow), method + path)
        for body, kind, loc in (
                ("", "missing", ["body"]), ("{", "json_invalid", ["body", 1]),
                ("[]", "model_attributes_type", ["body"]), ("{}", "missing", ["body", "command"]),
                ('{"command":7}', "string_type", ["body", "command"]),
                ('{"command":null}', "string_type", ["body", "command"]),
                ('{"command":"a","timeout_seconds":"x"}', "float_type", ["body", "timeout_seconds"]),
                ('{"command":"a","timeout_seconds":1e400}', "json_invalid", ["body", 44]),
                ('{"command":"a","timeout_seconds":NaN}', "json_invalid", ["body", 33]),
                ('{"command":"a","timeout_seconds":3601}', "less_than_equal", ["body", "timeout_seconds"]),
                ('{"command":"a","env":{"X":1}}', "string_type", ["body", "env", "X"]),
                (b'{"command":"\xff"}', "json_invalid", ["body", 12]),
                ("[" * 100000, "json_invalid", None)):
            reply = r.post_json(body)
            eq(reply.status, 422, body[:60])
            detail = reply.json()["detail"][0]
            eq(detail["type"], kind, body[:60])
            check(detail["msg"], "msg")
            if loc is not None and "1e400" not in str(body):
                eq(detail["loc"], loc, body[:60])
        reply = r.request("POST", "/execute", '{"command":"true"}', {"Content-Type": "text/plain"})
        eq(reply.status, 422)
        eq(r.request("POST", "/execute", '{"command":"true"}').status, 200, "no Content-Type")
        eq(r.post_json({"command": "x" * 1100000}).status, 413)
        eq(r.post_json({"command": "true", "unknown": {"a": [1]}}).status, 200)


@test
def contract_sdk_requests():
    """Wire samples of the public SDK: raw UTF-8 file names, quoted paths, extra headers."""
    with Runtime() as r:
        headers = {"X-Sandbox-ID": "warm-abc12", "X-Sandbox-Namespace": "default", "X-Sandbox-Port": "8888",
                   "X-Sandbox-Timeout": "2.5", "X-Sandbox-Pod-IP": "10.9.8.7",
                   "Accept-Encoding": "gzip, deflate", "Accept": "*/*"}
        reply = r.post_json({"command": "echo hi", "timeout_seconds": 30.0}, headers)
        eq({k: reply.json()[k] for k in ("stdout", "stderr", "exit_code", "timed_out")},
           {"stdout": "hi\n", "stderr": "", "exit_code": 0, "timed_out": False})
        name = "dir/ü n 漢字 é.txt"
        eq(r.upload(name, b"\x00\xff data").json(), {"message": f"File '{name}' uploaded successfully."})
        reply = r.get("/download/dir%2F%C3%BC%20n%20%E6%BC%A2%E5%AD%97%20%C3%A9.txt", headers)
        eq(reply.body, b"\x00\xff data")
        check(reply.headers["content-disposition"].startswith("attachment; filename*=utf-8''dir/%C3%BC%20n"),
              reply.headers)
        eq([e["name"] for e in r.get("/list/dir").json()], ["ü n 漢字 é.txt"])
        for path in ("/list", "/list/", "/list/.", "/list/%2E", "/list//", "/list/%2F", "/list/%2F%2E"):
            reply = r.get(path)
            eq((reply.status, [(e["name"], e["type"]) for e in reply.json()]), (200, [("dir", "directory")]), path)
        for path, echo in (("/exists/", ""), ("/exists", ""), ("/exists//two", "/two"),
                           ("/exists/a/../two", "a/../two"), ("/exists/a%2F..%2Fdir", "a/../dir"),
                           ("/exists/a+b", "a+b"), ("/exists/a%2520b", "a%20b")):
            eq(r.get(path).json()["path"], echo, path)
        eq(r.get("/exists/a%2F..%2Fdir").json()["exists"], True)
        # A proxy may send a bodiless GET as chunked.
        reply = r.request("GET", "/list/dir", b"0\r\n\r\n", {"Transfer-Encoding": "chunked"})
        eq(reply.status, 200)


@test
def contract_upload_forms():
    with Runtime() as r:
        chunked = {"Content-Type": FORM, "Transfer-Encoding": "chunked"}
        part = b'--xyz\r\nContent-Disposition: form-data; name="file"; filename="%s"\r\n\r\n%s\r\n'
        body = part % (b"chunked.txt", b"in chunks") + b"--xyz--\r\n"
        pieces = b"".join(b"%x\r\n%s\r\n" % (len(body[i:i + 7]), body[i:i + 7]) for i in range(0, len(body), 7))
        eq(r.request("POST", "/upload", pieces + b"0\r\n\r\n", chunked).status, 200)
        eq(r.get("/download/chunked.txt").body, b"in chunks")
        both = part % (b"first.txt", b"1") + part % (b"second.txt", b"2") + b"--xyz--"
        eq(r.request("POST", "/upload", both, {"Content-Type": FORM}).json()["message"],
           "File 'second.txt' uploaded successfully.")
        eq(sorted(os.listdir(r.base)), ["chunked.txt", "second.txt"])
        other = (b'--xyz\r\nContent-Disposition: form-data; name="note"\r\n\r\nfield\r\n'
                 + part % (b'q\\"uote.txt', b"3") + b"--xyz--")
        eq(r.request("POST", "/upload", other, {"Content-Type": FORM}).status, 200)
        check(os.path.exists(r.path('q"uote.txt')), "escaped quote")
        for kind, body in ((FORM, b'--xyz\r\nContent-Disposition: form-data; name="file"\r\n\r\nx\r\n--xyz--'),
                           (FORM, b'--xyz\r\nContent-Disposition: form-data; name="f"; filename="a"\r\n\r\n\r\n--xyz--'),
                           (FORM, b"--xyz--"), ("application/json", b"{}"), ("multipart/form-data", b"x")):
            reply = r.request("POST", "/upload", body, {"Content-Type": kind})
            eq((reply.status, reply.json()["detail"][0]["loc"]), (422, ["body", "file"]), body)
        for body in (b"", b"junk", b"--xyz\r\n", part % (b"cut.txt", b"data"), b"--xyz\r\nbroken\r\n\r\n--xyz--"):
            reply = r.request("POST", "/upload", body, {"Content-Type": FORM})
            eq((reply.status, reply.json()), (400, {"detail": "There was an error parsing the body"}), body)
        eq(sorted(os.listdir(r.base)), ["chunked.txt", 'q"uote.txt', "second.txt"])


@test
def contract_expect_continue_and_old_clients():
    with Runtime() as r:
        body = json.dumps({"command": "echo ok"}).encode()
        head = (b"POST /execute HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: %d\r\n"
                b"Expect: 100-continue\r\nConnection: close\r\n\r\n" % len(body))
        with socket.create_connection(("127.0.0.1", r.port), timeout=20) as s:
            s.sendall(head)
            got = s.recv(1000)
            check(got.startswith(b"HTTP/1.1 100 "), got)
            s.sendall(body)
            while chunk := s.recv(65536):
                got += chunk
        check(b'"stdout":"ok\\n"' in got, got)
        got = r.raw(b"GET / HTTP/1.0\r\n\r\n")
        check(b"200 OK" in got and b"Sandbox Runtime" in got, got)
        pipelined = b"GET / HTTP/1.1\r\nHost: x\r\n\r\n" * 3 + b"GET /x HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n"
        got = r.raw(pipelined)
        eq((got.count(b"200 OK"), got.count(b"404 Not Found")), (3, 1), got)
        big = json.dumps({"command": "head -c 300000 /dev/zero"}).encode()
        got = r.raw(b"POST /execute HTTP/1.0\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n" % len(big) + big)
        head, _, rest = got.partition(b"\r\n\r\n")
        check(b"chunked" not in head, head)
        eq(len(json.loads(rest)["stdout"]), 300000)


@test
def contract_ambiguous_requests_are_refused():
    with Runtime() as r:
        for head in (b"POST /execute HTTP/1.1\r\nHost: x\r\nContent-Length: 2\r\nTransfer-Encoding: chunked\r\n\r\n{}",
                     b"POST /execute HTTP/1.1\r\nHost: x\r\nContent-Length: 2\r\nContent-Length: 3\r\n\r\n{}",
                     b"GET / HTTP/1.1\r\nHost : x\r\n\r\n", b"GET / HTTP/1.1\nHost: x\n\n",
                     b"GET /\x00 HTTP/1.1\r\nHost: x\r\n\r\n", b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03"):
            got = r.raw(head, timeout=3, shut=True)
            check(got == b"" or got.split(b" ")[1][:1] == b"4", got)
        eq(r.get("/").status, 200)
