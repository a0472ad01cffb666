# SPDX-License-Identifier: Apache-2.0
"""Who may call: reviews by the API server, and scoped tokens."""
import base64
import hashlib
import hmac
import json
import os
import signal
import subprocess
import tempfile
import threading
import time

import fakeapi
import lib
from lib import OK, Backend, Router, ask, connect, contains, equal, replying, request, wait_for

UNAUTHENTICATED = b'{"detail":"unauthenticated"}\n'
FORBIDDEN = b'{"detail":"forbidden"}\n'


class World:
    def __init__(self, *flags, mode='tokenreview', **how):
        self.api = fakeapi.FakeApi()
        for name in ('box', 'other'):
            self.api.put(fakeapi.pod(name, '127.0.0.1'))
        self.seen = []
        self.backend = Backend(replying(OK, self.seen))
        self.router = Router('--authz-mode=' + mode, '--shutdown-delay=0s', '--resolve-wait=300ms', *flags,
                             api=self.api, **how)
        self.reviews = self.api.reviews

    def ask(self, token, name='box', more=b'', **how):
        if token is not None:
            more += b'Authorization: Bearer %s\r\n' % (token.encode() if isinstance(token, str) else token)
        return ask(self.router, name, self.backend, more=more, **how)

    def status(self, *args, **how):
        return self.ask(*args, **how)[0]

    def end(self, *secrets):
        self.reviews.gate.set()
        code = self.router.stop(signal.SIGTERM)
        log = self.router.log_text()
        assert code == 0 and 'Sanitizer' not in log, log[-4000:]
        for secret in secrets:
            assert secret not in log, 'a token is in the log'


def many(n, fn):
    """What n threads that call fn(i) got."""
    got = [None] * n

    def one(i):
        got[i] = fn(i)

    threads = [threading.Thread(target=one, args=(i,)) for i in range(n)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return got


# ---- reviews ----

def test_a_review_decides_by_token_and_by_sandbox():
    world = World()
    world.reviews.let('good-token', 'anna', ('default', 'box'))
    status, _, body = world.ask('good-token')
    equal((status, body), (200, b'ok'))
    equal([b'uthorization' in head for head in world.seen], [False])
    equal(world.ask('good-token', 'other')[::2], (403, FORBIDDEN))
    status, head, body = world.ask('bad-token')
    equal((status, body), (401, UNAUTHENTICATED))
    contains(head, b'WWW-Authenticate: Bearer')
    equal(world.ask(None)[::2], (401, UNAUTHENTICATED))
    equal(world.ask(b'x' * 20000)[::2], (401, UNAUTHENTICATED))
    equal(ask(world.router, 'box', world.backend, more=b'Authorization: Basic Zm9v\r\n')[0], 401)
    spec = world.reviews.access_reviews[0]
    equal((spec['user'], spec['uid'], spec['groups'], spec['extra']),
          ('anna', 'uid-anna', ['g1', 'g2'], {'authentication.kubernetes.io/pod-name': ['p']}))
    equal(spec['resourceAttributes'], {'verb': 'get', 'group': 'agents.x-k8s.io', 'resource': 'sandboxes',
                                       'subresource': 'proxy', 'namespace': 'default', 'name': 'box'})
    equal(world.router.metric('sandbox_router_authz_decisions_total', decision='allow'), 1)
    equal(world.router.metric('sandbox_router_authz_reviews_total', review='token', result='denied'), 1)
    world.end('good-token', 'bad-token')


def test_answers_are_remembered_and_asked_for_once():
    world = World()
    world.reviews.let('t', 'anna', ('default', 'box'))
    world.reviews.gate.clear()
    results = []
    thread = threading.Thread(target=lambda: results.extend(many(60, lambda i: world.status('t'))))
    thread.start()
    wait_for(lambda: world.reviews.token_reviews, what='a review')
    time.sleep(0.3)
    world.reviews.gate.set()
    thread.join()
    equal(results, [200] * 60)
    equal((len(world.reviews.token_reviews), len(world.reviews.access_reviews)), (1, 1))
    equal(world.status('t', 'other'), 403)
    equal((len(world.reviews.token_reviews), len(world.reviews.access_reviews)), (1, 2))
    world.end()


def test_a_client_that_leaves_harms_nobody():
    world = World()
    world.reviews.let('t', 'anna', ('default', 'box'))
    world.reviews.gate.clear()
    sock = connect(world.router)
    sock.sendall(request('box', world.backend, more=b'Authorization: Bearer t\r\n'))
    wait_for(lambda: world.reviews.token_reviews, what='a review')
    sock.close()
    time.sleep(0.1)
    world.reviews.gate.set()
    equal(world.status('t'), 200)
    equal(len(world.reviews.token_reviews), 1)
    world.end()


def test_a_revoked_token_works_no_longer_than_its_ttl():
    world = World('--authz-tokenreview-ttl=2s')
    world.reviews.let('t', 'anna', ('default', 'box'))
    equal(world.status('t'), 200)
    del world.reviews.users['t']
    start = time.monotonic()
    while world.status('t') == 200:
        time.sleep(0.05)
    took = time.monotonic() - start
    print('revoked: 401 after %.2f s with a TTL of 2 s' % took)
    assert took < 2.5, took
    equal(world.status('t'), 401)
    world.end()


def test_without_an_api_server_only_what_was_allowed_goes_on():
    world = World('--authz-tokenreview-ttl=4s')
    world.reviews.let('t', 'anna', ('default', 'box'))
    equal(world.status('t'), 200)
    world.reviews.fail = 500
    status, head, body = world.ask('new')
    equal((status, body), (503, b'{"detail":"The API server did not say who may call."}\n'))
    contains(head, b'Retry-After: 1')
    equal(world.status('t'), 200)
    equal(world.status('t', 'other'), 503)
    wait_for(lambda: world.status('t') == 503, seconds=8, what='the end of the TTL')
    world.reviews.fail = None
    wait_for(lambda: world.status('t') == 200, seconds=4, what='the API server again')
    world.reviews.garbage = True
    equal(world.status('newer'), 503)
    contains(world.router.log_text(), 'cannot review who may call')
    world.end()


def test_a_review_that_hangs_ends_after_three_seconds():
    world = World()
    world.reviews.gate.clear()
    start = time.monotonic()
    equal(world.status('t'), 503)
    assert 2.5 < time.monotonic() - start < 5
    world.end()


def test_bad_tokens_are_forgotten_and_good_ones_are_not():
    world = World('--authz-tokenreview-cache-size=100', '--authz-tokenreview-ttl=10m')
    world.reviews.let('t', 'anna', ('default', 'box'))
    equal(world.status('t'), 200)

    def flood(i, n_tokens=300):
        sock = connect(world.router)
        for n in range(n_tokens):
            sock.sendall(request('box', world.backend, close=False,
                                 more=b'Authorization: Bearer bad-%d-%d\r\n' % (i, n)))
            got = b''
            while b'unauthenticated"}\n' not in got and b'review."}\n' not in got:
                got += sock.recv(4096)
        sock.close()

    many(8, lambda i: flood(i + 8, 100))  # buffers and connections to the API server are there now
    before = world.router.rss_kb()
    many(8, flood)
    world.router.check_growth(before, 4096)
    tokens = len(world.reviews.token_reviews)
    equal(world.status('t'), 200)
    equal(len(world.reviews.token_reviews), tokens)
    world.end()


def test_the_exp_of_a_token_is_not_outlived():
    def jwt(exp):
        return b'.'.join(base64.urlsafe_b64encode(part).rstrip(b'=') for part in
                         (b'{"alg":"none"}', json.dumps({'exp': exp}).encode(), b'sig')).decode()

    world = World()
    token = jwt(int(time.time()) + 3)
    world.reviews.let(token, 'anna', ('default', 'box'))
    equal(world.status(token), 200)
    del world.reviews.users[token]
    equal(world.status(token), 200)
    wait_for(lambda: world.status(token) == 401, seconds=5, what='exp')
    world.end(token)


def test_audiences_are_asked_for_and_checked():
    world = World('--authz-tokenreview-audiences=router, second')
    for token, audiences in (('a', ['second']), ('b', ['elsewhere']), ('c', [])):
        world.reviews.let(token, 'anna', ('default', 'box'))
        world.reviews.audiences[token] = audiences
    equal([world.status(t) for t in 'abc'], [200, 401, 401])
    equal(world.reviews.token_reviews[0]['audiences'], ['router', 'second'])
    world.end()


def test_a_token_may_be_left_out_when_that_is_asked_for():
    world = World('--authz-tokenreview-require-token=false')
    equal([world.status(None), world.status('bad')], [200, 401])
    world.end()


# ---- scoped tokens ----

SECRET = 's' * 40


def b64(data):
    return base64.urlsafe_b64encode(data).rstrip(b'=').decode()


def mint(ns='default', name='box', ttl=60, secret=SECRET):
    payload = b64(json.dumps({'ns': ns, 'name': name, 'exp': int(time.time()) + ttl}).encode())
    mac = hmac.new(secret.encode(), b'agent-sandbox/scoped-token/v1.' + payload.encode(), hashlib.sha256)
    return 'v1.%s.%s' % (payload, b64(mac.digest()))


def write(path, text):
    with open(path + '.new', 'w') as f:
        f.write(text)
    os.rename(path + '.new', path)
    return path


def test_scoped_tokens_open_one_sandbox():
    path = write(tempfile.mktemp(), SECRET + '\n')
    world = World('--authz-scoped-token-secret-file=' + path, mode='scoped-token')
    equal(world.status(mint()), 200)
    equal(world.ask(mint(), 'other')[::2], (403, FORBIDDEN))
    equal(world.status(mint(ns='kube-system')), 403)
    for bad in (None, 'v1.x.y', mint(ttl=0), mint(ttl=-9), mint(secret='t' * 40), mint() + 'A', 'v3.' + mint()[3:]):
        equal((bad, world.ask(bad)[::2]), (bad, (401, UNAUTHENTICATED)))
    hints = b'X-Sandbox-Pod-IP: 10.9.9.9\r\nX-Sandbox-UID: nobody\r\n'
    equal(world.status(mint(), more=hints), 200)  # hints: they lead nowhere but to the table's address
    world.end(mint(), SECRET)


def test_secrets_are_read_again_and_may_overlap():
    path = write(tempfile.mktemp(), SECRET)
    world = World('--authz-scoped-token-secret-file=' + path, mode='scoped-token')
    new = 'n' * 40
    equal([world.status(mint()), world.status(mint(secret=new))], [200, 401])
    write(path, new + '\n' + SECRET + '\n')
    wait_for(lambda: world.status(mint(secret=new)) == 200, seconds=6, what='the new secret')
    equal(world.status(mint()), 200)
    write(path, 'short')
    wait_for(lambda: 'the old ones stay' in world.router.log_text(), seconds=6, what='the complaint')
    equal(world.status(mint()), 200)
    write(path, new)
    wait_for(lambda: world.status(mint()) == 401, seconds=6, what='the end of the old secret')
    world.end(SECRET)


def test_headers_that_choose_the_target_are_forbidden_to_scoped_tokens():
    path = write(tempfile.mktemp(), SECRET)
    world = World('--authz-scoped-token-secret-file=' + path, '--trust-pod-ip-header', '--allow-loopback-pod-ip',
                  mode='scoped-token')
    equal(world.status(mint()), 200)
    equal(world.status(mint(), more=b'X-Sandbox-Pod-IP: 127.0.0.1\r\n'), 403)
    equal(world.status(mint(), more=b'X-Sandbox-UID: u\r\n'), 403)
    world.end()


def sandboxctl(*args, stdin=''):
    done = subprocess.run([os.path.join(os.path.dirname(lib.BIN), 'sandboxctl'), 'token', *args],
                          input=stdin, capture_output=True, text=True, timeout=20)
    return done.returncode, done.stdout, done.stderr


def test_v2_tokens_bind_the_whole_request():
    folder = tempfile.mkdtemp()
    key, keys = folder + '/key.pem', folder + '/keys.json'
    code, out, _ = sandboxctl('keygen', '--kid=k1', '--private-key-file=' + key)
    equal((code, os.stat(key).st_mode & 0o777), (0, 0o600))
    write(keys, out)
    world = World('--authz-scoped-token-verification-keys-file=' + keys, mode='scoped-token')

    def token(**more):
        flags = {'name': 'box', 'kid': 'k1', 'uid': 'owner-box', 'port': world.backend.port, 'method': 'GET',
                 'path': '/a%2fb', 'private-key-file': key}
        flags.update({name.replace('_', '-'): value for name, value in more.items()})
        code, out, err = sandboxctl('mint', *('--%s=%s' % item for item in flags.items()))
        equal((code, err), (0, ''))
        return out.strip()

    def status(token, start=b'GET /a%2Fb?q HTTP/1.1', **how):
        return world.status(token, start=start, **how)

    good = token()
    equal([status(good), status(good, start=b'GET /a/b HTTP/1.1'), status(good, start=b'PUT /a%2Fb HTTP/1.1'),
           status(good, name='other')], [200, 403, 403, 403])
    equal([status(token(uid='owner-older')), status(token(port=1)), status(token(kid='k2'))], [403, 403, 401])
    equal(status(good, more=b'X-Sandbox-UID: owner-box\r\n'), 200)
    equal(status(good, more=b'X-Sandbox-UID: owner-other\r\n'), 403)
    code, out, _ = sandboxctl('inspect', '--verification-keys-file=' + keys, stdin=good)
    equal(code, 0)
    contains(out, 'path       /a%2fb')
    os.chmod(key, 0o644)
    code, out, err = sandboxctl('mint', '--private-key-file=' + key, '--kid=k1', '--uid=u', '--name=box')
    equal((code, out), (1, ''))
    contains(err, 'chmod 600')
    equal(sandboxctl('keygen', '--kid=k1', '--private-key-file=' + key)[0], 1)  # never overwritten
    equal([sandboxctl(*args)[0] for args in ((), ('mint',), ('nonsense',), ('mint', '--bad'))], [2, 2, 2, 2])
    world.end(good)


def test_ports_may_be_limited():
    world = World('--allowed-ports=1-3,8888', mode='allow-all')
    status, _, body = world.ask(None)
    equal((status, body), (403, b'{"detail":"X-Sandbox-Port is not one of --allowed-ports."}\n'))
    world.end()


def test_a_path_may_name_the_target():
    world = World('--path-routing-prefix=/sandboxes', mode='allow-all')

    def get(path, **how):
        return ask(world.router, 'nobody', world.backend, start=b'GET %s HTTP/1.1' % path, **how)

    port = b'%d' % world.backend.port
    status, _, body = get(b'/sandboxes/default/box/' + port + b'/a%2Fb//./c?q=%41')
    equal((status, body), (200, b'ok'))
    assert world.seen[-1].startswith(b'GET /a%2Fb//./c?q=%41 HTTP/1.1'), world.seen
    equal(get(b'/sandboxes/default/box/' + port + b'/')[0], 200)
    assert world.seen[-1].startswith(b'GET / HTTP/1.1'), world.seen
    text = b'{"detail":"Path-routed request must have the form <prefix>/<namespace>/<id>/<port>/..."}\n'
    for path in (b'/sandboxes/', b'/sandboxes/default', b'/sandboxes/default/box', b'/sandboxes/default/box/' + port,
                 b'/sandboxes//box/' + port + b'/', b'/sandboxes/default//' + port + b'/x', b'/sandboxes/default/box//x'):
        equal((path, get(path)[::2]), (path, (400, text)))
    equal(get(b'/sandboxes/default/b%6fx/' + port + b'/')[::2], (400, b'{"detail":"Invalid sandbox ID format."}\n'))
    equal(get(b'/sandboxes/default/box/x/')[::2], (400, b'{"detail":"Invalid port format."}\n'))
    equal(get(b'/sandboxesx/default/box/1/')[0], 404)  # not the prefix: the headers' target, which is not known
    world.end()


def test_a_path_that_waits_for_a_review_keeps_its_form():
    world = World('--path-routing-prefix=/s')
    world.reviews.let('t', 'anna', ('default', 'box'))
    equal(world.status('t', name='x', start=b'GET /s/default/box/%d/y HTTP/1.1' % world.backend.port), 200)
    assert world.seen[-1].startswith(b'GET /y HTTP/1.1'), world.seen
    equal(world.status('t', name='box', start=b'GET /s/default/other/%d/y HTTP/1.1' % world.backend.port), 403)
    world.end()
