# SPDX-License-Identifier: Apache-2.0
"""The process: configuration, profiles, authorization, logs, metrics, drain, exit codes."""
import json
import os
import resource
import signal
import subprocess
import tempfile
import threading
import time

import lib
from fakeapi import FakeApi, pod
from lib import (OK, Backend, Router, ask, connect, contains, equal, free_port, is_closed, read_all, read_exactly,
                 read_head, replying, request, talk, wait_for)


def run(*args, env=None):
    environ = {k: v for k, v in os.environ.items() if k != 'KUBECONFIG'}
    environ.update(env or {})
    done = subprocess.run([lib.BIN, *args], capture_output=True, text=True, timeout=20, env=environ)
    return done.returncode, done.stdout, done.stderr


def stopped(router, sig=signal.SIGTERM):
    code = router.stop(sig)
    assert 'Sanitizer' not in router.log_text(), router.log_text()[-4000:]
    return code


def with_box(*flags, **how):
    api = FakeApi()
    api.put(pod('box', '127.0.0.1'))
    return Router('--resolve-wait=200ms', '--shutdown-delay=0s', *flags, api=api, **how)


def test_wrong_configuration_is_exit_2_with_the_reason():
    rows = [((), '--authz-mode=allow-all'),
            ((), 'tokenreview or scoped-token'),
            (('--authz-mode=tokenreview', '--authz-tokenreview-ttl=0s'), '--authz-tokenreview-ttl'),
            (('--authz-mode=tokenreview', '--authz-tokenreview-cache-size=0'), '--authz-tokenreview-cache-size'),
            (('--authz-mode=scoped-token',), '--authz-scoped-token-secret-file'),
            (('--authz-mode=nonsense',), 'authz-mode'),
            (('--no-such-flag',), 'no-such-flag'),
            (('--authz-mode=allow-all', '--proxy-timeout=0s'), '--proxy-timeout'),
            (('--authz-mode=allow-all', '--proxy-timeout=soon'), 'proxy-timeout'),
            (('--authz-mode=allow-all', '--max-request-body-bytes=-1'), '--max-request-body-bytes'),
            (('--authz-mode=allow-all', '--cache-enabled=false'), '--trust-pod-ip-header'),
            (('--authz-mode=allow-all', '--https-bind-address=:8443'), '--https-bind-address'),
            (('--authz-mode=allow-all', '--mtls-mode=required'), '--mtls-mode'),
            (('--authz-mode=allow-all', '--http-bind-address='), '--http-bind-address'),
            (('--authz-mode=allow-all', '--zap-log-level=loud'), '--zap-log-level'),
            (('--authz-mode=allow-all', '--config=/no/such/file'), '/no/such/file'),
            (('--authz-mode=allow-all', 'argument'), 'argument')]
    for args, part in rows:
        code, _, err = run(*args)
        equal((args, code), (args, 2))
        contains(err, part)


def test_what_cannot_run_is_exit_1():
    code, _, err = run('--authz-mode=allow-all', '--http-bind-address=nonsense', '--metrics-bind-address=0',
                       '--health-probe-bind-address=0')
    equal(code, 1)
    contains(err, 'nonsense')
    code, _, err = run('--authz-mode=allow-all', '--http-bind-address=127.0.0.1:0', '--metrics-bind-address=0',
                       '--health-probe-bind-address=0', '--kubeconfig=/no/such/kubeconfig')
    equal(code, 1)
    contains(err, '/no/such/kubeconfig')
    with lib.socket.socket() as taken:
        taken.bind(('127.0.0.1', 0))
        taken.listen()
        code, _, err = run('--authz-mode=allow-all', '--http-bind-address=127.0.0.1:%d' % taken.getsockname()[1],
                           '--metrics-bind-address=0', '--health-probe-bind-address=0')
    equal(code, 1)
    contains(err, 'in use')


def test_help_and_version():
    code, out, _ = run('--help')
    equal(code, 0)
    contains(out, '--response-header-timeout')
    code, out, _ = run('--version')
    equal(code, 0)
    contains(out, 'sandbox-router')


def test_every_flag_of_upstream_is_accepted():
    router = with_box('--metrics-bind-address=0', '--cluster-domain=x.y', '--proxy-timeout=1m30s', '--response-header-timeout=200ms',
                      '--shutdown-timeout=1s', '--max-request-body-bytes=0', '--allow-loopback-pod-ip',
                      '--upstream-max-retries=1', '--upstream-retry-initial-delay=0s', '--upstream-retry-max-delay=0s',
                      '--enable-tracing=false', '--enable-otel-metrics=false', '--authz-mode', 'allow-all',
                      '--authz-tokenreview-ttl=30s', '--authz-tokenreview-cache-size=1', '--authz-tokenreview-require-token',
                      '--authz-tokenreview-audiences=a,b', '--authz-scoped-token-secret-file=/x', '--cache-enabled',
                      '--cache-namespace=', '--access-log=false', '--mtls-mode=off', '--https-bind-address=',
                      '--tls-cert-file=', '--tls-key-file=', '--tls-client-ca-file=', '--zap-devel=false',
                      '--zap-log-level=info', '--zap-encoder=json', '--zap-stacktrace-level=error',
                      '--zap-time-encoding=epoch')
    equal(ask(router, 'box', Backend(replying(OK)))[0], 200)
    equal(router.access_lines(), [])
    contains(router.log_text(), 'no effect')
    equal(stopped(router), 0)


def config_file(text):
    f = tempfile.NamedTemporaryFile('w', suffix='.yaml', delete=False)
    f.write(text)
    f.close()
    return f.name


def test_the_configuration_file():
    silent = Backend(lambda sock, number: read_all(sock))
    name = config_file('response-header-timeout: 300ms\nupstream-max-retries: 1\naccess-log: false\n'
                       'authz-mode: allow-all\nmax-request-body-bytes: 5\n')
    router = with_box('--config=' + name, '--max-request-body-bytes=10')
    body = ask(router, 'box', silent)[2]
    contains(body, b'--response-header-timeout, 300ms')
    equal(router.access_lines(), [])
    equal(ask(router, 'box', silent, start=b'PUT / HTTP/1.1', more=b'Content-Length: 11\r\n', body=b'x' * 11)[0], 413)
    equal(ask(router, 'box', silent, start=b'PUT / HTTP/1.1', more=b'Content-Length: 9\r\n', body=b'x' * 9)[0], 504)
    equal(stopped(router), 0)
    for bad in ('no-such-key: 1\n', 'proxy-timeout: {a: 1}\n', 'proxy-timeout: [1]\n', 'proxy-timeout: never\n',
                '- a\n', 'a: b: c\n', 'proxy-timeout: 1s\nproxy-timeout: 2s\n', 'config: x\n'):
        code, _, err = run('--authz-mode=allow-all', '--config=' + config_file(bad))
        equal((bad, code), (bad, 2))
        contains(err, '--config')


def test_the_environment():
    silent = Backend(lambda sock, number: read_all(sock))
    router = with_box('--authz-mode=allow-all', env={'PROXY_TIMEOUT_SECONDS': '0.3'})
    contains(ask(router, 'box', silent)[2], b'--proxy-timeout, 300ms')
    equal(stopped(router), 0)
    router = with_box('--authz-mode=allow-all', '--response-header-timeout=200ms', env={'PROXY_TIMEOUT_SECONDS': 'junk'})
    contains(ask(router, 'box', silent)[2], b'--response-header-timeout, 200ms')
    equal(stopped(router), 0)


def test_the_static_token():
    router = with_box('--authz-mode=allow-all', env={'ROUTER_AUTH_TOKEN': 's3cret'})
    seen = []
    backend = Backend(replying(OK, seen))
    missing = b'{"detail":"Missing or invalid Authorization header."}\n'
    invalid = b'{"detail":"Invalid token."}\n'
    for more, want in ((b'', missing), (b'Authorization: Basic s3cret\r\n', missing), (b'Authorization: Bearer\r\n', missing),
                       (b'Authorization: Bearer x\r\n', invalid), (b'Authorization: Bearer s3cre\r\n', invalid),
                       (b'Authorization: Bearer s3crets3cret\r\n', invalid),
                       (b'Authorization: Bearer s3cret\r\nAuthorization: Bearer s3cret\r\n', missing)):
        status, _, body = ask(router, 'box', backend, more=more)
        equal((more, status, body), (more, 401, want))
    equal(seen, [])
    for more in (b'Authorization: Bearer s3cret\r\n', b'authorization: bearer   s3cret \r\n'):
        equal(ask(router, 'box', backend, more=more)[0], 200)
    assert all(b's3cret' not in head for head in seen), seen
    contains(talk(router, b'GET /healthz HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n'), b'200 OK')
    contains(talk(router, b'GET / HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n'), b'400')  # headers come first
    equal(router.metric('sandbox_router_authz_decisions_total', decision='deny'), 7)
    equal(router.metric('sandbox_router_authz_decisions_total', decision='allow'), 2)
    assert 's3cret' not in router.log_text() + router.metrics()
    equal(stopped(router), 0)


def test_the_profile_that_trusts_its_clients():
    router = Router('--trust-pod-ip-header', '--cache-enabled=false', '--allow-loopback-pod-ip', '--shutdown-delay=0s',
                    '--upstream-max-retries=0', '--cluster-domain=invalid', table=False)
    backend = Backend(replying(OK))
    equal(ask(router, 'anything', backend, more=b'X-Sandbox-Pod-IP: 127.0.0.1\r\n')[0], 200)
    status, _, body = ask(router, 'nobody', backend)  # no address: DNS, where .invalid does not exist
    equal(status, 502)
    contains(body, b'{"detail":"Could not connect to the backend sandbox: nobody (the')
    contains(router.log_text(), 'clients choose their target')
    equal(stopped(router), 0)


def test_an_ipv6_sandbox():
    sock = lib.socket.socket(lib.socket.AF_INET6)
    try:
        sock.bind(('::1', 0))
    except OSError:
        return  # this machine has no IPv6 loopback: nothing can be reached there
    sock.listen()
    heads = []

    def serve():
        conn, _ = sock.accept()
        head, rest = read_head(conn)
        heads.append(head)
        conn.sendall(OK)
        conn.close()
    threading.Thread(target=serve, daemon=True).start()
    router = with_box()
    router.api.put(pod('six', '::1'))

    class Port:
        port = sock.getsockname()[1]
    equal(ask(router, 'six', Port)[0], 200)
    contains(heads[0], b'Host: [::1]:%d\r\n' % Port.port)
    equal(stopped(router), 0)


def test_the_access_log():
    router = with_box()
    backend = Backend(replying(OK))
    ask(router, 'box', backend, start=b'GET /p%22"\\x\xff?secret=1 HTTP/1.1', more=b'User-Agent: a"b\\c\xc3\xbc\r\n')
    wait_for(lambda: router.access_lines())
    line = router.access_lines()[0]
    equal({k: line[k] for k in ('level', 'msg', 'method', 'status', 'client_ip', 'sandbox_id', 'sandbox_namespace',
                                'bytes_out', 'user_agent', 'source')},
          {'level': 'info', 'msg': 'request', 'method': 'GET', 'status': 200, 'client_ip': '127.0.0.1',
           'sandbox_id': 'box', 'sandbox_namespace': 'default', 'bytes_out': 2, 'user_agent': 'a"b\\c\u00fc',
           'source': 'cache-name'})
    assert line['path'].startswith('/p%22"\\x') and 'secret' not in line['path'], line['path']
    assert isinstance(line['duration_ms'], (int, float))
    talk(router, b'GET /healthz HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n')
    talk(router, b'garbage\r\n\r\n')
    wait_for(lambda: len(router.access_lines()) >= 2)
    equal([entry['status'] for entry in router.access_lines()], [200, 400])
    equal(stopped(router), 0)


def test_metrics_cannot_be_blown_up_by_callers():
    router = with_box('--resolve-wait=0s')
    backend = Backend(replying(OK))
    for i in range(20):
        ask(router, 'box', backend, start=b'X%d / HTTP/1.1' % i)
        talk(router, b'GET / HTTP/1.1\r\nHost: h\r\nConnection: close\r\nX-Sandbox-ID: a\r\nX-Sandbox-Namespace: ns%d\r\n\r\n' % i)
    equal(router.metric('sandbox_router_requests_total', method='OTHER', code='200', sandbox_namespace='default'), 20)
    equal(router.metric('sandbox_router_requests_total', method='GET', code='404', sandbox_namespace='-'), 20)
    assert 'ns1' not in router.metrics()
    for name in ('requests_total', 'request_duration_seconds', 'inflight_requests', 'upstream_errors_total',
                 'upstream_retries_total', 'cache_invalidations_total', 'authz_decisions_total', 'cert_reloads_total',
                 'build_info'):
        contains(router.metrics(), '# TYPE sandbox_router_' + name)
    equal(router.get_probe('/healthz')[1], '{"status":"ok"}\n')
    equal(router.get_probe('/nothing')[0], 404)
    equal(stopped(router), 0)


def test_sigterm_lets_running_requests_finish():
    go = threading.Event()

    def script(sock, number):
        read_head(sock)
        sock.sendall(b'HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nab')
        go.wait(10)
        sock.sendall(b'cd')
    backend = Backend(script)
    api = FakeApi()
    api.put(pod('box', '127.0.0.1'))
    router = Router('--shutdown-delay=300ms', '--shutdown-timeout=10s', api=api)
    idle = connect(router)
    idle.sendall(b'GET /healthz HTTP/1.1\r\nHost: h\r\n\r\n')
    read_head(idle)
    busy = connect(router)
    busy.sendall(request('box', backend, close=False))
    head, rest = read_head(busy)
    rest = read_exactly(busy, 2, rest)
    router.process.send_signal(signal.SIGTERM)
    wait_for(lambda: router.get_probe('/readyz') == (503, 'draining'))
    late = ask(router, 'box', Backend(replying(OK)))  # the listener is open during the delay
    equal(late[0], 200)
    assert is_closed(idle, 5)
    time.sleep(0.5)
    try:
        connect(router).close()
        raise AssertionError('still accepting')
    except ConnectionRefusedError:
        pass
    go.set()
    equal(rest + read_all(busy), b'abcd')
    equal(router.process.wait(10), 0)
    equal(stopped(router), 0)


def test_the_drain_has_an_end():
    silent = Backend(lambda sock, number: read_all(sock))
    router = with_box('--shutdown-timeout=400ms')
    sock = connect(router)
    sock.sendall(request('box', silent))
    wait_for(lambda: silent.accepted == 1)
    start = time.monotonic()
    equal(stopped(router), 0)
    assert 0.3 < time.monotonic() - start < 3
    equal(read_all(sock), b'')


def test_a_second_signal_does_not_wait():
    silent = Backend(lambda sock, number: read_all(sock))
    router = with_box('--shutdown-timeout=60s')
    sock = connect(router)
    sock.sendall(request('box', silent))
    wait_for(lambda: silent.accepted == 1)
    router.process.send_signal(signal.SIGINT)
    time.sleep(0.2)
    equal(stopped(router, signal.SIGINT), 0)


def test_not_ready_before_the_first_list():
    api = FakeApi()
    api.refuse = True
    port = free_port()
    process = subprocess.Popen([lib.BIN, '--authz-mode=allow-all', '--http-bind-address=127.0.0.1:0',
                                '--metrics-bind-address=0', '--health-probe-bind-address=127.0.0.1:%d' % port,
                                '--kubeconfig=' + api.kubeconfig(tempfile.mkdtemp() + '/k')], stderr=subprocess.DEVNULL)

    def probe(path):
        try:
            with lib.urllib.request.urlopen('http://127.0.0.1:%d%s' % (port, path), timeout=2) as r:
                return r.status
        except lib.urllib.error.HTTPError as e:
            return e.code
        except OSError:
            return 0
    wait_for(lambda: probe('/healthz') == 200)
    equal(probe('/readyz'), 503)
    api.refuse = False
    wait_for(lambda: probe('/readyz') == 200, 40)
    process.terminate()
    equal(process.wait(10), 0)


def test_several_workers_share_the_port():
    router = with_box('--workers=4')
    backend = Backend(replying(OK))
    for _ in range(40):
        equal(ask(router, 'box', backend)[0], 200)
    contains(json.dumps([line for line in router.log_text().splitlines() if 'serving' in line]), 'workers')
    router.api.put(pod('late', '127.0.0.1'))
    wait_for(lambda: all(ask(router, 'late', backend)[0] == 200 for _ in range(8)))
    equal(stopped(router), 0)


def test_running_out_of_descriptors_is_survived():
    router = with_box('--workers=1', prefix=('prlimit', '--nofile=64:64'))
    backend = Backend(replying(OK))
    socks = [connect(router) for _ in range(90)]  # the kernel takes them, the router cannot
    with open('/proc/%d/stat' % router.process.pid) as f:
        before = f.read().split()[13:15]
    time.sleep(0.5)
    with open('/proc/%d/stat' % router.process.pid) as f:
        after = f.read().split()[13:15]
    ticks = sum(map(int, after)) - sum(map(int, before))
    assert ticks < 25, 'busy while nothing can be done: %d ticks of 50' % ticks
    for sock in socks:
        sock.close()
    wait_for(lambda: ask(router, 'box', backend)[0] == 200)
    equal(stopped(router), 0)


def test_a_thousand_sandboxes_and_a_relist():
    api = FakeApi()
    for i in range(1000):
        api.put(pod('s%d' % i, '127.0.0.1', ns='ns%d' % (i % 7)))
    router = Router('--resolve-wait=200ms', '--shutdown-delay=0s', api=api)
    backend = Backend(replying(OK))
    equal(router.metric('sandbox_router_routes'), 1000)
    api.refuse = True
    api.cut_watches()
    for i in range(0, 1000, 2):
        api.delete('s%d' % i, 'ns%d' % (i % 7))
    with api.lock:  # what was deleted is too old to be watched
        api.rv += 1000
    api.gone = True
    api.refuse = False
    wait_for(lambda: router.metric('sandbox_router_routes') == 500, 40)
    status = [talk(router, b'GET / HTTP/1.1\r\nHost: h\r\nConnection: close\r\n' + lib.routing('s%d' % i, backend.port, 'ns%d' % (i % 7)) +
                   b'\r\n').split(b' ')[1] for i in (0, 1, 998, 999)]
    equal(status, [b'404', b'200', b'404', b'200'])
    equal(stopped(router), 0)


def test_names_are_resolved_in_the_profile_that_trusts_clients():
    hosts = config_file('127.0.0.1 localhost\n127.0.0.1 box.default.svc.test.internal\n')
    router = Router('--trust-pod-ip-header', '--cache-enabled=false', '--cluster-domain=test.internal',
                    '--shutdown-delay=0s', table=False,
                    prefix=('unshare', '-m' if os.geteuid() == 0 else '-rm', 'sh', '-c', 'mount --bind %s /etc/hosts && exec "$@"' % hosts, 'sh'))
    seen = []
    backend = Backend(replying(OK, seen))
    for _ in range(3):
        equal(ask(router, 'box', backend)[0], 200)
    contains(seen[0], b'Host: box.default.svc.test.internal:%d\r\n' % backend.port)
    equal(router.access_lines()[0]['source'], 'dns')
    equal(stopped(router), 0)


def test_only_so_many_requests_wait_for_unknown_names():
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    api = FakeApi()
    router = Router('--resolve-wait=60s', '--workers=1', '--shutdown-timeout=0s', '--shutdown-delay=0s', api=api)
    socks = []
    for _ in range(4096):
        sock = connect(router)
        sock.sendall(b'GET / HTTP/1.1\r\nHost: h\r\nX-Sandbox-ID: nobody\r\n\r\n')
        socks.append(sock)
    wait_for(lambda: router.metric('sandbox_router_inflight_requests') == 4096, 20)
    status, _, body = ask(router, 'nobody', Backend(replying(OK)))
    equal((status, body), (503, b'{"detail":"Too many requests wait for unknown sandboxes."}\n'))
    for sock in socks[:10]:
        sock.close()
    wait_for(lambda: router.metric('sandbox_router_inflight_requests') == 4086, 20)
    equal(stopped(router), 0)
    for sock in socks:
        sock.close()
    resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


def file_router(text, *flags):
    name = config_file(text)
    return name, with_box('--config=' + name, *flags)


def rewrite(name, text):
    """As a ConfigMap does it: the name leads to another file at once."""
    os.rename(config_file(text), name)


def test_a_changed_file_is_read_again():
    silent = Backend(lambda sock, number: read_all(sock))
    name, router = file_router('response-header-timeout: 300ms\nauthz-mode: allow-all\nzap-log-level: error\n',
                               '--max-request-body-bytes=10')
    contains(ask(router, 'box', silent)[2], b'--response-header-timeout, 300ms')
    rewrite(name, 'response-header-timeout: 200ms\nauthz-mode: allow-all\nmax-request-body-bytes: 5\nworkers: 7\n')
    wait_for(lambda: router.metric('sandbox_router_config_reloads_total', outcome='success') == 1)
    contains(ask(router, 'box', silent)[2], b'--response-header-timeout, 200ms')
    equal(ask(router, 'box', silent, start=b'PUT / HTTP/1.1', more=b'Content-Length: 8\r\n', body=b'x' * 8)[0], 504)
    log = router.log_text()
    contains(log, '"changed":"--response-header-timeout, --zap-log-level"')  # the command line wins for the body
    contains(log, '"flags":"--workers"')
    wait_for(lambda: len(router.access_lines()) == 2)  # the log level changed, too
    equal(stopped(router), 0)


def test_a_bad_file_changes_nothing():
    silent = Backend(lambda sock, number: read_all(sock))
    name, router = file_router('response-header-timeout: 300ms\n')
    for text in ('response-header-timeout: soon\n', 'no-such-flag: 1\n', '{', 'client-idle-timeout: 0s\n'):
        before = router.metric('sandbox_router_config_reloads_total', outcome='error')
        rewrite(name, text)
        wait_for(lambda: router.metric('sandbox_router_config_reloads_total', outcome='error') == before + 1)
    contains(router.log_text(), 'the new configuration is wrong, the old one stays')
    contains(ask(router, 'box', silent)[2], b'--response-header-timeout, 300ms')
    os.unlink(name)  # away for a moment
    time.sleep(2.5)
    equal(router.metric('sandbox_router_config_reloads_total', outcome='error'), 4)
    equal(stopped(router), 0)


def test_sighup_reads_again_and_limits_hold_for_open_connections():
    backend = Backend(replying(OK))
    name, router = file_router('max-requests-per-client: 0\n')
    with connect(router) as sock:
        sock.sendall(request('box', backend, close=False))
        contains(read_head(sock)[0], b' 200 ')
        with open(name, 'w') as f:
            f.write('request-rate-per-client: 0.001\n')
        router.process.send_signal(signal.SIGHUP)
        wait_for(lambda: router.metric('sandbox_router_config_reloads_total', outcome='success') >= 1)
        sock.sendall(request('box', backend, close=False))
        wait_for(lambda: ask(router, 'box', backend)[0] == 429)
    equal(stopped(router), 0)


def test_sighup_without_a_file_is_harmless():
    router = with_box()
    for _ in range(3):
        router.process.send_signal(signal.SIGHUP)
    wait_for(lambda: router.metric('sandbox_router_config_reloads_total', outcome='success') >= 1)
    equal(ask(router, 'box', Backend(replying(OK)))[0], 200)
    equal(stopped(router), 0)


def test_metrics_of_single_sandboxes_are_bounded():
    api = FakeApi()
    for name in ('a', 'b', 'c'):
        api.put(pod(name, '127.0.0.1'))
    router = Router('--shutdown-delay=0s', '--resolve-wait=100ms', '--metrics-per-sandbox=2', api=api)
    family, backend = 'sandbox_router_sandbox_requests_total', Backend(replying(OK))
    for name in ('a', 'a', 'b', 'c', 'nobody'):
        ask(router, name, backend)
    wait_for(lambda: router.metric(family, code='200') == 4)
    equal(router.metric(family, sandbox='a'), 0)
    equal(router.metric(family, sandbox='_overflow', code='200'), 2)
    equal(router.metric(family, sandbox='nobody'), 0)
    equal(router.metric('sandbox_router_sandbox_bytes_total', sandbox='c', direction='to_client'), 2)
    equal(router.metric('sandbox_router_bytes_total', direction='to_client') >= 8, True)
    equal(stopped(router), 0)
    router = with_box()
    ask(router, 'box', backend)
    equal(family in router.metrics(), False)
    equal(stopped(router), 0)
