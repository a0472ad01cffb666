# SPDX-License-Identifier: Apache-2.0
"""Who may call, with tokens of real service accounts: a review of the token, then of the right to this sandbox."""
import time

from k8s import check, kubectl, namespace, wait_for, wait_ready
from objects import apply_all
from routers import ask, own_router, runtime

TTL_S = 2


def account(name, ns, *spaces):
    """A service account of ns that may reach sandboxes of other namespaces, and a token of it."""
    apply_all({"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": name, "namespace": ns}})
    for space in spaces:
        meta = {"name": name, "namespace": space}
        apply_all({"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "Role", "metadata": meta,
                   "rules": [{"apiGroups": ["agents.x-k8s.io"], "resources": ["sandboxes/proxy"], "verbs": ["get"]}]},
                  {"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "RoleBinding", "metadata": meta,
                   "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": name},
                   "subjects": [{"kind": "ServiceAccount", "name": name, "namespace": ns}]})
    return kubectl("-n", ns, "create", "token", name, "--duration=10m").strip()


def scenario_a_token_reaches_the_sandboxes_that_rbac_says():
    modes = ("--authz-mode=tokenreview", f"--authz-tokenreview-ttl={TTL_S}s")
    with namespace("e2e-authz") as ns, namespace("e2e-authz-other") as other, own_router(ns, "router", *modes) as to:
        apply_all(runtime("box", ns), runtime("box", other))
        for space in (ns, other):
            wait_ready("sandbox", "box", space)
        token, nobody = account("caller", ns, ns), account("nobody", ns)

        def status(bearer, space):
            return ask(to, "box", space, **({"Authorization": "Bearer " + bearer} if bearer else {}))[0]
        wait_for("the router lets the caller through", lambda: status(token, ns) == 200, 15)
        got = {what: status(*case) for what, case in {
            "its own": (token, ns), "another namespace's": (token, other), "no right": (nobody, ns),
            "no token": (None, ns), "a made-up one": ("x.y.z", ns), "cut": (token[:-4], ns)}.items()}
        check(got == {"its own": 200, "another namespace's": 403, "no right": 403, "no token": 401,
                      "a made-up one": 401, "cut": 401}, str(got))
        kubectl("-n", ns, "delete", "serviceaccount", "caller")
        began = time.monotonic()
        wait_for("the token of a deleted account is refused", lambda: status(token, ns) == 401, 30)
        print(f"       refused {time.monotonic() - began:.1f} s after the account was deleted, TTL {TTL_S} s")
