# SPDX-License-Identifier: Apache-2.0
"""Upgrades are opaque pipes: both directions, back-pressure, half-close, either side's end."""
import hashlib
import socket
import time

import common
from common import setup, teardown  # noqa: F401
from lib import (OK, Backend, connect, contains, equal, fields, is_closed, read_all, read_exactly,
                 read_head, replying, request, talk, wait_for)

UPGRADE = b'Connection: keep-alive, Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Key: k\r\nOrigin: http://o\r\n'
SWITCH = b'HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Accept: a\r\n\r\n'
MIB = 1024 * 1024


def open_tunnel(script, early=b''):
    heads = []

    def whole(sock, number):
        head, rest = read_head(sock)
        heads.append(head)
        sock.sendall(SWITCH)
        script(sock, rest)
    backend = Backend(whole)
    sock = connect(common.router)
    sock.sendall(request('box', backend, more=UPGRADE, close=False) + early)
    head, rest = read_head(sock)
    equal(head.split(b'\r\n')[0], b'HTTP/1.1 101 Switching Protocols')
    return sock, rest, head, heads[0]


def echo(sock, rest):
    sock.sendall(rest)
    while True:
        piece = sock.recv(65536)
        if not piece:
            sock.sendall(b'<end>')
            return
        sock.sendall(piece)


def test_the_handshake():
    sock, _, head, seen = open_tunnel(echo)
    equal(fields(head), [('Sec-WebSocket-Accept', 'a'), ('Connection', 'Upgrade'), ('Upgrade', 'websocket')])
    have = dict(fields(seen))
    equal((have['Connection'], have['Upgrade'], have['Sec-WebSocket-Key']), ('Upgrade', 'websocket', 'k'))
    assert 'Origin' not in have  # it could not match the Host that the sandbox sees
    sock.close()


def test_bytes_both_ways_and_half_close():
    sock, rest, _, _ = open_tunnel(echo, early=b'early')
    equal(read_exactly(sock, 5, rest), b'early')
    for size in (1, 100, 70000):
        data = bytes(range(256)) * (size // 256 + 1)
        sock.sendall(data[:size])
        equal(read_exactly(sock, size), data[:size])
    sock.shutdown(socket.SHUT_WR)
    equal(read_all(sock), b'<end>')
    sock.close()
    wait_for(lambda: common.router.metric('sandbox_router_open_upgrades') == 0)


def test_the_sandbox_may_half_close_first():
    got = []

    def script(sock, rest):
        sock.sendall(b'bye')
        sock.shutdown(socket.SHUT_WR)
        got.append(read_all(sock))
    sock, rest, _, _ = open_tunnel(script)
    equal(rest + read_all(sock), b'bye')
    sock.sendall(b'still here')
    sock.shutdown(socket.SHUT_WR)
    wait_for(lambda: got == [b'still here'])
    sock.close()


def test_bulk_data_with_a_slow_reader():
    size = 32 * MIB
    block = bytes(range(256)) * 256
    sent = [0]

    def script(sock, rest):
        for _ in range(size // len(block)):
            sock.sendall(block)
            sent[0] += len(block)
    before = common.router.rss_kb()
    sock, rest, _, _ = open_tunnel(script)
    time.sleep(0.4)
    assert sent[0] < size, 'the sandbox was not held back'
    h = hashlib.sha256(rest)
    n = len(rest)
    while True:
        piece = sock.recv(262144)
        if not piece:
            break
        h.update(piece)
        n += len(piece)
    want = hashlib.sha256()
    for _ in range(size // len(block)):
        want.update(block)
    equal((n, h.hexdigest()), (size, want.hexdigest()))
    common.router.check_growth(before, 2048)
    sock.close()


def test_each_sides_death_ends_the_other():
    over = []

    def script(sock, rest):
        over.append(read_all(sock))
    sock, _, _, _ = open_tunnel(script)
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b'\1\0\0\0\0\0\0\0')
    sock.close()  # a reset
    wait_for(lambda: len(over) == 1)
    sock, _, _, _ = open_tunnel(lambda s, rest: s.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b'\1\0\0\0\0\0\0\0'))
    assert is_closed(sock)
    sock.close()


def test_a_refused_upgrade_is_a_normal_reply():
    backend = Backend(replying(b'HTTP/1.1 403 No\r\nContent-Length: 2\r\n\r\nno'))
    with connect(common.router) as sock:
        sock.sendall(request('box', backend, more=UPGRADE, close=False))
        head, rest = read_head(sock)
        contains(head, b'403 No')
        equal(read_exactly(sock, 2, rest), b'no')
        sock.sendall(request('box', backend))
        contains(read_all(sock), b'403 No')


def test_an_upgrade_with_a_body_is_a_plain_request():
    def script(sock, number):
        head, rest = read_head(sock)
        assert b'Upgrade' not in head, head
        equal(read_exactly(sock, 2, rest), b'hi')
        sock.sendall(OK)
    backend = Backend(script)
    reply = talk(common.router, request('box', backend, start=b'POST / HTTP/1.1', close=False, body=b'hi',
                                        more=b'Connection: Upgrade, close\r\nUpgrade: h2c\r\nContent-Length: 2\r\n'))
    contains(reply, b'200 OK')
    equal(backend.errors, [])


def test_many_tunnels():
    socks = [open_tunnel(echo)[0] for _ in range(60)]
    equal(common.router.metric('sandbox_router_open_upgrades'), 60)
    for i, sock in enumerate(socks):
        sock.sendall(b'%03d' % i)
    for i, sock in enumerate(socks):
        equal(read_exactly(sock, 3), b'%03d' % i)
        sock.close()
    wait_for(lambda: common.router.metric('sandbox_router_open_upgrades') == 0)
    equal(common.router.metric('sandbox_router_requests_total', code='101') >= 60, True)


def test_an_upgrade_is_logged_at_its_end():
    before = len([line for line in common.router.access_lines() if line['status'] == 101])
    sock, _, _, _ = open_tunnel(echo)
    sock.close()
    wait_for(lambda: len([line for line in common.router.access_lines() if line['status'] == 101]) == before + 1)
