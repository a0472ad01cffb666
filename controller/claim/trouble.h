/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * What keeps a Pod from running, in its own words: not schedulable, an image that cannot be pulled,
 * a container that crashes. For the claim's Ready message once it has been not Ready for a while.
 */
#include "base/arena.h"
#include "kube/object.h"

/* A claim is silent about its Pod for this long: most Pods start sooner. */
#define CLAIM_TROUBLE_AFTER_NS (30ll * 1000000000ll)
/* Most bytes of the Pod's own text that are passed on. */
#define CLAIM_TROUBLE_TEXT_MAX 512

/* "<reason>: <text>" in the arena, NULL when the Pod has nothing to say. */
const char *claim_pod_trouble(const KubeObj *pod, Arena *arena);
