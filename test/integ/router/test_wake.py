# SPDX-License-Identifier: Apache-2.0
"""Requests to sandboxes that have no pod: what is said, who is woken, and how often the API server is asked."""
import signal
import threading
import time

import fakeapi
from lib import OK, Backend, Router, ask, connect, contains, equal, replying, request, talk, wait_for

WAKE = '{"spec":{"operatingMode":"Running"}}'


class World:
    """A router and an API server in which a resumed sandbox gets a pod after a moment."""

    def __init__(self, *flags, start_s=0.2):
        self.api = fakeapi.FakeApi()
        self.start_s = start_s
        self.api.on_patch = self.resumed
        self.backend = Backend(replying(OK))
        self.router = Router('--shutdown-delay=0s', '--resolve-wait=400ms', *flags, api=self.api)

    def resumed(self, obj):
        name = obj['metadata']['name']
        if obj['spec']['operatingMode'] == 'Running' and self.start_s is not None:
            threading.Timer(self.start_s, lambda: self.api.put(fakeapi.pod(name, '127.0.0.1'))).start()

    def ask(self, name, **how):
        return ask(self.router, name, self.backend, **how)

    def asked(self, method):
        return [r for r in self.api.sandbox_requests if r[0] == method]

    def end(self):
        code = self.router.stop(signal.SIGTERM)
        assert code == 0 and 'Sanitizer' not in self.router.log_text(), self.router.log_text()[-4000:]


def test_a_request_resumes_a_suspended_sandbox_and_waits():
    world = World('--wake-suspended')
    world.api.put_sandbox('nap', mode='Suspended', ready='SandboxSuspended')
    start = time.monotonic()
    status, _, body = world.ask('nap', start=b'POST / HTTP/1.1', more=b'Content-Length: 3\r\n', body=b'abc')
    equal((status, body), (200, b'ok'))
    assert 0.15 < time.monotonic() - start < 5
    equal(world.asked('PATCH'), [('PATCH', 'nap', WAKE)])
    equal(world.router.metric('sandbox_router_wakes_total', result='resumed'), 1)
    contains(world.router.log_text(), 'resumed a suspended sandbox')
    world.end()


def test_a_hundred_requests_resume_it_once():
    world = World('--wake-suspended')
    world.api.put_sandbox('nap', mode='Suspended')
    statuses = []
    threads = [threading.Thread(target=lambda: statuses.append(world.ask('nap')[0])) for _ in range(100)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    equal(statuses, [200] * 100)
    equal((len(world.asked('PATCH')), len(world.asked('GET')) <= 3), (1, True))
    world.end()


def test_probes_are_told_and_wake_nobody():
    world = World('--wake-suspended')
    world.api.put_sandbox('nap', mode='Suspended')
    rows = [dict(more=b'User-Agent: kube-probe/1.37\r\n'), dict(more=b'User-Agent: GoogleHC/1.0\r\n'),
            dict(more=b'X-Sandbox-Wake: false\r\n'), dict(start=b'GET /healthz/x HTTP/1.1', more=b'X-Sandbox-Wake: no\r\n'),
            dict(start=b'GET /v1/health?x=y HTTP/1.1'), dict(start=b'OPTIONS / HTTP/1.1')]
    for row in rows:
        status, head, body = world.ask('nap', **row)
        equal((row, status, body), (row, 503, b'{"detail":"Sandbox default/nap is suspended."}\n'))
        contains(head, b'\r\nRetry-After: 5\r\n')
    status, head, body = world.ask('nap', start=b'HEAD / HTTP/1.1')
    equal((status, body), (503, b''))
    equal(world.asked('PATCH'), [])
    equal(world.ask('nap')[0], 200)  # remembered as suspended, and still resumed at once
    equal(len(world.asked('PATCH')), 1)
    world.end()


def test_without_the_flag_it_is_only_said():
    world = World('--sandbox-lookup')
    world.api.put_sandbox('nap', mode='Suspended')
    world.api.put_sandbox('old', ready='SandboxExpired')
    world.api.put_sandbox('slow')
    world.api.put_sandbox('going', deletionTimestamp='2026-01-01T00:00:00Z')
    start = time.monotonic()
    rows = [('nap', 503, b'is suspended.'), ('old', 404, b'has expired.'), ('nobody', 404, b'is not known.'),
            ('going', 404, b'is not known.')]
    for name, want, text in rows:
        status, _, body = world.ask(name)
        equal((name, status), (name, want))
        contains(body, b'Sandbox default/%s %s' % (name.encode(), text))
    assert time.monotonic() - start < 4 * 0.4  # none of them waited for the table
    status, head, body = world.ask('slow')
    equal((status, body), (503, b'{"detail":"Sandbox default/slow is not ready yet (--resolve-wait, 400ms)."}\n'))
    contains(head, b'\r\nRetry-After: 1\r\n')
    equal(world.asked('PATCH'), [])
    world.end()


def test_an_api_server_that_does_not_tell_changes_nothing():
    world = World('--wake-suspended')
    world.api.forbidden = True
    start = time.monotonic()
    for _ in range(3):
        status, _, body = world.ask('nap')
        equal((status, body), (404, b'{"detail":"Sandbox default/nap is not known."}\n'))
    assert 1.1 < time.monotonic() - start < 5
    equal(world.router.log_text().count("cannot read a sandbox"), 1)
    world.end()


def test_a_sandbox_that_does_not_come_up_ends_in_503():
    world = World('--wake-suspended', '--wake-timeout=700ms', start_s=None)
    world.api.put_sandbox('nap', mode='Suspended')
    start = time.monotonic()
    status, head, body = world.ask('nap')
    equal((status, body), (503, b'{"detail":"Sandbox default/nap is not ready yet (--wake-timeout, 700ms)."}\n'))
    contains(head, b'\r\nRetry-After: 1\r\n')
    assert 0.6 < time.monotonic() - start < 4
    status, _, body = world.ask('nap', more=b'X-Sandbox-Timeout: 0.2\r\n')
    equal(status, 504)
    contains(body, b'X-Sandbox-Timeout, 200ms')
    world.end()


def test_the_api_server_is_asked_once_a_moment_about_a_name():
    world = World('--sandbox-lookup')
    for _ in range(30):
        equal(world.ask('nobody')[0], 404)
    assert len(world.asked('GET')) <= 4, len(world.asked('GET'))
    assert world.router.metric('sandbox_router_sandbox_lookups_total', result='unknown') <= 4
    world.end()


def test_more_names_than_can_be_remembered():
    world = World('--sandbox-lookup')
    text = b''.join(request('n%d' % i, world.backend, close=i == 599) for i in range(600))
    equal(talk(world.router, text).count(b'HTTP/1.1 404 '), 600)
    world.end()


def test_a_client_that_leaves_while_it_waits():
    world = World('--wake-suspended', start_s=0.4)
    world.api.put_sandbox('nap', mode='Suspended')
    with connect(world.router) as sock:
        sock.sendall(request('nap', world.backend))
        wait_for(lambda: world.asked('PATCH'))
    wait_for(lambda: world.router.metric('sandbox_router_inflight_requests') == 0)
    equal(world.ask('nap')[0], 200)
    world.end()
