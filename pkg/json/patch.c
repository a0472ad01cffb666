/* SPDX-License-Identifier: Apache-2.0 */
/*
 * RFC 7386 merge patches (jx.h). apply(from, make(from, to)) equals `to` for every `to` without
 * null members; depth is bounded because the trees were.
 */
#include "base/check.h"
#include "json/jx.h"

static void set_key(json_t *object, const char *key, size_t len, json_t *stolen)
{
    int r = json_object_setn_new_nocheck(object, key, len, stolen);

    CHECK(stolen && r == 0);
}

/* A copy without null members in objects, as a patch has to spell a new value. Arrays are verbatim.
 */
static json_t *without_nulls(const json_t *value)
{
    const char *key;
    size_t len;
    json_t *member;

    if (!json_is_object(value)) {
        return jx_dup(value);
    }
    json_t *out = jx_object_new();
    json_object_keylen_foreach((json_t *)value, key, len, member)
    {
        if (!json_is_null(member)) {
            set_key(out, key, len, without_nulls(member));
        }
    }
    return out;
}

/* Members of `to` that are new or different. */
static void add_changed(json_t *patch, const json_t *from, const json_t *to)
{
    const char *key;
    size_t len;
    json_t *want;

    json_object_keylen_foreach((json_t *)to, key, len, want)
    {
        json_t *have = json_object_getn(from, key, len);
        if (json_is_null(want)) {
            if (have && !json_is_null(have)) {
                set_key(patch, key, len, json_null());
            }
            continue;
        }
        json_t *change = have ? jx_merge_patch_make(have, want) : without_nulls(want);
        if (change) {
            set_key(patch, key, len, change);
        }
    }
}

json_t *jx_merge_patch_make(const json_t *from, const json_t *to)
{
    const char *key;
    size_t len;
    json_t *have;

    if (!json_is_object(to) || !json_is_object(from)) {
        return json_equal(from, to) ? NULL : without_nulls(to);
    }
    AUTO(json) json_t *patch = jx_object_new();
    add_changed(patch, from, to);
    json_object_keylen_foreach((json_t *)from, key, len, have)
    {
        UNUSED(have);
        if (!json_object_getn(to, key, len)) {
            set_key(patch, key, len, json_null());
        }
    }
    return json_object_size(patch) > 0 ? TAKE(patch) : NULL;
}

json_t *jx_merge_patch_apply(const json_t *target, const json_t *patch)
{
    const char *key;
    size_t len;
    json_t *change;

    if (!json_is_object(patch)) {
        return jx_dup(patch);
    }
    json_t *out = json_is_object(target) ? jx_dup(target) : jx_object_new();
    json_object_keylen_foreach((json_t *)patch, key, len, change)
    {
        if (json_is_null(change)) {
            json_object_deln(out, key, len);
        } else {
            const json_t *old = json_object_getn(out, key, len);
            set_key(out, key, len, jx_merge_patch_apply(old, change));
        }
    }
    return out;
}
