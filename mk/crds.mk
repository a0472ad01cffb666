# SPDX-License-Identifier: Apache-2.0
# The CRDs: `make crds` writes crds/*.yaml, `make crds-check` fails when they are not up to date.
# Both read the Go module that tools/gencrds/go.mod pins; it is downloaded once.

.PHONY: crds crds-check

crds:
	tools/gen-crds

crds-check:
	tools/gen-crds --check
