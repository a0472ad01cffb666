# SPDX-License-Identifier: Apache-2.0
"""Writes objects as YAML that is the same on every run: sorted keys, block style, no aliases."""
import yaml


class _Dumper(yaml.SafeDumper):
    def ignore_aliases(self, data):
        return True


def to_yaml(obj):
    return yaml.dump(obj, Dumper=_Dumper, default_flow_style=False, sort_keys=True,
                     allow_unicode=True, width=1000)
