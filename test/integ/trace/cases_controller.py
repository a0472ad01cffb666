# SPDX-License-Identifier: Apache-2.0
"""The controller's spans: a reconcile, its requests, the trace that a claim carries."""
import contextlib
import json
import os
import signal
import tempfile
from urllib.parse import parse_qs, urlsplit

import cases
import lib
import metricspage
from apiserver import ApiServer, merge
from collector import Collector

PARENT = '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01'
ANNOTATION = 'opentelemetry.io/trace-context'


class Api(ApiServer):
    """With objects that stay as they are written; no watch ever tells of them."""

    def __init__(self, *objects):
        super().__init__()
        self.refuse = set()  # methods answered with 500
        for o in objects:
            plural = {'Sandbox': 'sandboxes', 'SandboxClaim': 'sandboxclaims'}[o['kind']]
            path = '/apis/%s/namespaces/default/%s/%s' % (o['apiVersion'], plural, o['metadata']['name'])
            self.objects[path] = o
            self.lists[path.split('/')[-2]] = (200, json.dumps({
                'kind': o['kind'] + 'List', 'apiVersion': o['apiVersion'],
                'metadata': {'resourceVersion': '100'}, 'items': [o]}).encode())

    def answer(self, h):
        url = urlsplit(h.path)
        if 'watch' in parse_qs(url.query) or '/leases' in url.path or (
                h.command == 'GET' and '/default/' not in url.path):
            super().answer(h)
            return
        body = h.rfile.read(int(h.headers.get('Content-Length') or 0))
        path = url.path[:-len('/status')] if url.path.endswith('/status') else url.path
        with self.lock:
            self.requests.append((h.command, url.path))
            self.rv += 1
            if h.command == 'POST':
                new = json.loads(body)
                path += '/' + new['metadata']['name']
            else:
                new = self.objects.get(path)
            if h.command == 'PATCH' and new:
                new = merge(new, json.loads(body))
            if h.command != 'GET' and new:
                new['metadata'].update(resourceVersion=str(self.rv),
                                       uid=new['metadata'].get('uid', 'u%d' % self.rv))
                if h.command not in self.refuse:
                    self.objects[path] = new
        if h.command in self.refuse:
            self.status(h, 500, 'InternalError')
        elif new:
            self.reply(h, 201 if h.command == 'POST' else 200, new)
        else:
            self.status(h, 404, 'NotFound')


def sandbox(**annotations):
    return {'apiVersion': 'agents.x-k8s.io/v1beta1', 'kind': 'Sandbox',
            'metadata': {'name': 'box', 'namespace': 'default', 'uid': 'u-box', 'resourceVersion': '50',
                         'generation': 1, 'creationTimestamp': '2026-01-01T00:00:00Z',
                         'annotations': annotations},
            'spec': {'podTemplate': {'spec': {'containers': [{'name': 'c', 'image': 'i'}]}}}}


def claim(**annotations):
    return {'apiVersion': 'extensions.agents.x-k8s.io/v1beta1', 'kind': 'SandboxClaim',
            'metadata': {'name': 'k', 'namespace': 'default', 'uid': 'u-k', 'resourceVersion': '51',
                         'generation': 1, 'creationTimestamp': '2026-01-01T00:00:00Z',
                         'annotations': annotations},
            'spec': {'warmPoolRef': {'name': 'nowhere'}}}


@contextlib.contextmanager
def running(env, api, *flags):
    old = dict(os.environ)
    os.environ.update(env)
    try:
        with tempfile.TemporaryDirectory() as d:
            with cases.running('--extensions', '--leader-elect=false', *flags, api=api, directory=d) as (_, c):
                yield c
                assert c.end(signal.SIGTERM) == 0
                with open(c.path) as f:
                    assert 'Sanitizer' not in f.read()
    finally:
        os.environ.clear()
        os.environ.update(old)


def test_a_reconcile_is_a_span_with_its_requests_below_it():
    for protocol in ('http/protobuf', 'http/json'):
        collector = Collector()
        api = Api(sandbox(**{ANNOTATION: json.dumps({'traceparent': PARENT, 'tracestate': 'a=1'})}))
        with running(collector.env(OTEL_EXPORTER_OTLP_PROTOCOL=protocol), api):
            collector.wait(lambda spans: [s for s in spans if s.name == 'create Pod'] and
                           [s for s in spans if s.name == 'ReconcileSandbox'])
        made = collector.named('create Pod')[0]
        top = next(s for s in collector.named('ReconcileSandbox') if s.id == made.parent)
        lib.equal((top.trace, top.parent), (PARENT[3:35], PARENT[36:52]))
        lib.equal((made.trace, made.kind, top.kind), (top.trace, 3, 1))
        lib.equal(top.raw.trace_state, 'a=1')
        lib.equal({k: top.attrs[k] for k in ('kind', 'namespace', 'name')},
                  {'kind': 'Sandbox', 'namespace': 'default', 'name': 'box'})
        assert top.attrs['outcome'] in ('success', 'requeue_after') and top.attrs['actions'] >= 1, top
        lib.equal(made.attrs, {'kind': 'Pod', 'namespace': 'default', 'name': 'box', 'verb': 'create'})
        lib.equal(top.resource['service.name'], 'agent-sandbox-controller')


def test_a_claim_remembers_the_trace_that_began_with_it():
    collector = Collector()
    api = Api(claim())
    with running(collector.env(), api):
        collector.wait(lambda spans: [s for s in spans if s.name == 'patch SandboxClaim'])
    kept = next(o for p, o in api.objects.items() if p.endswith('/sandboxclaims/k'))
    context = json.loads(kept['metadata']['annotations'][ANNOTATION])['traceparent']
    first = next(s for s in collector.named('ReconcileSandboxClaim') if s.id == context[36:52])
    lib.equal((first.trace, first.parent, context[-2:]), (context[3:35], '', '01'))


def test_a_clients_context_is_kept_and_continued():
    collector = Collector()
    text = json.dumps({'traceparent': PARENT})
    api = Api(claim(**{ANNOTATION: text}))
    with running(collector.env(), api):
        collector.wait(lambda spans: [s for s in spans if s.name == 'ReconcileSandboxClaim'])
    kept = next(o for p, o in api.objects.items() if p.endswith('/sandboxclaims/k'))
    lib.equal(kept['metadata']['annotations'][ANNOTATION], text)
    assert {s.trace for s in collector.named('ReconcileSandboxClaim')} == {PARENT[3:35]}


def test_an_annotation_that_is_nonsense_begins_a_trace():
    for text in ('', '{', '[]', '{"traceparent":1}', '{"traceparent":"00-1"}', '"' + 'x' * 9000 + '"'):
        collector = Collector()
        with running(collector.env(), Api(sandbox(**{ANNOTATION: text}))):
            collector.wait(lambda spans: [s for s in spans if s.name == 'ReconcileSandbox'])
        assert collector.named('ReconcileSandbox')[0].parent == '', text


def test_failures_are_said_in_the_spans():
    collector = Collector()
    api = Api(sandbox())
    api.refuse = {'POST'}
    with running(collector.env(), api):
        collector.wait(lambda spans: [s for s in spans if s.name == 'create Pod'] and
                       [s for s in spans if s.attrs.get('outcome') == 'error'])
    made = collector.named('create Pod')[0]
    lib.equal((made.raw.status.code, made.attrs['http.status_code']), (2, 500))
    top = next(s for s in collector.named('ReconcileSandbox') if s.attrs['outcome'] == 'error')
    assert top.raw.status.code == 2 and 'create Pod' in top.raw.status.message, top.raw


def test_without_tracing_nothing_is_written_down():
    collector = Collector()
    for env, flags in (({}, ()), (collector.env(), ('--enable-tracing=false',)),
                       (collector.env(OTEL_TRACES_EXPORTER='none'), ('--enable-tracing',))):
        api = Api(claim())
        with running(env, api, *flags) as c:
            cases.until(lambda: api.count('PATCH', 'sandboxclaims/k') > 0)
            assert 'cofferdam_trace' not in c.get(c.metrics, '/metrics')[1]
        kept = next(o for p, o in api.objects.items() if p.endswith('/sandboxclaims/k'))
        assert ANNOTATION not in kept['metadata']['annotations'], kept
    lib.equal(collector.requests, [])


def test_a_collector_that_is_gone_costs_nothing_but_spans():
    collector = Collector()
    collector.close()
    api = Api(sandbox())
    with running(collector.env(), api) as c:
        cases.until(lambda: c.said('spans do not reach the collector'))
        lib.equal(api.count('POST', '/pods'), 1)
        lib.equal(len(c.said('spans do not reach the collector')), 1)


def test_a_setting_that_cannot_work_is_named_and_no_reason_not_to_run():
    for env, word in (({'OTEL_EXPORTER_OTLP_ENDPOINT': 'collector:4318'}, 'URL'),
                      ({'OTEL_EXPORTER_OTLP_ENDPOINT': 'http://c:4318', 'OTEL_EXPORTER_OTLP_PROTOCOL': 'grpc'},
                       'http/protobuf')):
        with running(env, Api()) as c:
            cases.until(lambda: c.said('reconcilers started'))
            said = c.said('no tracing')
            assert len(said) == 1 and word in said[0]['why'], said


def test_metrics_are_those_of_the_page():
    api = Api(sandbox())
    with running(Collector().env(), api) as c:
        cases.until(lambda: api.count('POST', '/pods'))
        names = metricspage.check(c.get(c.metrics, '/metrics')[1])
    missing = {n for n in metricspage.documented() if not n.startswith(('sandbox_router_', 'certwatcher_'))} - names
    assert not missing, missing
