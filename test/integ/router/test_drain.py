# SPDX-License-Identifier: Apache-2.0
"""How open streams end: by a limit of their own, and when the router goes away."""
import signal
import socket
import time

import fakeapi
import lib
from lib import (OK, Backend, Router, ask, connect, contains, equal, is_closed, read_all, read_exactly, read_head,
                 replying, request, wait_for)

UPGRADE = b'Connection: Upgrade\r\nUpgrade: %s\r\nSec-WebSocket-Key: k\r\n'
SWITCH = b'HTTP/1.1 101 Switching Protocols\r\nUpgrade: %s\r\nConnection: Upgrade\r\n\r\n'
TEXT = b'\x81\x05hello'
GOING_AWAY = b'\x88\x02\x03\xe9'


def router_with(*flags):
    api = fakeapi.FakeApi()
    api.put(fakeapi.pod('box', '127.0.0.1'))
    return Router('--shutdown-delay=0s', *flags, api=api)


def ended(router):
    equal(router.process.wait(20), 0)
    assert 'Sanitizer' not in router.log_text(), router.log_text()[-4000:]


def tunnel(router, first, protocol=b'websocket', more=()):
    """A tunnel whose sandbox sends `first` and then the pieces of `more`, one each time a byte comes."""
    gone = []

    def script(sock, number):
        read_head(sock)
        sock.sendall(SWITCH % protocol + first)
        for piece in more:
            sock.recv(1)
            sock.sendall(piece)
        gone.append(read_all(sock))
    sock = connect(router)
    sock.sendall(request('box', Backend(script), more=UPGRADE % protocol, close=False))
    head, rest = read_head(sock)
    contains(head, b' 101 ')
    equal(read_exactly(sock, len(first), rest), first)
    return sock, gone


def test_an_idle_websocket_is_closed_with_1001():
    router = router_with('--upgrade-idle-timeout=600ms')
    start = time.monotonic()
    sock, gone = tunnel(router, TEXT, more=[TEXT, TEXT])
    for _ in range(2):  # what moves is not idle
        time.sleep(0.4)
        sock.sendall(b'x')
        equal(read_exactly(sock, len(TEXT)), TEXT)
    equal(read_all(sock), GOING_AWAY)
    assert 1.2 < time.monotonic() - start < 6
    wait_for(lambda: gone == [b''])
    equal(router.metric('sandbox_router_limited_total', scope='upgrade', limit='idle'), 1)
    sock.close()
    wait_for(lambda: router.metric('sandbox_router_open_upgrades') == 0)
    router.process.send_signal(signal.SIGTERM)
    ended(router)


def test_an_old_websocket_is_closed_with_1001():
    router = router_with('--upgrade-max-lifetime=700ms')
    sock, _ = tunnel(router, TEXT, more=[TEXT] * 50)
    start, got = time.monotonic(), b''
    sock.settimeout(0.1)
    while GOING_AWAY not in got and time.monotonic() - start < 5:
        sock.sendall(b'x')
        got += sock.recv(4096)
        time.sleep(0.05)
    contains(got, TEXT + GOING_AWAY)
    equal(router.metric('sandbox_router_limited_total', scope='upgrade', limit='lifetime'), 1)
    router.process.send_signal(signal.SIGTERM)
    ended(router)


def test_no_close_frame_inside_a_frame_or_another_protocol():
    for first, protocol in ((b'\x81\x05hel', b'websocket'), (TEXT, b'spdy/3.1'), (TEXT + b'\x88\x00', b'websocket')):
        router = router_with('--upgrade-idle-timeout=300ms')
        sock, _ = tunnel(router, first, protocol)
        equal(read_all(sock), b'')
        router.process.send_signal(signal.SIGTERM)
        ended(router)


def test_the_end_of_a_drain_closes_websockets_with_1001():
    router = router_with('--shutdown-timeout=1s')
    socks = [tunnel(router, TEXT)[0] for _ in range(100)]
    inside, _ = tunnel(router, b'\x81\x05hel')
    silent = connect(router)
    silent.sendall(request('box', Backend(lambda sock, number: read_all(sock))))
    start = time.monotonic()
    router.process.send_signal(signal.SIGTERM)
    for sock in socks:
        equal(read_all(sock), GOING_AWAY)
        sock.close()
    assert time.monotonic() - start > 0.9
    equal(read_all(inside), b'')
    equal(read_all(silent), b'')
    ended(router)
    assert time.monotonic() - start < 10


def test_a_client_that_does_not_read_does_not_hold_the_end_up():
    router = router_with('--shutdown-timeout=300ms')
    sock, _ = tunnel(router, TEXT)
    start = time.monotonic()
    router.process.send_signal(signal.SIGTERM)
    ended(router)
    assert time.monotonic() - start < 5
    sock.close()


def test_a_websocket_that_ends_by_itself_in_a_drain_is_left_alone():
    router = router_with('--shutdown-timeout=20s')
    sock, gone = tunnel(router, TEXT, more=[TEXT])
    router.process.send_signal(signal.SIGTERM)
    time.sleep(0.3)
    sock.sendall(b'x')
    equal(read_exactly(sock, len(TEXT)), TEXT)
    sock.close()
    start = time.monotonic()
    ended(router)
    assert time.monotonic() - start < 5
    equal(gone, [b''])


def test_a_second_signal_cuts_at_once():
    router = router_with('--shutdown-timeout=60s')
    sock, _ = tunnel(router, TEXT)
    router.process.send_signal(signal.SIGTERM)
    time.sleep(0.2)
    router.process.send_signal(signal.SIGTERM)
    assert is_closed(sock)
    ended(router)


def test_uploads_finish_and_new_requests_do_not_fail_while_others_learn():
    router = router_with('--shutdown-delay=700ms', '--shutdown-timeout=10s')

    def script(sock, number):
        head, rest = read_head(sock)
        read_exactly(sock, 1000000, rest)
        sock.sendall(OK)
    upload = connect(router)
    upload.sendall(request('box', Backend(script), start=b'PUT / HTTP/1.1', more=b'Content-Length: 1000000\r\n'))
    upload.sendall(b'x' * 500000)
    router.process.send_signal(signal.SIGTERM)
    backend = Backend(replying(OK))
    statuses = []
    while True:
        try:
            statuses.append(ask(router, 'box', backend)[0])
        except (ConnectionRefusedError, ConnectionResetError):
            break
        time.sleep(0.02)
    assert len(statuses) > 5
    equal(set(statuses), {200})
    for _ in range(5):
        time.sleep(0.1)
        upload.sendall(b'x' * 100000)
    contains(read_all(upload), b' 200 OK')
    ended(router)
