/* SPDX-License-Identifier: Apache-2.0 */
/* controller/claim/volumes.c
 *
 * Names are what volumes are matched by, so both lists need unique, non-empty names first. Lists
 * are short (one PVC each), so quadratic search is fine up to VOLUMES_MAX.
 */
#include "controller/claim/volumes.h"

#define VOLUMES_MAX 256 /* per list; a Pod with more would never start */

static Str volume_name(const json_t *list, size_t i)
{
    return jx_get_str(json_array_get(list, i), "metadata", "name");
}

/* Index of the volume with this name among the first n, or -1. */
static int volume_find(const json_t *list, size_t n, Str name)
{
    for (size_t i = 0; i < n; i++) {
        if (str_eq(volume_name(list, i), name)) {
            return (int)i;
        }
    }
    return -1;
}

static int list_check(const json_t *list, const char *prefix, Arena *arena, ClaimFault *ret_fault)
{
    size_t n = json_array_size(list);

    if (n > VOLUMES_MAX) {
        return claim_fault(arena, ret_fault, REASON_VCT_ERROR, "%s: more than %d entries", prefix,
                           VOLUMES_MAX);
    }
    for (size_t i = 0; i < n; i++) {
        Str name = volume_name(list, i);

        if (name.len == 0) {
            return claim_fault(arena, ret_fault, REASON_VCT_ERROR, "%s: entry %zu has no name",
                               prefix, i);
        }
        if (volume_find(list, i, name) >= 0) {
            return claim_fault(arena, ret_fault, REASON_VCT_ERROR,
                               "%s: name \"" STR_FMT "\" is used twice", prefix, STR_ARG(name));
        }
    }
    return 0;
}

int claim_volumes_merge(json_t *blueprint, const json_t *claims, Str policy, Arena *arena,
                        ClaimFault *ret_fault)
{
    static const char *const of_template = "invalid volume claim templates in template";
    static const char *const of_claim = "failed to merge volume claim templates";
    const json_t *have = json_object_get(blueprint, "volumeClaimTemplates");
    bool override = str_eq(policy, STR("Overrides"));
    AUTO(json) json_t *merged = NULL;
    int r;

    r = list_check(have, of_template, arena, ret_fault);
    if (r != 0 || json_array_size(claims) == 0) {
        return r;
    }
    r = list_check(claims, of_claim, arena, ret_fault);
    if (r != 0) {
        return r;
    }
    if (!override && !str_eq(policy, STR("Allowed"))) {
        return claim_fault(arena, ret_fault, REASON_VCT_ERROR,
                           "%s: the template does not allow volume claim templates from a claim",
                           of_claim);
    }
    merged = have ? jx_dup(have) : jx_array_new();
    for (size_t i = 0; i < json_array_size(claims); i++) {
        int at = volume_find(have, json_array_size(have), volume_name(claims, i));

        if (at >= 0 && !override) {
            return claim_fault(arena, ret_fault, REASON_VCT_ERROR,
                               "%s: \"" STR_FMT
                               "\" overrides the template's, which its policy does "
                               "not allow",
                               of_claim, STR_ARG(volume_name(claims, i)));
        }
        if (at >= 0) {
            json_array_set_new(merged, (size_t)at, jx_dup(json_array_get(claims, i)));
        } else {
            jx_append(merged, jx_dup(json_array_get(claims, i)));
        }
    }
    jx_set(blueprint, "volumeClaimTemplates", TAKE(merged));
    return 0;
}
