# SPDX-License-Identifier: Apache-2.0
"""Runs the scenarios of the modules below, in order, and ends with "N passed, N failed".

    scenarios.py [TEXT...]     only those whose name contains one of the texts
"""
import concurrent.futures
import importlib
import sys
import time
import traceback

MODULES = ["s_install", "s_sdk", "s_claims", "s_pools", "s_sandboxes", "s_network", "s_writes", "s_leader",
           "s_router", "s_authz", "s_parallel", "s_chaos"]
# Each scenario has a namespace of its own and mostly waits: three at a time, and nothing is measured in them.
TOGETHER = ["s_modes", "s_lifecycle", "s_blueprints", "s_rollouts", "s_ownership", "s_policies", "s_autoscale"]
AT_ONCE = 3


def scenarios(modules, wanted):
    for module in modules:
        loaded = importlib.import_module(module)
        for name, value in vars(loaded).items():
            if callable(value) and value.__module__ == module and name.startswith("scenario_"):
                name = f"{module[2:]}.{name[9:]}"
                if not wanted or any(text in name for text in wanted):
                    yield name, value


def attempt(scenario):
    """Runs a scenario and tells how it went in one piece; true when it passed."""
    name, run = scenario
    began = time.monotonic()
    try:
        run()
    except Exception as e:  # a scenario may fail in any way; all others still run
        print(f"FAILED {name} ({time.monotonic() - began:.1f} s): {e}\n{traceback.format_exc()}", end="", flush=True)
        return False
    print(f"ok     {name} ({time.monotonic() - began:.1f} s)\n", end="", flush=True)
    return True


def main():
    wanted = sys.argv[1:]
    results = [attempt(s) for s in scenarios(MODULES, wanted)]
    with concurrent.futures.ThreadPoolExecutor(AT_ONCE) as pool:
        results += pool.map(attempt, scenarios(TOGETHER, wanted))
    passed, failed = results.count(True), results.count(False)
    print(f"{passed} passed, {failed} failed")
    return 1 if failed or not passed else 0


if __name__ == "__main__":
    sys.exit(main())
