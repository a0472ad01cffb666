# SPDX-License-Identifier: Apache-2.0
"""h2spec against the router: RFC 7540 and 7541, case by case. What fails is known and has a reason."""
import os
import re
import subprocess

import common
import lib

H2SPEC = os.path.join(os.path.dirname(os.path.abspath(__file__)), '../../../build/tools/bin/h2spec')
CASES = 145

# title -> why the router does otherwise
KNOWN = {
    'Sends invalid connection preface':
        'on a port that serves both, what is no preface is HTTP/1.1, and gets its 400 before the end',
    'closed: Sends a DATA frame after sending RST_STREAM frame':
        'payload for a closed stream is dropped and credited; closed streams are not remembered',
    'closed: Sends a DATA frame':
        'the same',
    'half closed (remote): Sends a DATA frame':
        'the same: /healthz is answered at the head, and the stream may be closed already',
    'Sends a HEADERS frame with the "content-length" header field which does not equal the DATA frame payload length':
        'the same; test_h2_streams has the case with a sandbox that reads on',
    'Sends a HEADERS frame with the "content-length" header field which does not equal the sum of the multiple '
    'DATA frames payload length':
        'the same',
    'Sends PRIORITY frame that depend on itself':
        'RFC 9113 has no dependencies any more; SETTINGS_NO_RFC7540_PRIORITIES is sent',
}


def setup():
    common.setup('--workers=1')


def teardown():
    common.teardown()


def test_h2spec():
    done = subprocess.run([H2SPEC, '-h', '127.0.0.1', '-p', str(common.router.port), '-P', '/healthz', '-o', '3'],
                          capture_output=True, text=True, timeout=300)
    count = re.search(r'(\d+) tests, (\d+) passed, (\d+) skipped, (\d+) failed', done.stdout)
    failed = set(re.findall(r'\u00d7 \d+: (.*)', done.stdout))
    print('h2spec: %s' % count.group(0))
    lib.equal(int(count.group(1)), CASES)
    unknown = failed - set(KNOWN)
    if unknown:
        raise AssertionError('\n'.join(sorted(unknown)))
