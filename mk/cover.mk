# SPDX-License-Identifier: Apache-2.0
# Coverage of lines by layer, from unit tests, the simulator and the integration tests together.
# A table a layer and the least covered files; build/cover/lines.json has every file. It gates nothing.
COVER_SEEDS ?= 1..60

.PHONY: cover
cover: ## lines covered by tests, by layer (COVER_SEEDS=1..60 of the simulator)
	@tools/deps cover
	@COVER_SEEDS='$(COVER_SEEDS)' tools/cover
