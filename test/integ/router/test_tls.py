# SPDX-License-Identifier: Apache-2.0
"""The TLS port: handshakes good and bad, client certificates, reload, resumption, streaming."""
import json
import os
import re
import signal
import socket
import ssl
import subprocess
import threading
import time

import certs
import fakeapi
import lib
from lib import (OK, Backend, Router, contains, equal, free_port, is_closed, read_all, read_exactly, read_head,
                 read_until, replying, request, talk, wait_for)

router = None
LIMIT_SLOW = 30  # of anything that waits


def start(*flags, cert='server', files=None, plain=True, **how):
    """A router with a TLS port and the sandbox "box"."""
    certs.setup()
    crt, key = files or certs.pair(cert)
    port = free_port()
    api = fakeapi.FakeApi()
    api.put(fakeapi.pod('box', '127.0.0.1'))
    if not plain:
        flags += ('--http-bind-address=',)
    made = Router('--resolve-wait=400ms', '--shutdown-delay=0s', '--https-bind-address=127.0.0.1:%d' % port,
                  '--tls-cert-file=' + crt, '--tls-key-file=' + key, *flags, api=api, **how)
    made.tls = port
    return made


def stopped(made):
    code = made.stop(signal.SIGTERM)
    text = made.log_text()
    if code != 0 or 'Sanitizer' in text:
        raise AssertionError('router ended with %d:\n%s' % (code, text[-6000:]))


def setup():
    global router
    router = start('--mtls-mode=optional', '--tls-client-ca-file=' + ca())


def ca():
    certs.setup()
    return certs.path('ca.crt')


def teardown():
    stopped(router)


def client(name=None, version=None):
    context = ssl.create_default_context(cafile=certs.path('ca.crt'))
    if name:
        context.load_cert_chain(*certs.pair(name))
    if version:
        context.minimum_version = context.maximum_version = version
    return context


def dial(made, context=None, session=None, ragged=False):
    """ragged=False: an end without close_notify raises."""
    raw = socket.create_connection(('127.0.0.1', made.tls), timeout=LIMIT_SLOW)
    raw.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return (context or client()).wrap_socket(raw, server_hostname='localhost', session=session,
                                             suppress_ragged_eofs=ragged)


def tls_talk(made, data, context=None):
    with dial(made, context) as sock:
        sock.sendall(data)
        return read_all(sock)


def s_client(made, *args, data=b'', seconds=LIMIT_SLOW):
    done = subprocess.run(['openssl', 's_client', '-connect', '127.0.0.1:%d' % made.tls, *args], input=data,
                          capture_output=True, timeout=seconds)
    return done.returncode, (done.stdout + done.stderr).decode('latin-1')


# ---- requests ----

def test_a_request_by_tls_and_by_plain_http():
    seen = []
    backend = Backend(replying(OK, seen))
    contains(tls_talk(router, request('box', backend)), b'HTTP/1.1 200 OK\r\n')
    contains(seen[0], b'\r\nX-Forwarded-Proto: https\r\n')
    contains(talk(router, request('box', backend)), b'HTTP/1.1 200 OK\r\n')
    contains(seen[1], b'\r\nX-Forwarded-Proto: http\r\n')


def test_a_router_without_plain_http():
    made = start(plain=False)
    backend = Backend(replying(OK))
    contains(tls_talk(made, request('box', backend)), b' 200 OK')
    sock = dial(made)
    stopped(made)  # an idle TLS connection does not hold the drain up
    equal(sock.recv(10), b'')  # and hears close_notify


def test_keep_alive_and_pipelining():
    backend = Backend(replying(OK))
    with dial(router) as sock:
        sock.sendall(request('box', backend, close=False) * 3)
        data = b''
        while data.count(b'\r\n\r\nok') < 3:
            data += sock.recv(65536)
        sock.sendall(request('box', backend))
        contains(read_all(sock), b'200 OK')


def test_clients_that_people_use():
    backend = Backend(replying(b'HTTP/1.1 200 OK\r\nContent-Length: 6\r\nConnection: close\r\n\r\nhello\n'))
    url = 'https://localhost:%d/x' % router.tls
    done = subprocess.run(['curl', '-sS', '--cacert', certs.path('ca.crt'), '--resolve', 'localhost:%d:127.0.0.1' % router.tls,
                           '-H', 'X-Sandbox-ID: box', '-H', 'X-Sandbox-Port: %d' % backend.port, '--http2', url],
                          capture_output=True, timeout=20)
    equal((done.returncode, done.stdout), (0, b'hello\n'))
    import urllib.request
    asked = urllib.request.Request('https://127.0.0.1:%d/' % router.tls,
                                   headers={'X-Sandbox-ID': 'box', 'X-Sandbox-Port': str(backend.port)})
    with urllib.request.urlopen(asked, timeout=20, context=client()) as reply:
        equal((reply.status, reply.read()), (200, b'hello\n'))


# ---- what is spoken ----

PROTOCOLS = [  # what a scanner would try: arguments of s_client, whether it connects, what the output says
    (('-tls1_3',), True, 'TLSv1.3'),
    (('-tls1_2',), True, 'TLSv1.2'),
    (('-tls1_1', '-cipher', 'ALL:@SECLEVEL=0'), False, 'protocol version'),
    (('-tls1', '-cipher', 'ALL:@SECLEVEL=0'), False, 'protocol version'),
    (('-tls1_2', '-cipher', 'ECDHE-ECDSA-AES128-GCM-SHA256'), True, 'ECDHE-ECDSA-AES128-GCM-SHA256'),
    (('-tls1_2', '-cipher', 'ECDHE-ECDSA-CHACHA20-POLY1305'), True, 'CHACHA20'),
    (('-tls1_2', '-cipher', 'ECDHE-ECDSA-AES256-SHA384'), False, 'handshake failure'),  # CBC
    (('-tls1_2', '-cipher', 'AES128-GCM-SHA256'), False, 'handshake failure'),  # no forward secrecy
    (('-tls1_2', '-cipher', 'DHE-RSA-AES128-GCM-SHA256'), False, 'handshake failure'),
    (('-tls1_2', '-cipher', 'aNULL:@SECLEVEL=0'), False, 'handshake failure'),
    (('-tls1_2', '-cipher', 'eNULL:@SECLEVEL=0'), False, 'handshake failure'),
    (('-tls1_3', '-groups', 'X25519'), True, 'X25519'),
    (('-tls1_3', '-groups', 'P-256'), True, 'prime256v1'),
    (('-tls1_3', '-groups', 'P-521'), False, 'handshake failure'),
    (('-alpn', 'http/1.1'), True, 'ALPN protocol: http/1.1'),
    (('-alpn', 'spdy/1'), False, 'no application protocol'),
    (('-servername', 'anything.example'), True, 'Verify return code'),
    (('-noservername',), True, 'Verify return code'),
    (('-comp',), True, 'Compression: NONE'),
    (('-tls1_2',), True, 'Secure Renegotiation IS supported'),  # the extension, against injection
    (('-tls1_2',), True, 'Extended master secret: yes'),
]


def test_protocols_and_suites():
    for args, works, text in PROTOCOLS:
        code, out = s_client(router, *args)
        label = ' '.join(args)
        if (code == 0) != works or text not in out:
            raise AssertionError('%s: exit %d\n%s' % (label, code, out[-1500:]))


def test_a_client_cannot_renegotiate():
    code, out = s_client(router, '-tls1_2', data=b'R\nGET')
    contains(out, 'no renegotiation')


def test_early_data_is_not_taken():
    code, out = s_client(router, '-tls1_3')
    contains(out, 'Max Early Data: 0') if 'Max Early Data' in out else contains(out, 'Early data was not sent')


# ---- what is no TLS ----

def test_plain_http_on_the_tls_port():
    before = router.metric('sandbox_router_tls_handshakes_total', outcome='plain_http')
    with socket.create_connection(('127.0.0.1', router.tls), timeout=10) as sock:
        sock.sendall(b'DELETE / HTTP/1.1\r\nHost: h\r\n\r\n')
        reply = read_all(sock)
    contains(reply, b'HTTP/1.1 400 Bad Request\r\n')
    contains(reply, b'Client sent an HTTP request to an HTTPS server.')
    equal(router.metric('sandbox_router_tls_handshakes_total', outcome='plain_http'), before + 1)


def test_garbage_and_half_hellos():
    for data in (b'\x00' * 5000, b'\x16\x03\x01\xff\xff' + b'x' * 70000, b'\x80\x2e\x01\x00\x02' + b'x' * 50, b'\x15\x03\x01\x00\x02\x02\x28'):
        with socket.create_connection(('127.0.0.1', router.tls), timeout=10) as sock:
            try:
                sock.sendall(data)
                sock.shutdown(socket.SHUT_WR)
            except OSError:
                pass
            read_all(sock)
    contains(tls_talk(router, request('box', Backend(replying(OK)))), b'200 OK')


def test_a_slow_handshake_ends_in_time():
    sock = socket.create_connection(('127.0.0.1', router.tls), timeout=20)
    began = time.monotonic()
    sock.sendall(b'\x16\x03\x01\x02\x00')
    for _ in range(30):
        time.sleep(0.5)
        try:
            sock.sendall(b'\x01')  # one byte every now and then
            if is_closed(sock, 0):
                break
        except OSError:
            break
    took = time.monotonic() - began
    assert 8 < took < 13, took
    assert router.metric('sandbox_router_tls_handshakes_total', outcome='timeout') >= 1


def test_a_thousand_half_open_handshakes_do_not_stop_others():
    backend = Backend(replying(OK))
    held = []
    for _ in range(1000):
        sock = socket.create_connection(('127.0.0.1', router.tls), timeout=10)
        sock.sendall(b'\x16\x03\x01\x02\x00\x01\x00')
        held.append(sock)
    began = time.monotonic()
    for _ in range(10):
        contains(tls_talk(router, request('box', backend)), b'200 OK')
    assert time.monotonic() - began < 8, time.monotonic() - began
    for sock in held:
        sock.close()


# ---- client certificates ----

def refused(made, context):
    try:
        tls_talk(made, request('box', Backend(replying(OK))), context)
    except (ssl.SSLError, ConnectionError):
        return True
    return False


def test_client_certificates_optional():
    backend = Backend(replying(OK))
    contains(tls_talk(router, request('box', backend)), b'200 OK')
    contains(tls_talk(router, request('box', backend, start=b'GET /joe HTTP/1.1'), client('joe')), b'200 OK')
    wait_for(lambda: any(line['path'] == '/joe' for line in router.access_lines()))
    line = [entry for entry in router.access_lines() if entry['path'] == '/joe'][0]
    equal(line['client_identity'], 'spiffe://example/ns/team/sa/joe')
    assert all('client_identity' not in entry for entry in router.access_lines() if entry['path'] != '/joe')
    for name in ('old', 'stranger'):
        for version in (ssl.TLSVersion.TLSv1_2, ssl.TLSVersion.TLSv1_3):
            assert refused(router, client(name, version)), (name, version)


def test_client_certificates_required():
    made = start('--mtls-mode=required', '--tls-client-ca-file=' + ca(), '--zap-time-encoding=epoch')
    contains(tls_talk(made, request('box', Backend(replying(OK))), client('joe')), b'200 OK')
    for name in (None, 'old', 'stranger'):
        for version in (ssl.TLSVersion.TLSv1_2, ssl.TLSVersion.TLSv1_3):
            assert refused(made, client(name, version)), (name, version)
    wait_for(lambda: made.access_lines())
    equal([entry.get('client_identity') for entry in made.access_lines()], ['spiffe://example/ns/team/sa/joe'])
    equal(made.metric('sandbox_router_tls_handshakes_total', outcome='full'), 1)
    equal(made.metric('sandbox_router_tls_handshakes_total', outcome='failed'), 6)
    stopped(made)


# ---- reload ----

class Load:
    """Clients that ask all the time, half of them on connections that stay."""

    def __init__(self, made, backend, count=4):
        self.made, self.backend = made, backend
        self.asked, self.failures, self.names = 0, [], set()
        self.stop = False
        self.threads = [threading.Thread(target=self.work, args=(i % 2 == 0,), daemon=True) for i in range(count)]
        for thread in self.threads:
            thread.start()

    def once(self, sock, close):
        sock.sendall(request('box', self.backend, close=close))
        head, rest = read_head(sock)
        if b' 200 OK' not in head or read_exactly(sock, 2, rest) != b'ok':
            raise AssertionError('%r' % head)
        self.asked += 1

    def work(self, stays):
        try:
            kept = dial(self.made) if stays else None
            while not self.stop:
                sock = kept or dial(self.made)
                self.names.add(dict(x[0] for x in sock.getpeercert()['subject'])['commonName'])
                self.once(sock, kept is None)
                if not kept:
                    sock.close()
        except Exception as e:
            self.failures.append(repr(e))

    def end(self):
        self.stop = True
        for thread in self.threads:
            thread.join(20)
        return self.failures


def reloads(made, outcome):
    return made.metric('sandbox_router_cert_reloads_total', outcome=outcome)


def test_reload_under_load_drops_nothing():
    certs.setup()
    secret = certs.Secret(tls_crt='server.crt', tls_key='server.key')
    made = start('--workers=3', files=(secret.path('tls.crt'), secret.path('tls.key')))
    load = Load(made, Backend(replying(OK)))
    equal(reloads(made, 'success'), 0)
    for turn in range(1, 7):
        name = 'server2' if turn % 2 else 'server'
        secret.put(tls_crt=name + '.crt', tls_key=name + '.key')
        wait_for(lambda: reloads(made, 'success') == turn, 10, 'reload %d' % turn)
    before = load.asked
    wait_for(lambda: load.asked > before + 40, LIMIT_SLOW)
    secret.put(tls_crt='server2.crt', tls_key='server.key')  # does not match
    wait_for(lambda: reloads(made, 'failure') == 1)
    secret.put(tls_crt='ca.ext', tls_key='server.key')  # no certificate
    wait_for(lambda: reloads(made, 'failure') == 2)
    before = load.asked
    wait_for(lambda: load.asked > before + 40, LIMIT_SLOW)
    equal(load.end(), [])
    equal(load.names, {'server', 'server2'})
    text = made.log_text()
    contains(text, 'the key does not belong to the certificate in')
    contains(text, 'tls.crt: no certificate in it')
    with dial(made) as sock:
        equal(dict(x[0] for x in sock.getpeercert()['subject'])['commonName'], 'server')
    stopped(made)


def test_files_that_are_written_in_place():
    certs.setup()
    secret = certs.Secret(tls_crt='server.crt', tls_key='server.key', ca_crt='ca.crt')
    for name in ('tls.crt', 'tls.key', 'ca.crt'):  # plain files, no links
        with open(secret.path(name), 'rb') as f:
            data = f.read()
        os.unlink(secret.path(name))
        with open(secret.path(name), 'wb') as f:
            f.write(data)
    made = start('--mtls-mode=required', '--tls-client-ca-file=' + secret.path('ca.crt'),
                 files=(secret.path('tls.crt'), secret.path('tls.key')))
    assert refused(made, client('stranger'))
    with open(certs.path('ca2.crt'), 'rb') as f, open(secret.path('ca.crt'), 'wb') as out:
        out.write(f.read())
    wait_for(lambda: reloads(made, 'success') == 1)
    assert refused(made, client('joe'))
    contains(tls_talk(made, request('box', Backend(replying(OK))), client('stranger')), b'200 OK')
    stopped(made)


# ---- resumption ----

def resumed(made, *args):
    """How many of 12 connections resumed the first one's session; workers share the keys."""
    file = os.path.join(made.dir, 'session')
    ask = b'GET /healthz HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n'
    code, out = s_client(made, *args, '-ign_eof', '-sess_out', file, data=ask)
    contains(out, 'New, TLSv1')
    count = 0
    for _ in range(12):
        code, out = s_client(made, *args, '-ign_eof', '-sess_in', file, data=ask)
        contains(out, '200 OK')
        count += 'Reused, TLSv1' in out
    return count


def test_sessions_resume_whichever_worker_takes_the_connection():
    made = start('--workers=4')
    equal(resumed(made, '-tls1_2'), 12)
    equal(resumed(made, '-tls1_3'), 12)
    equal(made.metric('sandbox_router_tls_handshakes_total', outcome='resumed'), 24)
    equal(made.metric('sandbox_router_tls_handshakes_total', outcome='full'), 2)
    code, out = s_client(made, '-tls1_2', '-reconnect')
    equal(out.count('Reused, TLSv1.2'), 5)
    stopped(made)


# ---- streams ----

def count_all(sock):
    """Bytes until the end, none of them kept."""
    total = 0
    while True:
        n = len(sock.recv(65536))
        if n == 0:
            return total
        total += n


BIG = 24 * 1024 * 1024


def test_a_large_upload_and_download_in_constant_memory():
    block = bytes(range(256)) * 256

    def script(sock, number):
        head, rest = read_head(sock)
        got = len(rest)
        while got < BIG:
            piece = sock.recv(1 << 18)
            if not piece:
                return
            got += len(piece)
        sock.sendall(b'HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n' % BIG)
        for _ in range(BIG // len(block)):
            sock.sendall(block)
    made = start('--workers=1')
    backend = Backend(script)
    with dial(made) as sock:
        sock.sendall(request('box', backend, start=b'PUT / HTTP/1.1', more=b'Content-Length: %d\r\n' % BIG))
        before = made.rss_kb()
        for _ in range(BIG // len(block)):
            sock.sendall(block)
        head, rest = read_head(sock)
        equal(len(rest) + count_all(sock), BIG)
        made.check_growth(before, 2048)
    equal(backend.errors, [])
    stopped(made)


def test_a_slow_reader_holds_the_sandbox_back():
    sent = []

    def script(sock, number):
        read_head(sock)
        sock.sendall(b'HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n' % BIG)
        for i in range(BIG // 65536):
            sock.sendall(b'x' * 65536)
            sent.append(i)
    with dial(router) as sock:
        sock.sendall(request('box', Backend(script)))
        head, rest = read_head(sock)
        time.sleep(1)
        assert len(sent) * 65536 < BIG - 1024 * 1024, len(sent)
        equal(len(rest) + count_all(sock), BIG)


def test_a_websocket():
    def script(sock, number):
        head, rest = read_head(sock)
        contains(head, b'\r\nUpgrade: websocket\r\n')
        sock.sendall(b'HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\nhello')
        while True:
            data = sock.recv(65536)
            if not data:
                sock.sendall(b'bye')
                return
            sock.sendall(data.upper())
    with dial(router) as sock:
        sock.sendall(request('box', Backend(script), more=b'Connection: Upgrade\r\nUpgrade: websocket\r\n', close=False))
        contains(read_until(sock, b'hello'), b'HTTP/1.1 101 ')
        for _ in range(50):
            sock.sendall(b'abc')
            equal(read_exactly(sock, 3), b'ABC')
        sock.sendall(b'z' * 300000)
        equal(len(read_exactly(sock, 300000)), 300000)


def test_a_cut_reply_never_looks_whole():
    def script(sock, number):
        read_head(sock)
        if number == 1:  # whole: it ends with the connection
            sock.sendall(b'HTTP/1.0 200 OK\r\n\r\nabc')
        else:
            sock.sendall(b'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n')
    backend = Backend(script)
    for whole in (True, False):
        with dial(router) as sock:
            sock.sendall(request('box', backend, start=b'GET / HTTP/1.0', close=False))
            data = b''
            try:
                while True:
                    piece = sock.recv(65536)
                    if not piece:
                        break
                    data += piece
                clean = True
            except ssl.SSLEOFError:
                clean = False
        contains(data, b'abc')
        equal(clean, whole)


def test_a_client_that_is_cut_during_its_body():
    ended = threading.Event()

    def script(sock, number):
        read_head(sock)
        read_all(sock)
        ended.set()
    sock = dial(router)
    sock.sendall(request('box', Backend(script), start=b'PUT / HTTP/1.1', more=b'Content-Length: 100\r\n', body=b'x'))
    time.sleep(0.2)
    raw = socket.socket(fileno=sock.detach())  # FIN without close_notify
    raw.close()
    assert ended.wait(10)


def test_a_head_that_arrives_in_pieces_of_records():
    with dial(router) as sock:
        for byte in request('box', Backend(replying(OK))):
            sock.sendall(bytes([byte]))
        contains(read_all(sock), b'200 OK')


def test_refusals_arrive_by_tls():
    with dial(router) as sock:
        sock.sendall(b'GET / HTTP/1.1\r\nHost : h\r\n\r\n' + b'x' * 100000)
        contains(read_all(sock), b'HTTP/1.1 400 ')


# ---- what is configured ----

def test_wrong_tls_configuration_is_exit_2():
    certs.setup()
    crt, key = certs.pair('server')
    pair = ('--tls-cert-file=' + crt, '--tls-key-file=' + key)
    https = '--https-bind-address=127.0.0.1:0'
    rows = [(('--http-bind-address=',), 'nothing to listen on'),
            ((https,), '--https-bind-address needs --tls-cert-file and --tls-key-file'),
            ((https, pair[0]), '--tls-key-file'),
            ((https, pair[1]), '--tls-cert-file'),
            ((pair[0],), 'belong together'),
            (('--mtls-mode=required',), '--https-bind-address'),
            ((https, *pair, '--mtls-mode=optional'), '--tls-client-ca-file'),
            ((https, *pair, '--mtls-mode=required'), '--tls-client-ca-file'),
            ((https, *pair, '--mtls-mode=always'), 'mtls-mode')]
    for args, part in rows:
        done = subprocess.run([lib.BIN, '--authz-mode=allow-all', *args], capture_output=True, text=True, timeout=20)
        equal((args, done.returncode), (args, 2))
        contains(done.stderr, part)


def test_files_that_cannot_be_used_are_exit_1():
    certs.setup()
    crt, key = certs.pair('server')
    for cert, secret, part in ((crt, '/no/such/key', '/no/such/key: No such file'), ('/no/such', key, '/no/such'),
                               (crt, certs.path('rsa.key'), 'does not belong'), (key, key, 'no certificate in it')):
        done = subprocess.run([lib.BIN, '--authz-mode=allow-all', '--https-bind-address=127.0.0.1:0', '--http-bind-address=',
                               '--metrics-bind-address=0', '--health-probe-bind-address=0', '--tls-cert-file=' + cert,
                               '--tls-key-file=' + secret], capture_output=True, text=True, timeout=20)
        equal((part, done.returncode), (part, 1))
        contains(done.stderr, part)


def test_an_rsa_certificate():
    made = start(cert='rsa')
    contains(tls_talk(made, request('box', Backend(replying(OK)))), b'200 OK')
    code, out = s_client(made, '-tls1_2', '-cipher', 'ECDHE-RSA-AES128-GCM-SHA256')
    equal(code, 0)
    assert made.metric('sandbox_router_cert_not_after_seconds') > time.time() + 29 * 86400
    stopped(made)


def test_a_record_that_dribbles_does_not_stop_the_clock():
    made = start('--client-header-timeout=1s')
    raw = socket.create_connection(('127.0.0.1', made.tls), timeout=20)
    incoming, outgoing = ssl.MemoryBIO(), ssl.MemoryBIO()
    session = client().wrap_bio(incoming, outgoing, server_hostname='localhost')
    while True:
        try:
            session.do_handshake()
            break
        except ssl.SSLWantReadError:
            raw.sendall(outgoing.read())
            incoming.write(raw.recv(65536))
    session.write(b'GET / HTTP/1.1\r\nX: ' + b'x' * 4000)
    record = outgoing.read()
    began = time.monotonic()
    raw.sendall(record[:100])  # what ends the handshake, and the record's beginning
    for i in range(100, 160):
        time.sleep(0.1)
        try:
            raw.sendall(record[i:i + 1])
            if is_closed(raw, 0):
                break
        except OSError:
            break
    took = time.monotonic() - began
    assert 0.5 < took < 4, took
    stopped(made)
