/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * How many members a pool makes and gives up in one pass. Arithmetic only.
 *
 * Without stale members a pool converges on `desired`. With stale ones (strategy Recreate) it may
 * exceed that by the surge: new members are made first, and each one that is ready retires a stale
 * one, so the number of ready members never falls because of a rollout. Stale members that are not
 * ready serve nobody and go at once.
 */
#include <stddef.h>

typedef struct ScaleInput {
    size_t desired;
    size_t fresh; /* active, not stale */
    size_t fresh_ready;
    size_t stale_ready;
    size_t stale_unready;
    size_t terminating; /* still there, on their way out */
    size_t batch_max;   /* most creates, and most deletes */
} ScaleInput;

typedef struct ScaleDecision {
    size_t create;
    size_t delete_stale; /* unready ones first */
    size_t delete_fresh; /* unready first, then newest */
} ScaleDecision;

/* Members beyond `desired` while stale ones are replaced: a quarter, at least one. */
size_t scale_surge(size_t desired);
ScaleDecision scale_decide(const ScaleInput *in);
