# SPDX-License-Identifier: Apache-2.0
"""Files: paths that try to leave the root, ranges, listings, removals, uploads that fail."""
import os
import resource
import socket
import threading
import time

import harness
from harness import PLAIN_USER, Runtime, check, eq, test, wait_for

DENIED = {"message": "Access denied"}


def outside_and_links(r):
    """A secret beside the root and links that lead to it."""
    os.mkdir(os.path.join(r.dir, "outside"))
    with open(os.path.join(r.dir, "outside", "secret"), "w", encoding="ascii") as f:
        f.write("secret")
    os.makedirs(r.path("sub"))
    r.write("sub/file", b"inside")
    os.symlink("../outside", r.path("out"))
    os.symlink(os.path.join(r.dir, "outside", "secret"), r.path("secret-link"))
    os.symlink("/etc", r.path("etc"))
    os.symlink("sub", r.path("in"))
    os.symlink(r.path("sub/file"), r.path("absolute-in"))
    os.symlink("nowhere", r.path("dangling"))


@test
def files_never_leave_the_root():
    with Runtime() as r:
        outside_and_links(r)
        escapes = ("..", "%2E%2E", "../outside/secret", "..%2Foutside%2Fsecret", "/../outside/secret",
                   "%2F..%2Foutside%2Fsecret", "sub/../../outside/secret", "sub%2F..%2F..%2Foutside", "out/secret",
                   "out%2Fsecret", "out", "secret-link", "etc/passwd", "%2e%2e/%2e%2e/etc/passwd", "a%00b", "%00",
                   "sub/file%00.txt", "in/../../outside/secret")
        for path in escapes:
            for verb in ("exists", "list", "download"):
                reply = r.get(f"/{verb}/{path}")
                eq((reply.status, reply.json()), (403, DENIED), verb + " " + path)
        for name in ("../x", "/../x", "out/x", "out", "etc/x", "secret-link", b"a\x00b", "sub/../../x"):
            reply = r.upload(name, b"pwned")
            eq((reply.status, reply.json()), (403, DENIED), name)
        for path in ("..", "../outside/secret", "out/secret", "out%2Fsecret", "%2F..%2Foutside", "a%00"):
            reply = r.request("DELETE", f"/files/{path}?recursive=true")
            eq((reply.status, reply.json()), (403, DENIED), path)
        eq(os.listdir(os.path.join(r.dir, "outside")), ["secret"])
        eq(sorted(os.listdir(r.dir)), ["outside", "workspace"])


@test
def files_inside_by_any_spelling():
    with Runtime() as r:
        outside_and_links(r)
        for path in ("sub/file", "sub%2Ffile", "/sub/file", "%2Fsub%2Ffile", "in/file", "absolute-in", "sub//file",
                     "sub/./file", "missing/../sub/file", "../workspace/sub/file", "sub/../in/file"):
            eq(r.get(f"/download/{path}").body, b"inside", path)
        r.write("100% a%20b", b"percent")
        eq(r.get("/download/100%25%20a%2520b").body, b"percent", "decoded once")
        for path in ("%", "%zz", "a%2"):
            reply = r.get("/exists/" + path)
            eq((reply.status, reply.json()), (400, {"detail": "The path is not percent-encoded correctly"}), path)
        eq(r.get("/exists/dangling").json()["exists"], False)
        eq(r.get("/exists/" + "n" * 300).json()["exists"], False)
        reply = r.upload("/etc/zz.txt", b"x")
        eq(reply.status, 403, "etc is a link that leads out")
        eq(r.upload("/var/zz.txt", b"re-rooted").status, 200)
        eq(r.get("/download/var/zz.txt").body, b"re-rooted")


@test
def files_links_swapped_during_use():
    """A directory that keeps turning into a link to the outside and back."""
    with Runtime() as r:
        target = os.path.join(r.dir, "outside")
        os.mkdir(target)
        with open(os.path.join(target, "shadow"), "w", encoding="ascii") as f:
            f.write("secret")
        os.mkdir(r.path("real"))
        r.write("real/shadow", b"harmless")
        over = threading.Event()

        def swap():
            while not over.is_set():
                for source in ("real", target):
                    os.symlink(source, r.path("next"))
                    os.rename(r.path("next"), r.path("d"))

        swapper = threading.Thread(target=swap)
        swapper.start()
        seen = set()
        try:
            c = r.connect()
            for i in range(300):
                reply = r.request("GET", "/download/d/shadow", connection=c)
                seen.add((reply.status, reply.body if reply.status == 200 else b""))
                if i % 3 == 0:
                    check(r.upload("d/x", b"x").status in (200, 403, 400, 404), "defined answer")
        finally:
            over.set()
            swapper.join()
        check(seen <= {(200, b"harmless"), (403, b""), (404, b""), (400, b"")}, seen)
        eq(os.listdir(target), ["shadow"], "nothing was written outside")


@test
def files_download():
    with Runtime() as r:
        data = bytes(range(256)) * 1000
        r.write("data.bin", data)
        r.write("empty", b"")
        os.mkdir(r.path("dir"))
        os.mkfifo(r.path("fifo"))
        reply = r.get("/download/data.bin")
        eq(reply.body, data)
        h = reply.headers
        eq((h["content-type"], h["content-length"], h["accept-ranges"], h["content-disposition"]),
           ("application/octet-stream", "256000", "bytes", 'attachment; filename="data.bin"'))
        check(h["last-modified"].endswith(" GMT") and h["etag"].startswith('"'), h)
        for value, status, first, last in (
                ("bytes=0-9", 206, 0, 10), ("bytes=100-", 206, 100, 256000), ("bytes=-5", 206, 255995, 256000),
                ("bytes=0-999999", 206, 0, 256000), ("lines=1-2", 200, 0, 256000), ("bytes=5-2", 200, 0, 256000)):
            reply = r.get("/download/data.bin", {"Range": value})
            eq((reply.status, reply.body), (status, data[first:last]), value)
            if status == 206:
                eq(reply.headers["content-range"], f"bytes {first}-{last - 1}/256000", value)
        reply = r.get("/download/data.bin", {"Range": "bytes=256000-"})
        eq((reply.status, reply.headers["content-range"]), (416, "bytes */256000"))
        eq(r.get("/download/data.bin", {"Range": "bytes=0-1", "If-Range": h["etag"]}).status, 206)
        eq(r.get("/download/data.bin", {"Range": "bytes=0-1", "If-Range": '"other"'}).status, 200)
        reply = r.request("HEAD", "/download/data.bin")
        eq((reply.status, reply.headers["content-length"], reply.body), (200, "256000", b""))
        eq(r.get("/download/empty").body, b"")
        for path in ("missing", "dir", "fifo", "", "data.bin/x", "n" * 300):
            reply = r.get("/download/" + path)
            eq((reply.status, reply.json()), (404, {"message": "File not found"}), path)


@test
def files_download_of_a_shrinking_file():
    """The client must see a broken transfer, never a short file that looks whole."""
    with Runtime() as r:
        r.write("shrinks", b"x" * 50_000_000)
        with socket.create_connection(("127.0.0.1", r.port)) as s:
            s.sendall(b"GET /download/shrinks HTTP/1.1\r\nHost: x\r\n\r\n")
            got = len(s.recv(1000))
            os.truncate(r.path("shrinks"), 10)
            try:
                while chunk := s.recv(1 << 20):
                    got += len(chunk)
            except ConnectionResetError:
                pass
        check(got < 50_000_000, f"{got} bytes arrived")
        eq(r.get("/").status, 200)


@test
def files_listing():
    with Runtime() as r:
        outside_and_links(r)
        os.mkfifo(r.path("fifo"))
        r.write(".hidden", b"abc")
        with open(os.fsencode(r.base) + b"/bad\xffname", "wb"):
            pass
        entries = {e["name"]: e for e in r.get("/list/").json()}
        eq(sorted(entries), sorted(["sub", "out", "secret-link", "etc", "in", "absolute-in", "dangling", "fifo",
                                    ".hidden", "bad\ufffdname"]))
        eq({e["type"] for e in entries.values()}, {"file", "directory"})
        eq((entries["in"]["type"], entries["sub"]["type"]), ("directory", "directory"))
        eq((entries["absolute-in"]["type"], entries["absolute-in"]["size"]), ("file", 6))
        for name in ("out", "etc", "dangling", "fifo", "secret-link"):
            eq(entries[name]["type"], "file", name)
        eq(entries[".hidden"]["size"], 3)
        check(abs(entries[".hidden"]["mod_time"] - time.time()) < 100, entries[".hidden"])
        for path in ("missing", "sub/file", "sub/file/x"):
            reply = r.get("/list/" + path)
            eq((reply.status, reply.json()), (404, {"message": "Path is not a directory"}), path)
        os.mkdir(r.path("many"))
        for i in range(5000):
            os.symlink("x", r.path(f"many/{i}"))
        eq({e["name"] for e in r.get("/list/many").json()}, {str(i) for i in range(5000)})


@test
def files_delete():
    with Runtime() as r:
        outside_and_links(r)
        os.makedirs(r.path("empty/dir"))
        for path, status, message in (
                ("missing", 404, "File not found"), ("sub/file/x", 404, "File not found"),
                ("sub", 409, "Directory is not empty"), ("sub?recursive=false", 409, "Directory is not empty"),
                ("empty%2Fdir", 200, "File 'empty/dir' deleted successfully."),
                ("empty/", 200, "File 'empty/' deleted successfully."),
                ("sub/file", 200, "File 'sub/file' deleted successfully."),
                ("in", 200, "File 'in' deleted successfully."),
                ("etc", 200, "File 'etc' deleted successfully."),
                ("secret-link?recursive=1", 200, "File 'secret-link' deleted successfully."),
                ("dangling", 200, "File 'dangling' deleted successfully.")):
            reply = r.request("DELETE", "/files/" + path)
            eq((reply.status, reply.json()), (status, {"message": message}), path)
        check(os.path.exists("/etc/passwd") and os.path.exists(os.path.join(r.dir, "outside/secret")), "targets stay")
        for path in ("", "/", ".", "%2E", "sub/..", "?recursive=true"):
            reply = r.request("DELETE", "/files/" + path)
            eq(reply.status, 403, path)
            check(reply.json()["message"].startswith("Access denied"), reply)
        reply = r.request("DELETE", "/files/sub?recursive=maybe")
        eq((reply.status, reply.json()["detail"][0]["loc"]), (422, ["query", "recursive"]))
        for i in range(3000):
            r.write(f"tree/{i % 50}/{i}/f")
        os.symlink(os.path.join(r.dir, "outside"), r.path("tree/link"))
        eq(r.request("DELETE", "/files/tree?recursive=true").status, 200)
        check(not os.path.exists(r.path("tree")) and os.path.exists(os.path.join(r.dir, "outside/secret")), "tree")


@test
def files_upload_failures():
    with Runtime() as r:
        r.write("file", b"old")
        os.mkdir(r.path("dir"))
        for name, reason in (("dir", "[Errno 21] Is a directory: 'dir'"), ("", "[Errno 21] Is a directory: ''"),
                             (".", "[Errno 21] Is a directory: '.'"), ("file/x", "[Errno 20] Not a directory: 'file/x'"),
                             ("n" * 256, "[Errno 36] File name too long: '" + "n" * 256 + "'")):
            reply = r.upload(name, b"x")
            eq((reply.status, reply.json()), (400, {"message": "File upload failed: " + reason}), name)
        eq(r.upload("newdir/", b"x").status, 200)
        check(os.path.isfile(r.path("newdir")), "a trailing slash is nothing special")
        r.write("mode", b"#!/bin/sh\necho one\n", 0o755)
        eq(r.upload("mode", b"#!/bin/sh\necho two\n").status, 200)
        eq(r.execute("./mode")["stdout"], "two\n", "the mode is kept")


@test
def files_as_another_user_without_rights():
    with Runtime(uid=PLAIN_USER) as r:
        os.mkdir(r.path("closed"))
        os.chmod(r.path("closed"), 0)
        r.write("secret", b"x", 0)
        eq(r.execute("id -u")["stdout"], f"{PLAIN_USER}\n")
        reply = r.upload("closed/x", b"x")
        eq((reply.status, reply.json()),
           (403, {"message": "File upload failed: [Errno 13] Permission denied: 'closed/x'"}))
        eq(r.get("/download/secret").status, 403)
        eq(r.get("/list/closed").status, 403)
        eq(r.upload("mine/x", b"x").status, 200)
        r.write("ro/f")
        os.chmod(r.path("ro"), 0o555)
        eq(r.request("DELETE", "/files/ro/f").status, 403)
        eq(r.request("DELETE", "/files/ro?recursive=true").status, 403)


@test
def files_upload_beyond_a_limit_of_the_disk():
    def limit():
        resource.setrlimit(resource.RLIMIT_FSIZE, (1 << 20, 1 << 20))

    with Runtime(preexec=limit) as r:
        r.write("big", b"old")
        reply = r.upload("big", b"x" * (3 << 20))
        eq((reply.status, reply.json()), (507, {"message": "File upload failed: [Errno 27] File too large: 'big'"}))
        eq(os.listdir(r.base), ["big"])
        eq(r.get("/download/big").body, b"old")


@test
def files_upload_is_atomic_and_leaves_nothing_when_cut():
    with Runtime() as r:
        r.write("target", b"old")
        with socket.create_connection(("127.0.0.1", r.port)) as s:
            s.sendall(b"POST /upload HTTP/1.1\r\nHost: x\r\nContent-Type: multipart/form-data; boundary=B\r\n"
                      b"Content-Length: 1000000\r\n\r\n--B\r\nContent-Disposition: form-data; name=\"file\"; "
                      b"filename=\"target\"\r\n\r\n" + b"new" * 1000)
            wait_for(lambda: len(os.listdir(r.base)) == 2, what="temporary file")
            eq(r.get("/download/target").body, b"old")
            eq([e["name"] for e in r.get("/list/").json()], ["target"])
        wait_for(lambda: os.listdir(r.base) == ["target"], what="temporary file removed")
        eq(r.get("/download/target").body, b"old")


@test
def files_huge_upload_in_constant_memory():
    """A client that sends without a length; the file is larger than any memory limit we would set."""
    with Runtime() as r:
        size, piece = 300, b"%x\r\n" % (1 << 20) + b"p" * (1 << 20) + b"\r\n"
        before = r.rss_kib()
        with socket.create_connection(("127.0.0.1", r.port)) as s:
            head = (b"--B\r\nContent-Disposition: form-data; name=\"file\"; filename=\"huge.bin\"\r\n\r\n")
            s.sendall(b"POST /upload HTTP/1.1\r\nHost: x\r\nContent-Type: multipart/form-data; boundary=B\r\n"
                      b"Transfer-Encoding: chunked\r\n\r\n%x\r\n%s\r\n" % (len(head), head))
            for i in range(size):
                s.sendall(piece)
                if i % 50 == 0:
                    eq(r.get("/").status, 200)
            tail = b"\r\n--B--\r\n"
            s.sendall(b"%x\r\n%s\r\n0\r\n\r\n" % (len(tail), tail))
            s.settimeout(60)
            got = s.recv(65536)
            check(got.startswith(b"HTTP/1.1 200 "), got)
        eq(os.path.getsize(r.path("huge.bin")), size << 20)
        grown = r.rss_kib("VmHWM") - before
        check(harness.SANITIZED or grown < 4096, f"memory grew by {grown} KiB")
        c = r.connect()
        c.request("GET", "/download/huge.bin")
        response = c.getresponse()
        total = 0
        while chunk := response.read(1 << 20):
            total += len(chunk)
        eq(total, size << 20)
        grown = r.rss_kib("VmHWM") - before
        check(harness.SANITIZED or grown < 6144, f"memory grew by {grown} KiB")
