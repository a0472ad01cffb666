# SPDX-License-Identifier: Apache-2.0
"""A TLS server that answers like a bad API server. The namespace in the URL names the behaviour.

    rude.py CERT KEY PORT_FILE
"""
import http.server
import json
import os
import socket
import ssl
import struct
import sys
import time


def pod(name, **annotations):
    return json.dumps({
        "apiVersion": "v1", "kind": "Pod",
        "metadata": {"name": name, "namespace": "n", "uid": "u", "resourceVersion": "7",
                     "annotations": annotations},
    }).encode()


def status(code, reason, message):
    return json.dumps({"kind": "Status", "apiVersion": "v1", "status": "Failure", "code": code,
                       "reason": reason, "message": message}).encode()


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *args):
        pass

    def send(self, code, body, length=None, **headers):
        self.send_response(code)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body) if length is None else length))
        for key, value in headers.items():
            self.send_header(key.replace("_", "-"), value)
        self.end_headers()
        self.wfile.write(body)

    def reset(self):
        self.wfile.flush()
        raw = self.connection
        raw.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        raw.close()
        self.close_connection = True

    def chunk(self, data):
        self.wfile.write(b"%x\r\n%s\r\n" % (len(data), data))
        self.wfile.flush()

    def begin_chunked(self):
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Transfer-Encoding", "chunked")
        self.end_headers()

    # ---- behaviours ----

    def do_ok(self):
        self.send(200, pod("x", token=self.headers.get("Authorization", "none"),
                           port=str(self.client_address[1])))

    def do_auth(self):
        if self.headers.get("Authorization") == "Bearer second":
            self.do_ok()
        else:
            self.send(401, status(401, "Unauthorized", "who are you"))

    def do_truncated(self):
        self.send(200, pod("x")[:20], length=len(pod("x")))
        self.close_connection = True

    def do_cutjson(self):
        self.send(200, pod("x")[:-5])

    def do_reset(self):
        self.send(200, b'{"kind"', length=1000)
        self.reset()

    def do_close(self):
        self.close_connection = True
        self.connection.close()

    def do_hang(self):
        time.sleep(3)
        self.close_connection = True

    def do_slow(self):
        body = pod("x")
        self.begin_chunked()
        for i in range(0, len(body), 8):
            self.chunk(body[i:i + 8])
            time.sleep(0.002)
        self.chunk(b"")

    def do_chunkcut(self):
        self.begin_chunked()
        self.chunk(pod("x")[:30])
        self.close_connection = True

    def do_busy(self):
        self.send(429, status(429, "TooManyRequests", "slow down"), Retry_After="3")

    def do_broken(self):
        self.send(500, status(500, "InternalError", "etcd is on fire"))

    def do_proxy(self):
        self.send(503, b"<html>down for maintenance</html>")

    def do_html(self):
        self.send(200, b"<html>please log in</html>")

    def do_huge(self):
        self.send(200, b" " * (20 << 20))

    def do_hugehead(self):
        self.send(200, pod("x"), X_Long="a" * (1 << 20))

    def do_redirect(self):
        self.send(302, b"", Location="https://localhost:1/elsewhere")

    def do_empty(self):
        self.send_response(204)
        self.end_headers()

    def do_list(self):
        items = [json.loads(pod("p%d" % i)) for i in range(3)]
        self.send(200, json.dumps({"kind": "PodList", "apiVersion": "v1",
                                   "metadata": {"resourceVersion": "9"}, "items": items}).encode())

    def do_listcut(self):
        text = json.dumps({"kind": "PodList", "apiVersion": "v1",
                           "metadata": {"resourceVersion": "9"},
                           "items": [json.loads(pod("p%d" % i)) for i in range(3)]}).encode()
        self.send(200, text[:-1])

    def do_silent(self):
        self.begin_chunked()
        self.chunk(b"{")
        time.sleep(3)
        self.close_connection = True

    def do_watch(self):
        if "watch=true" not in self.path:
            return self.do_list()
        self.begin_chunked()
        line = b'{"type":"MODIFIED","object":' + pod("p0") + b'}\n'
        for i in range(0, len(line), 7):
            self.chunk(line[i:i + 7])
        time.sleep(0.05)
        self.chunk(line[:40])
        self.reset()

    def dispatch(self):
        length = int(self.headers.get("Content-Length", 0))
        self.rfile.read(length)
        parts = self.path.split("?")[0].split("/")
        getattr(self, "do_" + parts[4])()

    do_GET = do_POST = do_PATCH = do_PUT = do_DELETE = dispatch


class Server(http.server.ThreadingHTTPServer):
    daemon_threads = True

    def handle_error(self, request, client_address):
        pass


def main():
    cert, key, port_file = sys.argv[1:]
    server = Server(("127.0.0.1", 0), Handler)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(cert, key)
    server.socket = context.wrap_socket(server.socket, server_side=True)
    with open(port_file + ".new", "w", encoding="ascii") as f:
        f.write(str(server.server_address[1]))
    os.rename(port_file + ".new", port_file)
    server.serve_forever()


main()
