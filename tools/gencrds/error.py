# SPDX-License-Identifier: Apache-2.0
"""The one exception of gen-crds: something a person has to correct in a source or the set-up."""


class GenError(Exception):
    pass
