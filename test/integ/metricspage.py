# SPDX-License-Identifier: Apache-2.0
"""docs/metrics.md as a table, to hold against what a program says at /metrics."""
import os
import re

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))


def documented():
    """{name: (type, labels)}"""
    with open(ROOT + '/docs/metrics.md') as f:
        rows = re.findall(r'^\| `(\w+)` \| (counter|gauge|histogram) \| ([^|]*) \|', f.read(), re.M)
    return {name: (kind, set(re.findall(r'`(\w+)`', labels))) for name, kind, labels in rows}


def check(text):
    """Every family of the text is on the page, with its type and, as far as series show them, its labels."""
    page = documented()
    kinds = dict(re.findall(r'^# TYPE (\S+) (\w+)$', text, re.M))
    assert len(kinds) > 10, text
    for name, kind in kinds.items():
        assert name in page, name + ' is not in docs/metrics.md'
        assert page[name][0] == kind, (name, kind, page[name])
    for name, labels in re.findall(r'^(\w+)(?:\{(.*)\})? \S+$', text, re.M):
        name = name if name in kinds else re.sub('_(bucket|sum|count)$', '', name)
        found = set(re.findall(r'(\w+)="', labels)) - {'le'}
        assert found == page[name][1], (name, found, page[name])
    return set(kinds)
