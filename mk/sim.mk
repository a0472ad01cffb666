# SPDX-License-Identifier: Apache-2.0
# The simulator: see docs/sim.md. SEED=n tells the story of one seed, SEEDS=a..b runs many quietly,
# WITHOUT=knob,... leaves knobs off, LOG=1 shows the controllers' own log in the story.
SIM := $(B)/test/sim/sim
SEEDS ?= 1..2000
SIM_JOBS ?= 2

$(SIM): $(call obj_of,$(wildcard test/sim/*.c)) $(B)/lib/libfakeapi.a $(B)/lib/libcontroller.a $(LAYER_LIBS)
	@mkdir -p $(@D)
	$(CC) $(LDFLAGS_ALL) -o $@ $(link_group) $(LDLIBS_ALL)

.PHONY: sim
sim: $(SIM) ## run the simulator (SEED=n tells a story, SEEDS=1..2000 runs many)
	@$(SIM) $(if $(SEED),,-r test/sim/regressions) $(if $(WITHOUT),-w '$(WITHOUT)') $(if $(LOG),-l) -j $(SIM_JOBS) $(or $(SEED),$(SEEDS))
