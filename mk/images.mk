# SPDX-License-Identifier: Apache-2.0
IMAGE_PREFIX ?= localhost/cofferdam/
IMAGE_TAG ?= $(VERSION)
export IMAGE_PREFIX IMAGE_TAG

IMAGES ?= controller router python-sandbox

.PHONY: images images-context
images: images-context ## container images, by buildah, into build/images (IMAGES=... picks)
	@tools/deps images
	@images/build $(IMAGES)

# What COPY sees: stripped programs and the Python requirements.
images-context: all
	@mkdir -p build/images/context
	@for p in $(notdir $(PROGRAMS)); do \
		strip -o build/images/context/$$p.new $(BIN)/$$p && \
		{ cmp -s build/images/context/$$p.new build/images/context/$$p && rm build/images/context/$$p.new || \
		  mv build/images/context/$$p.new build/images/context/$$p; }; done
	@cp images/python-sandbox/requirements.txt build/images/context/

# For scripts: eval "$(make -s print-image-names)"
.PHONY: print-image-names
print-image-names:
	@echo 'IMAGE_PREFIX=$(IMAGE_PREFIX) IMAGE_TAG=$(IMAGE_TAG)'
