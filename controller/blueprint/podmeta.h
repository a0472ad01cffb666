/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * Metadata of a Sandbox's podTemplate: which keys are the system's, what a claim may add, and how
 * the template's and the claim's keys become one.
 *
 * A claim is written by a tenant, so its keys are an attack surface: a label could make a Pod part
 * of somebody's Service or NetworkPolicy. Labels need an allow-listed domain; annotations may not
 * use Kubernetes' own domains.
 */
#include <stdbool.h>

#include "base/arena.h"
#include "base/str.h"
#include "json/jx.h"

/* Positive outcome of the checks: *ret_text says what is wrong (in the arena). */
enum {
    PODMETA_E_INVALID = 1,  /* not allowed: InvalidMetadata */
    PODMETA_E_CONFLICT = 2, /* the template has another value for this key */
};

/* A key that is ignored in podTemplate.metadata because the system owns it. */
bool podmeta_key_is_reserved(Str key);

/* Checks additionalPodMetadata of a claim ({labels, annotations}, NULL = none). The first bad key
 * in byte order is named, so that the same claim always gets the same text. */
int podmeta_validate(const json_t *additional, const char *const *domains, size_t n_domains,
                     Arena *arena, const char **ret_text);

/* Adds a claim's keys to `metadata` ({labels, annotations} of a podTemplate). On a conflict nothing
 * has been changed. `additional` was validated. */
int podmeta_merge(json_t *metadata, const json_t *additional, Arena *arena, const char **ret_text);

/* True when a Pod made or kept from `a` and one from `b` have the same labels and annotations:
 * reserved keys do not count, absent and empty are the same. */
bool podmeta_pod_equal(const json_t *a, const json_t *b);
