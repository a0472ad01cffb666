/* SPDX-License-Identifier: Apache-2.0 */
#include "json/jx.h"

#include <errno.h>
#include <stdlib.h>

#include "base/mem.h"
#include "test/harness/t.h"

static json_t *tree(const char *text)
{
    json_t *value = NULL;

    T_OK(jx_parse(str_from(text), 100000, &value, NULL));
    return value;
}

static void dumps_to(const json_t *value, const char *want)
{
    AUTO(mem) char *text = jx_dump_compact(value);

    T_EQ_STR(text, want);
}

T_TEST(parsing_is_strict)
{
    static const struct {
        const char *text;
        int code;
        const char *message;
    } ROWS[] = {
        {"", -EINVAL, "unexpected end at byte 0"},
        {"{\"a\":1,\"a\":2}", -EINVAL, "duplicate object key"},
        {"{\"a\":1}}", -EINVAL, "data after the value at byte 7"},
        {"{'a':1}", -EINVAL, "a key is due at byte 1"},
        {"[1e999]", -EINVAL, "real number overflow"},
        {"\"\xff\"", -EINVAL, "not UTF-8"},
        {"[1,2,3,4,5,6]", -E2BIG, "longer than 12"},
    };

    for (size_t i = 0; i < ARRAY_LEN(ROWS); i++) {
        json_t *value = NULL;
        Err err = ERR_INIT;
        t_row(ROWS[i].text);
        size_t max = ROWS[i].code == -E2BIG ? 12 : 1000;
        T_EQ_INT(jx_parse(str_from(ROWS[i].text), max, &value, &err), ROWS[i].code);
        T_CHECK(value == NULL);
        T_CONTAINS(err.msg, ROWS[i].message);
    }
    t_row(NULL);
}

T_TEST(depth_is_limited_before_a_tree_is_built)
{
    char text[4000];
    json_t *value = NULL;

    memset(text, '[', 2000);
    memset(text + 2000, ']', 2000);
    T_EQ_INT(jx_parse((Str){text, sizeof(text)}, sizeof(text), &value, NULL), -E2BIG);
    T_OK(jx_parse((Str){text + 1936, 128}, sizeof(text), &value, NULL));
    json_decref(value);
}

T_TEST(scalars_are_documents_too)
{
    AUTO(json) json_t *value = tree("\"x\\u0000y\"");

    T_EQ_INT(jx_str(value).len, 3);
}

T_TEST(paths_are_read)
{
    AUTO(json)
    json_t *root = tree("{\"m\":{\"l\":{\"a.b\":\"v\"},\"n\":5,\"t\":true},\"s\":\"x\"}");

    T_EQ_STR(jx_get_str(root, "m", "l", "a.b"), "v");
    T_CHECK(jx_get_str(root, "m", "l", "zz").ptr == NULL);
    T_CHECK(jx_get(root, "s", "deeper") == NULL);
    T_CHECK(jx_get(NULL, "s") == NULL);
    T_EQ_INT(jx_i64(jx_get(root, "m", "n"), -1), 5);
    T_EQ_INT(jx_i64(jx_get(root, "s"), -1), -1);
    T_CHECK(jx_bool(jx_get(root, "m", "t"), false));
    T_CHECK(jx_bool(jx_get(root, "m", "n"), true));
    T_CHECK(jx_str(NULL).ptr == NULL);
}

T_TEST(paths_are_built_and_replace_what_is_in_the_way)
{
    AUTO(json) json_t *root = tree("{\"spec\":7}");

    jx_set_path(root, jx_string_new(STR("n")), "spec", "nodeName");
    jx_set_str(jx_obj(root, "metadata", "labels"), "app", STR("x"));
    jx_append(jx_arr(root, "spec", "list"), json_integer(1));
    jx_append(jx_arr(root, "spec", "list"), json_integer(2));
    jx_set_i64(root, "i", -1);
    jx_set_bool(root, "b", true);
    jx_set_path(root, json_null(), "top");
    T_CHECK(jx_obj(root, "metadata") == jx_get(root, "metadata"));
    jx_set(root, "top", NULL);
    jx_set(root, "never", NULL);
    dumps_to(root,
             "{\"spec\":{\"nodeName\":\"n\",\"list\":[1,2]},\"metadata\":{\"labels\":{\"app\":"
             "\"x\"}},\"i\":-1,\"b\":true}");
}

T_TEST(strings_from_bytes_are_valid)
{
    AUTO(json) json_t *good = jx_string_new(STR("\xc3\xa9"));
    AUTO(json)
    json_t *bad = jx_string_new(STR("a\xff"
                                    "b\xe2\x82"));
    AUTO(json) json_t *none = jx_string_new(STR_NULL);
    AUTO(json) json_t *formatted = jx_stringf_new("%s-%d", "pool", 7);

    T_EQ_STR(jx_str(good), "\xc3\xa9");
    T_EQ_STR(jx_str(bad), "a\xef\xbf\xbd"
                          "b\xef\xbf\xbd\xef\xbf\xbd");
    T_EQ_STR(jx_str(none), "");
    T_EQ_STR(jx_str(formatted), "pool-7");
}

T_TEST(dumps_are_compact_and_sorted_on_request)
{
    AUTO(json) json_t *root = tree("{\"b\": [1, 2.5], \"a\": {\"z\": null, \"y\": \"\"}}");
    AUTO(mem) char *sorted = jx_dump_sorted(root);
    AUTO(strbuf) StrBuf buf = STRBUF_INIT(100);
    AUTO(strbuf) StrBuf small = STRBUF_INIT(10);

    dumps_to(root, "{\"b\":[1,2.5],\"a\":{\"z\":null,\"y\":\"\"}}");
    T_EQ_STR(sorted, "{\"a\":{\"y\":\"\",\"z\":null},\"b\":[1,2.5]}");
    T_OK(jx_dump_into(root, &buf));
    T_EQ_STR(strbuf_str(&buf), "{\"b\":[1,2.5],\"a\":{\"z\":null,\"y\":\"\"}}");
    T_EQ_INT(jx_dump_into(root, &small), -E2BIG);
}

T_TEST(a_hash_ignores_the_order_of_members)
{
    AUTO(json) json_t *a = tree("{\"x\":1,\"y\":{\"p\":2,\"q\":[3]}}");
    AUTO(json) json_t *b = tree("{\"y\":{\"q\":[3],\"p\":2},\"x\":1}");
    AUTO(json) json_t *c = tree("{\"y\":{\"q\":[4],\"p\":2},\"x\":1}");
    AUTO(json) json_t *s = tree("{}");
    char ha[HASH_HEX_SIZE], hb[HASH_HEX_SIZE], hc[HASH_HEX_SIZE], hs[HASH_HEX_SIZE],
        hw[HASH_HEX_SIZE];

    jx_hash(a, ha);
    jx_hash(b, hb);
    jx_hash(c, hc);
    jx_hash(s, hs);
    T_EQ_STR(ha, hb);
    T_CHECK(strcmp(ha, hc) != 0);
    hash_name(STR("{}"), hw);
    T_EQ_STR(hs, hw);
}

T_TEST(a_copy_is_independent)
{
    AUTO(json) json_t *a = tree("{\"x\":{\"y\":1}}");
    AUTO(json) json_t *b = jx_dup(a);

    jx_set_i64(jx_get(b, "x"), "y", 2);
    dumps_to(a, "{\"x\":{\"y\":1}}");
    T_CHECK(jx_dup(NULL) == NULL);
}
