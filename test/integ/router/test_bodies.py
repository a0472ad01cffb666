# SPDX-License-Identifier: Apache-2.0
"""Bodies of every framing and size, both ways, with slow peers and constant memory."""
import hashlib
import threading
import time

import common
from common import setup, teardown  # noqa: F401
from lib import (OK, Backend, ask, connect, contains, equal, fields, read_all, read_exactly, read_head,
                 read_until, replying, request, talk, unchunk, wait_for)

MIB = 1024 * 1024
BLOCK = bytes(range(256)) * 256  # 64 KiB


def digest_of(sock, n, have):
    h = hashlib.sha256(have)
    left = n - len(have)
    while left:
        piece = sock.recv(min(262144, left))
        if not piece:
            break
        h.update(piece)
        left -= len(piece)
    return h.hexdigest()


def test_a_big_upload_arrives_whole_in_constant_memory():
    size = 192 * MIB

    def script(sock, number):
        head, rest = read_head(sock)
        text = digest_of(sock, size, rest).encode()
        sock.sendall(b'HTTP/1.1 200 OK\r\nContent-Length: 64\r\n\r\n' + text)
    backend = Backend(script)
    before = common.router.rss_kb()
    want = hashlib.sha256()
    with connect(common.router) as sock:
        sock.sendall(request('box', backend, start=b'PUT /f HTTP/1.1', more=b'Content-Length: %d\r\n' % size))
        for _ in range(size // len(BLOCK)):
            sock.sendall(BLOCK)
            want.update(BLOCK)
        reply = read_all(sock)
    equal(reply[-64:].decode(), want.hexdigest())
    common.router.check_growth(before, 2048)


def test_a_big_download_waits_for_a_slow_reader():
    size = 64 * MIB
    sent = [0]

    def script(sock, number):
        read_head(sock)
        sock.sendall(b'HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n' % size)
        for _ in range(size // len(BLOCK)):
            sock.sendall(BLOCK)
            sent[0] += len(BLOCK)
    backend = Backend(script)
    before = common.router.rss_kb()
    with connect(common.router) as sock:
        sock.sendall(request('box', backend))
        time.sleep(0.5)
        assert sent[0] < size // 2, 'the sandbox was not held back: %d' % sent[0]
        common.router.check_growth(before, 2048)
        head, rest = read_head(sock)
        want = hashlib.sha256()
        for _ in range(size // len(BLOCK)):
            want.update(BLOCK)
        equal(digest_of(sock, size, rest), want.hexdigest())
    common.router.check_growth(before, 2048)


def test_an_upload_waits_for_a_slow_sandbox():
    go = threading.Event()

    def script(sock, number):
        head, rest = read_head(sock)
        go.wait(20)
        read_exactly(sock, 16 * MIB, rest)
        sock.sendall(OK)
    backend = Backend(script)
    sent = [0]

    def push(sock):
        for _ in range(16 * MIB // len(BLOCK)):
            sock.sendall(BLOCK)
            sent[0] += len(BLOCK)
    with connect(common.router) as sock:
        sock.sendall(request('box', backend, start=b'PUT /f HTTP/1.1', more=b'Content-Length: %d\r\n' % (16 * MIB)))
        thread = threading.Thread(target=push, args=(sock,), daemon=True)
        thread.start()
        time.sleep(0.4)
        assert sent[0] < 16 * MIB
        go.set()
        thread.join(20)
        contains(read_all(sock), b'200 OK')


def test_chunked_both_ways_with_trailers():
    def script(sock, number):
        head, rest = read_head(sock)
        contains(head, b'Transfer-Encoding: chunked\r\n')
        contains(head, b'Trailer: X-Sum\r\n')
        data = read_until(sock, b'X-Sum: 1\r\n\r\n', rest)
        body, trailers = unchunk(data)
        equal(trailers, b'X-Sum: 1\r\n\r\n')
        sock.sendall(b'HTTP/1.1 200 OK\r\nTrailer: grpc-status\r\nTransfer-Encoding: chunked\r\n\r\n'
                     b'%x;ext=1\r\n%s\r\n0\r\ngrpc-status: 0\r\nConnection: x\r\nB:c\r\n\r\n' % (len(body), body))
    backend = Backend(script)
    reply = talk(common.router, request(
        'box', backend, start=b'POST / HTTP/1.1', more=b'Transfer-Encoding: chunked\r\nTrailer: X-Sum\r\n',
        body=b'3\r\nabc\r\n00A;x=y\r\n0123456789\r\n0\r\nX-Sum: 1\r\n\r\n'))
    equal(backend.errors, [])
    head, body = reply.split(b'\r\n\r\n', 1)
    contains(head, b'Trailer: grpc-status')
    equal(unchunk(body), (b'abc0123456789', b'grpc-status: 0\r\nB: c\r\n\r\n'))


def test_a_bodiless_chunked_get():
    def script(sock, number):
        head, rest = read_head(sock)
        equal(read_until(sock, b'0\r\n\r\n', rest), b'0\r\n\r\n')
        sock.sendall(OK)
    backend = Backend(script)
    equal(ask(common.router, 'box', backend, more=b'Transfer-Encoding: chunked\r\n', body=b'0\r\n\r\n')[0], 200)
    equal(backend.errors, [])


def test_a_zero_length_is_passed_on():
    seen = []
    backend = Backend(replying(OK, seen))
    equal(ask(common.router, 'box', backend, start=b'POST / HTTP/1.1', more=b'Content-Length: 0\r\n')[0], 200)
    contains(seen[0], b'Content-Length: 0\r\n')


def test_a_reply_until_close_is_framed_for_the_client():
    def script(sock, number):
        read_head(sock)
        sock.sendall(b'HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\n\r\nabc')
        time.sleep(0.05)
        sock.sendall(b'def')
    backend = Backend(script)
    with connect(common.router) as sock:
        for _ in range(2):  # the client's connection lives on
            sock.sendall(request('box', backend, close=False))
            reply = read_until(sock, b'0\r\n\r\n')
            head, body = reply.split(b'\r\n\r\n', 1)
            contains(head, b'Transfer-Encoding: chunked')
            equal(unchunk(body)[0], b'abcdef')
    reply = talk(common.router, b'GET / HTTP/1.0\r\nX-Sandbox-ID: box\r\nX-Sandbox-Port: %d\r\n\r\n' % backend.port)
    assert reply.endswith(b'\r\n\r\nabcdef'), reply
    assert b'chunked' not in reply


def test_events_arrive_one_by_one():
    step = threading.Semaphore(0)

    def script(sock, number):
        read_head(sock)
        sock.sendall(b'HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n')
        for i in range(5):
            step.acquire(timeout=10)
            sock.sendall(b'9\r\ndata: %d\n\n\r\n' % i)
        step.acquire(timeout=10)
        sock.sendall(b'0\r\n\r\n')
    backend = Backend(script)
    with connect(common.router) as sock:
        sock.sendall(request('box', backend))
        head, rest = read_head(sock)
        for i in range(5):
            step.release()
            start = time.monotonic()
            rest = read_until(sock, b'data: %d\n\n\r\n' % i, rest)
            assert time.monotonic() - start < 0.5
        step.release()
        assert read_all(sock).endswith(b'0\r\n\r\n')


def test_a_reply_split_at_every_position_is_the_same():
    reply = (b'HTTP/1.1 103 X\r\nA: b\r\n\r\nHTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nB: c\r\n\r\n'
             b'3;e\r\nabc\r\n2\r\nde\r\n0\r\nT: u\r\n\r\n')
    results = set()

    def script(sock, number):
        sock.setsockopt(6, 1, 1)
        for i in range(len(reply) + 1):
            head, rest = read_head(sock)
            sock.sendall(reply[:i])
            time.sleep(0.001)
            sock.sendall(reply[i:])
    backend = Backend(script)
    with connect(common.router) as sock:
        for _ in range(len(reply) + 1):
            sock.sendall(request('box', backend, close=False))
            data = read_until(sock, b'0\r\nT: u\r\n\r\n')
            interim, rest = data.split(b'\r\n\r\n', 1)
            head, body = rest.split(b'\r\n\r\n', 1)
            results.add((interim, head, unchunk(body)))
    equal(len(results), 1)
    equal(results.pop()[2], (b'abcde', b'T: u\r\n\r\n'))
    equal(backend.accepted, 1)


def test_a_request_split_at_every_position_is_the_same():
    seen = []

    def script(sock, number):
        while True:
            head, rest = read_head(sock)
            if not head:
                return
            seen.append((head, unchunk(read_until(sock, b'0\r\nT: u\r\n\r\n', rest))))
            sock.sendall(OK)
    backend = Backend(script)
    data = request('box', backend, start=b'POST /p?q HTTP/1.1', more=b'Transfer-Encoding: chunked\r\n',
                   body=b'3;e\r\nabc\r\n2\r\nde\r\n0\r\nT: u\r\n\r\n', close=False)
    with connect(common.router) as sock:
        for i in range(len(data) + 1):
            sock.sendall(data[:i])
            if 0 < i < len(data):
                time.sleep(0.001)
            sock.sendall(data[i:])
            read_until(sock, b'\r\n\r\nok')
    equal(len(seen), len(data) + 1)
    equal(len(set(seen)), 1)
    equal(seen[0][1], (b'abcde', b'T: u\r\n\r\n'))


def test_an_early_reply_does_not_wait_for_the_upload():
    def script(sock, number):
        read_head(sock)
        sock.sendall(b'HTTP/1.1 413 Too Large\r\nContent-Length: 3\r\nConnection: close\r\n\r\nbig')
        time.sleep(0.1)
    backend = Backend(script)
    with connect(common.router) as sock:
        sock.sendall(request('box', backend, start=b'PUT / HTTP/1.1', close=False,
                             more=b'Content-Length: %d\r\n' % (64 * MIB)))
        try:
            for _ in range(32):
                sock.sendall(BLOCK)
        except OSError:
            pass
        reply = read_all(sock)
    contains(reply, b'HTTP/1.1 413 Too Large')
    contains(reply, b'\r\n\r\nbig')


def test_many_clients_at_once():
    def script(sock, number):
        while True:
            head, rest = read_head(sock)
            if not head:
                return
            n = int(dict((k.lower(), v) for k, v in fields(head))['content-length'])
            body = read_exactly(sock, n, rest)
            sock.sendall(b'HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n' % len(body) + body)
    backend = Backend(script)
    bad = []

    def client(i):
        for k in range(5):
            body = bytes([i]) * (3000 * k + i)
            reply = ask(common.router, 'box', backend, start=b'POST / HTTP/1.1',
                        more=b'Content-Length: %d\r\n' % len(body), body=body)
            if reply[0] != 200 or reply[2] != body:
                bad.append((i, k, reply[0]))
    threads = [threading.Thread(target=client, args=(i,)) for i in range(1, 41)]
    for t in threads:
        t.start()
    for t in threads:
        t.join(60)
    equal(bad, [])
    wait_for(lambda: common.router.metric('sandbox_router_inflight_requests') == 0)
