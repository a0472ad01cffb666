/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * A pool member as a Sandbox object: its name and its JSON. Pure functions.
 */
#include "base/arena.h"
#include "controller/blueprint/cache.h"
#include "kube/object.h"

/* A member's name is also the name of its Pod and Service, so it is a DNS label. */
#define MEMBER_NAME_MAX 63

/* `<pool>-` and eight characters made from (uid of the pool, slot); the pool's name is cut when the
 * whole would be too long. */
void member_name(Str pool_name, Str pool_uid, uint64_t slot, char ret[MEMBER_NAME_MAX + 1]);

/* The Sandbox of a new member, owned by the caller. */
json_t *member_build(const KubeObj *pool, const KubeObj *template, const TemplateFacts *facts,
                     Str name);
