# SPDX-License-Identifier: Apache-2.0
# One archive a layer, one program a top-level folder, one test binary a test/unit/*/test_*.c.
# Objects depend on their headers through -MMD files.

LAYERS := token trace kube http json metrics base
# What a layer may link; a test of a layer links no more, so an upward call does not link.
DEPS_base := base
DEPS_json := json base
DEPS_http := http base
DEPS_metrics := metrics base
DEPS_kube := kube json base
DEPS_token := token json base
DEPS_trace := trace http json metrics base
PROGRAM_DIRS := controller router runtime
PROGRAMS := $(PROGRAM_DIRS:%=$(BIN)/sandbox-%) $(BIN)/sandboxctl

# One short line a step; V=1 shows the commands, -s nothing.
Q := $(if $(V),,@)
SILENT := $(findstring s,$(filter-out --%,$(firstword -$(MAKEFLAGS))))
say = $(if $(or $(V),$(SILENT)),:,printf '  %-3s %s\n' $(1) $(2))

src_of = $(sort $(wildcard $(1)/*.c $(1)/*/*.c))
obj_of = $(patsubst %.c,$(B)/obj/%.o,$(1))

LAYER_LIBS := $(LAYERS:%=$(B)/lib/lib%.a)

define LAYER_RULE
$(B)/lib/lib$(1).a: $(call obj_of,$(call src_of,pkg/$(1)))
endef
$(foreach l,$(LAYERS),$(eval $(call LAYER_RULE,$(l))))

define PROGRAM_RULE
$(B)/lib/lib$(1).a: $(call obj_of,$(filter-out $(1)/main.c,$(call src_of,$(1))))
$(BIN)/sandbox-$(1): $(call obj_of,$(1)/main.c) $(B)/lib/lib$(1).a $(LAYER_LIBS)
endef
$(foreach p,$(PROGRAM_DIRS),$(eval $(call PROGRAM_RULE,$(p))))

$(BIN)/sandboxctl: $(call obj_of,$(call src_of,cli)) $(LAYER_LIBS)

link_group = $(filter %.o,$^) -Wl,--start-group $(filter %.a,$^) -Wl,--end-group

$(PROGRAMS):
	@mkdir -p $(@D)
	@$(call say,LD,$@)
	$(Q)$(CC) $(LDFLAGS_ALL) -o $@ $(link_group) $(LDLIBS_ALL)

$(B)/lib/%.a:
	@mkdir -p $(@D)
	@rm -f $@
	@$(call say,AR,$@)
	$(Q)ar rcsD $@ $^

$(B)/obj/%.o: %.c
	@mkdir -p $(@D)
	@$(call say,CC,$<)
	$(Q)$(CC) $(CFLAGS_ALL) -MMD -MP -c -o $@ $<

# The version block is the only place that knows version and commit; a stamp makes it follow HEAD.
$(B)/version-stamp: FORCE
	@mkdir -p $(@D)
	@echo '$(VERSION) $(COMMIT)' | cmp -s - $@ || echo '$(VERSION) $(COMMIT)' >$@
.PHONY: FORCE
$(B)/obj/pkg/base/version.o: $(B)/version-stamp
$(B)/obj/pkg/base/version.o: CFLAGS += -DCOFFERDAM_VERSION='"$(VERSION)"' -DCOFFERDAM_COMMIT='"$(COMMIT)"'

# ---- unit tests: test/unit/LAYER/test_X.c -> $(B)/test/unit/LAYER/test_X ----
UNIT_SRCS := $(sort $(wildcard test/unit/*/test_*.c))
UNIT_BINS := $(UNIT_SRCS:%.c=$(B)/%)
HARNESS_OBJS := $(call obj_of,$(call src_of,test/harness))
# Helpers shared by the tests of one layer: any other .c file in its folder.
unit_shared = $(call obj_of,$(filter-out test/unit/$(1)/test_%.c,$(wildcard test/unit/$(1)/*.c)))
unit_layer = $(word 3,$(subst /, ,$(1)))
unit_libs = $(if $(DEPS_$(1)),$(DEPS_$(1):%=$(B)/lib/lib%.a),$(B)/lib/lib$(1).a $(LAYER_LIBS))

define UNIT_RULE
$(B)/$(1:%.c=%): $(call obj_of,$(1)) $(HARNESS_OBJS) $(call unit_shared,$(call unit_layer,$(1))) \
	$(call unit_libs,$(call unit_layer,$(1)))
endef
$(foreach t,$(UNIT_SRCS),$(eval $(call UNIT_RULE,$(t))))

$(UNIT_BINS):
	@mkdir -p $(@D)
	@$(call say,LD,$@)
	$(Q)$(CC) $(LDFLAGS_ALL) -o $@ $(link_group) $(LDLIBS_ALL)

.PHONY: unit-bins unit
UNIT_WANTED := $(if $(T),$(foreach b,$(UNIT_BINS),$(if $(findstring $(T),$(b)),$(b))),$(UNIT_BINS))
unit-bins: $(UNIT_WANTED)
unit: unit-bins ## run the unit tests of this CONFIG (T=text keeps binaries whose path has it)
	@test/run-binaries $(UNIT_WANTED)

-include $(shell find $(B)/obj -name '*.d' 2>/dev/null)
