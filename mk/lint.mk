# SPDX-License-Identifier: Apache-2.0
.PHONY: lint format tidy
lint: ## style: layers, headers, banned calls, function length, formatting
	@tools/deps lint
	@tools/lint

format: ## format all C sources in place
	@tools/deps lint
	@find pkg controller router runtime cli test \( -name '*.c' -o -name '*.h' \) -print0 | xargs -0 clang-format -i

tidy: ## report of clang-tidy, which gates nothing, and cppcheck (five minutes)
	@tools/deps lint
	@clang-tidy --quiet $(foreach d,pkg/base pkg/json pkg/http pkg/metrics pkg/kube $(PROGRAM_DIRS),$(call src_of,$(d))) -- -std=c17 -D_GNU_SOURCE -Ipkg -I. $(PKG_CFLAGS) \
		-DCOFFERDAM_VERSION='"0"' -DCOFFERDAM_COMMIT='"0"'
	@cppcheck --quiet --std=c11 --enable=warning,portability,performance --inline-suppr --error-exitcode=1 \
		--suppress=missingIncludeSystem --suppress=internalAstError -Ipkg -I. pkg controller router runtime cli
