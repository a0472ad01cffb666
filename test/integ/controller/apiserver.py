# SPDX-License-Identifier: Apache-2.0
"""As much of an API server as a controller without objects needs: empty lists (in pages, not as streams), silent
watches, Leases."""
import http.server
import json
import threading
import time
from urllib.parse import parse_qs, urlsplit


KINDS = {'sandboxes': 'Sandbox', 'sandboxclaims': 'SandboxClaim', 'sandboxtemplates': 'SandboxTemplate',
         'sandboxwarmpools': 'SandboxWarmPool', 'pods': 'Pod', 'services': 'Service',
         'persistentvolumeclaims': 'PersistentVolumeClaim', 'networkpolicies': 'NetworkPolicy'}


class ApiServer:
    def __init__(self):
        self.lock = threading.Lock()
        self.rv = 100
        self.objects = {}  # path -> object
        self.requests = []  # (method, path)
        self.lists = {}  # plural -> (status, bytes) instead of an empty list
        self.lease_status = 0  # not 0: every request for a Lease is answered with it
        outer = self

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = 'HTTP/1.1'

            def answer(self):
                outer.answer(self)

            do_GET = do_POST = do_PUT = do_PATCH = do_DELETE = answer

            def log_message(self, *args):
                pass

        class Server(http.server.ThreadingHTTPServer):
            daemon_threads = True

            def handle_error(self, request, client_address):
                pass  # a client that went away

        self.server = Server(('127.0.0.1', 0), Handler)
        self.port = self.server.server_address[1]
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def kubeconfig(self, path):
        with open(path, 'w') as f:
            json.dump({'apiVersion': 'v1', 'kind': 'Config', 'current-context': 'c',
                       'clusters': [{'name': 'c', 'cluster': {
                           'server': 'http://127.0.0.1:%d' % self.port}}],
                       'users': [{'name': 'u', 'user': {}}],
                       'contexts': [{'name': 'c', 'context': {'cluster': 'c', 'user': 'u'}}]}, f)
        return path

    def count(self, method, word):
        with self.lock:
            return sum(1 for m, p in self.requests if m == method and word in p)

    def lease(self):
        with self.lock:
            return next((o for p, o in self.objects.items() if '/leases/' in p), None)

    # ---- requests ----

    def reply(self, h, status, body):
        data = body if isinstance(body, bytes) else json.dumps(body).encode()
        h.send_response(status)
        h.send_header('Content-Type', 'application/json')
        h.send_header('Content-Length', str(len(data)))
        h.end_headers()
        h.wfile.write(data)

    def status(self, h, code, reason):
        self.reply(h, code, {'kind': 'Status', 'apiVersion': 'v1', 'status': 'Failure', 'code': code,
                             'reason': reason, 'message': reason})

    def watch(self, h):
        h.send_response(200)
        h.send_header('Content-Type', 'application/json')
        h.send_header('Transfer-Encoding', 'chunked')
        h.end_headers()
        h.wfile.flush()
        time.sleep(600)

    def answer(self, h):
        url = urlsplit(h.path)
        body = h.rfile.read(int(h.headers.get('Content-Length') or 0))
        with self.lock:
            self.requests.append((h.command, url.path))
        if 'sendInitialEvents' in parse_qs(url.query):
            self.status(h, 422, 'Invalid')
        elif 'watch' in parse_qs(url.query):
            self.watch(h)
        elif '/leases' in url.path:
            self.answer_lease(h, url.path, body)
        elif h.command == 'GET':
            plural = url.path.rsplit('/', 1)[1]
            status, text = self.lists.get(plural, (200, None))
            if text is None:
                version = url.path.split('/')[1:-1]
                text = {'kind': KINDS[plural] + 'List', 'apiVersion': '/'.join(version[1:]),
                        'metadata': {'resourceVersion': '100'}, 'items': []}
            self.reply(h, status, text)
        else:
            self.status(h, 404, 'NotFound')

    def answer_lease(self, h, path, body):
        if self.lease_status:
            self.status(h, self.lease_status, 'InternalError')
            return
        if h.command == 'POST':
            new = json.loads(body)
            path += '/' + new['metadata']['name']
        with self.lock:
            old = self.objects.get(path)
        if h.command == 'GET' or (h.command != 'POST' and old is None):
            self.reply(h, 200, old) if old else self.status(h, 404, 'NotFound')
            return
        if h.command == 'PATCH':
            new = merge(old, json.loads(body))
        elif h.command == 'PUT':
            new = json.loads(body)
        with self.lock:
            self.rv += 1
            new['metadata']['resourceVersion'] = str(self.rv)
            new['metadata'].setdefault('uid', 'lease-uid')
            self.objects[path] = new
        self.reply(h, 201 if h.command == 'POST' else 200, new)


def merge(old, patch):
    if not isinstance(patch, dict):
        return patch
    new = dict(old) if isinstance(old, dict) else {}
    for key, value in patch.items():
        if value is None:
            new.pop(key, None)
        else:
            new[key] = merge(new.get(key), value)
    return new
