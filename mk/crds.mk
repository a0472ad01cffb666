# SPDX-License-Identifier: Apache-2.0
# The CRDs. Both targets read the Go module that tools/gencrds/go.mod pins; it is downloaded once,
# later runs need no network.

.PHONY: crds crds-check crds-test

crds: ## generate crds/*.yaml from crds/src and the Kubernetes OpenAPI files
	@tools/deps crds
	tools/gen-crds

crds-check: ## fail when crds/*.yaml are not up to date
	@tools/deps crds
	tools/gen-crds --check

crds-test: ## tests of the CRDs that need no cluster (test/crds/e2e.sh is the one that does)
	test/crds/run
