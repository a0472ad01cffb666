# SPDX-License-Identifier: Apache-2.0
"""Sandboxes that are not there, die, cut off or go stale; clients that leave."""
import resource
import signal
import socket
import threading
import time

import common
import fakeapi
from common import setup, teardown  # noqa: F401
from lib import (OK, Backend, Router, ask, connect, contains, equal, free_port, is_closed, read_all, read_exactly,
                 read_head, read_until, replying, request, routing, talk, wait_for)

BAD_GATEWAY = b'{"detail":"Could not connect to the backend sandbox: box (%s)"}\n'
RESET = b'\1\0\0\0\0\0\0\0'  # SO_LINGER: on, 0 s


class Nowhere:
    def __init__(self):
        self.port = free_port()


def test_a_refused_connection_is_tried_again_then_502():
    before = common.router.metric('sandbox_router_upstream_retries_total', sandbox_namespace='default')
    start = time.monotonic()
    status, _, body = ask(common.router, 'box', Nowhere())
    equal((status, body), (502, BAD_GATEWAY % b'connection refused'))
    assert 0.09 < time.monotonic() - start < 2  # 20 + 40 + 40 ms
    equal(common.router.metric('sandbox_router_upstream_retries_total', sandbox_namespace='default') - before, 3)
    assert common.router.metric('sandbox_router_upstream_errors_total', reason='dial') >= 1


def test_a_refused_port_does_not_spoil_the_address():
    backend = Backend(replying(OK))
    equal(ask(common.router, 'box', Nowhere())[0], 502)
    equal(ask(common.router, 'box', backend)[0], 200)


def test_a_sandbox_that_starts_listening_meanwhile_gets_the_request_once():
    target, seen = Nowhere(), []
    with connect(common.router) as sock:
        sock.sendall(request('box', target, start=b'POST / HTTP/1.1', more=b'Content-Length: 0\r\n'))
        time.sleep(0.04)
        backend = Backend(replying(OK, seen), port=target.port)
        contains(read_all(sock), b'200 OK')
    equal(len(seen), 1)
    backend.close()


def test_a_reply_cut_short_is_cut_for_the_client():
    rows = [b'HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nabc',
            b'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nab',
            b'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nab\r\n',
            b'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nab\r\nzz\r\n',
            b'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nab\r\n0\r\nA: b']
    for reply in rows:
        def script(sock, number):
            read_head(sock)
            sock.sendall(reply)
        backend = Backend(script)
        with connect(common.router) as sock:
            sock.sendall(request('box', backend, close=False))
            got = read_all(sock)
        contains(got, b'200 OK')
        assert not got.endswith(b'0\r\n\r\n'), got
        equal(backend.accepted, 1)
        backend.close()


def test_a_reset_before_the_reply_is_502():
    def script(sock, number):
        read_head(sock)
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, RESET)
    backend = Backend(script)
    equal(ask(common.router, 'box', backend, start=b'POST / HTTP/1.1', more=b'Content-Length: 0\r\n')[2],
          BAD_GATEWAY % b'connection reset before the reply')
    equal(backend.accepted, 1)


def once_each(seen):
    """Answers one request a connection, then closes without having said so."""
    def script(sock, number):
        head, rest = read_head(sock)
        seen.append(head)
        sock.sendall(OK)
    return script


def test_a_connection_that_went_stale_is_replaced():
    seen = []
    backend = Backend(once_each(seen))
    with connect(common.router) as sock:
        for i in range(50):
            method = b'POST' if i % 2 else b'GET'
            sock.sendall(request('box', backend, start=method + b' /%d HTTP/1.1' % i, close=False,
                                 more=b'Content-Length: 0\r\n'))
            head, rest = read_head(sock)
            contains(head, b'200 OK')
            read_exactly(sock, 2, rest)
            time.sleep(0.002)
    equal([h.split(b' ')[1] for h in seen], [b'/%d' % i for i in range(50)])


def dies_on_second(seen):
    """The second request on a connection is read and then nothing is said."""
    def script(sock, number):
        read_head(sock)
        sock.sendall(OK)
        head, rest = read_head(sock)
        if head:
            seen.append(head)
    return script


def test_only_what_may_be_repeated_is_sent_again():
    for method, status in ((b'GET', b'200'), (b'DELETE', b'200'), (b'POST', b'502'), (b'PATCH', b'502')):
        seen = []
        backend = Backend(dies_on_second(seen))
        with connect(common.router) as sock:
            sock.sendall(request('box', backend, close=False))
            head, rest = read_head(sock)
            read_exactly(sock, 2, rest)
            sock.sendall(request('box', backend, start=method + b' /second HTTP/1.1'))
            reply = read_all(sock)
        equal((method, reply.split(b' ')[1], len(seen)), (method, status, 1))
        backend.close()


def test_a_client_that_leaves_ends_the_request_at_the_sandbox():
    for sent in (b'', b'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1\r\na\r\n'):
        gone = threading.Event()

        def script(sock, number):
            read_head(sock)
            sock.sendall(sent)
            if sock.recv(1) == b'':
                gone.set()
        backend = Backend(script)
        sock = connect(common.router)
        sock.sendall(request('box', backend, start=b'POST / HTTP/1.1', more=b'Content-Length: 0\r\n'))
        if sent:
            read_until(sock, b'1\r\na\r\n')
        else:
            wait_for(lambda: backend.accepted == 1)
            time.sleep(0.05)
        sock.close()
        assert gone.wait(5)
        backend.close()
    assert any(line['status'] == 499 for line in common.router.access_lines())


def test_a_client_that_leaves_in_the_middle_of_an_upload():
    cut = []

    def script(sock, number):
        head, rest = read_head(sock)
        cut.append(len(read_exactly(sock, 1000, rest)))
    backend = Backend(script)
    sock = connect(common.router)
    sock.sendall(request('box', backend, start=b'PUT / HTTP/1.1', more=b'Content-Length: 1000\r\n', body=b'x' * 10))
    wait_for(lambda: backend.accepted == 1)
    time.sleep(0.05)
    sock.close()
    wait_for(lambda: cut == [10])


def test_a_thousand_impatient_clients_of_a_dead_sandbox():
    silent = Backend(lambda sock, number: read_all(sock))
    before = common.router.rss_kb()
    for _ in range(10):
        socks = [connect(common.router) for _ in range(100)]
        for sock in socks:
            sock.sendall(request('box', silent))
        time.sleep(0.05)
        for sock in socks:
            sock.close()
    wait_for(lambda: common.router.metric('sandbox_router_inflight_requests') == 0)
    common.router.check_growth(before, 6000)


def test_a_sandbox_that_stops_reading_but_answers():
    def script(sock, number):
        read_head(sock)
        sock.sendall(b'HTTP/1.1 507 Full\r\nContent-Length: 4\r\n\r\nfull')
        sock.shutdown(socket.SHUT_RDWR)
    backend = Backend(script)
    with connect(common.router) as sock:
        sock.sendall(request('box', backend, start=b'PUT / HTTP/1.1', more=b'Content-Length: 3000000\r\n'))
        try:
            for _ in range(30):
                sock.sendall(b'x' * 100000)
        except OSError:
            pass
        contains(read_all(sock), b'507 Full')


def test_after_all_this_a_request_works():
    equal(ask(common.router, 'box', Backend(replying(OK)))[0], 200)
    sock = connect(common.router)
    sock.sendall(b'GET / HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n')
    contains(read_all(sock), b'400')
    assert is_closed(sock)
    contains(talk(common.router, b'GET / HTTP/1.1\r\nHost: h\r\nConnection: close\r\n' +
                  routing('box', Backend(replying(OK)).port) + b'\r\n'), b'200 OK')


REPLY = (b'HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nA: b\r\n\r\n'
         b'3\r\nabc\r\n0\r\nT: u\r\n\r\n')


def test_a_sandbox_cut_at_every_byte_never_looks_whole():
    for reset in (False, True):
        def script(sock, number):
            head, rest = read_head(sock)
            read_exactly(sock, 3, rest)
            sock.sendall(REPLY[:int(head.split(b' ')[1][1:])])
            if reset:
                sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, RESET)
        backend = Backend(script)
        for i in range(len(REPLY)):
            got = talk(common.router, request('box', backend, start=b'POST /%d HTTP/1.1' % i, body=b'xyz',
                                              more=b'Content-Length: 3\r\n'))
            whole = b'HTTP/1.1 502 ' in got and got.endswith(b')"}\n')
            cut = b'HTTP/1.1 200 ' in got and b'\r\n0\r\n' not in got
            assert whole or cut, (reset, i, got)
        backend.close()
    wait_for(lambda: common.router.metric('sandbox_router_inflight_requests') == 0)


def test_a_client_cut_at_every_byte_leaves_nothing_behind():
    backend = Backend(lambda sock, number: read_all(sock))
    data = request('box', backend, start=b'POST /p HTTP/1.1', more=b'Transfer-Encoding: chunked\r\n',
                   body=b'3\r\nabc\r\n0\r\nT: u\r\n\r\n', close=False)
    for reset in (False, True):
        for i in range(len(data) + 1):
            sock = connect(common.router)
            sock.sendall(data[:i])
            if reset:
                sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, RESET)
            sock.close()
    wait_for(lambda: common.router.metric('sandbox_router_inflight_requests') == 0)
    equal(ask(common.router, 'box', Backend(replying(OK)))[0], 200)


def test_a_sandbox_that_dies_during_an_upload_is_502():
    def script(sock, number):
        read_head(sock)
        time.sleep(0.05)
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, RESET)
    backend = Backend(script)
    with connect(common.router) as sock:
        sock.sendall(request('box', backend, start=b'PUT / HTTP/1.1', more=b'Content-Length: 30000000\r\n'))
        try:
            for _ in range(300):
                sock.sendall(b'x' * 100000)
        except OSError:
            pass
        contains(read_all(sock), b'HTTP/1.1 502 Bad Gateway')
    equal(backend.accepted, 1)


def test_a_host_that_drops_packets_is_dialled_again():
    """A full accept queue drops connection requests, as a host that is gone does."""
    listener = socket.socket()
    listener.bind(('127.0.0.1', 0))
    listener.listen(0)

    class Target:
        port = listener.getsockname()[1]
    fillers = []
    for _ in range(3):
        filler = socket.socket()
        filler.setblocking(False)
        filler.connect_ex(('127.0.0.1', Target.port))
        fillers.append(filler)
    start = time.monotonic()
    before = common.router.metric('sandbox_router_upstream_retries_total')
    status, _, body = ask(common.router, 'box', Target, start=b'POST / HTTP/1.1',
                          more=b'Content-Length: 0\r\nX-Sandbox-Timeout: 5.5\r\n')
    equal((status, body), (504, b'{"detail":"Timed out waiting for the backend sandbox: box '
                                b'(X-Sandbox-Timeout, 5.5s)"}\n'))
    equal(common.router.metric('sandbox_router_upstream_retries_total') - before, 1)  # one attempt is 5 s
    assert 5.3 < time.monotonic() - start < 8
    for filler in fillers:
        filler.close()
    listener.close()


class Hole:
    """Answers no SYN: a listener whose queue is full."""

    def __init__(self, ip):
        self.socket = socket.socket()
        self.socket.bind((ip, 0))
        self.socket.listen(0)
        self.port = self.socket.getsockname()[1]
        self.filling = []
        for _ in range(4):
            sock = socket.socket()
            sock.setblocking(False)
            sock.connect_ex((ip, self.port))
            self.filling.append(sock)
        time.sleep(0.05)

    def close(self):
        for sock in [self.socket] + self.filling:
            sock.close()


def test_a_dead_host_costs_the_first_its_time_and_the_rest_nothing():
    api = fakeapi.FakeApi()
    api.put(fakeapi.pod('box', '127.0.0.1'))
    api.put(fakeapi.pod('hole', '127.0.0.9'))
    router = Router('--shutdown-delay=0s', '--workers=1', '--dial-timeout=500ms', '--upstream-max-retries=1',
                    '--dead-host-backoff=2s', '--upstream-retry-initial-delay=10ms', api=api)
    hole, backend = Hole('127.0.0.9'), Backend(replying(OK))
    start = time.monotonic()
    status, _, body = ask(router, 'hole', hole)
    equal(status, 504)
    equal(body, b'{"detail":"Timed out connecting to the backend sandbox: hole '
                b'(--dial-timeout, 500ms, 2 attempts)"}\n')
    assert 0.9 < time.monotonic() - start < 4
    start = time.monotonic()
    status, head, body = ask(router, 'hole', hole)
    equal(status, 503)
    contains(head, b'\r\nRetry-After: 2\r\n')
    contains(body, b'Sandbox default/hole does not answer')
    assert time.monotonic() - start < 0.3
    equal(router.metric('sandbox_router_cache_invalidations_total', sandbox_namespace='default'), 1)
    equal(ask(router, 'box', backend)[0], 200)
    api.put(fakeapi.pod('hole', '127.0.0.1'))  # it has moved: nothing is held against the new address
    wait_for(lambda: ask(router, 'hole', backend)[0] == 200)
    api.put(fakeapi.pod('hole', '127.0.0.9'))
    hole.close()
    alive = Backend(replying(OK), ip='127.0.0.9')
    wait_for(lambda: ask(router, 'hole', alive)[0] == 200)
    equal(router.stop(signal.SIGTERM), 0)


def test_a_thousand_requests_to_a_hole_delay_nobody():
    api = fakeapi.FakeApi()
    api.put(fakeapi.pod('box', '127.0.0.1'))
    api.put(fakeapi.pod('hole', '127.0.0.9'))
    router = Router('--shutdown-delay=0s', '--workers=1', '--dial-timeout=8s', '--upstream-max-retries=0', api=api)
    resource.setrlimit(resource.RLIMIT_NOFILE, (resource.getrlimit(resource.RLIMIT_NOFILE)[1],) * 2)
    hole, backend = Hole('127.0.0.9'), Backend(replying(OK))

    def speed():
        with connect(router) as sock:
            start = time.monotonic()
            for _ in range(300):
                sock.sendall(request('box', backend, close=False))
                contains(read_until(sock, b'ok'), b' 200 ')
            return time.monotonic() - start
    alone = min(speed() for _ in range(3))
    stuck = [connect(router) for _ in range(1000)]
    for sock in stuck:
        sock.sendall(request('hole', hole))
    wait_for(lambda: router.metric('sandbox_router_inflight_requests') == 1000)
    beside = min(speed() for _ in range(3))
    equal(router.metric('sandbox_router_inflight_requests'), 1000)
    assert beside < 2 * alone + 0.1, (alone, beside)
    for sock in stuck:
        sock.close()
    wait_for(lambda: router.metric('sandbox_router_inflight_requests') == 0)
    hole.close()
    equal(router.stop(signal.SIGTERM), 0)


def test_the_log_says_why():
    router = Router('--shutdown-delay=0s', '--upstream-max-retries=0', '--response-header-timeout=300ms',
                    '--max-requests-per-sandbox=1', '--upstream-max-idle=0', api=common.router.api)
    rows = [(Nowhere(), 'connection refused'), (Backend(lambda sock, number: read_head(sock)), 'closed before the reply'),
            (Backend(lambda sock, number: read_all(sock)), '--response-header-timeout'), (Backend(replying(OK)), None)]
    for backend, _ in rows:
        ask(router, 'box', backend)
    wait_for(lambda: len(router.access_lines()) == len(rows))
    equal([line.get('error') for line in router.access_lines()], [text for _, text in rows])
    equal(router.metric('sandbox_router_sandbox_connections', state='idle'), 0)  # none is kept
    equal(router.stop(signal.SIGTERM), 0)
