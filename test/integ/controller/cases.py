# SPDX-License-Identifier: Apache-2.0
"""The process: exit codes, ports, caches before leadership, the Lease, signals."""
import contextlib
import json
import os
import shutil
import signal
import socket
import ssl
import subprocess
import tempfile
import time
import urllib.error
import urllib.request

from apiserver import ApiServer

BIN = os.path.abspath(os.environ.get('CONTROLLER_BIN', 'build/bin/sandbox-controller'))


def once(*args, env=None):
    e = {'PATH': os.environ['PATH'], 'HOME': '/nonexistent'}
    e.update(env or {})
    return subprocess.run([BIN, *args], capture_output=True, text=True, timeout=20, env=e)


def free_port():
    with socket.socket() as s:
        s.bind(('127.0.0.1', 0))
        return s.getsockname()[1]


def until(fn, seconds=10):
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        value = fn()
        if value:
            return value
        time.sleep(0.02)
    raise AssertionError('not within %s s' % seconds)


class Controller:
    def __init__(self, api, directory, *args):
        self.metrics, self.probes = free_port(), free_port()
        self.path = os.path.join(directory, 'log-%d' % self.probes)
        self.log_file = open(self.path, 'wb')
        self.process = subprocess.Popen(
            [BIN, '--kubeconfig', api.kubeconfig(os.path.join(directory, 'kubeconfig')),
             '--metrics-bind-address', '127.0.0.1:%d' % self.metrics,
             '--health-probe-bind-address', '127.0.0.1:%d' % self.probes,
             '--leader-election-namespace', 'system', '--zap-log-level', 'debug', *args],
            stderr=self.log_file)

    def get(self, port, path):
        try:
            with urllib.request.urlopen('http://127.0.0.1:%d%s' % (port, path), timeout=5) as r:
                return r.status, r.read().decode()
        except urllib.error.HTTPError as e:
            return e.code, e.read().decode()
        except OSError:
            return 0, ''

    def log(self):
        with open(self.path) as f:
            return [json.loads(line) for line in f]

    def said(self, text):
        return [line for line in self.log() if line['msg'] == text]

    def end(self, signo=None, seconds=20):
        if signo:
            self.process.send_signal(signo)
        return self.process.wait(seconds)


@contextlib.contextmanager
def running(*args, api=None, directory=None):
    api = api or ApiServer()
    with tempfile.TemporaryDirectory() as made:
        c = Controller(api, directory or made, *args)
        try:
            yield api, c
        finally:
            if c.process.poll() is None:
                c.process.kill()
                c.process.wait()
            c.log_file.close()


# ---- command line ----

def test_help_and_version_exit_0():
    r = once('--help')
    assert r.returncode == 0 and '--leader-elect' in r.stdout, r
    r = once('-version')
    assert r.returncode == 0 and 'sandbox-controller' in r.stdout, r


def test_a_command_line_that_cannot_be_parsed_exits_2():
    for arg in ('--no-such-flag', '--sandbox-concurrent-workers=many', '--leader-elect=maybe'):
        r = once(arg)
        assert r.returncode == 2 and arg.split('=')[0] in r.stderr, (arg, r)


def test_values_that_cannot_be_exit_1_and_name_the_flag():
    for flag, value in (('sandbox-concurrent-workers', '0'), ('api-connections', '0'),
                        ('sandbox-warm-pool-readiness-grace-period', '0s')):
        r = once('--%s=%s' % (flag, value))
        assert r.returncode == 1 and '--' + flag in r.stderr, (flag, r)


def test_a_kubeconfig_that_lies_exits_1_and_says_so():
    with tempfile.TemporaryDirectory() as d:
        path = os.path.join(d, 'k')
        for text, word in (('', ''), ('{"clusters": [', 'line'), ('current-context: nowhere', 'nowhere')):
            with open(path, 'w') as f:
                f.write(text)
            r = once('--kubeconfig', path, '--leader-election-namespace', 'x')
            assert r.returncode == 1 and word in r.stderr, (text, r)
        r = once('--kubeconfig', os.path.join(d, 'none'), '--leader-election-namespace', 'x')
        assert r.returncode == 1 and 'none' in r.stderr, r


def test_outside_of_a_cluster_the_lease_needs_a_namespace():
    api = ApiServer()
    with tempfile.TemporaryDirectory() as d:
        r = once('--kubeconfig', api.kubeconfig(os.path.join(d, 'k')))
        assert r.returncode == 1 and '--leader-election-namespace' in r.stderr, r


def test_a_port_that_is_taken_exits_1():
    api = ApiServer()
    with tempfile.TemporaryDirectory() as d:
        r = once('--kubeconfig', api.kubeconfig(os.path.join(d, 'k')), '--leader-election-namespace', 'x',
                 '--metrics-bind-address', '0', '--health-probe-bind-address', '127.0.0.1:%d' % api.port)
        assert r.returncode == 1 and '--health-probe-bind-address' in r.stderr, r


def test_flags_without_effect_are_named_once():
    with running('--enable-webhook=false', '--cache-label-selectors') as (api, c):
        until(lambda: c.said('reconcilers started'))
        named = [line['flag'] for line in c.said('this flag has no effect here')]
        assert sorted(named) == ['cache-label-selectors', 'enable-webhook'], named


def scrape(port, cafile=None, version=None):
    context = ssl.create_default_context(cafile=cafile)
    if not cafile:
        context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    if version:
        context.minimum_version = context.maximum_version = version
    with urllib.request.urlopen('https://127.0.0.1:%d/metrics' % port, timeout=5, context=context) as r:
        return r.status, r.read().decode()


def refused(fn):
    try:
        fn()
    except OSError:
        return True
    return False


def make_cert(folder, name):
    subprocess.run(['openssl', 'req', '-x509', '-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:P-256', '-nodes', '-days', '5',
                    '-keyout', folder + '/tls.key', '-out', folder + '/tls.crt', '-subj', '/CN=' + name,
                    '-addext', 'subjectAltName=IP:127.0.0.1'], check=True, capture_output=True)


def test_metrics_by_tls_with_a_certificate_of_its_own():
    with running('--metrics-secure-serving', '--tls-min-version=VersionTLS13') as (api, c):
        until(lambda: c.said('reconcilers started'))
        status, text = scrape(c.metrics)
        assert status == 200 and 'process_start_time_seconds' in text
        assert refused(lambda: scrape(c.metrics, version=ssl.TLSVersion.TLSv1_2))
        assert c.get(c.metrics, '/metrics')[0] == 400  # plain text on the same port
        assert c.get(c.probes, '/healthz') == (200, 'ok')  # probes stay plain


def test_metrics_by_tls_with_files_that_change():
    with tempfile.TemporaryDirectory() as d:
        make_cert(d, 'one')
        one = d + '/one.crt'
        shutil.copy(d + '/tls.crt', one)
        with running('--metrics-secure-serving', '--metrics-cert-dir=' + d,
                     '--tls-cipher-suites=TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384') as (api, c):
            until(lambda: c.said('reconcilers started'))
            assert 'certwatcher_read_certificate_total 1' in scrape(c.metrics, one, ssl.TLSVersion.TLSv1_2)[1]
            make_cert(d, 'two')
            until(lambda: c.said('certificate of the metrics port reloaded'))
            assert scrape(c.metrics, d + '/tls.crt')[0] == 200
            assert refused(lambda: scrape(c.metrics, one))
            with open(d + '/tls.key', 'w') as f:
                f.write('nothing')
            until(lambda: c.said('certificate of the metrics port not reloaded, the one in use stays'))
            assert 'certwatcher_read_certificate_errors_total 0' not in scrape(c.metrics, d + '/tls.crt')[1]


def test_tls_for_metrics_that_cannot_be_exits_1():
    api = ApiServer()
    with tempfile.TemporaryDirectory() as d:
        for flags, part in ((('--metrics-cert-dir=' + d,), 'tls.crt: No such file'),
                            (('--tls-min-version=TLS9',), '--tls-min-version'),
                            (('--tls-cipher-suites=TLS_NONE_AT_ALL',), 'TLS_NONE_AT_ALL')):
            r = once('--kubeconfig', api.kubeconfig(os.path.join(d, 'k')), '--leader-election-namespace', 'x',
                     '--metrics-secure-serving', *flags)
            assert r.returncode == 1 and part in r.stderr, (flags, r)


# ---- life ----

def test_probes_metrics_lease_and_sigterm():
    with running('--extensions') as (api, c):
        until(lambda: c.said('reconcilers started'))
        for path in ('/healthz', '/readyz'):
            assert c.get(c.probes, path) == (200, 'ok'), path
        assert c.get(c.probes, '/metrics')[0] == 404
        status, text = c.get(c.metrics, '/metrics')
        assert status == 200, status
        for name in ('leader_election_master_status{name="a3317529.agent-sandbox.x-k8s.io"} 1',
                     'agent_sandbox_build_info{', 'workqueue_depth{name="sandboxclaim"} 0',
                     'process_resident_memory_bytes'):
            assert name in text, name
        assert api.lease()['spec']['holderIdentity']
        assert c.end(signal.SIGTERM) == 0
        assert not api.lease()['spec'].get('holderIdentity')


def test_requests_to_the_server_are_counted():
    with running() as (api, c):
        until(lambda: c.said('reconcilers started'))
        text = c.get(c.metrics, '/metrics')[1]
        host = '127.0.0.1:%d' % api.port
        assert 'rest_client_requests_total{code="200",host="%s",method="GET"}' % host in text, text
        assert 'rest_client_requests_total{code="404",host="%s",method="GET"} 1' % host in text, text
        assert 'rest_client_requests_total{code="201",host="%s",method="POST"} 1' % host in text, text


def test_requests_keep_to_the_asked_rate():
    with running('--extensions', '--kube-api-qps=4', '--kube-api-burst=1') as (api, c):
        # Eight lists and two requests for the Lease: one at once, nine more at four a second.
        began = time.monotonic()
        until(lambda: c.said('reconcilers started'))
        took = time.monotonic() - began
        assert 1.8 < took < 5, took


def test_profiles_are_refused_with_words_when_asked_for():
    for args, status in (((), 404), (('--enable-pprof',), 501), (('--enable-pprof-debug',), 501)):
        with running(*args) as (api, c):
            until(lambda: c.said('reconcilers started'))
            for path in ('/debug/pprof/profile?seconds=1', '/debug/fgprof'):
                got, text = c.get(c.metrics, path)
                assert got == status, (args, path, got)
                assert status == 404 or 'not available' in text, text


def test_without_the_server_it_is_healthy_and_waits():
    api = ApiServer()
    api.lists['pods'] = (503, b'{"kind":"Status","code":503}')
    with running(api=api) as (api, c):
        until(lambda: api.count('GET', '/pods') >= 2)
        assert c.get(c.probes, '/readyz') == (200, 'ok')
        assert not c.said('reconcilers started') and api.lease() is None
        api.lists.clear()
        until(lambda: c.said('reconcilers started'), 40)
        assert c.end(signal.SIGINT) == 0


def test_garbage_from_the_server_is_no_cache():
    deep = b'{"items":' + b'[' * 100000
    for text in (b'{"kind":"List","items":[', b'\xff\xfe', deep, b'null', b'{}' * 5, b'[1,2]'):
        api = ApiServer()
        api.lists['sandboxes'] = (200, text)
        with running(api=api) as (api, c):
            until(lambda: c.said('watch failed'))
            assert c.process.poll() is None and not c.said('reconcilers started'), text[:20]
            assert c.end(signal.SIGTERM) == 0, text[:20]


def test_a_lost_lease_ends_the_process_with_1():
    with running() as (api, c):
        until(lambda: c.said('reconcilers started'))
        api.lease_status = 500
        assert c.end(seconds=20) == 1
        assert c.said('lease lost')


def test_the_standby_takes_over_when_the_leader_is_told_to_stop():
    with tempfile.TemporaryDirectory() as d, running(directory=d) as (api, first):
        until(lambda: first.said('reconcilers started'))
        with running(api=api, directory=d) as (_, second):
            until(lambda: second.said('caches synced'))
            time.sleep(0.5)
            assert not second.said('reconcilers started')
            assert first.end(signal.SIGTERM) == 0
            until(lambda: second.said('reconcilers started'), 5)


def test_a_second_signal_does_not_wait():
    with running() as (api, c):
        until(lambda: c.said('reconcilers started'))
        os.kill(c.process.pid, signal.SIGSTOP)
        c.process.send_signal(signal.SIGTERM)
        c.process.send_signal(signal.SIGINT)
        os.kill(c.process.pid, signal.SIGCONT)
        assert c.end() == 1
