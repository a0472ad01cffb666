# SPDX-License-Identifier: Apache-2.0
"""When sandboxes were last used, as the API server gets to know it."""
import json
import signal
import time

import fakeapi
from lib import (OK, Backend, Router, ask, connect, contains, equal, read_all, read_head, replying, request, wait_for)

KEY = 'cofferdam.dev/last-activity'


def world(*flags, names=('box', 'pox'), key=KEY):
    api = fakeapi.FakeApi()
    for name in names:
        api.put(fakeapi.pod(name, '127.0.0.1'))
        api.put_sandbox(name)
    return api, Router('--shutdown-delay=0s', '--activity-interval=1s', '--activity-annotation=' + key, *flags, api=api)


def written(api, name):
    """Times written for a sandbox, in seconds since the epoch."""
    values = [json.loads(body)['metadata']['annotations'][KEY] for method, n, body in list(api.sandbox_requests)
              if (method, n) == ('PATCH', name)]
    return [time.mktime(time.strptime(v, '%Y-%m-%dT%H:%M:%SZ')) - time.timezone for v in values]


def stopped(router):
    code = router.stop(signal.SIGTERM)
    assert code == 0 and 'Sanitizer' not in router.log_text(), router.log_text()[-4000:]


def test_use_is_written_once_an_interval_and_only_when_there_was_some():
    api, router = world()
    backend = Backend(replying(OK))
    for _ in range(50):
        equal(ask(router, 'box', backend)[0], 200)
    wait_for(lambda: written(api, 'box'))
    assert abs(written(api, 'box')[0] - time.time()) < 5
    time.sleep(2.5)
    assert len(written(api, 'box')) <= 2, written(api, 'box')  # the fifty may lie in two intervals
    equal(written(api, 'pox'), [])
    for row in (dict(more=b'User-Agent: kube-probe/1.37\r\n'), dict(start=b'GET /health HTTP/1.1')):
        equal(ask(router, 'pox', backend, **row)[0], 200)
    time.sleep(1.5)
    equal(written(api, 'pox'), [])  # who looks whether it is alive does not keep it so
    equal({r[0] for r in api.sandbox_requests}, {'PATCH'})
    assert router.metric('sandbox_router_activity_writes_total', result='written') <= 2
    stopped(router)


def test_an_open_stream_is_use():
    api, router = world()

    def script(sock, number):
        read_head(sock)
        sock.sendall(b'HTTP/1.1 101 S\r\nConnection: Upgrade\r\nUpgrade: x\r\n\r\n')
        read_all(sock)
    sock = connect(router)
    sock.sendall(request('box', Backend(script), close=False, more=b'Connection: Upgrade\r\nUpgrade: x\r\n'))
    read_head(sock)
    wait_for(lambda: len(written(api, 'box')) >= 3, 8)
    times = written(api, 'box')
    equal(times, sorted(set(times)))
    sock.close()
    stopped(router)


def test_a_failed_write_is_made_again():
    api, router = world()
    api.forbidden = True
    equal(ask(router, 'box', Backend(replying(OK)))[0], 200)
    wait_for(lambda: router.metric('sandbox_router_activity_writes_total', result='error') >= 2)
    contains(router.log_text(), 'cannot write when a sandbox was last used')
    api.forbidden = False
    wait_for(lambda: router.metric('sandbox_router_activity_writes_total', result='written') == 1)
    stopped(router)


def test_many_sandboxes_are_written_a_few_at_a_time():
    names = ['box%d' % i for i in range(60)]
    api, router = world('--activity-interval=2s', names=names)
    backend = Backend(replying(OK))
    for name in names:
        equal(ask(router, name, backend)[0], 200)
    wait_for(lambda: router.metric('sandbox_router_activity_writes_total', result='written') >= 60, 10)
    equal({len(set(written(api, name))) >= 1 for name in names}, {True})
    stopped(router)


def test_the_last_use_is_written_when_the_router_goes():
    api, router = world('--activity-interval=1h', '--shutdown-timeout=10s')
    backend = Backend(replying(OK))
    equal(ask(router, 'box', backend)[0], 200)
    stopped(router)
    equal(len(written(api, 'box')), 1)


def test_without_the_flag_nothing_is_written():
    api = fakeapi.FakeApi()
    api.put(fakeapi.pod('box', '127.0.0.1'))
    api.put_sandbox('box')
    router = Router('--shutdown-delay=0s', '--activity-interval=1s', api=api)
    equal(ask(router, 'box', Backend(replying(OK)))[0], 200)
    time.sleep(1.5)
    equal(api.sandbox_requests, [])
    stopped(router)
