# SPDX-License-Identifier: Apache-2.0
# The test cluster: a real Kubernetes in network namespaces of this machine (docs/testing-cluster.md).
#
#   CLUSTER_DIR=DIR   its state (default build/cluster)   KWOK=N   with N fake nodes

export CLUSTER_DIR KWOK

.PHONY: cluster-up cluster-down cluster-tools cluster-deps cluster-selftest
cluster-deps:
	@tools/deps cluster

cluster-tools: cluster-deps ## build the programs of the test cluster (kept in build/tools)
	@test/cluster/tools

cluster-up: cluster-deps ## start the test cluster: build/cluster/{kubeconfig,audit.log,run} (KWOK=N fake nodes)
	@test/cluster/up

cluster-down: ## take the test cluster down, leaving nothing behind
	@test/cluster/down

cluster-selftest: cluster-deps ## check a second test cluster end to end, from up to down
	@test/cluster/selftest
