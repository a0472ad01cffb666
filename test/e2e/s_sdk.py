# SPDX-License-Identifier: Apache-2.0
"""The unmodified public Python SDK against this system, in its three modes, with latencies."""
import io
import statistics
import time

from k8s_agent_sandbox import SandboxClient
from k8s_agent_sandbox.exceptions import SandboxRequestError, SandboxWarmPoolNotFoundError
from k8s_agent_sandbox.models import (SandboxDirectConnectionConfig, SandboxInClusterConnectionConfig,
                                      SandboxLocalTunnelConnectionConfig)

from k8s import NS, POOL, SYSTEM, check, get, kubectl, wait_gone, wait_pool

PANDAS = """python3 -c "import pandas as pd; print(int(pd.DataFrame({'a': [1, 2, 3]}).a.sum()))" """
ROUNDS = 10


def direct():
    ip = kubectl("get", "service", "sandbox-router-svc", "-n", SYSTEM, "-o", "jsonpath={.spec.clusterIP}")
    return SandboxDirectConnectionConfig(api_url=f"http://{ip}:8080")


MODES = {"direct": direct, "in-cluster": SandboxInClusterConnectionConfig,
         "tunnel": SandboxLocalTunnelConnectionConfig}


def use_everything(config):
    """What a platform does with one sandbox, from claim to termination."""
    with SandboxClient(connection_config=config) as client:
        sandbox = client.create_sandbox(warmpool=POOL, namespace=NS)
        claim = sandbox.claim_name  # forgotten by terminate()
        try:
            result = sandbox.commands.run(PANDAS, timeout=60)
            check((result.exit_code, result.stdout) == (0, "6\n"), f"pandas: {result}")
            sandbox.files.write("data/ü n.txt", b"hello \x00\xff")
            check(sandbox.files.read("data/ü n.txt") == b"hello \x00\xff", "file content")
            check([e.name for e in sandbox.files.list("data")] == ["ü n.txt"], "listing")
            check(sandbox.files.exists("data/ü n.txt") and not sandbox.files.exists("data/none"), "exists")
            sandbox.files.write("stream.bin", io.BytesIO(b"x" * 300_000))  # chunked, without a length
            check(sandbox.files.read("stream.bin") == b"x" * 300_000, "streamed upload")
            result = sandbox.commands.run("sleep 30", command_timeout=1)
            check(result.exit_code == 124 and result.timed_out, f"sleeper: {result}")
            result = sandbox.commands.run("sh -c 'echo out; echo err >&2; exit 3'")
            check((result.exit_code, result.stdout, result.stderr) == (3, "out\n", "err\n"), str(result))
            try:
                sandbox.files.read("../../etc/passwd", allow_unsafe_paths=True)
                check(False, "a path outside the workspace was readable")
            except SandboxRequestError as e:
                check(e.status_code == 403, f"traversal: {e}")
        finally:
            sandbox.terminate()
        wait_gone("sandboxclaim", claim)


def scenario_direct_mode_does_everything():
    wait_pool()
    use_everything(direct())


def scenario_tunnel_mode_does_everything():
    wait_pool()
    use_everything(SandboxLocalTunnelConnectionConfig())


def scenario_in_cluster_mode_does_everything():
    wait_pool()
    use_everything(SandboxInClusterConnectionConfig())


def scenario_pool_is_full_again_after_use():
    wait_pool()
    check(not get("sandboxclaim"), "claims are left over")


def scenario_missing_pool_fails_at_once():
    began = time.monotonic()
    try:
        SandboxClient(connection_config=direct()).create_sandbox(warmpool="no-such-pool", namespace=NS)
        check(False, "a claim of a pool that is not there became ready")
    except SandboxWarmPoolNotFoundError:
        pass
    check(time.monotonic() - began < 5, f"it took {time.monotonic() - began:.1f} s")


def scenario_env_forces_a_cold_start_or_is_refused_clearly():
    try:
        SandboxClient(connection_config=direct()).create_sandbox(warmpool=POOL, namespace=NS, env={"A": "1"})
        check(False, "the template does not allow env")
    except Exception as e:
        check("environment variable injection rejected" in str(e) or "EnvVarsInjectionRejected" in str(e), str(e))


def first_answer_ms(config):
    """create_sandbox to the first command's answer, in milliseconds."""
    client = SandboxClient(connection_config=config)
    began = time.monotonic()
    sandbox = client.create_sandbox(warmpool=POOL, namespace=NS)
    result = sandbox.commands.run("echo hi")
    took = (time.monotonic() - began) * 1000
    sandbox.terminate()
    check(result.stdout == "hi\n", str(result))
    return took


def scenario_latency_of_the_first_answer():
    for mode, make in MODES.items():
        config = make()
        times = []
        for _ in range(ROUNDS):
            wait_pool()
            time.sleep(0.3)
            times.append(first_answer_ms(config))
        print(f"       first answer, {mode:10}: median {statistics.median(times):.0f} ms, "
              f"min {min(times):.0f}, max {max(times):.0f} ({ROUNDS} rounds)")
        check(statistics.median(times) < 5000, f"{mode} is out of all proportion")
