#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""TLS of the router beside nginx: CPU of a new and of a resumed handshake, memory of an idle connection.

    test/bench/tls.py [SECONDS]     one worker each, `openssl s_time`, one connection at a time

A handshake's cost is the server's CPU time (user and system) by the connections made; it includes accept, one
request and close. Prints numbers and never gates.
"""
import os
import re
import resource
import socket
import subprocess
import sys
import tempfile
import time

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path.insert(0, os.path.join(ROOT, 'test/integ/router'))
sys.dont_write_bytecode = True

import certs  # noqa: E402
import lib  # noqa: E402
import test_tls  # noqa: E402

CONNECTIONS = 2000
NGINX = '''worker_processes 1; daemon off; pid {dir}/pid; error_log stderr crit;
events {{ worker_connections 12000; }}
http {{ access_log off; keepalive_timeout 600;
  server {{ listen 127.0.0.1:{port} ssl; ssl_certificate {cert}; ssl_certificate_key {key};
    ssl_protocols TLSv1.2 TLSv1.3; ssl_session_cache off; ssl_session_timeout 2h; location / {{ return 200 "ok"; }} }} }}
'''


def cpu_s(pid):
    with open('/proc/%d/stat' % pid) as f:
        fields = f.read().rsplit(')', 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf('SC_CLK_TCK')


def anon_kb(pid):
    with open('/proc/%d/status' % pid) as f:
        return int(re.search(r'RssAnon:\s+(\d+)', f.read()).group(1))


def start_nginx(cert):
    folder, port = tempfile.mkdtemp(prefix='bench-nginx-'), lib.free_port()
    crt, key = certs.pair(cert)
    with open(folder + '/conf', 'w') as f:
        f.write(NGINX.format(dir=folder, port=port, cert=crt, key=key))
    process = subprocess.Popen(['nginx', '-c', folder + '/conf', '-p', folder])
    time.sleep(0.5)
    with open('/proc/%d/task/%d/children' % (process.pid, process.pid)) as f:
        return process, int(f.read().split()[0]), port


def handshakes(port, version, kind, seconds):
    out = subprocess.run(['openssl', 's_time', '-connect', '127.0.0.1:%d' % port, '-www', '/healthz', '-time', str(seconds),
                          version, kind], capture_output=True, text=True, check=True).stdout
    return int(re.findall(r'(\d+) connections in \d+ real seconds', out)[-1])


def measure(pid, port, version, kind, seconds):
    before = cpu_s(pid)
    count = handshakes(port, version, kind, seconds)
    return round((cpu_s(pid) - before) / count * 1e6)


def idle_bytes(pid, port):
    context, before, held = test_tls.client(), anon_kb(pid), []
    for _ in range(CONNECTIONS):
        sock = context.wrap_socket(socket.create_connection(('127.0.0.1', port)), server_hostname='localhost')
        sock.sendall(b'GET /healthz HTTP/1.1\r\nHost: h\r\n\r\n')
        sock.recv(4096)
        held.append(sock)
    time.sleep(0.5)
    grown = (anon_kb(pid) - before) * 1024 // CONNECTIONS
    for sock in held:
        sock.close()
    return grown


def main():
    seconds = int(sys.argv[1]) if len(sys.argv) > 1 else 4
    lib.BIN = os.path.join(ROOT, 'build/bin/sandbox-router')
    certs.setup()
    resource.setrlimit(resource.RLIMIT_NOFILE, (20000, 20000))
    print('%-28s %14s %14s' % ('CPU us a connection', 'router', 'nginx'))
    for cert, label in (('server', 'P-256'), ('rsa', 'RSA-2048')):
        router = test_tls.start('--workers=1', '--access-log=false', cert=cert)
        nginx, worker, port = start_nginx(cert)
        for version in ('-tls1_3', '-tls1_2'):
            for kind in ('-new', '-reuse'):
                ours = measure(router.process.pid, router.tls, version, kind, seconds)
                theirs = measure(worker, port, version, kind, seconds)
                print('%-28s %14d %14d' % (label + ' ' + version[1:] + ' ' + kind[1:], ours, theirs), flush=True)
        if cert == 'server':
            memory = idle_bytes(router.process.pid, router.tls), idle_bytes(worker, port)
        nginx.terminate()
        nginx.wait()
        router.stop()
    print('%-28s %14d %14d' % ('bytes an idle connection', *memory))


main()
