# SPDX-License-Identifier: Apache-2.0
"""Runs every function test_* of the modules below and prints `N passed, N failed` last."""
import os
import sys
import traceback

HERE = os.path.dirname(os.path.realpath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "..", "tools"))
sys.path.insert(0, HERE)

import test_generator  # noqa: E402
import test_objects  # noqa: E402
import test_schema  # noqa: E402


def main(wanted):
    passed = failed = 0
    for module in (test_schema, test_generator, test_objects):
        for name, func in list(vars(module).items()):
            if not name.startswith("test_") or not all(w in name for w in wanted):
                continue
            try:
                func()
                passed += 1
                print("ok   %s" % name)
            except Exception as e:  # a test may fail in any way; the others still run
                failed += 1
                print("FAIL %s: %s" % (name, e))
                if not isinstance(e, AssertionError):
                    traceback.print_exc(file=sys.stdout)
    print("%d passed, %d failed" % (passed, failed))
    return 0 if failed == 0 and passed > 0 else 1


sys.exit(main(sys.argv[1:]))
