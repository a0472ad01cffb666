# SPDX-License-Identifier: Apache-2.0
"""Runs every function test_* of the modules below and prints `N passed, N failed` last."""
import sys
import traceback

import test_documents
import test_generated


def main(wanted):
    passed = failed = 0
    for module in (test_generated, test_documents):
        for name, func in list(vars(module).items()):
            if not name.startswith("test_") or not all(w in name for w in wanted):
                continue
            try:
                func()
                passed += 1
                print(f"ok   {name}")
            except (Exception, SystemExit) as e:  # a test may fail in any way; the others still run
                failed += 1
                print(f"FAIL {name}: {e}")
                if not isinstance(e, (AssertionError, SystemExit)):
                    traceback.print_exc(file=sys.stdout)
    print(f"{passed} passed, {failed} failed")
    return 0 if failed == 0 and passed > 0 else 1


sys.exit(main(sys.argv[1:]))
