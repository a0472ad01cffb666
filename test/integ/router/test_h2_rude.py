# SPDX-License-Identifier: Apache-2.0
"""Floods and broken frames: each ends its own connection, by name, and harms nobody else."""
import socket
import struct
import threading
import time

import common
import h2peer
import lib

BASE = [(':method', 'GET'), (':scheme', 'http'), (':authority', 'router'), (':path', '/healthz')]


def setup():
    common.setup('--workers=1')


def teardown():
    common.teardown()


def peer(**how):
    return h2peer.Peer(common.router.port, **how)


def flood(send, rounds, batch=200):
    """Sends until the router ends the connection: the code of its GOAWAY, or None when it never did."""
    with peer() as p:
        p.reply(p.request('/healthz'))
        reader = threading.Thread(target=p.until_end, daemon=True)
        reader.start()
        try:
            for i in range(rounds):
                p.sock.sendall(b''.join(send(p, i * batch + j) for j in range(batch)))
        except OSError:
            pass
        reader.join(5)
        code = p.goaway
    with peer() as p:  # everybody else is served on
        lib.equal(p.reply(p.request('/healthz')).status, 200)
    return code


def calm(send, rounds=400, batch=200):
    before = common.router.metric('sandbox_router_http2_calmed_total')
    code = flood(send, rounds, batch)
    lib.equal(code, h2peer.CALM)
    lib.equal(common.router.metric('sandbox_router_http2_calmed_total'), before + 1)


def open_frame(p, path='/healthz', more=()):
    pairs = BASE[:3] + [(':path', path)] + list(more)
    stream, p.next_id = p.next_id, p.next_id + 2
    block = p.block([(k.encode(), v.encode()) for k, v in pairs])
    return stream, p.frame(h2peer.HEADERS, h2peer.END_HEADERS | h2peer.END_STREAM, stream, block)


def test_rapid_reset_is_calmed_and_dials_nobody():
    backend = lib.Backend(lib.replying(lib.OK))

    def send(p, i):
        stream, frame = open_frame(p, '/', [('x-sandbox-id', 'box'), ('x-sandbox-port', str(backend.port))])
        return frame + p.frame(h2peer.RST, 0, stream, struct.pack('>I', h2peer.CANCEL))
    calm(send)
    assert backend.accepted <= 40, backend.accepted  # those cut by the edge of a read
    lib.wait_for(lambda: common.router.metric('sandbox_router_inflight_requests') == 0)


def test_pings():
    calm(lambda p, i: p.frame(h2peer.PING, 0, 0, b'12345678'))


def test_settings():
    calm(lambda p, i: p.frame(h2peer.SETTINGS, 0, 0, struct.pack('>HI', 4, 65535 + i % 2)))


def test_empty_data():
    box = {}

    def send(p, i):
        if i == 0:
            backend = lib.Backend(lambda sock, number: time.sleep(20))
            box['stream'] = p.request('/', backend.port, end=False, method='POST')
        return p.frame(h2peer.DATA, 0, box['stream'])
    calm(send)


def test_priorities():
    calm(lambda p, i: p.frame(h2peer.PRIORITY, 0, 2 * i + 1001, struct.pack('>IB', 0, 1)))


def test_unknown_frames_are_bytes_like_any_others():
    lib.equal(flood(lambda p, i: p.frame(0xee, 0, 0, b'x'), 50), None)


def test_windows_that_open_byte_by_byte():
    calm(lambda p, i: p.frame(h2peer.WINDOW, 0, 0, struct.pack('>I', 1)))


def test_malformed_requests_over_and_over():
    with peer() as p:
        for _ in range(500):
            stream, p.next_id = p.next_id, p.next_id + 2
            p.send(h2peer.HEADERS, 5, stream, p.block([(b':path', b'/'), (b'X-A', b'1')]))
            while p.next()[0] not in (h2peer.RST, h2peer.GOAWAY):
                pass
            if p.goaway is not None:
                break
        lib.equal(p.goaway, h2peer.CALM)


def test_more_streams_than_allowed():
    hold = threading.Event()
    backend = lib.Backend(lambda sock, number: hold.wait(20))
    with peer() as p:
        p.reply(p.request('/healthz'))  # SETTINGS are known and acknowledged
        for _ in range(100):
            p.request('/', backend.port)
        lib.wait_for(lambda: backend.accepted == 100)
        p.request('/', backend.port)
        lib.equal(p.until_end(), h2peer.PROTOCOL)
    with peer() as p:  # one that has not acknowledged the limit yet
        for _ in range(110):
            p.request('/', backend.port)
        refused = 0
        while refused < 10:
            kind, _, _, payload = p.next()
            if kind == h2peer.RST:
                lib.equal(struct.unpack('>I', payload)[0], h2peer.REFUSED)
                refused += 1
    hold.set()


def test_continuations_without_end():
    with peer() as p:
        p.reply(p.request('/healthz'))
        p.send(h2peer.HEADERS, 1, 3, p.block([(b':method', b'GET')]))
        try:
            for i in range(1000):
                p.send(h2peer.CONTINUATION, 0, 3, p.block([(b'x-%d' % i, b'1')]))
        except OSError:
            pass
        assert p.until_end() != h2peer.NO_ERROR


def test_a_bomb_of_compressed_fields():
    """One entry of 4 KB in the table, then 16,000 bytes that each mean all of it."""
    before = 0
    with peer() as p:
        block = p.block([(k.encode(), v.encode()) for k, v in BASE])
        block += b'\x40' + p.number(5, 127) + b'x-aaa' + p.number(3900, 127) + b'a' * 3900
        block += b'\xbe' * 12000
        for _ in range(20):
            stream, p.next_id = p.next_id, p.next_id + 2
            p.send(h2peer.HEADERS, 5, stream, block[:16384])
            reply = p.reply(stream)
            lib.equal(reply.status, 431)
            before = before or common.router.rss_kb()
            block = p.block([(k.encode(), v.encode()) for k, v in BASE]) + b'\xbe' * 12000
        common.router.check_growth(before, 2048)


def test_a_head_that_never_ends_is_cut():
    router = lib.Router('--client-header-timeout=400ms')
    with h2peer.Peer(router.port) as p:
        p.reply(p.request('/healthz'))
        p.send(h2peer.HEADERS, 1, 3, p.block([(b':method', b'GET')]))
        started = time.monotonic()
        lib.equal(p.until_end(), h2peer.PROTOCOL)
        assert 0.3 < time.monotonic() - started < 5
    router.stop()


def test_broken_frames_end_the_connection():
    for name, frame in (
            ('frame over the size', b'\xff\xff\xff\x00\x00\x00\x00\x00\x01'),
            ('push from a client', b'\x00\x00\x04\x05\x04\x00\x00\x00\x01\x00\x00\x00\x02'),
            ('settings of 5 bytes', b'\x00\x00\x05\x04\x00\x00\x00\x00\x00abcde'),
            ('data on stream 0', b'\x00\x00\x01\x00\x00\x00\x00\x00\x00a'),
            ('headers on stream 2', b'\x00\x00\x01\x01\x05\x00\x00\x00\x02\x82'),
            ('window of 0', b'\x00\x00\x04\x08\x00\x00\x00\x00\x00\x00\x00\x00\x00'),
            ('continuation alone', b'\x00\x00\x01\x09\x04\x00\x00\x00\x01\x82'),
            ('table index 0', b'\x00\x00\x01\x01\x05\x00\x00\x00\x01\x80')):
        with peer() as p:
            p.sock.sendall(frame)
            code = p.until_end()
            assert code not in (None, h2peer.NO_ERROR), name


def test_a_flood_does_not_slow_others():
    stop = threading.Event()

    def attack():
        while not stop.is_set():
            flood(lambda p, i: p.frame(h2peer.PING, 0, 0, b'12345678'), 20)
    attackers = [threading.Thread(target=attack, daemon=True) for _ in range(2)]
    for thread in attackers:
        thread.start()
    slowest = 0
    with peer() as p:
        for _ in range(50):
            started = time.monotonic()
            lib.equal(p.reply(p.request('/healthz')).status, 200)
            slowest = max(slowest, time.monotonic() - started)
    stop.set()
    for thread in attackers:
        thread.join(20)
    assert slowest < 2, slowest


def test_a_client_that_sends_and_never_reads():
    """Answers to pings pile up in no buffer of the router's: it stops reading instead."""
    before = common.router.rss_kb()
    sock = lib.connect(common.router)
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
    sock.settimeout(1)
    sock.sendall(h2peer.PREFACE + b'\0\0\0\4\0\0\0\0\0')
    try:
        for _ in range(2000):
            sock.sendall(b'\0\0\x08\6\0\0\0\0\x0012345678' * 100)
    except OSError:
        pass
    common.router.check_growth(before, 1024)
    sock.close()
