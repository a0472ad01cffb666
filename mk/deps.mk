# SPDX-License-Identifier: Apache-2.0
# Packages that a target needs, installed by name; quick when there is nothing to do.
.PHONY: deps-build
deps-build:
	@tools/deps build
