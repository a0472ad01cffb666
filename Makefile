# SPDX-License-Identifier: Apache-2.0
# Entry points. Rules and flags live in mk/. `make help` lists the targets.
#
#   CONFIG=release|debug|asan|tsan|cov   how to compile (release goes to build/bin)
#   CC=gcc|clang                         which compiler
#   V=1                                  show the commands
#   B=DIR                                where objects go (default build/$(CONFIG)[-clang])

VERSION := 0.1.0

.DEFAULT_GOAL := all
.DELETE_ON_ERROR:
MAKEFLAGS += --no-builtin-rules

include mk/flags.mk
include mk/rules.mk
include $(sort $(filter-out mk/flags.mk mk/rules.mk,$(wildcard mk/*.mk)))

.PHONY: all help clean distclean install
all: deps-build $(PROGRAMS) ## all programs, into build/bin

help: ## this list
	@echo 'Cofferdam $(VERSION). Targets:'
	@cat $(MAKEFILE_LIST) | sed -n 's/^\([a-z][a-z0-9-]*\):.*## \(.*\)/  \1|\2/p' | sort | awk -F'|' '{ printf "%-20s%s\n", $$1, $$2 }'

clean: ## remove what was built, keep build/tools
	@if [ -d build ]; then find build -mindepth 1 -maxdepth 1 ! -name tools ! -name cluster ! -name images -exec rm -rf {} +; fi

distclean: clean ## remove build/ whole (take the cluster down first)
	@if [ -e build/cluster/run ]; then echo 'a test cluster may be up: run make cluster-down first' >&2; exit 1; fi
	rm -rf build

PREFIX ?= /usr/local
install: all ## install programs, man pages and completion (PREFIX, DESTDIR)
	install -d '$(DESTDIR)$(PREFIX)/bin'
	install -m 0755 -s $(PROGRAMS) '$(DESTDIR)$(PREFIX)/bin/'
	install -d '$(DESTDIR)$(PREFIX)/share/man/man1' '$(DESTDIR)$(PREFIX)/share/bash-completion/completions'
	install -m 0644 docs/man/*.1 '$(DESTDIR)$(PREFIX)/share/man/man1/'
	for p in $(notdir $(PROGRAMS)); do install -m 0644 docs/completion/$$p.bash '$(DESTDIR)$(PREFIX)/share/bash-completion/completions/'$$p; done
