# SPDX-License-Identifier: Apache-2.0
"""Pieces of the router's integration test: the real binary, scripted sandboxes, a raw client."""
import json
import os
import random
import re
import select
import signal
import socket
import subprocess
import tempfile
import threading
import time
import urllib.request

import fakeapi

BIN = os.environ.get('ROUTER_BIN', 'build/bin/sandbox-router')


_given = set()


def free_port():
    """Below the ephemeral range, so that no outgoing connection takes it meanwhile; never twice."""
    while True:
        port = random.randrange(12000, 32000)
        with socket.socket() as s:
            try:
                s.bind(('127.0.0.1', port))
            except OSError:
                continue
        if port not in _given:
            _given.add(port)
            return port


_running = []


def kill_all():
    """What a failed test left behind."""
    for process in _running:
        if process.poll() is None:
            process.kill()
            process.wait()


class Router:
    """One running sandbox-router with a fake API server behind it."""

    def __init__(self, *flags, api=None, env=None, table=True, prefix=()):
        self.dir = tempfile.mkdtemp(prefix='router-test-')
        self.api = api
        self.port, self.probe, self.metrics_port = free_port(), free_port(), free_port()
        args = [BIN, '--http-bind-address=127.0.0.1:%d' % self.port,
                '--health-probe-bind-address=127.0.0.1:%d' % self.probe,
                '--metrics-bind-address=127.0.0.1:%d' % self.metrics_port]
        if table:
            self.api = api or fakeapi.FakeApi()
            args.append('--kubeconfig=' + self.api.kubeconfig(self.dir + '/kubeconfig'))
        if not any(f.startswith('--authz-mode') for f in flags) and not env:
            args.append('--authz-mode=allow-all')
        self.log_path = self.dir + '/log'
        self.log_file = open(self.log_path, 'wb')
        environ = {k: v for k, v in os.environ.items() if not k.startswith('ROUTER_AUTH')}
        # Freed memory kept back by the sanitizer would look like a leak to the memory checks.
        environ['ASAN_OPTIONS'] = environ.get('ASAN_OPTIONS', '') + ':quarantine_size_mb=1'
        environ.update(env or {})
        self.process = subprocess.Popen(list(prefix) + args + list(flags), stderr=self.log_file, env=environ)
        _running.append(self.process)
        self.wait_ready()

    def wait_ready(self):
        for _ in range(600):
            if self.process.poll() is not None:
                raise AssertionError('router ended: ' + self.log_text())
            if self.get_probe('/readyz')[0] == 200:
                return
            time.sleep(0.02)
        raise AssertionError('router is not ready: ' + self.log_text())

    def get_probe(self, path, port=None):
        url = 'http://127.0.0.1:%d%s' % (port or self.probe, path)
        try:
            with urllib.request.urlopen(url, timeout=5) as r:
                return r.status, r.read().decode()
        except urllib.error.HTTPError as e:
            return e.code, e.read().decode()
        except OSError:
            return 0, ''

    def metrics(self):
        return self.get_probe('/metrics', self.metrics_port)[1]

    def metric(self, name, **labels):
        """Sum of the series of this name that have these labels."""
        total = 0.0
        for line in self.metrics().splitlines():
            m = re.match(r'(\w+)(?:\{(.*)\})? (\S+)$', line)
            if m and m.group(1) == name:
                have = dict(re.findall(r'(\w+)="([^"]*)"', m.group(2) or ''))
                if all(have.get(k) == v for k, v in labels.items()):
                    total += float(m.group(3))
        return total

    def log_text(self):
        with open(self.log_path, errors='replace') as f:
            return f.read()

    def access_lines(self):
        lines = [json.loads(line) for line in self.log_text().splitlines() if line.startswith('{')]
        return [line for line in lines if line.get('logger') == 'sandbox-router.access']

    def rss_kb(self, field='RssAnon'):
        with open('/proc/%d/status' % self.process.pid) as f:
            return int(re.search(field + r':\s+(\d+)', f.read()).group(1))

    def check_growth(self, before, limit_kb):
        """Memory since `before`. The thread sanitizer keeps shadow pages and is allowed more."""
        with open('/proc/%d/maps' % self.process.pid) as f:
            factor = 8 if 'libtsan' in f.read() else 1
        grown = self.rss_kb() - before
        assert grown < limit_kb * factor, 'grew by %d KB' % grown

    def stop(self, sig=signal.SIGKILL):
        if self.process.poll() is None:
            self.process.send_signal(sig)
        code = self.process.wait(40)
        self.log_file.close()
        return code


class Backend:
    """A sandbox: runs `script(sock, number)` for each connection in a thread of its own."""

    def __init__(self, script, ip='127.0.0.1', port=0):
        self.script = script
        self.accepted = 0
        self.errors = []
        self.socket = socket.socket()
        self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        self.socket.bind((ip, port))
        self.socket.listen(256)
        self.port = self.socket.getsockname()[1]
        threading.Thread(target=self.accept, daemon=True).start()

    def accept(self):
        while True:
            try:
                conn, _ = self.socket.accept()
            except OSError:
                return
            self.accepted += 1
            threading.Thread(target=self.serve, args=(conn, self.accepted), daemon=True).start()

    def serve(self, conn, number):
        try:
            conn.settimeout(30)
            self.script(conn, number)
        except Exception as e:  # looked at by tests that care
            self.errors.append(e)
        finally:
            conn.close()

    def close(self):
        self.socket.shutdown(socket.SHUT_RDWR)  # wakes accept(), which would keep the port taken
        self.socket.close()


def read_head(sock):
    """Bytes up to the empty line, and what came behind it."""
    data = b''
    while b'\r\n\r\n' not in data:
        piece = sock.recv(65536)
        if not piece:
            return data, b''
        data += piece
    at = data.index(b'\r\n\r\n') + 4
    return data[:at], data[at:]


def read_exactly(sock, n, have=b''):
    while len(have) < n:
        piece = sock.recv(min(65536, n - len(have)))
        if not piece:
            break
        have += piece
    return have


def read_all(sock):
    data = b''
    while True:
        try:
            piece = sock.recv(65536)
        except ConnectionResetError:
            return data
        if not piece:
            return data
        data += piece


def read_until(sock, needle, have=b''):
    while needle not in have:
        piece = sock.recv(65536)
        if not piece:
            break
        have += piece
    return have


def fields(head):
    """[(name, value)] of a head's bytes."""
    lines = head.split(b'\r\n')[1:]
    return [tuple(line.decode('latin-1').split(': ', 1)) for line in lines if line]


def replying(reply, seen=None):
    """A script that answers every request without body with the same bytes."""
    def script(sock, number):
        while True:
            head, rest = read_head(sock)
            if not head:
                return
            if seen is not None:
                seen.append(head)
            sock.sendall(reply)
    return script


OK = b'HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok'


def connect(router):
    sock = socket.create_connection(('127.0.0.1', router.port), timeout=20)
    sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return sock


def routing(name, port, ns=None):
    text = 'X-Sandbox-ID: %s\r\nX-Sandbox-Port: %d\r\n' % (name, port)
    if ns:
        text += 'X-Sandbox-Namespace: %s\r\n' % ns
    return text.encode()


def request(name, backend, start=b'GET / HTTP/1.1', more=b'', body=b'', close=True):
    return (start + b'\r\nHost: h\r\n' + routing(name, backend.port) + more +
            (b'Connection: close\r\n' if close else b'') + b'\r\n' + body)


def talk(router, data):
    """Sends bytes, returns all that comes back until the router closes."""
    with connect(router) as sock:
        sock.sendall(data)
        return read_all(sock)


def ask(router, name, backend, **how):
    """One request on a connection of its own: status, head bytes, body bytes."""
    reply = talk(router, request(name, backend, **how))
    if b'\r\n\r\n' not in reply:
        raise AssertionError('no complete reply: %r' % reply)
    at = reply.index(b'\r\n\r\n') + 4
    return int(reply.split(b' ', 2)[1]), reply[:at], reply[at:]


def unchunk(data):
    """Decodes a complete chunked body; returns body and trailer bytes."""
    body = b''
    while True:
        at = data.index(b'\r\n')
        size = int(data[:at], 16)
        data = data[at + 2:]
        if size == 0:
            return body, data
        body += data[:size]
        assert data[size:size + 2] == b'\r\n', data[size:size + 2]
        data = data[size + 2:]


def is_closed(sock, seconds=5):
    """True when the peer closes within the time."""
    poll = select.poll()  # select() knows no descriptor above 1,023
    poll.register(sock, select.POLLIN)
    if not poll.poll(seconds * 1000):
        return False
    try:
        return sock.recv(1) == b''
    except ConnectionResetError:
        return True


def equal(got, want):
    if got != want:
        raise AssertionError('got  %r\n      want %r' % (got, want))


def contains(text, part):
    if part not in text:
        raise AssertionError('%r is not in %r' % (part, text))


def wait_for(condition, seconds=5, what='condition'):
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        if condition():
            return
        time.sleep(0.01)
    raise AssertionError('%s did not come true in %s s' % (what, seconds))
