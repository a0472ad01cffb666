/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Two JSON texts, separated by a NUL byte: apply(from, make(from, to)) is `to` less its null
 * members, a patch between equal trees is nothing, and the normal form is stable and agrees with
 * equality.
 */
#include "test/fuzz/fuzz.h"
#include "json/jx.h"
#include "json/semantic.h"

#define TEXT_MAX 65536

/* `to` as a patch can express it: applied to nothing, nulls in objects vanish. */
static json_t *expressible(const json_t *to)
{
    return json_is_object(to) ? jx_merge_patch_apply(NULL, to) : jx_dup(to);
}

static void check_patch(const json_t *from, const json_t *to)
{
    AUTO(json) json_t *clean_from = expressible(from);
    AUTO(json) json_t *clean_to = expressible(to);
    AUTO(json) json_t *patch = jx_merge_patch_make(clean_from, clean_to);

    CHECK((patch == NULL) == json_equal(clean_from, clean_to));
    if (patch) {
        AUTO(json) json_t *got = jx_merge_patch_apply(clean_from, patch);
        CHECK(json_equal(got, clean_to));
    }
}

static void check_any_patch(const json_t *from, const json_t *to)
{
    AUTO(json) json_t *patch = jx_merge_patch_make(from, to);
    AUTO(json) json_t *once = patch ? jx_merge_patch_apply(from, patch) : jx_dup(from);
    AUTO(json) json_t *rest = jx_merge_patch_make(once, to);

    CHECK(!rest); /* one patch is enough */
}

static void check_normal(const json_t *a, const json_t *b)
{
    AUTO(json) json_t *once = jx_normalize(a);
    AUTO(json) json_t *twice = jx_normalize(once);

    CHECK(json_equal(once, twice));
    CHECK(jx_equal_semantic(a, once));
    CHECK(jx_equal_semantic(a, b) == jx_equal_semantic(b, a));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    Str text = fuzz_str(data, size), second;
    AUTO(json) json_t *from = NULL;
    AUTO(json) json_t *to = NULL;

    Str first = str_cut(text, '\0', &second);
    if (jx_parse(first, TEXT_MAX, &from, NULL) < 0 || jx_parse(second, TEXT_MAX, &to, NULL) < 0) {
        return 0;
    }
    check_patch(from, to);
    check_any_patch(from, to);
    check_normal(from, to);
    return 0;
}
