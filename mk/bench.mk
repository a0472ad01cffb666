# SPDX-License-Identifier: Apache-2.0
# Micro benchmarks: test/bench/bench_X.c -> $(B)/test/bench/bench_X. They print numbers and never gate.
#
# bench-scale: the controller under load on a cluster of its own with fake nodes (root; test/bench/scale/run has the
# parts and settings):  make bench-scale PARTS="p1 p5"   MANY=20000
BENCH_SRCS := $(sort $(wildcard test/bench/bench_*.c))
BENCH_BINS := $(BENCH_SRCS:%.c=$(B)/%)

$(BENCH_BINS): $(B)/%: $(B)/obj/%.o $(LAYER_LIBS)
	@mkdir -p $(@D)
	$(CC) $(LDFLAGS_ALL) -o $@ $(link_group) $(LDLIBS_ALL)

.PHONY: bench bench-scale
bench-scale: all cluster-deps ## claims, pools and 20,000 Sandboxes on fake nodes (PARTS="p1 p2-p3 p4 p5", root)
	@test/bench/scale/run $(PARTS)

bench: $(BENCH_BINS) ## run the micro benchmarks of this CONFIG
	@for b in $(BENCH_BINS); do "$$b" || exit 1; done

.PHONY: bench-claims
bench-claims: all ## CPU, memory and writes a warm claim, on the test cluster (CLUSTER_DIR, KWOK=20; ARGS="--lean")
	@$${CLUSTER_DIR:-build/cluster}/run python3 test/bench/claims.py $(ARGS)
