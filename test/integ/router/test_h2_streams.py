# SPDX-License-Identifier: Apache-2.0
"""Streams: translation to HTTP/1.1 and back, what is malformed, flow control, ends of all kinds."""
import json
import os
import signal
import struct
import threading
import time

import common
import h2peer
import lib
from test_http2 import echo

BASE = [(':method', 'GET'), (':scheme', 'http'), (':authority', 'router'), (':path', '/')]


def setup():
    common.setup('--workers=1')


def teardown():
    common.teardown()


def peer(**how):
    return h2peer.Peer(common.router.port, **how)


def test_settings_name_the_limits():
    with peer() as p:
        p.reply(p.request('/healthz'))
        lib.equal(p.settings, {3: 100, 4: 65535, 6: 65536, 8: 1, 9: 1})


def test_cookies_are_joined_and_fields_keep_their_order():
    backend = lib.Backend(echo)
    with peer() as p:
        reply = p.reply(p.request('/p?q', backend.port, more=[
            ('cookie', 'a=1'), ('x-a', '1'), ('cookie', 'b=2'), ('x-a', '2'), ('te', 'trailers'), ('x-empty', '')]))
    fields = lib.fields(reply.body[:reply.body.index(b'\r\n\r\n') + 2].replace(b'x-empty: \r\n', b'x-empty: -\r\n'))
    lib.equal([v for k, v in fields if k == 'cookie'], ['a=1; b=2'])
    lib.equal([v for k, v in fields if k == 'x-a'], ['1', '2'])
    lib.equal([v for k, v in fields if k == 'TE'], ['trailers'])
    lib.equal(dict(fields)['X-Forwarded-Host'], 'router')


def test_malformed_requests_reach_no_sandbox():
    seen = []
    backend = lib.Backend(lib.replying(lib.OK, seen))
    to = [('x-sandbox-id', 'box'), ('x-sandbox-port', str(backend.port))]

    def replaced(name, value):
        return [(k, value if k == name else v) for k, v in BASE]
    bad = {
        'CR LF in a value': BASE + [('x-a', b'1\r\nEvil: 1')],
        'LF in a value': BASE + [('x-a', b'1\nEvil: 1')],
        'NUL in a value': BASE + [('x-a', b'1\x002')],
        'CR LF in a name': BASE + [(b'x-a\r\nevil', '1')],
        'colon in a name': BASE + [(b'x-a:', '1')],
        'space in a name': BASE + [(b'x a', '1')],
        'upper case in a name': BASE + [('X-A', '1')],
        'empty name': BASE + [('', '1')],
        'space around a value': BASE + [('x-a', ' 1 ')],
        'connection': BASE + [('connection', 'close')],
        'keep-alive': BASE + [('keep-alive', '5')],
        'proxy-connection': BASE + [('proxy-connection', 'close')],
        'transfer-encoding': BASE + [('transfer-encoding', 'chunked')],
        'upgrade': BASE + [('upgrade', 'websocket')],
        'te is gzip': BASE + [('te', 'gzip')],
        'two content-lengths': BASE + [('content-length', '0'), ('content-length', '0')],
        'content-length is no number': BASE + [('content-length', '+0')],
        'content-length without a body': BASE + [('content-length', '5')],
        'host is another': BASE + [('host', 'other')],
        'two hosts': BASE[:2] + BASE[3:] + [('host', 'a'), ('host', 'a')],
        'no method': BASE[1:],
        'no scheme': BASE[:1] + BASE[2:],
        'no path': BASE[:3],
        'no authority': BASE[:2] + BASE[3:],
        'empty path': replaced(':path', ''),
        'path with a space': replaced(':path', '/ HTTP/1.1\r\nx:'),
        'path with spaces only': replaced(':path', '/a b'),
        'path without a slash': replaced(':path', 'http://other/'),
        'path with a fragment': replaced(':path', '/#a'),
        'asterisk': replaced(':path', '*'),
        'method with a space': replaced(':method', 'GET /evil'),
        'empty method': replaced(':method', ''),
        'authority with a user': replaced(':authority', 'a@router'),
        'authority with a slash': replaced(':authority', 'router/x'),
        'authority with CR LF': replaced(':authority', b'router\r\nX: 1'),
        'another scheme': replaced(':scheme', 'ftp'),
        'pseudo field twice': BASE + [(':path', '/b')],
        'pseudo field that is not known': BASE + [(':foo', 'x')],
        'status in a request': BASE + [(':status', '200')],
        'pseudo field after others': BASE[:3] + [('x-a', '1')] + BASE[3:],
        'protocol without CONNECT': BASE + [(':protocol', 'websocket')],
    }
    for label, pairs in bad.items():
        with peer() as p:
            reply = p.reply(p.headers(pairs + to))
            if reply.reset != h2peer.PROTOCOL and reply.status not in (400, 501):
                raise AssertionError('%s: %r %r %r' % (label, reply.heads, reply.reset, reply.body))
            lib.equal(p.reply(p.request('/healthz')).status, 200)
    lib.equal(seen, [])


def test_connect_and_unknown_protocols():
    with peer() as p:
        reply = p.reply(p.headers([(':method', 'CONNECT'), (':authority', 'a:1')]))
        lib.equal(reply.status, 501)
        lib.equal(json.loads(reply.body), {'detail': 'CONNECT is not supported'})
        reply = p.reply(p.headers([(':method', 'CONNECT'), (':protocol', 'other')] + BASE[1:], end=False))
        lib.equal(reply.status, 501)


def test_heads_that_are_too_large():
    with peer() as p:
        for more in ([('x-a', 'a' * 40000), ('x-b', 'b' * 40000)], [('x-a', '1')] * 140):
            lib.equal(p.reply(p.headers(BASE + more)).status, 431)
        lib.equal(p.reply(p.headers(BASE[:3] + [(':path', '/' + 'a' * 33000)])).status, 414)
        lib.equal(p.reply(p.request('/healthz')).status, 200)


def test_trailers_of_a_request():
    got = []

    def script(sock, number):
        head, rest = lib.read_head(sock)
        got.append(lib.unchunk(lib.read_until(sock, b'\r\n\r\n', rest)))
        sock.sendall(lib.OK)
    backend = lib.Backend(script)
    with peer() as p:
        stream = p.request('/', backend.port, end=False, method='POST')
        p.data(stream, b'hello')
        p.headers([('x-after', 'yes')], stream=stream)
        lib.equal(p.reply(stream).status, 200)
        lib.equal(got, [(b'hello', b'x-after: yes\r\n\r\n')])
        for bad in ([(':path', '/')], [('content-length', '1')], [('host', 'a')], [('transfer-encoding', 'chunked')]):
            stream = p.request('/', backend.port, end=False, method='POST')
            p.headers(bad, stream=stream)
            lib.equal(p.reply(stream).reset, h2peer.PROTOCOL)


def test_length_and_payload_have_to_agree():
    seen = []
    backend = lib.Backend(lib.replying(lib.OK, seen))
    for payload in (b'abc', b'abcdefg'):
        with peer() as p:
            stream = p.request('/', backend.port, end=False, method='POST', more=[('content-length', '5')])
            p.data(stream, payload, end=True)
            reply = p.reply(stream)
            assert reply.reset == h2peer.PROTOCOL or reply.status == 400, (reply.heads, reply.reset)


def test_streams_do_not_wait_for_each_other():
    release = threading.Event()

    def script(sock, number):
        head, _ = lib.read_head(sock)
        if b'/slow' in head:
            release.wait(20)
        sock.sendall(lib.OK)
    backend = lib.Backend(script)
    with peer() as p:
        slow = p.request('/slow', backend.port)
        for _ in range(20):
            lib.equal(p.reply(p.request('/fast', backend.port)).body, b'ok')
        release.set()
        lib.equal(p.reply(slow).body, b'ok')


def test_a_client_that_cancels_ends_the_sandboxes_connection():
    closed = threading.Event()

    def script(sock, number):
        lib.read_head(sock)
        if lib.is_closed(sock, 10):
            closed.set()
    backend = lib.Backend(script)
    with peer() as p:
        stream = p.request('/', backend.port)
        lib.wait_for(lambda: backend.accepted == 1)
        p.send(h2peer.RST, 0, stream, struct.pack('>I', h2peer.CANCEL))
        assert closed.wait(5)
        lib.equal(p.reply(p.request('/healthz')).status, 200)
        closed.clear()
        p.request('/', backend.port)
        lib.wait_for(lambda: backend.accepted == 2)
    assert closed.wait(5)
    lib.wait_for(lambda: common.router.metric('sandbox_router_inflight_requests') == 0)


def test_a_sandbox_that_breaks_off_is_a_reset():
    def script(sock, number):
        lib.read_head(sock)
        sock.sendall(b'HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nabc')
    with peer() as p:
        reply = p.reply(p.request('/', lib.Backend(script).port))
        lib.equal((reply.status, reply.body, reply.reset), (200, b'abc', h2peer.INTERNAL))


def test_a_reply_before_the_end_of_the_request_ends_the_upload():
    def script(sock, number):
        lib.read_head(sock)
        sock.sendall(b'HTTP/1.1 413 Too Large\r\nContent-Length: 2\r\nConnection: close\r\n\r\nno')
        lib.read_all(sock)
    with peer() as p:
        stream = p.request('/', lib.Backend(script).port, end=False, method='POST')
        p.data(stream, b'x' * 1000)
        reply = p.reply(stream)
        lib.equal((reply.status, reply.body), (413, b'no'))
        while True:
            kind, _, which, payload = p.next()
            if kind == h2peer.RST and which == stream:
                lib.equal(struct.unpack('>I', payload)[0], h2peer.NO_ERROR)
                break
        p.data(stream, b'late', end=True)
        lib.equal(p.reply(p.request('/healthz')).status, 200)


def test_a_slow_sandbox_closes_the_window_and_only_its_own():
    release = threading.Event()

    def script(sock, number):
        head, rest = lib.read_head(sock)
        if b'/slow' in head:
            sock.setsockopt(lib.socket.SOL_SOCKET, lib.socket.SO_RCVBUF, 4096)
            release.wait(20)
        lib.read_until(sock, b'0\r\n\r\n', rest)
        sock.sendall(lib.OK)
    backend = lib.Backend(script)
    before = common.router.rss_kb()
    with peer() as p:
        streams = [p.request('/slow', backend.port, end=False, method='POST') for _ in range(10)]
        for stream in streams:
            for _ in range(8):
                p.data(stream, b'x' * 8000)  # within the first window, which need not open again
        lib.equal(p.reply(p.request('/healthz')).status, 200)
        common.router.check_growth(before, 2048)
        release.set()
        for stream in streams:
            p.data(stream, b'', end=True)
            lib.equal(p.reply(stream).status, 200)


def test_payload_of_streams_that_were_reset_is_given_back():
    """More than the window of the connection, on streams that end in the breath they begin in."""
    def script(sock, number):
        _, rest = lib.read_head(sock)
        lib.read_until(sock, b'\r\n0\r\n\r\n', rest)
        sock.sendall(lib.OK)
    backend = lib.Backend(script)
    with peer() as p:
        pairs = [(k.encode(), v.encode()) for k, v in BASE]
        for _ in range(300):
            stream, p.next_id = p.next_id, p.next_id + 2
            p.sock.sendall(p.frame(h2peer.HEADERS, h2peer.END_HEADERS, stream, p.block(pairs)) +
                           p.frame(h2peer.DATA, 0, stream, b'x' * 7000) +
                           p.frame(h2peer.RST, 0, stream, struct.pack('>I', h2peer.CANCEL)))
            time.sleep(0.001)
        stream = p.request('/', backend.port, end=False, method='POST')
        for i in range(8):
            p.data(stream, b'x' * 8000, end=i == 7)
        lib.equal(p.reply(stream).status, 200)


def test_sending_beyond_the_window_is_an_error():
    def script(sock, number):
        lib.read_head(sock)
        time.sleep(3)
    with peer() as p:
        stream = p.request('/', lib.Backend(script).port, end=False, method='POST')
        try:
            for _ in range(2000):
                p.data(stream, b'x' * 16000)
        except OSError:
            pass
        try:
            lib.equal(p.reply(stream).reset, h2peer.FLOW)
        except (EOFError, ConnectionResetError):
            lib.equal(p.goaway in (h2peer.FLOW, None), True)


def test_a_client_that_does_not_read_holds_one_block():
    big = os.urandom(1 << 20)

    def script(sock, number):
        lib.read_head(sock)
        try:
            sock.sendall(b'HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n' % (len(big) * 20))
            for _ in range(20):
                sock.sendall(big)
        except OSError:
            pass
    backend = lib.Backend(script)
    before = common.router.rss_kb()
    with peer() as p:
        stuck = p.request('/', backend.port)
        other = p.request('/', backend.port)
        time.sleep(0.5)
        common.router.check_growth(before, 1024)
        p.window(0, 1 << 30)
        p.window(other, 1 << 30)
        lib.equal(len(p.reply(other, credit=False).body), len(big) * 20)
        p.send(h2peer.RST, 0, stuck, struct.pack('>I', h2peer.CANCEL))
        lib.equal(p.reply(p.request('/healthz')).status, 200)


def test_websocket_over_http2():
    seen = []

    def script(sock, number):
        head, rest = lib.read_head(sock)
        seen.append(head)
        sock.sendall(b'HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n'
                     b'Sec-WebSocket-Accept: x\r\nSec-WebSocket-Protocol: p\r\n\r\n')
        while True:
            data = sock.recv(65536)
            if not data:
                sock.sendall(b'bye')
                return
            sock.sendall(data)
    backend = lib.Backend(script)
    with peer() as p:
        stream = p.headers([(':method', 'CONNECT'), (':protocol', 'websocket')] + BASE[1:] +
                           [('x-sandbox-id', 'box'), ('x-sandbox-port', str(backend.port)),
                            ('sec-websocket-version', '13'), ('sec-websocket-protocol', 'p'),
                            ('origin', 'http://router')], end=False)
        p.data(stream, b'hello')
        got = b''
        head = None
        while got != b'hello':
            kind, flags, which, payload = p.next()
            if kind == h2peer.HEADERS:
                head = dict(payload)
            elif kind == h2peer.DATA:
                got += payload
        lib.equal((head[':status'], head['sec-websocket-protocol']), ('200', 'p'))
        assert 'upgrade' not in head and 'sec-websocket-accept' not in head, head
        p.data(stream, b'', end=True)
        lib.equal(p.reply(stream).body, b'bye')
    text = seen[0].decode()
    lib.contains(text, 'GET / HTTP/1.1\r\n')
    lib.contains(text, 'Connection: Upgrade\r\nUpgrade: websocket\r\n')
    lib.contains(text, 'sec-websocket-version: 13')
    lib.equal(text.lower().count('sec-websocket-key: '), 1)
    assert 'origin' not in text.lower(), text


def test_a_websocket_that_the_sandbox_refuses():
    backend = lib.Backend(lib.replying(b'HTTP/1.1 403 Forbidden\r\nContent-Length: 2\r\n\r\nno'))
    with peer() as p:
        reply = p.reply(p.headers([(':method', 'CONNECT'), (':protocol', 'websocket')] + BASE[1:] +
                                  [('x-sandbox-id', 'box'), ('x-sandbox-port', str(backend.port))], end=False))
        lib.equal((reply.status, reply.body), (403, b'no'))


def test_a_preface_in_pieces_and_http_1_1_that_looks_like_one():
    sock = lib.connect(common.router)
    for byte in h2peer.PREFACE:
        sock.sendall(bytes([byte]))
        time.sleep(0.002)
    sock.sendall(b'\0\0\0\4\0\0\0\0\0')
    assert sock.recv(9)[3] == h2peer.SETTINGS
    sock.close()
    for start in (b'PRI * HTTP/1.1', b'PRINT / HTTP/1.1', b'PRI * HTTP/2.0\r\nHost: a'):
        reply = lib.talk(common.router, start + b'\r\nHost: h\r\nConnection: close\r\n\r\n')
        lib.equal(reply.split(b' ')[0], b'HTTP/1.1')


def test_drain_says_goaway_and_finishes_streams():
    router = lib.Router('--shutdown-delay=0s', api=common.router.api)
    release = threading.Event()

    def script(sock, number):
        lib.read_head(sock)
        release.wait(20)
        sock.sendall(lib.OK)
    backend = lib.Backend(script)
    with h2peer.Peer(router.port) as p, h2peer.Peer(router.port) as idle:
        stream = p.request('/', backend.port)
        lib.equal(idle.reply(idle.request('/healthz')).status, 200)
        lib.wait_for(lambda: backend.accepted == 1)
        router.process.send_signal(signal.SIGTERM)
        lib.equal(idle.until_end(), h2peer.NO_ERROR)
        while p.goaway is None:
            p.next()
        lib.equal(p.goaway, h2peer.NO_ERROR)
        release.set()
        lib.equal(p.reply(stream).body, b'ok')
        p.until_end()
    lib.equal(router.stop(signal.SIGTERM), 0)


def test_idle_and_old_connections_end_with_goaway():
    router = lib.Router('--client-idle-timeout=700ms', api=common.router.api)
    with h2peer.Peer(router.port) as p:
        lib.equal(p.reply(p.request('/healthz')).status, 200)
        lib.equal(p.until_end(), h2peer.NO_ERROR)
    router.stop()


def test_a_connection_that_is_old_finishes_its_streams():
    router = lib.Router('--client-max-lifetime=500ms', api=common.router.api)
    release = threading.Event()

    def script(sock, number):
        lib.read_head(sock)
        release.wait(20)
        sock.sendall(lib.OK)
    backend = lib.Backend(script)
    with h2peer.Peer(router.port) as p:
        stream = p.request('/', backend.port)
        while p.goaway is None:
            p.next()
        lib.equal(p.goaway, h2peer.NO_ERROR)
        release.set()
        lib.equal(p.reply(stream).body, b'ok')
        p.until_end()
    router.stop()


def test_a_websocket_is_told_that_the_router_goes():
    router = lib.Router('--shutdown-delay=0s', '--shutdown-timeout=500ms', api=common.router.api)

    def script(sock, number):
        lib.read_head(sock)
        sock.sendall(b'HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\r\n'
                     b'\x81\x02hi')
        lib.read_all(sock)
    backend = lib.Backend(script)
    with h2peer.Peer(router.port) as p:
        stream = p.headers([(':method', 'CONNECT'), (':protocol', 'websocket')] + BASE[1:] +
                           [('x-sandbox-id', 'box'), ('x-sandbox-port', str(backend.port))], end=False)
        while p.next()[0] != h2peer.DATA:
            pass
        router.process.send_signal(signal.SIGTERM)
        reply = p.reply(stream)
        lib.equal((bytes(reply.body), reply.reset), (b'\x88\x02\x03\xe9', None))
    lib.equal(router.stop(signal.SIGTERM), 0)


def test_a_connection_of_many_streams_does_not_starve_others():
    big = b'x' * (1 << 20)
    backend = lib.Backend(lib.replying(b'HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n' % len(big) + big))
    small = lib.Backend(lib.replying(lib.OK))
    with peer() as p:
        streams = [p.request('/', backend.port) for _ in range(90)]
        p.window(0, 1 << 30)
        for stream in streams:
            p.window(stream, 1 << 29)

        def read_all():
            left = set(streams)
            while left:
                kind, flags, which, _ = p.next()
                if kind == h2peer.DATA and flags & h2peer.END_STREAM:
                    left.discard(which)
        reader = threading.Thread(target=read_all, daemon=True)
        reader.start()
        slowest = 0
        for _ in range(20):
            started = time.monotonic()
            lib.equal(lib.ask(common.router, 'box', small)[0], 200)
            slowest = max(slowest, time.monotonic() - started)
        reader.join(30)
        assert not reader.is_alive()
        assert slowest < 2, slowest
