# SPDX-License-Identifier: Apache-2.0
# The API server model is linked into the unit tests of the layers that talk to one.

$(B)/lib/libfakeapi.a: $(call obj_of,$(call src_of,test/fakeapi))
$(filter $(B)/test/unit/kube/% $(B)/test/unit/controller/%,$(UNIT_BINS)): $(B)/lib/libfakeapi.a

# The libcurl transport against servers that run: see test/integ/kube/run.
$(B)/test/integ/kube/client: $(call obj_of,$(wildcard test/integ/kube/*.c)) $(HARNESS_OBJS) $(B)/lib/libfakeapi.a $(LAYER_LIBS)
	@mkdir -p $(@D)
	$(CC) $(LDFLAGS_ALL) -o $@ $(link_group) $(LDLIBS_ALL)
