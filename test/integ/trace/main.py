# SPDX-License-Identifier: Apache-2.0
"""Runs the tests of cases_*.py; see run."""
import os
import sys
import tempfile
import traceback

HERE = os.path.dirname(os.path.abspath(__file__))
INTEG = os.path.dirname(HERE)
sys.path[:0] = [HERE, INTEG, INTEG + '/router', INTEG + '/controller']

import cases_controller  # noqa: E402
import cases_router  # noqa: E402
import lib  # noqa: E402


def main():
    words = sys.argv[1:]
    passed = failed = 0
    for module in (cases_router, cases_controller):
        for name, fn in list(vars(module).items()):
            if not name.startswith('test_') or (words and not any(w in name for w in words)):
                continue
            try:
                fn()
                passed += 1
            except Exception:
                failed += 1
                print('FAIL %s.%s\n%s' % (module.__name__, name, traceback.format_exc()))
            sys.stdout.flush()
    print('%d passed, %d failed' % (passed, failed))
    return 1 if failed or not passed else 0


with tempfile.TemporaryDirectory(prefix='trace-test-') as folder:
    tempfile.tempdir = folder
    try:
        code = main()
    finally:
        lib.kill_all()
sys.exit(code)
