# SPDX-License-Identifier: Apache-2.0
"""A proxy on loopback that hands everything on at once, but what watches bring late."""
import http.server
import json
import queue
import threading
import time

from kit import LEASE_NS


class Lag:
    def __init__(self, api, seconds, directory):
        self.api, self.seconds, outer = api, seconds, self

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"
            disable_nagle_algorithm = True

            def answer(self):
                outer.answer(self)

            do_GET = do_POST = do_PUT = do_PATCH = do_DELETE = answer

            def log_message(self, *args):
                pass

        class Server(http.server.ThreadingHTTPServer):
            daemon_threads = True
            request_queue_size = 128

            def handle_error(self, request, client_address):
                pass  # a client that went away

        self.server = Server(("127.0.0.1", 0), Handler)
        threading.Thread(target=self.server.serve_forever, daemon=True).start()
        self.kubeconfig = f"{directory}/kubeconfig"
        with open(self.kubeconfig, "w", encoding="utf-8") as f:
            json.dump({"apiVersion": "v1", "kind": "Config", "current-context": "c", "users": [{"name": "u", "user": {}}],
                       "clusters": [{"name": "c", "cluster": {
                           "server": f"http://127.0.0.1:{self.server.server_address[1]}"}}],
                       "contexts": [{"name": "c", "context": {"cluster": "c", "user": "u", "namespace": LEASE_NS}}]}, f)

    def answer(self, h):
        body = h.rfile.read(int(h.headers.get("Content-Length") or 0))
        kept = {k: v for k, v in h.headers.items() if k.lower() in ("content-type", "accept", "user-agent")}
        watch = "watch=true" in h.path
        up = self.api.connect(3600) if watch else getattr(h, "up", None) or self.api.connect()
        up.request(h.command, h.path, body or None, kept)
        r = up.getresponse()
        if watch and r.status == 200:
            self.watch(h, r)
            up.close()
            return
        data = r.read()
        h.up = up  # one connection upwards for each that comes in
        h.send_response(r.status)
        for name in ("Content-Type", "Retry-After"):
            if r.headers.get(name):
                h.send_header(name, r.headers[name])
        h.send_header("Content-Length", str(len(data)))
        h.end_headers()
        h.wfile.write(data)

    def watch(self, h, r):
        lines = queue.Queue()

        def read():
            try:
                while data := r.read1(1 << 18):
                    lines.put((time.monotonic() + self.seconds, data))
            finally:
                lines.put((0, b""))

        threading.Thread(target=read, daemon=True).start()
        h.send_response(200)
        h.send_header("Content-Type", "application/json")
        h.send_header("Transfer-Encoding", "chunked")
        h.end_headers()
        while True:
            due, line = lines.get()
            time.sleep(max(0, due - time.monotonic()))
            h.wfile.write(b"%x\r\n%s\r\n" % (len(line), line))
            h.wfile.flush()
            if not line:
                return
