# SPDX-License-Identifier: Apache-2.0
"""An HTTP/2 client that sends any frame it is told to: frames by hand, heads by hpack."""
import socket
import struct

import hpack

DATA, HEADERS, PRIORITY, RST, SETTINGS, PUSH, PING, GOAWAY, WINDOW, CONTINUATION = range(10)
END_STREAM, ACK, END_HEADERS, PADDED = 1, 1, 4, 8
NO_ERROR, PROTOCOL, INTERNAL, FLOW, STREAM_CLOSED = 0, 1, 2, 3, 5
REFUSED, CANCEL, CALM = 7, 8, 11
PREFACE = b'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n'


class Peer:
    def __init__(self, port, settings=b'', ssl_context=None, preface=PREFACE):
        self.sock = socket.create_connection(('127.0.0.1', port), timeout=20)
        self.sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        if ssl_context:
            self.sock = ssl_context.wrap_socket(self.sock, server_hostname='localhost')
        self.encoder, self.decoder = hpack.Encoder(), hpack.Decoder()
        self.buffer = b''
        self.next_id = 1
        self.goaway = None  # code of the router's GOAWAY
        self.settings = {}
        self.sock.sendall(preface)
        self.send(SETTINGS, 0, 0, settings)

    def close(self):
        self.sock.close()

    def __enter__(self):
        return self

    def __exit__(self, *args):
        self.close()

    def frame(self, kind, flags, stream, payload=b''):
        return struct.pack('>I', len(payload))[1:] + bytes([kind, flags]) + struct.pack('>I', stream) + payload

    def send(self, kind, flags, stream, payload=b''):
        self.sock.sendall(self.frame(kind, flags, stream, payload))

    def block(self, pairs):
        """Encoded without a table, so that any bytes can be a name or a value."""
        out = b''
        for name, value in pairs:
            out += b'\x10' + self.number(len(name), 127) + name + self.number(len(value), 127) + value
        return out

    @staticmethod
    def number(n, limit):
        if n < limit:
            return bytes([n])
        out, n = bytes([limit]), n - limit
        while n >= 128:
            out, n = out + bytes([n % 128 + 128]), n // 128
        return out + bytes([n])

    def headers(self, pairs, end=True, stream=None):
        """Opens a stream with exactly these fields; returns its id."""
        if stream is None:
            stream, self.next_id = self.next_id, self.next_id + 2
        block = self.block([(to_bytes(k), to_bytes(v)) for k, v in pairs])
        first, rest = block[:16384], block[16384:]
        self.send(HEADERS, (END_STREAM if end else 0) | (0 if rest else END_HEADERS), stream, first)
        while rest:
            first, rest = rest[:16384], rest[16384:]
            self.send(CONTINUATION, 0 if rest else END_HEADERS, stream, first)
        return stream

    def request(self, path='/', port=None, end=True, method='GET', more=(), name='box'):
        pairs = [(':method', method), (':scheme', 'http'), (':authority', 'router'), (':path', path)]
        if port:
            pairs += [('x-sandbox-id', name), ('x-sandbox-port', str(port))]
        return self.headers(pairs + list(more), end)

    def data(self, stream, payload, end=False):
        self.send(DATA, END_STREAM if end else 0, stream, payload)

    def window(self, stream, by):
        self.send(WINDOW, 0, stream, struct.pack('>I', by))

    def read_exactly(self, n):
        while len(self.buffer) < n:
            piece = self.sock.recv(65536)
            if not piece:
                raise EOFError
            self.buffer += piece
        out, self.buffer = self.buffer[:n], self.buffer[n:]
        return out

    def next(self):
        """The next frame: kind, flags, stream, payload. SETTINGS are acknowledged, heads decoded."""
        head = self.read_exactly(9)
        kind, flags, stream = head[3], head[4], struct.unpack('>I', head[5:])[0]
        payload = self.read_exactly(int.from_bytes(head[:3], 'big'))
        if kind == SETTINGS and not flags & ACK:
            for at in range(0, len(payload), 6):
                key, value = struct.unpack('>HI', payload[at:at + 6])
                self.settings[key] = value
            self.send(SETTINGS, ACK, 0)
        if kind == HEADERS:
            payload = self.decoder.decode(payload)
        if kind == GOAWAY:
            self.goaway = struct.unpack('>II', payload[:8])[1]
        return kind, flags, stream, payload

    def reply(self, stream, credit=True):
        """Waits for the end of a stream: Reply. Frames of other streams are dropped."""
        result = Reply()
        while True:
            kind, flags, which, payload = self.next()
            if which != stream:
                continue
            if kind == HEADERS:
                result.heads.append(dict(payload))
            elif kind == DATA:
                result.body += payload
                if credit and payload:
                    self.window(0, len(payload))
                    self.window(stream, len(payload))
            elif kind == RST:
                result.reset = struct.unpack('>I', payload)[0]
                return result
            if kind in (HEADERS, DATA) and flags & END_STREAM:
                return result

    def until_end(self):
        """Reads until the router closes; the code of its GOAWAY."""
        try:
            while True:
                self.next()
        except (EOFError, OSError):
            return self.goaway


class Reply:
    def __init__(self):
        self.heads = []
        self.body = bytearray()
        self.reset = None

    @property
    def status(self):
        finals = [h for h in self.heads if h.get(':status', '1')[0] != '1']
        return int(finals[0][':status']) if finals else None

    @property
    def head(self):
        return [h for h in self.heads if h.get(':status', '1')[0] != '1'][0]


def to_bytes(value):
    return value if isinstance(value, bytes) else value.encode()
