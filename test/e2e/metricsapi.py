# SPDX-License-Identifier: Apache-2.0
"""An external metric for autoscalers: one number of the scenario's choosing, served to the API server as the
aggregated API external.metrics.k8s.io. Runs in the scenario's process, which shares the node's network."""
import base64
import contextlib
import datetime
import http.server
import json
import ssl
import subprocess
import tempfile
import threading

from k8s import condition, get, kubectl, wait_for
from objects import apply_all

GROUP, VERSION = "external.metrics.k8s.io", "v1beta1"
METRIC = "waiting_sandboxes"
ROOT = f"/apis/{GROUP}/{VERSION}"


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *_):
        """Nobody reads it."""

    def do_GET(self):  # noqa: N802
        path = self.path.split("?")[0].rstrip("/")
        if path == ROOT:
            self.answer(200, {"kind": "APIResourceList", "apiVersion": "v1", "groupVersion": f"{GROUP}/{VERSION}",
                              "resources": [{"name": METRIC, "singularName": "", "namespaced": True,
                                             "kind": "ExternalMetricValueList", "verbs": ["get"]}]})
        elif path.startswith(ROOT + "/namespaces/") and path.endswith("/" + METRIC):
            now = datetime.datetime.now(datetime.timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ")
            self.answer(200, {"kind": "ExternalMetricValueList", "apiVersion": f"{GROUP}/{VERSION}", "metadata": {},
                              "items": [{"metricName": METRIC, "metricLabels": {}, "timestamp": now,
                                         "value": str(self.server.metric)}]})
        else:
            self.answer(404, {"kind": "Status", "apiVersion": "v1", "status": "Failure", "code": 404})

    def answer(self, code, body):
        data = json.dumps(body).encode()
        self.send_response(code)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)


def certificate(directory, name):
    subprocess.run(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes",
                    "-days", "1", "-subj", f"/CN={name}", "-addext", f"subjectAltName=DNS:{name}",
                    "-keyout", f"{directory}/key", "-out", f"{directory}/crt"], check=True, capture_output=True)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(f"{directory}/crt", f"{directory}/key")
    with open(f"{directory}/crt", "rb") as f:
        return context, base64.b64encode(f.read()).decode()


def registration(ns, address, port, ca):
    meta = {"name": "metrics", "namespace": ns}
    yield {"apiVersion": "v1", "kind": "Service", "metadata": meta,
           "spec": {"ports": [{"port": 443, "targetPort": port}]}}
    yield {"apiVersion": "discovery.k8s.io/v1", "kind": "EndpointSlice", "addressType": "IPv4",
           "metadata": {**meta, "labels": {"kubernetes.io/service-name": "metrics"}},
           "endpoints": [{"addresses": [address], "conditions": {"ready": True}}],
           "ports": [{"port": port, "protocol": "TCP", "name": ""}]}
    yield {"apiVersion": "apiregistration.k8s.io/v1", "kind": "APIService",
           "metadata": {"name": f"{VERSION}.{GROUP}"},
           "spec": {"group": GROUP, "version": VERSION, "groupPriorityMinimum": 100, "versionPriority": 100,
                    "service": {"name": "metrics", "namespace": ns}, "caBundle": ca}}


@contextlib.contextmanager
def metric(ns):
    """The server; set its attribute metric. Goes again before the namespace does, which needs every API."""
    address = next(a["address"] for node in get("node", ns="default", selector="!type") for a in
                   node["status"]["addresses"] if a["type"] == "InternalIP")
    server = http.server.ThreadingHTTPServer((address, 0), Handler)
    server.daemon_threads = True
    server.metric = 0
    with tempfile.TemporaryDirectory() as directory:
        context, ca = certificate(directory, f"metrics.{ns}.svc")
    server.socket = context.wrap_socket(server.socket, server_side=True, do_handshake_on_connect=False)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        apply_all(*registration(ns, address, server.server_address[1], ca))
        wait_for("the metrics API is not available", lambda: condition(
            get("apiservice", f"{VERSION}.{GROUP}"), "Available").get("status") == "True", 30)
        yield server
    finally:
        kubectl("delete", "apiservice", f"{VERSION}.{GROUP}", "--ignore-not-found")
        server.shutdown()
        server.server_close()
