# SPDX-License-Identifier: Apache-2.0
"""What happens to heads on their way: byte-exact where they are the peers', replaced where not."""
import common
from common import setup, teardown  # noqa: F401
from lib import (OK, Backend, ask, connect, contains, equal, fields, read_all, read_head, replying,
                 request, talk)


def head_seen(start=b'GET / HTTP/1.1', more=b'', body=b''):
    seen = []
    backend = Backend(replying(OK, seen))
    equal(ask(common.router, 'box', backend, start=start, more=more, body=body)[0], 200)
    backend.close()
    return seen[0], backend


def test_method_path_and_query_go_through_byte_for_byte():
    for target in (b'/a%2Fb//./../%2e%2E', b'/', b'//', b'/%', b'/?', b'/a?b=%zz&&c=?+d', b'/\xc3\xbc?\xff',
                   b'/{}|"<>\\^`', b'/x?' + b'y' * 8000):
        seen, _ = head_seen(b'GET ' + target + b' HTTP/1.1')
        equal(seen.split(b'\r\n')[0], b'GET ' + target + b' HTTP/1.1')


def test_any_method():
    for method in (b'GET', b'DELETE', b'OPTIONS', b'PATCH', b'PROPFIND', b'M-SEARCH', b'get', b'TRACE'):
        seen, _ = head_seen(method + b' /x HTTP/1.1')
        equal(seen.split(b'\r\n')[0], method + b' /x HTTP/1.1')


def test_the_absolute_form_becomes_the_origin_form():
    seen, _ = head_seen(b'GET http://proxy.example:81/p?q HTTP/1.1')
    equal(seen.split(b'\r\n')[0], b'GET /p?q HTTP/1.1')
    equal(dict(fields(seen))['X-Forwarded-Host'], 'proxy.example:81')


def test_fields_of_the_request():
    seen, backend = head_seen(more=(
        b'aCCept: a\r\nX-Twice: 1\r\nCookie: c=d; e\r\nX-Twice: 2\r\n'
        b'Authorization: Bearer secret\r\nProxy-Authorization: x\r\nKeep-Alive: timeout=1\r\n'
        b'Connection: X-Drop, keep-alive\r\nX-Drop: 1\r\nx-drop: 2\r\nTE: gzip, trailers\r\n'
        b'Proxy-Connection: x\r\nForwarded: for=1\r\nX-Forwarded-For: 9.9.9.9\r\n'
        b'X-Forwarded-Host: evil\r\nX-Forwarded-Proto: https\r\nX-Forwarded-Prefix: /p\r\n'
        b'X-Sandbox-UID: u\r\nX-Sandbox-Timeout: 9\r\nX-Sandbox-Namespace: default\r\n'
        b'X-Sandbox-Pod-IP: 10.1.1.1\r\nX-Sandbox-Other: kept\r\nEmpty:\r\n'
        b'traceparent: 00-1-2-3\r\nOrigin: http://o\r\n'))
    equal(fields(seen), [
        ('Host', '127.0.0.1:%d' % backend.port), ('aCCept', 'a'), ('X-Twice', '1'),
        ('Cookie', 'c=d; e'), ('X-Twice', '2'), ('X-Forwarded-Prefix', '/p'),
        ('X-Sandbox-Other', 'kept'), ('Empty', ''), ('traceparent', '00-1-2-3'),
        ('Origin', 'http://o'), ('X-Forwarded-For', '127.0.0.1'), ('X-Forwarded-Host', 'h'),
        ('X-Forwarded-Proto', 'http'), ('TE', 'trailers')])


def test_connection_cannot_take_out_what_frames_the_message():
    def script(sock, number):
        head, rest = read_head(sock)
        while not rest.endswith(b'hello'):
            rest += sock.recv(100)
        sock.sendall(b'HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n' % len(head) + head)
    backend = Backend(script)
    status, _, body = ask(common.router, 'box', backend, start=b'POST / HTTP/1.1',
                          more=b'Connection: Content-Length, Host\r\nContent-Length: 5\r\n', body=b'hello')
    equal(status, 200)
    contains(body, b'Content-Length: 5\r\n')
    contains(body, b'Host: 127.0.0.1:')


def test_fields_of_the_reply():
    reply = (b'HTTP/1.1 299 Odd  Reason\r\nSet-Cookie: a\r\nset-cookie: b\r\nLocation: /x/../y\r\n'
             b'Connection: X-Hop\r\nX-Hop: 1\r\nKeep-Alive: x\r\nServer: s\r\nContent-Encoding: gzip\r\n'
             b'Authorization: kept\r\nContent-Length: 2\r\n\r\nok')
    backend = Backend(replying(reply))
    _, head, body = ask(common.router, 'box', backend)
    equal(head.split(b'\r\n')[0], b'HTTP/1.1 299 Odd  Reason')
    equal(fields(head), [('Set-Cookie', 'a'), ('set-cookie', 'b'), ('Location', '/x/../y'),
                         ('Server', 's'), ('Content-Encoding', 'gzip'), ('Authorization', 'kept'),
                         ('Content-Length', '2'), ('Connection', 'close')])
    equal(body, b'ok')


def test_head_204_and_304_have_no_body_and_the_connection_lives_on():
    replies = [(b'HEAD / HTTP/1.1', b'HTTP/1.1 200 OK\r\nContent-Length: 99\r\n\r\n'),
               (b'HEAD / HTTP/1.1', b'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n'),
               (b'GET / HTTP/1.1', b'HTTP/1.1 204 No Content\r\n\r\n'),
               (b'GET / HTTP/1.1', b'HTTP/1.1 304 Not Modified\r\nContent-Length: 5\r\nETag: "x"\r\n\r\n')]
    for start, reply in replies:
        backend = Backend(replying(reply))
        with connect(common.router) as sock:
            for _ in range(2):
                sock.sendall(request('box', backend, start=start, close=False))
                head, rest = read_head(sock)
                equal(head.split(b'\r\n')[0], reply.split(b'\r\n')[0])
                equal(rest, b'')
                equal(b'Content-Length' in head, b'Content-Length' in reply)
        equal(backend.accepted, 1)


def test_http_10_clients():
    backend = Backend(replying(b'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nok\r\n0\r\n\r\n'))
    reply = talk(common.router, b'GET / HTTP/1.0\r\nX-Sandbox-ID: box\r\nX-Sandbox-Port: %d\r\n\r\n' % backend.port)
    contains(reply, b'Connection: close\r\n')
    assert reply.endswith(b'\r\n\r\nok'), reply
    backend = Backend(replying(OK))
    with connect(common.router) as sock:
        for _ in range(2):
            sock.sendall(b'GET / HTTP/1.0\r\nConnection: keep-alive\r\nX-Sandbox-ID: box\r\n'
                         b'X-Sandbox-Port: %d\r\n\r\n' % backend.port)
            head, rest = read_head(sock)
            contains(head, b'Connection: keep-alive\r\n')


def test_interim_replies_pass():
    backend = Backend(replying(b'HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\nHTTP/1.1 102 Processing\r\n\r\n' + OK))
    reply = talk(common.router, request('box', backend))
    equal(reply, b'HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\nHTTP/1.1 102 Processing\r\n\r\n'
          b'HTTP/1.1 200 OK\r\nContent-Length: 2\r\nConnection: close\r\n\r\nok')
    reply = talk(common.router, b'GET / HTTP/1.0\r\nX-Sandbox-ID: box\r\nX-Sandbox-Port: %d\r\n\r\n' % backend.port)
    assert reply.startswith(b'HTTP/1.1 200 OK'), reply


def test_expect_continue_is_answered_by_the_sandbox():
    def script(sock, number):
        head, rest = read_head(sock)
        contains(head, b'Expect: 100-continue')
        equal(rest, b'')
        sock.sendall(b'HTTP/1.1 100 Continue\r\n\r\n')
        equal(sock.recv(100), b'body')
        sock.sendall(OK)
        sock.recv(1)
    backend = Backend(script)
    with connect(common.router) as sock:
        sock.sendall(request('box', backend, start=b'PUT / HTTP/1.1',
                             more=b'Expect: 100-continue\r\nContent-Length: 4\r\n'))
        head, rest = read_head(sock)
        equal(head, b'HTTP/1.1 100 Continue\r\n\r\n')
        sock.sendall(b'body')
        contains(read_all(sock), b'200 OK')
    equal(backend.errors, [])


def test_a_refused_expectation_ends_the_connection():
    backend = Backend(replying(b'HTTP/1.1 417 No\r\nContent-Length: 0\r\n\r\n'))
    with connect(common.router) as sock:
        sock.sendall(request('box', backend, start=b'PUT / HTTP/1.1', close=False,
                             more=b'Expect: 100-continue\r\nContent-Length: 4\r\n'))
        reply = read_all(sock)
    contains(reply, b'417 No')
    contains(reply, b'Connection: close\r\n')


def test_pipelined_requests_are_answered_in_order():
    def script(sock, number):
        while True:
            head, rest = read_head(sock)
            if not head:
                return
            path = head.split(b' ')[1]
            sock.sendall(b'HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n' % len(path) + path)
    backend = Backend(script)
    data = b''.join(request('box', backend, start=b'GET /%d HTTP/1.1' % i, close=i == 19) for i in range(20))
    reply = talk(common.router, data)
    at = -1
    for i in range(20):
        found = reply.find(b'\r\n\r\n/%d' % i, at + 1)
        assert found > at, (i, reply)
        at = found


def test_connections_to_a_sandbox_are_reused():
    seen = []
    backend = Backend(replying(OK, seen))
    with connect(common.router) as sock:
        for _ in range(10):
            sock.sendall(request('box', backend, close=False))
            read_head(sock)
    equal((len(seen), backend.accepted), (10, 1))
