# SPDX-License-Identifier: Apache-2.0
# Fuzz targets: every test/fuzz/fuzz_X.c. Two ways to build one:
#   fuzz         clang and libFuzzer with ASan and UBSan; each target runs for FUZZ_SECONDS
#   fuzz-replay  the ASan build of CC with test/fuzz/driver.c, over corpora and regressions
# Both go through a sub-make, because configuration and build folder differ from the ones asked for.
# T=NAME takes only the targets whose name contains it. How to add a target: test/fuzz/README.md.

FUZZ_SECONDS ?= 10
# What a target links; all there is unless said here.
FUZZ_DEPS_json_doc := json base
FUZZ_DEPS_yaml := json base
FUZZ_DEPS_merge_patch := json base
FUZZ_DEPS_watch_fsm := kube json base
FUZZ_DEPS_kube_list := kube json base
FUZZ_DEPS_kubeconfig := kube json base
FUZZ_DEPS_trace := trace json http metrics base

FUZZ_NAMES := $(patsubst test/fuzz/fuzz_%.c,%,$(sort $(wildcard test/fuzz/fuzz_*.c)))
FUZZ_RUN := $(if $(T),$(foreach t,$(T),$(foreach n,$(FUZZ_NAMES),$(if $(findstring $(t),$(n)),$(n)))),$(FUZZ_NAMES))

# Set by the fuzz target for its sub-make: libFuzzer brings main() and the coverage hooks.
ifdef FUZZ_LIBFUZZER
CFLAGS += -fsanitize=fuzzer-no-link
FUZZ_LINK := -fsanitize=fuzzer
else
FUZZ_MAIN := $(call obj_of,test/fuzz/driver.c)
endif
# Helpers that several targets share, for those that name them.
FUZZ_SHARED_h2_back := test/fuzz/router_world.c
FUZZ_SHARED_h2_front := test/fuzz/router_world.c

fuzz_libs = $(patsubst %,$(B)/lib/lib%.a,$(or $(FUZZ_DEPS_$(1)),$(PROGRAM_DIRS) $(LAYERS)))

define FUZZ_RULE
$(B)/fuzz/$(1): $(call obj_of,test/fuzz/fuzz_$(1).c) $(FUZZ_MAIN) $(call obj_of,$(FUZZ_SHARED_$(1))) $(call fuzz_libs,$(1))
endef
$(foreach n,$(FUZZ_NAMES),$(eval $(call FUZZ_RULE,$(n))))

$(FUZZ_NAMES:%=$(B)/fuzz/%):
	@mkdir -p $(@D)
	$(CC) $(LDFLAGS_ALL) $(FUZZ_LINK) -o $@ $(link_group) $(LDLIBS_ALL)

.PHONY: fuzz fuzz-replay fuzz-bins
fuzz-bins: $(FUZZ_RUN:%=$(B)/fuzz/%)

fuzz: ## run each fuzz target under libFuzzer (FUZZ_SECONDS=10, T=name)
	@$(MAKE) --no-print-directory CC=clang CONFIG=asan B=build/fuzz FUZZ_LIBFUZZER=1 fuzz-bins
	@test/fuzz/run fuzz build/fuzz/fuzz $(FUZZ_SECONDS) $(FUZZ_RUN)

fuzz-replay: ## replay corpora and regressions through the fuzz targets (T=name)
	@$(MAKE) --no-print-directory CONFIG=asan B=build/asan$(if $(IS_CLANG),-clang) fuzz-bins
	@test/fuzz/run replay build/asan$(if $(IS_CLANG),-clang)/fuzz 0 $(FUZZ_RUN)
