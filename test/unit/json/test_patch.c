/* SPDX-License-Identifier: Apache-2.0 */
#include "json/jx.h"

#include <stdlib.h>

#include "base/mem.h"
#include "base/rng.h"
#include "test/harness/t.h"

static json_t *tree(const char *text)
{
    json_t *value = NULL;

    T_OK(jx_parse(str_from(text), 100000, &value, NULL));
    return value;
}

T_TEST(patches_are_minimal)
{
    static const struct {
        const char *from, *to, *patch; /* patch NULL = nothing to do */
    } ROWS[] = {
        {"{\"a\":1}", "{\"a\":1}", NULL},
        {"{\"a\":1,\"b\":2}", "{\"b\":2,\"a\":1}", NULL},
        {"{\"a\":1}", "{\"a\":2}", "{\"a\":2}"},
        {"{\"a\":1,\"b\":2}", "{\"b\":2}", "{\"a\":null}"},
        {"{\"b\":2}", "{\"a\":1,\"b\":2}", "{\"a\":1}"},
        {"{\"m\":{\"l\":{\"x\":\"1\",\"y\":\"2\"}}}", "{\"m\":{\"l\":{\"x\":\"1\",\"y\":\"3\"}}}",
         "{\"m\":{\"l\":{\"y\":\"3\"}}}"},
        {"{\"a\":[1,2]}", "{\"a\":[1]}", "{\"a\":[1]}"},
        {"{\"a\":[1,2]}", "{\"a\":[1,2]}", NULL},
        {"{\"a\":[{\"n\":null}]}", "{\"a\":[{\"n\":null},1]}", "{\"a\":[{\"n\":null},1]}"},
        {"{\"a\":{\"b\":1}}", "{\"a\":{}}", "{\"a\":{\"b\":null}}"},
        {"{\"a\":5}", "{\"a\":{}}", "{\"a\":{}}"},
        {"{\"a\":{\"b\":1}}", "{\"a\":5}", "{\"a\":5}"},
        {"{\"a\":{\"b\":1}}", "{\"a\":null}", "{\"a\":null}"},
        {"{}", "{\"a\":null}", NULL},
        {"{\"a\":null}", "{}", "{\"a\":null}"},
        {"{\"a\":null}", "{\"a\":null}", NULL},
        {"{}", "{\"a\":{\"b\":null,\"c\":{}}}", "{\"a\":{\"c\":{}}}"},
        {"[1]", "{\"a\":1}", "{\"a\":1}"},
        {"{\"a\":1}", "[1]", "[1]"},
        {"1", "1", NULL},
        {"1", "null", "null"},
        {"{\"a\":1}", "{\"a\":1.0}", "{\"a\":1.0}"},
    };

    for (size_t i = 0; i < ARRAY_LEN(ROWS); i++) {
        AUTO(json) json_t *from = tree(ROWS[i].from);
        AUTO(json) json_t *to = tree(ROWS[i].to);
        t_row(ROWS[i].from);
        AUTO(json) json_t *patch = jx_merge_patch_make(from, to);
        T_EQ_INT(patch != NULL, ROWS[i].patch != NULL);
        if (patch) {
            AUTO(mem) char *text = jx_dump_compact(patch);
            T_EQ_STR(text, ROWS[i].patch);
        }
    }
    t_row(NULL);
}

/* The examples of RFC 7386, appendix A. */
T_TEST(patches_apply_as_the_rfc_says)
{
    static const struct {
        const char *target, *patch, *result;
    } ROWS[] = {
        {"{\"a\":\"b\"}", "{\"a\":\"c\"}", "{\"a\":\"c\"}"},
        {"{\"a\":\"b\"}", "{\"b\":\"c\"}", "{\"a\":\"b\",\"b\":\"c\"}"},
        {"{\"a\":\"b\"}", "{\"a\":null}", "{}"},
        {"{\"a\":\"b\",\"b\":\"c\"}", "{\"a\":null}", "{\"b\":\"c\"}"},
        {"{\"a\":[\"b\"]}", "{\"a\":\"c\"}", "{\"a\":\"c\"}"},
        {"{\"a\":\"c\"}", "{\"a\":[\"b\"]}", "{\"a\":[\"b\"]}"},
        {"{\"a\":{\"b\":\"c\"}}", "{\"a\":{\"b\":\"d\",\"c\":null}}", "{\"a\":{\"b\":\"d\"}}"},
        {"{\"a\":[{\"b\":\"c\"}]}", "{\"a\":[1]}", "{\"a\":[1]}"},
        {"[\"a\",\"b\"]", "[\"c\",\"d\"]", "[\"c\",\"d\"]"},
        {"{\"a\":\"b\"}", "[\"c\"]", "[\"c\"]"},
        {"{\"a\":\"foo\"}", "null", "null"},
        {"{\"a\":\"foo\"}", "\"bar\"", "\"bar\""},
        {"{\"e\":null}", "{\"a\":1}", "{\"e\":null,\"a\":1}"},
        {"[1,2]", "{\"a\":\"b\",\"c\":null}", "{\"a\":\"b\"}"},
        {"{}", "{\"a\":{\"bb\":{\"ccc\":null}}}", "{\"a\":{\"bb\":{}}}"},
    };

    for (size_t i = 0; i < ARRAY_LEN(ROWS); i++) {
        AUTO(json) json_t *target = tree(ROWS[i].target);
        AUTO(json) json_t *before = jx_dup(target);
        AUTO(json) json_t *patch = tree(ROWS[i].patch);
        t_row(ROWS[i].patch);
        AUTO(json) json_t *result = jx_merge_patch_apply(target, patch);
        AUTO(mem) char *text = jx_dump_compact(result);
        T_EQ_STR(text, ROWS[i].result);
        T_CHECK(json_equal(target, before));
    }
    t_row(NULL);
    AUTO(json) json_t *patch = tree("{\"a\":1,\"b\":null}");
    AUTO(json) json_t *result = jx_merge_patch_apply(NULL, patch);
    AUTO(mem) char *text = jx_dump_compact(result);
    T_EQ_STR(text, "{\"a\":1}");
}

/* A random tree without null members. */
static json_t *random_tree(Rng *rng, int depth)
{
    static const char *const KEYS[] = {"a", "b", "c", "d"};
    uint64_t kind = rng_below(rng, depth > 0 ? 5 : 3);
    json_t *out;

    switch (kind) {
    case 0:
        return json_integer((json_int_t)rng_below(rng, 3));
    case 1:
        return jx_string_new(rng_below(rng, 2) ? STR("x") : STR(""));
    case 2:
        return json_boolean(rng_below(rng, 2));
    case 3:
        out = jx_array_new();
        for (uint64_t n = rng_below(rng, 3); n > 0; n--) {
            jx_append(out, random_tree(rng, depth - 1));
        }
        return out;
    default:
        out = jx_object_new();
        for (uint64_t n = rng_below(rng, 5); n > 0; n--) {
            jx_set(out, KEYS[rng_below(rng, 4)], random_tree(rng, depth - 1));
        }
        return out;
    }
}

T_TEST(applying_a_made_patch_gives_the_target)
{
    Rng rng;

    rng_init(&rng, 7386);
    for (int i = 0; i < 20000; i++) {
        AUTO(json) json_t *from = random_tree(&rng, 4);
        AUTO(json) json_t *to = random_tree(&rng, 4);
        AUTO(json) json_t *patch = jx_merge_patch_make(from, to);
        T_EQ_INT(patch == NULL, json_equal(from, to));
        if (patch) {
            AUTO(json) json_t *got = jx_merge_patch_apply(from, patch);
            T_CHECK(json_equal(got, to));
        }
    }
}
