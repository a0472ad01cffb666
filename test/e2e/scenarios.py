# SPDX-License-Identifier: Apache-2.0
"""Runs the scenarios of the modules below, in order, and ends with "N passed, N failed".

    scenarios.py [TEXT...]     only those whose name contains one of the texts
"""
import importlib
import sys
import time
import traceback

MODULES = ["s_install", "s_sdk", "s_claims", "s_pools", "s_sandboxes", "s_network", "s_writes", "s_leader",
           "s_modes", "s_lifecycle", "s_blueprints", "s_rollouts", "s_ownership", "s_policies", "s_parallel",
           "s_autoscale", "s_chaos"]


def scenarios():
    for module in MODULES:
        loaded = importlib.import_module(module)
        for name, value in vars(loaded).items():
            if callable(value) and value.__module__ == module and name.startswith("scenario_"):
                yield f"{module[2:]}.{name[9:]}", value


def main():
    wanted = sys.argv[1:]
    passed = failed = 0
    for name, run in scenarios():
        if wanted and not any(text in name for text in wanted):
            continue
        began = time.monotonic()
        try:
            run()
        except Exception as e:  # a scenario may fail in any way; all others still run
            failed += 1
            print(f"FAILED {name} ({time.monotonic() - began:.1f} s): {e}")
            traceback.print_exc(file=sys.stdout)
        else:
            passed += 1
            print(f"ok     {name} ({time.monotonic() - began:.1f} s)")
    print(f"{passed} passed, {failed} failed")
    return 1 if failed or not passed else 0


if __name__ == "__main__":
    sys.exit(main())
