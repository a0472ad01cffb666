# SPDX-License-Identifier: Apache-2.0
.PHONY: man docs-check
man: all ## generate docs/man and docs/completion from the programs' --help
	@tools/gen-man --bin '$(BIN)'

docs-check: all ## check flags, links, targets and names in the documents
	@test/docs/run
