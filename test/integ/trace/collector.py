# SPDX-License-Identifier: Apache-2.0
"""An OTLP/HTTP collector that decodes with OpenTelemetry's own messages, and can be as rude as real ones."""
import base64
import http.server
import json
import ssl
import threading
import time

from google.protobuf import json_format
from opentelemetry.proto.collector.trace.v1 import trace_service_pb2 as service


def ids_to_base64(node):
    """OTLP's JSON has hex where protobuf's has base64: the one difference between the two."""
    if isinstance(node, list):
        return [ids_to_base64(n) for n in node]
    if isinstance(node, dict):
        return {k: base64.b64encode(bytes.fromhex(v)).decode()
                if k in ('traceId', 'spanId', 'parentSpanId') else ids_to_base64(v)
                for k, v in node.items()}
    return node


class Span:
    def __init__(self, span, resource, scope):
        self.raw, self.name, self.kind = span, span.name, span.kind
        self.trace, self.id, self.parent = span.trace_id.hex(), span.span_id.hex(), span.parent_span_id.hex()
        self.attrs = {a.key: getattr(a.value, a.value.WhichOneof('value')) for a in span.attributes}
        self.resource = {a.key: a.value.string_value for a in resource.attributes}
        self.scope = scope

    def __repr__(self):
        return '%s %s<%s %s' % (self.name, self.id, self.parent, self.attrs)


class Collector:
    def __init__(self, tls=None):
        """tls: (certificate, key) files."""
        self.lock = threading.Lock()
        self.requests = []  # (path, headers, when)
        self.spans = []
        self.errors = []
        self.statuses = []  # answers to give first, one each: a status, 'hang', 'close'
        self.always = None  # the same for every request
        self.retry_after = None
        self.rejected = 0
        outer = self

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = 'HTTP/1.1'

            def do_POST(self):
                try:
                    outer.answer(self)
                except Exception as e:
                    outer.errors.append(e)
                    raise

            def log_message(self, *args):
                pass

        class Server(http.server.ThreadingHTTPServer):
            daemon_threads = True

            def handle_error(self, request, client_address):
                pass

        self.server = Server(('127.0.0.1', 0), Handler)
        self.port = self.server.server_address[1]
        self.scheme = 'https' if tls else 'http'
        if tls:
            context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            context.load_cert_chain(*tls)
            self.server.socket = context.wrap_socket(self.server.socket, server_side=True)
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def env(self, **more):
        e = {'OTEL_EXPORTER_OTLP_ENDPOINT': '%s://127.0.0.1:%d' % (self.scheme, self.port),
             'OTEL_BSP_SCHEDULE_DELAY': '100'}
        e.update(more)
        return e

    def close(self):
        self.server.shutdown()
        self.server.server_close()

    def decode(self, h, body):
        request = service.ExportTraceServiceRequest()
        if h.headers['Content-Type'] == 'application/x-protobuf':
            request.ParseFromString(body)
        else:
            assert h.headers['Content-Type'] == 'application/json', h.headers['Content-Type']
            json_format.ParseDict(ids_to_base64(json.loads(body)), request)
        return [Span(s, rs.resource, ss.scope) for rs in request.resource_spans
                for ss in rs.scope_spans for s in ss.spans]

    def answer(self, h):
        body = h.rfile.read(int(h.headers['Content-Length']))
        with self.lock:
            self.requests.append((h.path, dict(h.headers), time.monotonic()))
            status = self.statuses.pop(0) if self.statuses else self.always or 200
        if status == 'hang':
            time.sleep(600)
        if status == 'close':
            h.close_connection = True
            return
        found = self.decode(h, body)
        answer = b''
        if status == 200:
            reply = service.ExportTraceServiceResponse()
            if self.rejected:
                reply.partial_success.rejected_spans = self.rejected
                reply.partial_success.error_message = 'too many'
            answer = (reply.SerializeToString() if 'protobuf' in h.headers['Content-Type']
                      else json_format.MessageToJson(reply).encode())
            with self.lock:
                self.spans += found
        h.send_response(status)
        h.send_header('Content-Length', str(len(answer)))
        if self.retry_after:
            h.send_header('Retry-After', self.retry_after)
        h.end_headers()
        h.wfile.write(answer)

    def named(self, name):
        with self.lock:
            return [s for s in self.spans if s.name == name]

    def wait(self, fn, seconds=15):
        """Until fn gives something true for the list of spans."""
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            with self.lock:
                value = fn(list(self.spans))
            if self.errors:
                raise self.errors[0]
            if value:
                return value
            time.sleep(0.05)
        raise AssertionError('not within %s s; spans: %s' % (seconds, self.spans))
