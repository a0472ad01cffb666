# SPDX-License-Identifier: Apache-2.0
"""A TLS server that speaks just enough HTTP/2 to misbehave in it.

    h2rude.py CERT KEY PORT_FILE BEHAVIOUR...

Requests are answered by the behaviours in turn, whatever they ask for; when all are used up, `ok`.
"""
import os
import socket
import ssl
import struct
import sys
import threading

DATA, HEADERS, RST, SETTINGS, PING, GOAWAY = 0, 1, 3, 4, 6, 7
END_STREAM, END_HEADERS, ACK = 1, 4, 1
NO_ERROR, INTERNAL, REFUSED = 0, 2, 7

BODY = (b'{"apiVersion":"v1","kind":"Pod","metadata":{"name":"x","namespace":"n","uid":"u",'
        b'"resourceVersion":"7"}}')
STATUS_200 = b"\x88"
HALF = len(BODY) // 2

script = []
lock = threading.Lock()


def next_behaviour():
    with lock:
        return script.pop(0) if script else "ok"


class Peer:
    def __init__(self, sock):
        self.sock = sock
        self.buffer = b""

    def read(self, n):
        while len(self.buffer) < n:
            data = self.sock.recv(65536)
            if not data:
                raise EOFError
            self.buffer += data
        out, self.buffer = self.buffer[:n], self.buffer[n:]
        return out

    def send(self, kind, flags, stream, payload=b""):
        self.sock.sendall(struct.pack(">I", len(payload))[1:] + bytes([kind, flags]) +
                          struct.pack(">I", stream) + payload)

    def answer(self, stream, body, end=True):
        self.send(HEADERS, END_HEADERS, stream, STATUS_200)
        self.send(DATA, END_STREAM if end else 0, stream, body)

    def reset(self, stream, code):
        self.send(RST, 0, stream, struct.pack(">I", code))

    def goaway(self, last):
        self.send(GOAWAY, 0, 0, struct.pack(">II", last, NO_ERROR))

    def respond(self, stream, behaviour):
        if behaviour == "ok":
            self.answer(stream, BODY)
        elif behaviour == "early":
            self.answer(stream, BODY[:HALF])
        elif behaviour == "reset":
            self.answer(stream, BODY[:HALF], end=False)
            self.reset(stream, INTERNAL)
        elif behaviour == "reset_quietly":
            self.answer(stream, BODY[:HALF], end=False)
            self.reset(stream, NO_ERROR)
        elif behaviour == "refuse":
            self.reset(stream, REFUSED)
        elif behaviour == "drop":
            self.answer(stream, BODY[:HALF], end=False)
            raise EOFError
        elif behaviour == "goaway":
            self.answer(stream, BODY[:HALF], end=False)
            self.goaway(0)
            raise EOFError
        elif behaviour == "leave":
            self.goaway(stream)
            self.answer(stream, BODY)
        elif behaviour == "garbage":
            self.sock.sendall(b"\xff" * 64)
        elif behaviour == "hang":
            pass

    def serve(self):
        self.read(24)  # the preface
        self.send(SETTINGS, 0, 0)
        while True:
            head = self.read(9)
            length = int.from_bytes(head[:3], "big")
            kind, flags, stream = head[3], head[4], int.from_bytes(head[5:], "big")
            payload = self.read(length)
            if kind == SETTINGS and not flags & ACK:
                self.send(SETTINGS, ACK, 0)
            elif kind == PING and not flags & ACK:
                self.send(PING, ACK, 0, payload)
            elif kind in (HEADERS, DATA) and flags & END_STREAM:
                self.respond(stream, next_behaviour())


def handle(raw, context):
    try:
        with context.wrap_socket(raw, server_side=True) as sock:
            Peer(sock).serve()
    except (EOFError, OSError):
        raw.close()


def main():
    cert, key, port_file, *behaviours = sys.argv[1:]
    script.extend(behaviours)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(cert, key)
    context.set_alpn_protocols(["h2"])
    listener = socket.create_server(("127.0.0.1", 0))
    with open(port_file + ".new", "w", encoding="ascii") as f:
        f.write(str(listener.getsockname()[1]))
    os.rename(port_file + ".new", port_file)
    while True:
        raw, _ = listener.accept()
        threading.Thread(target=handle, args=(raw, context), daemon=True).start()


main()
