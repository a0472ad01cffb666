# SPDX-License-Identifier: Apache-2.0
"""HTTP/2 with prior knowledge, as curl speaks it. Rude frames, gRPC and h2spec: test/integ/router/run --h2."""
import json
import os
import re
import subprocess
import tempfile

import certs
import common
import lib
import test_tls


def setup():
    common.setup('--workers=1')


def teardown():
    common.teardown()


def curl(path, *args, port=None, stdin=None):
    """Status, head as text, body."""
    head = tempfile.mktemp(prefix='head-')
    command = ['curl', '-s', '--http2-prior-knowledge', '--max-time', '30', '-D', head, *args]
    if port:
        command += ['-H', 'X-Sandbox-ID: box', '-H', 'X-Sandbox-Port: %d' % port]
    done = subprocess.run(command + ['http://127.0.0.1:%d%s' % (common.router.port, path)],
                          input=stdin, capture_output=True, timeout=60)
    if done.returncode != 0:
        raise AssertionError('curl ended with %d' % done.returncode)
    with open(head) as f:
        text = f.read()
    os.unlink(head)
    return int(re.findall(r'^HTTP/2 (\d+)', text, re.M)[-1]), text, done.stdout


def echo(sock, number):
    """Replies with the head it got, then with the decoded body."""
    while True:
        head, rest = lib.read_head(sock)
        if not head:
            return
        length = re.search(rb'(?i)content-length: (\d+)', head)
        if re.search(rb'(?i)transfer-encoding: chunked', head):
            rest = lib.read_until(sock, b'\r\n0\r\n', b'\r\n' + rest)
            rest = lib.read_until(sock, b'\r\n\r\n', rest)
            rest = lib.unchunk(rest[2:])[0]
        elif length:
            rest = lib.read_exactly(sock, int(length.group(1)), rest)
        body = head + rest
        sock.sendall(b'HTTP/1.1 200 OK\r\nX-Number: %d\r\nContent-Length: %d\r\n\r\n' % (number, len(body)) + body)


def test_a_request_reaches_the_sandbox_as_http_1_1():
    backend = lib.Backend(echo)
    status, head, body = curl('/a%2Fb//c?x=%20&y', '-H', 'Cookie: a=1', '-H', 'Authorization: Bearer x',
                              port=backend.port)
    lib.equal(status, 200)
    start, *_ = body.decode().split('\r\n')
    lib.equal(start, 'GET /a%2Fb//c?x=%20&y HTTP/1.1')
    got = {k.lower(): v for k, v in lib.fields(body)}
    lib.equal(got['host'], '127.0.0.1:%d' % backend.port)
    lib.equal(got['cookie'], 'a=1')
    lib.equal([k for k in got if k.startswith('x-sandbox') or k in ('authorization', 'connection')], [])
    lib.contains(head, 'x-number: 1')


def test_bodies_of_a_length_and_without():
    backend = lib.Backend(echo)
    for args in (['-d', 'hello'], ['-H', 'Content-Length:', '-T', '-', '-X', 'POST']):
        status, _, body = curl('/', *args, port=backend.port, stdin=b'hello')
        lib.equal((status, body[-5:]), (200, b'hello'))
    big = os.urandom(1 << 20) + b'end'
    status, _, body = curl('/', '--data-binary', '@-', port=backend.port, stdin=big)
    lib.equal((status, body[-len(big):] == big), (200, True))


def test_replies_without_a_length_with_trailers_and_interim_heads():
    reply = (b'HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n'
             b'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nConnection: X-Hop\r\nX-Hop: 1\r\n\r\n'
             b'5\r\nhello\r\n0\r\nX-After: yes\r\n\r\n')
    backend = lib.Backend(lib.replying(reply))
    status, head, body = curl('/', port=backend.port)
    lib.equal((status, body), (200, b'hello'))
    lib.contains(head, 'HTTP/2 103')
    lib.contains(head, 'link: </a>')
    lib.contains(head, 'x-after: yes')
    assert 'x-hop' not in head and 'transfer-encoding' not in head, head


def test_replies_without_a_body():
    reply = b'HTTP/1.1 204 No Content\r\n\r\n'
    lib.equal(curl('/', port=lib.Backend(lib.replying(reply)).port)[::2], (204, b''))
    reply = b'HTTP/1.1 304 Not Modified\r\nETag: "a"\r\n\r\n'
    lib.equal(curl('/', port=lib.Backend(lib.replying(reply)).port)[::2], (304, b''))
    reply = b'HTTP/1.1 200 OK\r\nContent-Length: 77\r\n\r\n'
    status, head, _ = curl('/', '-I', port=lib.Backend(lib.replying(reply)).port)
    lib.equal(status, 200)
    lib.contains(head, 'content-length: 77')


def test_replies_of_the_router():
    lib.equal(curl('/healthz')[::2], (200, b'{"status":"ok"}\n'))
    status, head, body = curl('/')
    lib.equal((status, json.loads(body)), (400, {'detail': 'X-Sandbox-ID header is required.'}))
    lib.contains(head, 'content-type: application/json')
    lib.equal(curl('/', port=lib.free_port())[0], 502)


def test_the_upgrade_header_of_http_1_1_is_no_way_to_http_2():
    backend = lib.Backend(lib.replying(lib.OK))
    status, head, _ = lib.ask(common.router, 'box', backend,
                              more=b'Connection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\n'
                                   b'HTTP2-Settings: AAMAAABkAARAAAAAAAIAAAAA\r\n')
    lib.equal(status, 200)
    assert b'101' not in head, head


def test_without_http2_the_preface_is_refused():
    router = lib.Router('--http2=false')
    reply = lib.talk(router, b'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n')
    lib.equal(reply.split(b' ')[1], b'505')
    lib.equal(router.stop(), -9)


def test_http2_by_alpn_over_tls():
    backend = lib.Backend(echo)
    for flags, want in (((), 'HTTP/2 200'), (('--http2=false',), 'HTTP/1.1 200 OK')):
        made = test_tls.start(*flags)
        done = subprocess.run(['curl', '-si', '--http2', '--cacert', certs.path('ca.crt'), '--max-time', '20',
                               '-H', 'X-Sandbox-ID: box', '-H', 'X-Sandbox-Port: %d' % backend.port,
                               '--data-binary', '@-', 'https://localhost:%d/x' % made.tls],
                              input=b'y' * 300000, capture_output=True, timeout=30)
        lib.equal(done.stdout.split(b'\r\n')[0].strip().decode(), want)
        lib.contains(done.stdout, b'X-Forwarded-Proto: https\r\n')
        lib.equal(done.stdout[-300000:], b'y' * 300000)
        lib.equal(made.stop(15), 0)
