# SPDX-License-Identifier: Apache-2.0
"""Shapes that two parsers could read differently never get through, from either side."""
import common
from common import setup, teardown  # noqa: F401
from lib import OK, Backend, ask, connect, contains, equal, read_all, read_head, replying, request, routing, talk

H = b'Host: h\r\n'
SHAPES = [
    (b'both lengths', b'POST / HTTP/1.1\r\n' + H + b'%sContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n', 400),
    (b'two lengths', b'POST / HTTP/1.1\r\n' + H + b'%sContent-Length: 5\r\nContent-Length: 6\r\n\r\nhello', 400),
    (b'same lengths', b'POST / HTTP/1.1\r\n' + H + b'%sContent-Length: 5\r\nContent-Length: 5\r\n\r\nhello', 400),
    (b'length list', b'POST / HTTP/1.1\r\n' + H + b'%sContent-Length: 5,5\r\n\r\nhello', 400),
    (b'signed length', b'POST / HTTP/1.1\r\n' + H + b'%sContent-Length: +5\r\n\r\nhello', 400),
    (b'space before colon', b'POST / HTTP/1.1\r\n' + H + b'%sContent-Length : 5\r\n\r\nhello', 400),
    (b'coding in disguise', b'POST / HTTP/1.1\r\n' + H + b'%sTransfer-Encoding: xchunked\r\n\r\n0\r\n\r\n', 501),
    (b'coding list', b'POST / HTTP/1.1\r\n' + H + b'%sTransfer-Encoding: chunked, identity\r\n\r\n0\r\n\r\n', 501),
    (b'two codings', b'POST / HTTP/1.1\r\n' + H + b'%sTransfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n', 400),
    (b'folded coding', b'POST / HTTP/1.1\r\n' + H + b'%sTransfer-Encoding:\r\n chunked\r\n\r\n0\r\n\r\n', 400),
    (b'coding in 1.0', b'POST / HTTP/1.0\r\n%sTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n', 400),
    (b'bare LF', b'GET / HTTP/1.1\n' + H + b'%s\r\n', 400),
    (b'bare LF field', b'GET / HTTP/1.1\r\n' + H + b'%sX: a\nY: b\r\n\r\n', 400),
    (b'bare CR field', b'GET / HTTP/1.1\r\n' + H + b'%sX: a\rY: b\r\n\r\n', 400),
    (b'NUL', b'GET / HTTP/1.1\r\n' + H + b'%sX: a\0b\r\n\r\n', 400),
    (b'no host', b'GET / HTTP/1.1\r\n%s\r\n', 400),
    (b'two hosts', b'GET / HTTP/1.1\r\n' + H + H + b'%s\r\n', 400),
    (b'line folding', b'GET / HTTP/1.1\r\n' + H + b'%sX: a\r\n\tb\r\n\r\n', 400),
    (b'old protocol', b'GET /\r\n%s\r\n', 400),
    (b'CONNECT', b'CONNECT a:1 HTTP/1.1\r\n' + H + b'%s\r\n', 501),
    (b'TLS', b'\x16\x03\x01\x02\x00\x01\x00%s', 400),
]


def test_requests_that_could_be_read_in_two_ways_are_refused():
    seen = []
    backend = Backend(replying(OK, seen))
    for name, shape, status in SHAPES:
        data = shape % routing('box', backend.port)
        reply = talk(common.router, data + request('box', backend, start=b'GET /smuggled HTTP/1.1'))
        equal((name, int(reply.split(b' ')[1])), (name, status))
        equal((name, reply.count(b'HTTP/1.1 ')), (name, 1))  # the connection ended with the refusal
    equal(seen, [])


def test_a_preface_of_http2_with_http1_behind_it_is_refused():
    seen = []
    backend = Backend(replying(OK, seen))
    for start in (b'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n', b'PRI * HTTP/2.0\r\n\r\n', b'PRI * HTTP/2.0\r\nHost: h\r\n\r\n'):
        reply = talk(common.router, start + routing('box', backend.port) + request('box', backend))
        assert b'HTTP/1.1 200' not in reply and b'HTTP/1.1 502' not in reply, (start, reply)
    equal(seen, [])


BAD_CHUNKS = [b'5\nhello\r\n0\r\n\r\n', b'5 \r\nhello\r\n0\r\n\r\n', b'+5\r\nhello\r\n0\r\n\r\n',
              b'0x5\r\nhello\r\n0\r\n\r\n', b'5\r\nhelloX\r\n0\r\n\r\n', b'5\r\nhello\n0\r\n\r\n',
              b'5;\n\r\nhello\r\n0\r\n\r\n', b'ffffffffffffffff0\r\nhello', b'5;' + b'x' * 5000 + b'\r\nhello\r\n0\r\n\r\n',
              b'0\r\nContent-Length: 5\r\n\r\n', b'0\r\nA : b\r\n\r\n', b'0\r\n' + b'A: b\r\n' * 3000 + b'\r\n']


def test_malformed_chunks_end_the_request():
    def script(sock, number):
        read_all(sock)
    for chunks in BAD_CHUNKS:
        backend = Backend(script)
        reply = talk(common.router, request(
            'box', backend, start=b'POST / HTTP/1.1', more=b'Transfer-Encoding: chunked\r\n', close=False,
            body=chunks) + request('box', backend, start=b'GET /smuggled HTTP/1.1'))
        equal((chunks[:20], reply.split(b'\r\n')[0]), (chunks[:20], b'HTTP/1.1 400 Bad Request'))
        equal(reply.count(b'HTTP/1.1 '), 1)
        backend.close()


BAD_REPLIES = [
    b'HTTP/1.1 200 OK\r\nContent-Length: 2\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n',
    b'HTTP/1.1 200 OK\r\nContent-Length: 2\r\nContent-Length: 2\r\n\r\nok',
    b'HTTP/1.1 200 OK\nContent-Length: 2\n\nok',
    b'HTTP/1.1 200 OK\r\nContent-Length: 2\r\n X: folded\r\n\r\nok',
    b'HTTP/1.1 200 OK\r\nA: b\rC: d\r\nContent-Length: 2\r\n\r\nok',
    b'HTTP/1.1 200 OK\r\nA : b\r\nContent-Length: 2\r\n\r\nok',
    b'HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip\r\n\r\nok',
    b'HTTP/1.1 abc OK\r\n\r\n', b'HTTP/2 200\r\n\r\n', b'hello\r\n\r\n', b'\0\0\0', b'',
    b'HTTP/1.1 200 OK\r\nX: ' + b'y' * 70000 + b'\r\n\r\n',
    b'HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\nConnection: upgrade\r\n\r\n',
    b'HTTP/1.1 103 A\r\n\r\n' * 40,
]


def test_replies_that_could_be_read_in_two_ways_become_502():
    for bad in BAD_REPLIES:
        def script(sock, number):
            read_head(sock)
            sock.sendall(bad)
        backend = Backend(script)
        reply = talk(common.router, request('box', backend))
        reply = reply.replace(b'HTTP/1.1 103 A\r\n\r\n', b'')
        equal((bad[:40], reply.split(b'\r\n')[0]), (bad[:40], b'HTTP/1.1 502 Bad Gateway'))
        contains(reply, b'{"detail":"Could not connect to the backend sandbox: box (')
        backend.close()


def test_bytes_behind_a_reply_never_reach_the_next_client():
    evil = OK + b'HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nevil'
    backend = Backend(replying(evil))
    for _ in range(5):
        equal(ask(common.router, 'box', backend)[2], b'ok')
    equal(backend.accepted, 5)  # such a connection is not used again


def test_an_unasked_reply_on_an_idle_connection_is_dropped():
    import time

    def script(sock, number):
        read_head(sock)
        sock.sendall(OK)
        time.sleep(0.05)
        sock.sendall(b'HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nevil')
        time.sleep(0.5)
    backend = Backend(script)
    with connect(common.router) as sock:
        sock.sendall(request('box', backend, close=False))
        read_head(sock)
        time.sleep(0.2)
        sock.sendall(request('box', backend))
        reply = read_all(sock)
    assert b'evil' not in reply, reply
    contains(reply, b'200 OK')
