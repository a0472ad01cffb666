# SPDX-License-Identifier: Apache-2.0
"""Limits of time and size, each with the answer it gives."""
import threading
import time

import common
from common import teardown  # noqa: F401
from lib import (OK, Backend, ask, connect, contains, equal, read_all, read_exactly, read_head, read_until,
                 replying, request, routing, talk, wait_for)


def setup():
    common.setup('--response-header-timeout=700ms', '--proxy-timeout=1s', '--max-request-body-bytes=1000')


silent = Backend(lambda sock, number: read_all(sock))


def timed(more=b''):
    start = time.monotonic()
    status, _, body = ask(common.router, 'box', silent, start=b'POST / HTTP/1.1',
                          more=more + b'Content-Length: 0\r\n')
    return status, body, time.monotonic() - start


def test_a_silent_sandbox_is_504_that_names_the_limit():
    text = b'{"detail":"Timed out waiting for the backend sandbox: box (%s)"}\n'
    rows = [(b'', b'--response-header-timeout, 700ms', 0.7),
            (b'X-Sandbox-Timeout: 0.25\r\n', b'X-Sandbox-Timeout, 250ms', 0.25),
            (b'X-Sandbox-Timeout: 60\r\n', b'--proxy-timeout, 1s', 1.0),
            (b'X-Sandbox-Timeout: soon\r\n', b'--response-header-timeout, 700ms', 0.7),
            (b'X-Sandbox-Timeout: -1\r\n', b'--response-header-timeout, 700ms', 0.7),
            (b'X-Sandbox-Timeout: inf\r\n', b'--response-header-timeout, 700ms', 0.7),
            (b'X-Sandbox-Timeout: nan\r\n', b'--response-header-timeout, 700ms', 0.7)]
    for more, limit, seconds in rows:
        status, body, took = timed(more)
        equal((more, status, body), (more, 504, text % limit))
        assert seconds - 0.05 < took < seconds + 0.6, (more, took)
    assert common.router.metric('sandbox_router_upstream_errors_total', reason='timeout') >= 7


def test_after_the_headers_only_silence_ends_a_reply():
    def script(sock, number):
        read_head(sock)
        sock.sendall(b'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n')
        for _ in range(5):  # 2 s in all, never 1 s of silence
            time.sleep(0.4)
            sock.sendall(b'1\r\na\r\n')
        sock.recv(1)
    backend = Backend(script)
    with connect(common.router) as sock:
        sock.sendall(request('box', backend, more=b'X-Sandbox-Timeout: 0.2\r\n'))
        reply = read_all(sock)
    equal(reply.count(b'1\r\na\r\n'), 5)
    assert not reply.endswith(b'0\r\n\r\n')


def test_a_slow_upload_is_not_cut_while_it_moves():
    def script(sock, number):
        head, rest = read_head(sock)
        equal(len(read_exactly(sock, 500, rest)), 500)
        sock.sendall(OK)
    backend = Backend(script)
    with connect(common.router) as sock:
        sock.sendall(request('box', backend, start=b'PUT / HTTP/1.1',
                             more=b'Content-Length: 500\r\nX-Sandbox-Timeout: 0.4\r\n'))
        for _ in range(5):
            time.sleep(0.2)
            sock.sendall(b'x' * 100)
        contains(read_all(sock), b'200 OK')


def test_a_body_that_stops_arriving_is_408():
    backend = Backend(lambda sock, number: read_all(sock))
    with connect(common.router) as sock:
        sock.sendall(request('box', backend, start=b'PUT / HTTP/1.1', body=b'xx', close=False,
                             more=b'Content-Length: 500\r\nX-Sandbox-Timeout: 0.2\r\n'))
        contains(read_all(sock), b'HTTP/1.1 408 Request Timeout')


def test_bodies_over_the_limit_are_413():
    seen = []
    backend = Backend(replying(OK, seen))
    status, _, body = ask(common.router, 'box', backend, start=b'PUT / HTTP/1.1',
                          more=b'Content-Length: 1001\r\n', body=b'x' * 1001)
    equal((status, body, seen), (413, b'{"detail":"Request body is too large (--max-request-body-bytes, 1000)."}\n', []))
    status, _, _ = ask(common.router, 'box', silent, start=b'PUT / HTTP/1.1',
                       more=b'Transfer-Encoding: chunked\r\n', body=b'300\r\n' + b'x' * 0x300 + b'\r\n300\r\n' + b'x' * 0x300)
    equal(status, 413)

    def script(sock, number):
        head, rest = read_head(sock)
        read_exactly(sock, 1000, rest)
        sock.sendall(OK)
    equal(ask(common.router, 'box', Backend(script), start=b'PUT / HTTP/1.1',
              more=b'Content-Length: 1000\r\n', body=b'x' * 1000)[0], 200)


def test_a_refused_small_body_leaves_the_connection_usable():
    backend = Backend(replying(OK))
    with connect(common.router) as sock:
        sock.sendall(b'POST / HTTP/1.1\r\nHost: h\r\nX-Sandbox-ID: B\r\nContent-Length: 5\r\n\r\nhello')
        head, rest = read_head(sock)
        contains(head, b'400 Bad Request')
        assert b'Connection: close' not in head
        sock.sendall(request('box', backend))
        contains(read_all(sock), b'200 OK')


def test_heads_over_the_limits():
    backend = Backend(replying(OK))
    base = b'GET / HTTP/1.1\r\nHost: h\r\nConnection: close\r\n' + routing('box', backend.port)
    contains(talk(common.router, base + b'X: ' + b'y' * 70000 + b'\r\n\r\n'), b'HTTP/1.1 431 ')
    contains(talk(common.router, base + b'X: y\r\n' * 200 + b'\r\n'), b'HTTP/1.1 431 ')
    contains(talk(common.router, b'GET /' + b'y' * 40000 + b' HTTP/1.1\r\n\r\n'), b'HTTP/1.1 414 ')
    contains(talk(common.router, base + b'X: ' + b'y' * 60000 + b'\r\n\r\n'), b'HTTP/1.1 200 OK')


def test_a_large_head_of_the_sandbox_passes():
    reply = b'HTTP/1.1 200 OK\r\nX: ' + b'y' * 60000 + b'\r\nContent-Length: 2\r\n\r\nok'
    status, head, body = ask(common.router, 'box', Backend(replying(reply)))
    equal((status, body), (200, b'ok'))
    assert len(head) > 60000


def test_a_head_that_never_ends_is_408():
    results = []

    def slow():
        with connect(common.router) as sock:
            sock.sendall(b'GET / HTTP/1.1\r\nHost:')
            results.append(read_all(sock))

    def mute():
        with connect(common.router) as sock:
            results.append(read_all(sock))
    threads = [threading.Thread(target=slow), threading.Thread(target=mute)]
    for t in threads:
        t.start()
    for t in threads:
        t.join(15)
    results.sort()
    equal(results[0], b'')
    contains(results[1], b'HTTP/1.1 408 Request Timeout')


def test_idle_connections_cost_little():
    count = 800
    before = common.router.rss_kb()
    socks = []
    for _ in range(count):
        sock = connect(common.router)
        sock.sendall(b'GET /healthz HTTP/1.1\r\nHost: h\r\n\r\n')
        socks.append(sock)
    for sock in socks:
        read_until(sock, b'ok"}\n')
    common.router.check_growth(before, 4096)  # what 800 of them may cost
    for sock in socks:
        sock.close()
    wait_for(lambda: common.router.metric('sandbox_router_inflight_requests') == 0)
