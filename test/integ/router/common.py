# SPDX-License-Identifier: Apache-2.0
"""One router shared by the tests of a module, with one sandbox "box" on 127.0.0.1."""
import signal

import fakeapi
import lib

FAST = ['--resolve-wait=400ms', '--upstream-retry-initial-delay=20ms',
        '--upstream-retry-max-delay=40ms', '--shutdown-delay=0s']

router = None


def setup(*flags):
    global router
    api = fakeapi.FakeApi()
    api.put(fakeapi.pod('box', '127.0.0.1'))
    router = lib.Router(*FAST, *flags, api=api)


def teardown():
    """Every module ends with a clean exit: sanitizers speak up here."""
    code = router.stop(signal.SIGTERM)
    text = router.log_text()
    if code != 0 or 'Sanitizer' in text:
        raise AssertionError('router ended with %d:\n%s' % (code, text[-6000:]))
