# SPDX-License-Identifier: Apache-2.0
# The demo. DEMO_KUBECONFIG=FILE uses another cluster than the test cluster; that needs YES=1 and IMAGE_PREFIX.
.PHONY: demo
demo: ## the main job on a real Kubernetes, step by step (DEMO_KUBECONFIG=FILE for another cluster)
	@DEMO_KUBECONFIG='$(DEMO_KUBECONFIG)' YES='$(YES)' \
		IMAGE_PREFIX_GIVEN='$(if $(filter file,$(origin IMAGE_PREFIX)),,1)' test/demo/run
