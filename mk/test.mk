# SPDX-License-Identifier: Apache-2.0
.PHONY: test check e2e
test: all ## everything: unit, fuzz replay, integration, then a real Kubernetes (root)
	@tools/deps test lint images cluster e2e
	@test/run-suites all

check: all ## what needs neither root nor a cluster: the first answer
	@tools/deps test lint
	@test/run-suites quick

e2e: all ## only the suites on the real cluster
	@tools/deps images cluster e2e
	@test/run-suites cluster kube-real crds-e2e e2e
