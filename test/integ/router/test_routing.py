# SPDX-License-Identifier: Apache-2.0
"""Which sandbox a request reaches, and when it reaches none."""
import json
import time

import common
from common import setup, teardown  # noqa: F401
from fakeapi import pod
from lib import (OK, Backend, ask, connect, contains, equal, read_all, read_head, replying, request,
                 routing, talk, wait_for)

backend = Backend(replying(OK))


def status_of(headers):
    reply = talk(common.router, b'GET / HTTP/1.1\r\nHost: h\r\nConnection: close\r\n' + headers + b'\r\n')
    head, body = reply.split(b'\r\n\r\n', 1)
    return int(head.split(b' ')[1]), json.loads(body)['detail'] if body.startswith(b'{') else body


def test_refusals_have_the_texts_and_order_clients_know():
    rows = [
        (b'', 'X-Sandbox-ID header is required.'),
        (b'X-Sandbox-ID:\r\n', 'X-Sandbox-ID header is required.'),
        (b'X-Sandbox-ID: A\r\n', 'Invalid sandbox ID format.'),
        (b'X-Sandbox-ID: -a\r\n', 'Invalid sandbox ID format.'),
        (b'X-Sandbox-ID: a-\r\n', 'Invalid sandbox ID format.'),
        (b'X-Sandbox-ID: a.b\r\n', 'Invalid sandbox ID format.'),
        (b'X-Sandbox-ID: ' + b'a' * 64 + b'\r\n', 'Invalid sandbox ID format.'),
        (b'X-Sandbox-ID: A\r\nX-Sandbox-Namespace: B\r\n', 'Invalid sandbox ID format.'),
        (b'X-Sandbox-ID: a\r\nX-Sandbox-Namespace: A_B\r\n', 'Invalid namespace format.'),
        (b'X-Sandbox-ID: a\r\nX-Sandbox-Namespace: B\r\nX-Sandbox-Port: x\r\n',
         'Invalid namespace format.'),
        (b'X-Sandbox-ID: a\r\nX-Sandbox-Port: 70000\r\n', 'Invalid port format.'),
        (b'X-Sandbox-ID: a\r\nX-Sandbox-Port: 0\r\n', 'Invalid port format.'),
        (b'X-Sandbox-ID: a\r\nX-Sandbox-Port: -1\r\n', 'Invalid port format.'),
        (b'X-Sandbox-ID: a\r\nX-Sandbox-Port: 99999999999999999999\r\n', 'Invalid port format.'),
        (b'X-Sandbox-ID: a\r\nX-Sandbox-Pod-IP: 999.1.1.1\r\n', 'Invalid target IP address.'),
        (b'X-Sandbox-ID: a\r\nX-Sandbox-Pod-IP: 127.0.0.1\r\n', 'Invalid target IP address.'),
        (b'X-Sandbox-ID: a\r\nX-Sandbox-Pod-IP: 169.254.169.254\r\n', 'Invalid target IP address.'),
        (b'X-Sandbox-ID: a\r\nX-Sandbox-Pod-IP: ::ffff:127.0.0.1\r\n', 'Invalid target IP address.'),
        (b'X-Sandbox-ID: a\r\nX-Sandbox-Port: x\r\nX-Sandbox-Pod-IP: x\r\n', 'Invalid port format.'),
    ]
    for headers, detail in rows:
        equal((headers, status_of(headers)), (headers, (400, detail)))


def test_a_repeated_routing_header_is_refused():
    for name in ('ID', 'Namespace', 'Port', 'Pod-IP', 'UID', 'Timeout'):
        value = {'Port': '80', 'Pod-IP': '10.0.0.1'}.get(name, 'a')
        line = 'X-Sandbox-%s: %s\r\nx-sandbox-%s: %s\r\n' % (name, value, name.lower(), value)
        head = line if name == 'ID' else 'X-Sandbox-ID: a\r\n' + line
        equal(status_of(head.encode()), (400, 'X-Sandbox-%s header is repeated.' % name))


def test_port_is_read_as_upstream_reads_it():
    for text in (b'+%d', b'000%d'):
        reply = talk(common.router, b'GET / HTTP/1.1\r\nHost: h\r\nConnection: close\r\nX-Sandbox-ID: box\r\n'
                     b'X-Sandbox-Port: ' + text % backend.port + b'\r\n\r\n')
        contains(reply, b'HTTP/1.1 200 OK')


def test_an_unknown_sandbox_is_404_after_the_wait():
    start = time.monotonic()
    equal(status_of(b'X-Sandbox-ID: nobody\r\nX-Sandbox-Namespace: ns1\r\n'),
          (404, 'Sandbox ns1/nobody is not known.'))
    took = time.monotonic() - start
    assert 0.35 < took < 1.5, took


def test_a_sandbox_that_appears_meanwhile_is_reached_at_once():
    with connect(common.router) as sock:
        sock.sendall(request('late', backend))
        time.sleep(0.1)
        start = time.monotonic()
        common.router.api.put(pod('late', '127.0.0.1'))
        contains(read_all(sock), b'HTTP/1.1 200 OK')
        assert time.monotonic() - start < 0.2


def test_many_requests_wait_for_one_sandbox():
    socks = [connect(common.router) for _ in range(40)]
    for sock in socks:
        sock.sendall(request('crowd', backend, start=b'POST / HTTP/1.1', more=b'Content-Length: 0\r\n'))
    time.sleep(0.1)
    common.router.api.put(pod('crowd', '127.0.0.1'))
    for sock in socks:
        contains(read_all(sock), b'200 OK')
        sock.close()


def test_a_client_that_leaves_while_waiting_costs_nothing():
    sock = connect(common.router)
    sock.sendall(request('leaver', backend))
    time.sleep(0.05)
    sock.close()
    wait_for(lambda: common.router.metric('sandbox_router_inflight_requests') == 0)


def test_an_unclaimed_pool_member_cannot_be_reached_by_name():
    api = common.router.api
    api.put(pod('member', '127.0.0.1', warm=True))
    equal(ask(common.router, 'member', backend)[0], 404)
    api.put(pod('member', '127.0.0.1', warm=False))
    equal(ask(common.router, 'member', backend)[0], 200)
    api.put(pod('member', '127.0.0.1', warm=True))
    wait_for(lambda: ask(common.router, 'member', backend)[0] == 404)


def test_only_ready_pods_of_a_sandbox_are_targets():
    api = common.router.api
    rows = [dict(ready=False), dict(owner_kind='ReplicaSet'), dict(owner_api='apps/v1'),
            dict(owner_api='agents.x-k8s.io.evil.org/v1'), dict(controller=False),
            dict(deleting=True)]
    for i, how in enumerate(rows):
        api.put(pod('odd%d' % i, '127.0.0.1', **how))
        equal((how, ask(common.router, 'odd%d' % i, backend)[0]), (how, 404))
    api.put(pod('noip', None))
    equal(ask(common.router, 'noip', backend)[0], 404)
    api.put(pod('badip', 'not-an-address'))
    equal(ask(common.router, 'badip', backend)[0], 404)


def test_any_version_of_the_group_owns():
    common.router.api.put(pod('old', '127.0.0.1', owner_api='agents.x-k8s.io/v1alpha1'))
    equal(ask(common.router, 'old', backend)[0], 200)


def test_the_sandbox_name_is_the_owner_not_the_pod():
    common.router.api.put(pod('pod-xyz', '127.0.0.1', sandbox='named'))
    equal(ask(common.router, 'named', backend)[0], 200)
    equal(ask(common.router, 'pod-xyz', backend)[0], 404)


def test_of_two_pods_the_own_then_the_younger_one_is_chosen():
    api = common.router.api
    two = Backend(replying(b'HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\ntwo'), ip='127.0.0.2',
                  port=backend.port)
    api.put(pod('twin-a', '127.0.0.1', sandbox='twin', created='2026-01-01T00:00:00Z'))
    api.put(pod('twin-b', '127.0.0.2', sandbox='twin', created='2026-01-02T00:00:00Z'))
    wait_for(lambda: ask(common.router, 'twin', backend)[2] == b'two')
    api.put(pod('twin', '127.0.0.1', created='2025-01-01T00:00:00Z'))
    wait_for(lambda: ask(common.router, 'twin', backend)[2] == b'ok')
    api.delete('twin')
    wait_for(lambda: ask(common.router, 'twin', backend)[2] == b'two')
    api.delete('twin-b')
    wait_for(lambda: ask(common.router, 'twin', backend)[2] == b'ok')
    two.close()


def test_a_new_address_is_used_from_the_next_request_on():
    api = common.router.api
    two = Backend(replying(b'HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\ntwo'), ip='127.0.0.3',
                  port=backend.port)
    api.put(pod('mover', '127.0.0.1'))
    wait_for(lambda: ask(common.router, 'mover', backend)[2] == b'ok')
    api.put(pod('mover', '127.0.0.3'))
    wait_for(lambda: ask(common.router, 'mover', backend)[2] == b'two')
    two.close()


def test_namespaces_are_apart():
    common.router.api.put(pod('box', '127.0.0.1', ns='other'))
    reply = talk(common.router, b'GET / HTTP/1.1\r\nHost: h\r\nConnection: close\r\n' +
                 routing('box', backend.port, 'other') + b'\r\n')
    contains(reply, b'200 OK')
    equal(status_of(routing('box', backend.port, 'third'))[0], 404)


def test_client_named_addresses_are_hints_only():
    trap_seen = []
    trap = Backend(replying(OK, trap_seen), ip='127.0.0.9', port=backend.port)
    # Not loopback, so that it passes validation; the table's address must be dialled all the same.
    status = ask(common.router, 'box', backend,
                 more=b'X-Sandbox-Pod-IP: 203.0.113.7\r\nX-Sandbox-UID: someone-else\r\n')[0]
    equal(status, 200)
    equal(trap_seen, [])
    trap.close()


def test_a_deleted_sandbox_is_forgotten():
    api = common.router.api
    api.put(pod('gone', '127.0.0.1'))
    wait_for(lambda: ask(common.router, 'gone', backend)[0] == 200)
    api.delete('gone')
    wait_for(lambda: ask(common.router, 'gone', backend)[0] == 404)


def test_the_table_survives_an_api_server_that_goes_away():
    api = common.router.api
    api.refuse = True
    api.cut_watches()
    time.sleep(0.3)
    equal(ask(common.router, 'box', backend)[0], 200)
    api.refuse = False
    api.put(pod('after', '127.0.0.1'))
    wait_for(lambda: ask(common.router, 'after', backend)[0] == 200, 40)


def test_healthz_is_the_routers_own_whatever_the_headers():
    for more in (b'', routing('box', backend.port), b'X-Sandbox-ID: A\r\n'):
        reply = talk(common.router, b'GET /healthz HTTP/1.1\r\nHost: h\r\nConnection: close\r\n' + more + b'\r\n')
        contains(reply, b'HTTP/1.1 200 OK')
        contains(reply, b'{"status":"ok"}')
    seen = []
    other = Backend(replying(OK, seen))
    equal(ask(common.router, 'box', other, start=b'GET /healthz/x HTTP/1.1')[0], 200)
    equal(len(seen), 1)


def test_routes_are_counted():
    assert common.router.metric('sandbox_router_routes') >= 2


def test_keep_alive_after_a_refusal():
    with connect(common.router) as sock:
        sock.sendall(b'GET / HTTP/1.1\r\nHost: h\r\n\r\n')
        head, rest = read_head(sock)
        contains(head, b'400 Bad Request')
        sock.sendall(request('box', backend))
        contains(read_all(sock), b'200 OK')
