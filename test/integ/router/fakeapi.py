# SPDX-License-Identifier: Apache-2.0
"""A Kubernetes API server as far as a Pod informer sees one: LIST and WATCH of pods, over plain HTTP."""
import http.server
import json
import queue
import threading
from urllib.parse import parse_qs, urlsplit

import reviews

GROUP = 'agents.x-k8s.io/v1beta1'


def pod(name, ip, sandbox=None, ns='default', ready=True, warm=False, owner_kind='Sandbox',
        owner_api=GROUP, controller=True, deleting=False, created='2026-01-01T00:00:00Z'):
    labels = {'agents.x-k8s.io/sandbox-name-hash': '00000000'}
    if warm:
        labels['agents.x-k8s.io/warm-pool-sandbox'] = '11111111'
    meta = {'name': name, 'namespace': ns, 'uid': 'uid-%s-%s' % (ns, name), 'labels': labels,
            'creationTimestamp': created,
            'ownerReferences': [{'apiVersion': owner_api, 'kind': owner_kind, 'name': sandbox or name,
                                 'uid': 'owner-' + (sandbox or name), 'controller': controller}]}
    if deleting:
        meta['deletionTimestamp'] = '2026-01-01T00:00:00Z'
    status = {'phase': 'Running',
              'conditions': [{'type': 'Ready', 'status': 'True' if ready else 'False'}]}
    if ip:
        status['podIP'] = ip
    return {'apiVersion': 'v1', 'kind': 'Pod', 'metadata': meta, 'status': status}


def merge(into, patch):
    """RFC 7386."""
    for key, value in patch.items():
        if isinstance(value, dict):
            merge(into.setdefault(key, {}), value)
        elif value is None:
            into.pop(key, None)
        else:
            into[key] = value


class FakeApi:
    def __init__(self):
        self.lock = threading.Lock()
        self.pods = {}
        self.rv = 100
        self.watchers = []
        self.lists = 0
        self.refuse = False  # answer 503
        self.gone = False    # answer the next watch with 410
        self.sandboxes = {}
        self.sandbox_requests = []  # (method, name, body)
        self.forbidden = False  # sandboxes may not be read
        self.on_patch = None  # called with a sandbox after it was patched
        self.reviews = reviews.Reviews()
        outer = self

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = 'HTTP/1.1'

            def do_GET(self):
                outer.answer(self)

            def do_PATCH(self):
                outer.answer(self)

            def do_POST(self):
                outer.answer(self)

            def log_message(self, *args):
                pass

        class Server(http.server.ThreadingHTTPServer):
            daemon_threads = True

            def handle_error(self, request, client_address):
                pass  # a watcher that went away

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

    # ---- what the cluster does ----

    def put(self, obj):
        with self.lock:
            key = (obj['metadata']['namespace'], obj['metadata']['name'])
            kind = 'MODIFIED' if key in self.pods else 'ADDED'
            self.rv += 1
            obj['metadata']['resourceVersion'] = str(self.rv)
            self.pods[key] = obj
            self.emit(kind, obj)

    def delete(self, name, ns='default'):
        with self.lock:
            obj = self.pods.pop((ns, name))
            self.rv += 1
            obj['metadata']['resourceVersion'] = str(self.rv)
            self.emit('DELETED', obj)

    def emit(self, kind, obj):
        line = json.dumps({'type': kind, 'object': obj}).encode() + b'\n'
        for watcher in self.watchers:
            watcher.put(line)

    def cut_watches(self):
        with self.lock:
            for watcher in self.watchers:
                watcher.put(None)

    # ---- HTTP ----

    def answer(self, h):
        url = urlsplit(h.path)
        query = parse_qs(url.query)
        if self.refuse:
            h.send_error(503)
            return
        if self.reviews.answer(h):
            return
        if url.path.startswith('/apis/%s/namespaces/' % GROUP):
            self.sandbox(h, url.path.split('/'))
        elif url.path != '/api/v1/pods':
            h.send_error(404)
        elif query.get('watch', ['0'])[0] in ('1', 'true'):
            self.watch(h)
        else:
            self.list(h)

    def put_sandbox(self, name, mode='Running', ready='DependenciesNotReady', ns='default', **meta):
        self.sandboxes[(ns, name)] = {
            'apiVersion': GROUP, 'kind': 'Sandbox',
            'metadata': dict({'name': name, 'namespace': ns, 'uid': 'u-' + name, 'resourceVersion': '1'}, **meta),
            'spec': {'operatingMode': mode},
            'status': {'conditions': [{'type': 'Ready', 'status': 'False', 'reason': ready}]}}

    def sandbox(self, h, parts):
        """GET and merge PATCH of /apis/GROUP/VERSION/namespaces/NS/sandboxes/NAME."""
        key = (parts[5], parts[7])
        body = h.rfile.read(int(h.headers.get('Content-Length') or 0))
        with self.lock:
            self.sandbox_requests.append((h.command, parts[7], body.decode()))
            obj = self.sandboxes.get(key)
            if self.forbidden or not obj:
                code, reason = (403, 'Forbidden') if self.forbidden else (404, 'NotFound')
                obj = {'kind': 'Status', 'apiVersion': 'v1', 'status': 'Failure', 'reason': reason, 'code': code}
            else:
                code = 200
                if h.command == 'PATCH':
                    merge(obj, json.loads(body))
            text = json.dumps(obj).encode()
        h.send_response(code)
        h.send_header('Content-Type', 'application/json')
        h.send_header('Content-Length', str(len(text)))
        h.end_headers()
        h.wfile.write(text)
        if h.command == 'PATCH' and code == 200 and self.on_patch:
            self.on_patch(obj)

    def list(self, h):
        with self.lock:
            self.lists += 1
            body = json.dumps({'kind': 'PodList', 'apiVersion': 'v1',
                               'metadata': {'resourceVersion': str(self.rv)},
                               'items': list(self.pods.values())}).encode()
        h.send_response(200)
        h.send_header('Content-Type', 'application/json')
        h.send_header('Content-Length', str(len(body)))
        h.end_headers()
        h.wfile.write(body)

    def watch(self, h):
        events = queue.Queue()
        if self.gone:
            self.gone = False
            body = json.dumps({'kind': 'Status', 'apiVersion': 'v1', 'status': 'Failure', 'reason': 'Expired',
                               'code': 410, 'message': 'too old'}).encode()
            h.send_response(410)
            h.send_header('Content-Type', 'application/json')
            h.send_header('Content-Length', str(len(body)))
            h.end_headers()
            h.wfile.write(body)
            return
        query = parse_qs(urlsplit(h.path).query)
        since = int(query.get('resourceVersion', ['0'])[0] or 0)
        stream = 'sendInitialEvents' in query
        with self.lock:
            self.lists += stream
            for obj in self.pods.values():
                if int(obj['metadata']['resourceVersion']) > since:
                    events.put(json.dumps({'type': 'ADDED' if stream else 'MODIFIED', 'object': obj}).encode() + b'\n')
            if stream:
                end = {'kind': 'Pod', 'apiVersion': 'v1', 'metadata': {
                    'resourceVersion': str(self.rv), 'annotations': {'k8s.io/initial-events-end': 'true'}}}
                events.put(json.dumps({'type': 'BOOKMARK', 'object': end}).encode() + b'\n')
            self.watchers.append(events)
        h.send_response(200)
        h.send_header('Content-Type', 'application/json')
        h.send_header('Transfer-Encoding', 'chunked')
        h.end_headers()
        try:
            while True:
                line = events.get()
                if line is None:
                    h.wfile.write(b'0\r\n\r\n')
                    return
                h.wfile.write(b'%x\r\n%s\r\n' % (len(line), line))
                h.wfile.flush()
        finally:
            with self.lock:
                self.watchers.remove(events)
