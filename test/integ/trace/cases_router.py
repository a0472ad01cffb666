# SPDX-License-Identifier: Apache-2.0
"""The router's server spans: names, attributes, context in and out, and collectors that misbehave."""
import contextlib
import re
import signal
import subprocess
import tempfile
import time

import fakeapi
import lib
import metricspage
from collector import Collector

PARENT = '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01'
UNSAMPLED = PARENT[:-2] + '00'
FAST = ['--resolve-wait=300ms', '--upstream-retry-initial-delay=20ms', '--upstream-retry-max-delay=40ms',
        '--shutdown-delay=0s', '--workers=2']


@contextlib.contextmanager
def running(env, *flags):
    api = fakeapi.FakeApi()
    api.put(fakeapi.pod('box', '127.0.0.1'))
    router = lib.Router(*FAST, *flags, '--authz-mode=allow-all', api=api, env=env)
    try:
        yield router
    finally:
        code = router.stop(signal.SIGTERM)
        text = router.log_text()
        assert code == 0 and 'Sanitizer' not in text, text[-4000:]


def seen_by_sandbox(router, more=b'', start=b'GET /p?token=secret HTTP/1.1'):
    seen = []
    backend = lib.Backend(lib.replying(lib.OK, seen))
    lib.equal(lib.ask(router, 'box', backend, start=start, more=more)[0], 200)
    backend.close()
    return dict(lib.fields(seen[0]))


def header(text):
    return b'traceparent: ' + text.encode() + b'\r\n'


def test_a_request_is_a_server_span_and_the_sandbox_gets_its_context():
    collector = Collector()
    with running(collector.env()) as router:
        fields = seen_by_sandbox(router, header(PARENT) + b'tracestate: a=1\r\ntracestate: b=2\r\n')
        span = collector.wait(lambda spans: spans)[0]
        lib.equal(span.name, 'HTTP GET')
        lib.equal(span.kind, 2)
        lib.equal((span.trace, span.parent), (PARENT[3:35], PARENT[36:52]))
        lib.equal(fields['traceparent'], '00-%s-%s-01' % (span.trace, span.id))
        lib.equal(fields['tracestate'], 'b=2')  # the dict keeps the last of the two fields
        lib.equal(span.raw.trace_state, 'a=1,b=2')
        lib.equal(span.attrs, {'http.method': 'GET', 'http.target': '/p', 'http.status_code': 200,
                               'sandbox.id': 'box', 'sandbox.namespace': 'default'})
        lib.equal(span.resource['service.name'], 'sandbox-router')
        lib.equal(span.scope.name, 'cofferdam')
        assert span.raw.end_time_unix_nano >= span.raw.start_time_unix_nano > time.time_ns() - 60 * 10**9
        line = router.access_lines()[0]
        lib.equal((line['trace_id'], line['span_id']), (span.trace, span.id))
        lib.equal(collector.requests[0][0], '/v1/traces')


def test_a_request_without_a_good_context_begins_a_trace():
    collector = Collector()
    bad = (b'', header('00-1-2-3'), header(PARENT) + header(PARENT), header(PARENT.upper()),
           header('00-' + '0' * 32 + PARENT[35:]), header('ff' + PARENT[2:]))
    with running(collector.env()) as router:
        for more in bad:
            fields = seen_by_sandbox(router, more + b'tracestate: a=1\r\n')
            assert re.fullmatch('00-[0-9a-f]{32}-[0-9a-f]{16}-01', fields['traceparent']), fields
            assert 'tracestate' not in fields, more
        spans = collector.wait(lambda spans: len(spans) == len(bad) and spans)
        lib.equal(len({s.trace for s in spans}), len(bad))
        assert all(s.parent == '' for s in spans) and PARENT[3:35] not in {s.trace for s in spans}


def test_an_unsampled_parent_is_honoured_and_passed_on():
    collector = Collector()
    with running(collector.env()) as router:
        fields = seen_by_sandbox(router, header(UNSAMPLED))
        assert fields['traceparent'].startswith(UNSAMPLED[:36]) and fields['traceparent'].endswith('-00')
        assert fields['traceparent'] != UNSAMPLED
        seen_by_sandbox(router, header(PARENT))
        collector.wait(lambda spans: spans)
        time.sleep(0.3)
        lib.equal(len(collector.spans), 1)


def test_samplers():
    for sampler, arg, more, want in (('always_off', '', PARENT, 0), ('always_on', '', UNSAMPLED, 1),
                                     ('parentbased_always_off', '', PARENT, 1),
                                     ('traceidratio', '0', PARENT, 0), ('traceidratio', '1', UNSAMPLED, 1)):
        collector = Collector()
        with running(collector.env(OTEL_TRACES_SAMPLER=sampler, OTEL_TRACES_SAMPLER_ARG=arg)) as router:
            fields = seen_by_sandbox(router, header(more))
            assert fields['traceparent'].endswith('-0%d' % want), (sampler, fields)
        lib.equal((sampler, len(collector.spans)), (sampler, want))


def test_json_when_asked_for_with_headers_and_resource():
    collector = Collector()
    env = collector.env(OTEL_EXPORTER_OTLP_PROTOCOL='http/json', OTEL_SERVICE_NAME='front "door"',
                        OTEL_RESOURCE_ATTRIBUTES='team=a%2Cb,deployment.environment=t',
                        OTEL_EXPORTER_OTLP_HEADERS='Api-Key=k%20ey,x=1')
    with running(env) as router:
        seen_by_sandbox(router, header(PARENT), b'GET /\xff\xc3\xbc"\\ HTTP/1.1')
        span = collector.wait(lambda spans: spans)[0]
        lib.equal((span.trace, span.parent), (PARENT[3:35], PARENT[36:52]))
        lib.equal(span.attrs['http.target'], '/\ufffd\u00fc"\\')
        lib.equal(span.resource['service.name'], 'front "door"')
        lib.equal(span.resource['team'], 'a,b')
        lib.equal(collector.requests[0][1]['Api-Key'], 'k ey')


def test_bytes_that_are_no_utf8_do_not_spoil_a_batch():
    collector = Collector()
    with running(collector.env()) as router:
        seen_by_sandbox(router, start=b'GET /\xff\xc3\xbc HTTP/1.1')
        lib.equal(collector.wait(lambda spans: spans)[0].attrs['http.target'], '/\ufffd\u00fc')


def test_failures_are_spans_too_and_health_is_not():
    collector = Collector()
    with running(collector.env()) as router:
        lib.talk(router, b'GET /healthz HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n')
        lib.talk(router, b'GET /x HTTP/1.1\r\nHost: h\r\nX-Sandbox-ID: nobody\r\nConnection: close\r\n\r\n')
        lib.talk(router, b'GET /x HTTP/1.1\r\nHost: h\r\nX-Sandbox-ID: box\r\nX-Sandbox-Port: 1\r\n'
                         b'Connection: close\r\n\r\n')
        spans = collector.wait(lambda spans: len(spans) == 2 and spans)
        lib.equal(sorted((s.attrs['http.status_code'], s.raw.status.code) for s in spans), [(404, 0), (502, 2)])


def test_without_tracing_headers_pass_as_they_are():
    collector = Collector()
    for flags, env in (((), {'OTEL_SERVICE_NAME': 'x'}), (('--enable-tracing=false',), collector.env()),
                       ((), collector.env(OTEL_SDK_DISABLED='true'))):
        with running(env, *flags) as router:
            fields = seen_by_sandbox(router, b'traceparent: 00-1-2-3\r\ntracestate: ?\r\n')
            lib.equal((fields['traceparent'], fields['tracestate']), ('00-1-2-3', '?'))
            lib.wait_for(router.access_lines)
            assert 'trace_id' not in router.access_lines()[0]
    lib.equal(collector.requests, [])


def test_grpc_is_refused_with_what_to_set():
    for env in ({'OTEL_EXPORTER_OTLP_PROTOCOL': 'grpc', 'OTEL_EXPORTER_OTLP_ENDPOINT': 'http://c:4317'},
                {'OTEL_EXPORTER_OTLP_ENDPOINT': 'http://127.0.0.1:4317'}):
        with running(env) as router:
            seen_by_sandbox(router)
            assert router.log_text().count('4318') == 1, router.log_text()


def counted(router, result):
    return router.metric('cofferdam_trace_spans_total', result=result)


def test_partial_success_is_counted():
    for protocol in ('http/protobuf', 'http/json'):
        collector = Collector()
        collector.rejected = 1
        with running(collector.env(OTEL_EXPORTER_OTLP_PROTOCOL=protocol)) as router:
            seen_by_sandbox(router)
            lib.wait_for(lambda: counted(router, 'rejected') == 1)
            lib.equal(counted(router, 'exported'), 0)


def test_503_with_retry_after_is_tried_again_and_400_is_not():
    collector = Collector()
    collector.statuses, collector.retry_after = [503], '2'
    with running(collector.env()) as router:
        seen_by_sandbox(router)
        collector.wait(lambda spans: spans)
        waited = collector.requests[1][2] - collector.requests[0][2]
        assert 1.9 < waited < 6, waited
        lib.wait_for(lambda: counted(router, 'exported') == 1)
        assert 'the collector answers 503' in router.log_text()
        assert router.log_text().count('spans do not reach') == router.log_text().count('spans reach') == 1
        collector.statuses = [400]
        seen_by_sandbox(router)
        lib.wait_for(lambda: counted(router, 'failed') == 1)
        time.sleep(1.2)
        lib.equal(len(collector.requests), 3)


def test_a_rude_collector_costs_nothing_but_spans():
    for how in (500, 503, 'hang', 'close', 'gone'):
        collector = Collector()
        collector.always = how
        env = collector.env(OTEL_BSP_MAX_QUEUE_SIZE='16', OTEL_BSP_MAX_EXPORT_BATCH_SIZE='4')
        if how == 'gone':
            collector.close()
        with running(env) as router:
            backend = lib.Backend(lib.replying(lib.OK))
            start = time.monotonic()
            for _ in range(60):
                lib.equal(lib.ask(router, 'box', backend)[0], 200)
            assert time.monotonic() - start < 20, how
            backend.close()
            lib.wait_for(lambda: sum(counted(router, r) for r in ('dropped', 'failed')) +
                         router.metric('cofferdam_trace_queue_length') >= 56, what=how)
            assert router.metric('cofferdam_trace_queue_length') <= 16
            start = time.monotonic()
        assert time.monotonic() - start < 6, how  # the end waits for nobody


def make_certificate(folder, name):
    """A self-signed certificate for 127.0.0.1; its own CA."""
    cert, key = '%s/%s.pem' % (folder, name), '%s/%s.key' % (folder, name)
    subprocess.run(['openssl', 'req', '-x509', '-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1',
                    '-nodes', '-days', '2', '-subj', '/CN=' + name, '-addext', 'subjectAltName=IP:127.0.0.1',
                    '-keyout', key, '-out', cert], check=True, capture_output=True)
    return cert, key


def test_tls_is_verified():
    with tempfile.TemporaryDirectory() as folder:
        ours, other = make_certificate(folder, 'ours'), make_certificate(folder, 'other')
        collector = Collector(tls=ours)
        with running(collector.env(OTEL_EXPORTER_OTLP_CERTIFICATE=ours[0])) as router:
            seen_by_sandbox(router)
            collector.wait(lambda spans: spans)
        for env in ({}, {'OTEL_EXPORTER_OTLP_CERTIFICATE': other[0]},
                    {'OTEL_EXPORTER_OTLP_CERTIFICATE': folder + '/nothing'}):
            with running(collector.env(**env)) as router:
                seen_by_sandbox(router)
                lib.wait_for(lambda: 'spans do not reach the collector' in router.log_text(), 15)
        lib.equal(len(collector.spans), 1)


def test_what_waits_is_sent_at_the_end():
    collector = Collector()
    with running(collector.env(OTEL_BSP_SCHEDULE_DELAY='60000')) as router:
        for _ in range(3):
            seen_by_sandbox(router)
        lib.equal(collector.spans, [])
    lib.equal(len(collector.spans), 3)


def test_metrics_are_those_of_the_page():
    with running(Collector().env()) as router:
        seen_by_sandbox(router)
        lib.wait_for(lambda: router.metric('sandbox_router_requests_total') > 0)
        names = metricspage.check(router.metrics())
    assert {'cofferdam_trace_spans_total', 'sandbox_router_build_info'} <= names
