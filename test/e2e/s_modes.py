# SPDX-License-Identifier: Apache-2.0
"""One Sandbox through its modes: exact status of each, what stays while it is suspended, Service on and off."""
from k8s import check, condition, get, kubectl, namespace, wait_for, wait_gone, wait_ready
from objects import (BUSYBOX, NAME_HASH, apply_all, cond, controller_of, exits, hold, name_hash, patch, pod_spec,
                     release, sandbox, soon, volume, whole_status)


def expect(name, ns, wanted, seconds=30):
    def probe():
        return whole_status(get("sandbox", name, ns)) == wanted
    try:
        wait_for("", probe, seconds)
    except AssertionError as e:
        raise AssertionError(f"status is {whole_status(get('sandbox', name, ns))}, not {wanted}") from e


def running(name, ns, generation, service=True):
    status = {"selector": f"{NAME_HASH}={name_hash(name)}", "conditions": {
        "Suspended": cond("False", "NotSuspended", "Sandbox is not suspended", generation),
        "PodScheduled": cond("True", "PodScheduled", "", generation),
        "Ready": cond("True", "DependenciesReady", "Pod is Ready" + ("; Service Exists" if service else ""),
                      generation)}}
    return {**status, **service_of(name, ns)} if service else status


def service_of(name, ns):
    return {"service": name, "serviceFQDN": f"{name}.{ns}.svc.cluster.local"}


def suspended(name, ns, generation):
    return {"selector": f"{NAME_HASH}={name_hash(name)}", **service_of(name, ns), "conditions": {
        "Suspended": cond("True", "PodTerminated", "Pod has been terminated. Sandbox is suspended", generation),
        "Ready": cond("False", "SandboxSuspended", "Sandbox is suspended", generation)}}


def mode(name, ns, value):
    patch("sandbox", name, ns, {"spec": {"operatingMode": value}})


def since(name, ns, kind="Suspended"):
    return condition(get("sandbox", name, ns), kind)["lastTransitionTime"]


def scenario_status_is_exact_through_two_suspensions_and_the_service_stays():
    with namespace("e2e-modes") as ns:
        apply_all(sandbox("box", ns, service=True, metadata={"labels": {"tier": "a"}, "annotations": {"note": "b"}}))
        expect("box", ns, running("box", ns, 1))
        pod, service = get("pod", "box", ns), get("service", "box", ns)
        check(pod["metadata"]["labels"]["tier"] == "a" and pod["metadata"]["annotations"]["note"] == "b", "metadata")
        for child in (pod, service):
            owners = child["metadata"]["ownerReferences"]
            check(len(owners) == 1 and owners[0]["controller"] and owners[0]["blockOwnerDeletion"], str(owners))
            check((owners[0]["apiVersion"], owners[0]["name"]) == ("agents.x-k8s.io/v1beta1", "box"), str(owners))
        for generation in (2, 4):
            mode("box", ns, "Suspended")
            wait_gone("pod", "box", ns)
            expect("box", ns, suspended("box", ns, generation))
            mode("box", ns, "Running")
            expect("box", ns, running("box", ns, generation + 1))
        check(get("service", "box", ns)["metadata"]["uid"] == service["metadata"]["uid"], "another Service")
        check(get("pod", "box", ns)["metadata"]["uid"] != pod["metadata"]["uid"], "the same pod")

        flipped = since("box", ns)
        before, was_ready = get("pod", "box", ns)["metadata"]["uid"], since("box", ns, "Ready")
        kubectl("delete", "pod", "box", "-n", ns, "--wait=false")
        wait_for("Ready does not tell of the lost pod", lambda: (lambda c: c["status"] != "True" or c[
            "lastTransitionTime"] != was_ready)(condition(get("sandbox", "box", ns), "Ready")), 30, every=0.02)
        wait_for("no new pod", lambda: (get("pod", "box", ns) or {}).get("metadata", {}).get("uid", before) != before)
        expect("box", ns, running("box", ns, 5))
        check(since("box", ns) == flipped, "Suspended flipped with the pod")


def scenario_suspension_waits_for_a_pod_that_will_not_go():
    with namespace("e2e-slow") as ns:
        apply_all(sandbox("slow", ns))
        expect("slow", ns, running("slow", ns, 1, service=False))
        flipped = since("slow", ns)
        hold("pod", "slow", ns)
        try:
            mode("slow", ns, "Suspended")

            def terminating():
                got = whole_status(get("sandbox", "slow", ns))["conditions"]
                return (got["Suspended"] == cond("False", "PodTerminating",
                                                 "Pod is terminating. Sandbox is suspending", 2)
                        and got["Ready"] == cond("False", "SandboxSuspended", "Sandbox is suspending", 2)
                        and "PodScheduled" in got)
            wait_for("Suspended is not PodTerminating", terminating, 20)
            check(since("slow", ns) == flipped, "the time moved without a flip")
        finally:
            release("pod", "slow", ns)
        wait_for("Suspended is not True", lambda: condition(get("sandbox", "slow", ns), "Suspended").get("reason")
                 == "PodTerminated", 20)
        check(since("slow", ns) >= flipped and "PodScheduled" not in whole_status(get("sandbox", "slow", ns))[
            "conditions"], "after the pod went")


def scenario_what_a_pod_wrote_to_its_volume_is_there_after_resume():
    text = "n=$(cat /data/n 2>/dev/null || echo 0); n=$((n + 1)); echo $n >/data/n; echo start $n; exec sleep 9999"
    pod = pod_spec(BUSYBOX, ["/bin/busybox", "sh", "-c", text])
    pod["containers"][0]["volumeMounts"] = [{"name": "data", "mountPath": "/data"}]
    with namespace("e2e-volume") as ns:
        apply_all(sandbox("keeper", ns, pod, volumeClaimTemplates=[volume("data")]))
        wait_ready("sandbox", "keeper", ns)
        before = get("pvc", "data-keeper", ns)
        check(controller_of(before) == ("Sandbox", "keeper"), "owner")
        check(before["metadata"]["labels"][NAME_HASH] == name_hash("keeper"), "label")
        first = wait_for("no output", lambda: kubectl("logs", "keeper", "-n", ns), 20)
        mode("keeper", ns, "Suspended")
        wait_gone("pod", "keeper", ns)
        check(get("pvc", "data-keeper", ns)["metadata"]["uid"] == before["metadata"]["uid"], "another volume")
        mode("keeper", ns, "Running")
        wait_ready("sandbox", "keeper", ns)
        second = wait_for("no output", lambda: kubectl("logs", "keeper", "-n", ns), 20)
        check(int(second.split()[1]) == int(first.split()[1]) + 1, f"{first!r}, then {second!r}")
        for change in ([volume("data", "2Gi")], [volume("data"), volume("more")], None):
            done = patch("sandbox", "keeper", ns, {"spec": {"volumeClaimTemplates": change}}, ok=False)
            check(done.returncode != 0 and "volumeClaimTemplates is immutable" in done.stderr, done.stderr)
        kubectl("delete", "sandbox", "keeper", "-n", ns, "--wait=false")
        wait_gone("pvc", "data-keeper", ns)


def scenario_service_is_made_kept_and_removed_as_asked():
    with namespace("e2e-service") as ns:
        pod = pod_spec()
        pod["containers"][0]["ports"] = [{"containerPort": 8080, "name": "web"},
                                         {"containerPort": 53, "protocol": "UDP"}]
        apply_all(sandbox("tri", ns, pod))
        expect("tri", ns, running("tri", ns, 1, service=False))
        check(get("service", "tri", ns) is None, "a Service nobody asked for")
        patch("sandbox", "tri", ns, {"spec": {"service": True}})
        expect("tri", ns, running("tri", ns, 2))
        ports = [(p["name"], p["port"], p["protocol"]) for p in get("service", "tri", ns)["spec"]["ports"]]
        check(ports == [("p-53-udp", 53, "UDP"), ("web", 8080, "TCP")], str(ports))
        uid = get("service", "tri", ns)["metadata"]["uid"]
        patch("sandbox", "tri", ns, {"spec": {"service": None}})
        expect("tri", ns, running("tri", ns, 3))
        check(get("service", "tri", ns)["metadata"]["uid"] == uid, "unset keeps what there is")
        patch("sandbox", "tri", ns, {"spec": {"service": False}})
        wait_gone("service", "tri", ns)
        expect("tri", ns, running("tri", ns, 4, service=False))
        patch("sandbox", "tri", ns, {"spec": {"service": True}})
        expect("tri", ns, running("tri", ns, 5))


def scenario_shutdown_leaves_conditions_only_and_keeps_finished():
    with namespace("e2e-shutdown") as ns:
        apply_all(sandbox("timed", ns, service=True), sandbox("done", ns, exits()))
        expect("timed", ns, running("timed", ns, 1))
        finished = cond("True", "PodSucceeded", "Pod completed successfully", 1)
        wait_for("not Finished", lambda: whole_status(get("sandbox", "done", ns))["conditions"].get("Finished")
                 == finished, 30)
        ready_now = whole_status(get("sandbox", "done", ns))["conditions"]["Ready"]
        check(ready_now == cond("False", "PodSucceeded", "Pod completed successfully", 1), str(ready_now))
        when = soon(3)
        for name in ("timed", "done"):
            patch("sandbox", name, ns, {"spec": {"shutdownTime": when}})
        check(get("pod", "timed", ns) and soon(0) < when, "gone before its time")
        for name in ("timed", "done"):
            wait_gone("pod", name, ns)
        wait_gone("service", "timed", ns)
        expired = cond("False", "SandboxExpired", "Sandbox has expired", 2)
        expect("timed", ns, {"conditions": {
            "Suspended": cond("False", "NotSuspended", "Sandbox is not suspended", 2), "Ready": expired}})
        got = whole_status(get("sandbox", "done", ns))["conditions"]
        check(got["Ready"] == expired and got["Finished"]["reason"] == "PodSucceeded", str(got))
        apply_all(sandbox("brief", ns, shutdownTime=soon(2), shutdownPolicy="Delete"))
        wait_gone("sandbox", "brief", ns)
        wait_gone("pod", "brief", ns)


def scenario_columns_are_those_users_know():
    with namespace("e2e-columns") as ns:
        apply_all(sandbox("box", ns))
        wait_ready("sandbox", "box", ns)
        for kind, wanted in {"sandboxes": ["NAME", "READY", "REASON", "AGE"],
                             "sandboxclaims": ["NAME", "READY", "SANDBOX", "REASON", "AGE"],
                             "swp": ["NAME", "READY", "DESIRED", "AGE"]}.items():
            where = ["-n", ns] if kind == "sandboxes" else ["-n", "agent-sandbox"]
            table = kubectl("get", kind, *where).splitlines()
            check(not table or table[0].split() == wanted, f"{kind}: {table[:1]}")
        row = kubectl("get", "sandbox", "box", "-n", ns, "--no-headers").split()
        check(row[:3] == ["box", "True", "DependenciesReady"], str(row))
