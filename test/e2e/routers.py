# SPDX-License-Identifier: Apache-2.0
"""Routers for scenarios that want one of their own, and requests through them."""
import contextlib
import http.client
import json
import os

from k8s import IMAGE, ROOT, get, kubectl
from objects import apply_all, pod_spec, sandbox


def runtime(name, ns):
    spec = pod_spec(IMAGE)
    spec["containers"][0]["readinessProbe"] = {"httpGet": {"path": "/", "port": 8888}, "periodSeconds": 1}
    return sandbox(name, ns, spec)


def ask(address, name, ns, method="GET", path="/", body=None, timeout=60, **headers):
    """Status, fields in lower case, body."""
    fields = {"X-Sandbox-ID": name, "X-Sandbox-Namespace": ns, **{k.replace("_", "-"): v for k, v in headers.items()}}
    connection = http.client.HTTPConnection(address, 8080, timeout=timeout)
    try:
        connection.request(method, path, body, fields)
        reply = connection.getresponse()
        return reply.status, {k.lower(): v for k, v in reply.getheaders()}, reply.read()
    finally:
        connection.close()


def objects_of(folder):
    """Objects of a folder of manifests as the cluster would get them."""
    text = kubectl("kustomize", os.path.join(ROOT, "manifests", folder))
    out = kubectl("create", "--dry-run=client", "-o", "json", "-f", "-", stdin=text)
    decoder, objects = json.JSONDecoder(), []
    while out.strip():
        one, end = decoder.raw_decode(out.lstrip())
        objects += one["items"] if one["kind"] == "List" else [one]
        out = out.lstrip()[end:]
    return objects


@contextlib.contextmanager
def own_router(ns, folder, *args):
    """A router as a folder of manifests describes it, with further arguments (a later one wins), in a namespace of its
    own; yields its address."""
    cluster_wide = []
    objects = [o for o in objects_of(folder) if o["kind"] not in ("NetworkPolicy", "PodDisruptionBudget")]
    for o in objects:
        if o["kind"].startswith("Cluster"):
            o["metadata"]["name"] = f"{ns}-{o['metadata']['name']}"
            cluster_wide.append((o["kind"], o["metadata"]["name"]))
            for subject in o.get("subjects", []):
                subject["namespace"] = ns
            if "roleRef" in o:
                o["roleRef"]["name"] = f"{ns}-{o['roleRef']['name']}"
        else:
            o["metadata"]["namespace"] = ns
        if o["kind"] == "Deployment":
            container = o["spec"]["template"]["spec"]["containers"][0]
            container["image"] = os.environ["IMAGE_PREFIX"] + "sandbox-router:" + os.environ["IMAGE_TAG"]
            container["args"] += args
            o["spec"]["replicas"] = 1
    try:
        apply_all(*objects)
        kubectl("-n", ns, "rollout", "status", "deployment/sandbox-router", "--timeout=60s")
        yield get("pod", ns=ns, selector="app=sandbox-router")[0]["status"]["podIP"]
    finally:
        for kind, name in cluster_wide:
            kubectl("delete", kind, name, "--ignore-not-found")
