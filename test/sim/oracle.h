/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/* Questions about objects as the API server has them, shared by oracle.c and rest.c. */
#include "controller/keys.h"
#include "test/sim/sim.h"

typedef struct Owner {
    Str group;
    Str kind;
    Str uid;
} Owner;

bool owner_of(const json_t *object, Owner *ret_owner); /* the controller; false = none */
bool owned_by(const json_t *object, Str uid);
bool owned_by_kind(const json_t *object, const char *group, const char *kind);
bool is_deleting(const json_t *object);
bool is_there(const json_t *object);
Str meta(const json_t *object, const char *member);
const json_t *condition_of(const json_t *object, const char *type);
bool condition_is(const json_t *object, const char *type, const char *status);
/* words.c: the form of a status; alone: one leader, for a while */
void words_on_change(Sim *sim, const FakeChange *change, bool alone);
/* counts.c: starts of claims, as they happen and as they are counted */
void counts_on_change(Sim *sim, const FakeChange *change);
void counts_take(Sim *sim, Metrics *metrics);
bool pod_is_live(const json_t *pod);
size_t count_owned(const Sim *sim, KubeKindId kind, Str uid, bool (*fn)(const json_t *object));
