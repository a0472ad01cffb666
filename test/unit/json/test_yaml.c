/* SPDX-License-Identifier: Apache-2.0 */
#include "json/yaml.h"

#include <errno.h>
#include <stdlib.h>

#include "base/mem.h"
#include "test/harness/t.h"

static void loads_as(const char *yaml, const char *want)
{
    json_t *loaded = NULL;
    Err err = ERR_INIT;

    t_row(yaml);
    if (yaml_load(str_from(yaml), &loaded, &err) < 0) {
        T_FAIL("%s", err.msg);
    }
    AUTO(json) json_t *value = loaded;
    AUTO(mem) char *text = jx_dump_compact(value);
    T_EQ_STR(text, want);
    t_row(NULL);
}

static void fails(Str yaml, int code, const char *message)
{
    json_t *value = NULL;
    Err err = ERR_INIT;

    t_row(yaml.len < 200 ? yaml.ptr : "(long)");
    T_EQ_INT(yaml_load(yaml, &value, &err), code);
    T_CHECK(value == NULL);
    T_CONTAINS(err.msg, message);
    t_row(NULL);
}

T_TEST(scalars_resolve_as_documented)
{
    static const struct {
        const char *yaml, *json;
    } ROWS[] = {
        {"", "null"},
        {"---", "null"},
        {"~", "null"},
        {"null", "null"},
        {"NULL", "null"},
        {"nULL", "\"nULL\""},
        {"true", "true"},
        {"False", "false"},
        {"TRUE", "true"},
        {"yes", "\"yes\""},
        {"no", "\"no\""},
        {"on", "\"on\""},
        {"off", "\"off\""},
        {"y", "\"y\""},
        {"0", "0"},
        {"-7", "-7"},
        {"+7", "7"},
        {"0x1F", "31"},
        {"0o17", "15"},
        {"0644", "420"},
        {"-0x10", "-16"},
        {"08", "\"08\""},
        {"0x", "\"0x\""},
        {"1_000", "\"1_000\""},
        {"9223372036854775807", "9223372036854775807"},
        {"99999999999999999999", "\"99999999999999999999\""},
        {"1.5", "1.5"},
        {"-1e3", "-1000.0"},
        {".5", "0.5"},
        {"1.", "1.0"},
        {"1e999", "\"1e999\""},
        {".inf", "\".inf\""},
        {".nan", "\".nan\""},
        {"1.2.3", "\"1.2.3\""},
        {"-", "[null]"},
        {"1Gi", "\"1Gi\""},
        {"12:30", "\"12:30\""},
        {"2026-11-30", "\"2026-11-30\""},
        {"'true'", "\"true\""},
        {"\"1\"", "\"1\""},
        {"''", "\"\""},
        {"!!str 1", "\"1\""},
        {"! 1", "\"1\""},
        {"!!int \"1\"", "1"},
        {"!!float 1", "1.0"},
        {"!!bool \"true\"", "true"},
        {"!!null \"\"", "null"},
        {"|\n a\n b\n", "\"a\\nb\\n\""},
        {">\n a\n b\n", "\"a b\\n\""},
        {"\"\\u00e9\\x41\"", "\"\xc3\xa9"
                             "A\""},
        {"# only a comment", "null"},
    };

    for (size_t i = 0; i < ARRAY_LEN(ROWS); i++) {
        loads_as(ROWS[i].yaml, ROWS[i].json);
    }
}

T_TEST(collections_become_objects_and_arrays)
{
    loads_as("a: 1\nb:\n- x\n- y: {z: [1, 2]}\nc:\n",
             "{\"a\":1,\"b\":[\"x\",{\"y\":{\"z\":[1,2]}}],\"c\":null}");
    loads_as("1: one\ntrue: yes\n~: no\n", "{\"1\":\"one\",\"true\":\"yes\",\"~\":\"no\"}");
    loads_as("{\"json\": [\"is\", \"yaml\", 1.5, null]}", "{\"json\":[\"is\",\"yaml\",1.5,null]}");
    loads_as("? a\n: b\n", "{\"a\":\"b\"}");
    loads_as("[]", "[]");
    loads_as("'<<': 1", "{\"<<\":1}");
}

T_TEST(aliases_are_copied)
{
    loads_as("a: &x {p: 1}\nb: *x\nc: [*x, *x]\n",
             "{\"a\":{\"p\":1},\"b\":{\"p\":1},\"c\":[{\"p\":1},{\"p\":1}]}");
    loads_as("a: &s text\nb: *s\n", "{\"a\":\"text\",\"b\":\"text\"}");
    loads_as("- &a 1\n- &a 2\n- *a\n", "[1,2,2]");
    json_t *loaded = NULL;
    T_OK(yaml_load(STR("a: &x {p: 1}\nb: *x\n"), &loaded, NULL));
    AUTO(json) json_t *value = loaded;
    T_CHECK(jx_get(value, "a") != jx_get(value, "b"));
}

T_TEST(errors_have_line_and_column)
{
    fails(STR("a: 1\nb: [1, 2\nc: 3\n"), -EINVAL, "at line 3 column 2");
    fails(STR("a: 1\na: 2\n"), -EINVAL, "duplicate key at line 2 column 1");
    fails(STR("a: b: c\n"), -EINVAL, "at line 1 column 5");
    fails(STR("\tx: 1\n"), -EINVAL, "at line 1");
    fails(STR("a: *nope\n"), -EINVAL, "unknown alias at line 1 column 4");
    fails(STR("a: &x [*x]\n"), -EINVAL, "recursive alias at line 1 column 8");
    fails(STR("a: &x {k: 1}\nb:\n  <<: *x\n"), -EINVAL, "merge keys are not supported at line 3");
    fails(STR("? [a]\n: 1\n"), -EINVAL, "a collection cannot be a key");
    fails(STR("a: &x 1\n*x : 2\n"), -EINVAL, "an alias cannot be a key at line 2");
    fails(STR("&k a: 1\n"), -EINVAL, "an anchor on a key");
    fails(STR("a: !custom 1\n"), -EINVAL, "tag is not supported");
    fails(STR("a: !!int x\n"), -EINVAL, "does not fit its tag");
    fails(STR("a: !custom {}\n"), -EINVAL, "tag is not supported");
    fails(STR("\"a\\0b\": 1\n"), -EINVAL, "NUL in a key");
    fails(STR("a: \"\xff\"\n"), -EINVAL, "bad YAML");
    fails(STR("a: \xed\xa0\x80\n"), -EINVAL, "bad YAML");
    fails((Str){"a: \0\n", 5}, -EINVAL, "bad YAML");
    fails(STR("--- 1\n--- 2\n"), -EINVAL, "2 documents where one is due");
}

T_TEST(all_documents_are_read)
{
    json_t *loaded = NULL;

    T_OK(yaml_load_all(STR("---\na: 1\n---\n# nothing\n---\n- 2\n...\n---\nc\n"), &loaded, NULL));
    AUTO(json) json_t *documents = loaded;
    AUTO(mem) char *text = jx_dump_compact(documents);
    T_EQ_STR(text, "[{\"a\":1},[2],\"c\"]");
    loaded = NULL;
    T_OK(yaml_load_all(STR_NULL, &loaded, NULL));
    T_EQ_INT(json_array_size(loaded), 0);
    json_decref(loaded);
    loaded = NULL;
    T_EQ_INT(yaml_load_all(STR("a: 1\n--- [\n"), &loaded, NULL), -EINVAL);
    T_CHECK(loaded == NULL);
    /* an anchor ends with its document */
    T_EQ_INT(yaml_load_all(STR("--- &a 1\n--- *a\n"), &loaded, NULL), -EINVAL);
}

T_TEST(depth_is_limited)
{
    char text[2000];

    memset(text, '[', sizeof(text));
    fails((Str){text, sizeof(text)}, -E2BIG, "nested too deeply at line 1 column 65");
    memset(text + YAML_DEPTH_MAX, ']', YAML_DEPTH_MAX);
    json_t *value = NULL;
    T_OK(yaml_load((Str){text, 2 * YAML_DEPTH_MAX}, &value, NULL));
    json_decref(value);
}

T_TEST(depth_cannot_grow_through_aliases)
{
    AUTO(strbuf) StrBuf buf = STRBUF_INIT(100000);

    strbuf_append_cstr(&buf, "- &a0 [[[[[[[[[[x]]]]]]]]]]\n");
    for (int i = 1; i < 20; i++) {
        strbuf_printf(&buf, "- &a%d [[[[[[[[[[*a%d]]]]]]]]]]\n", i, i - 1);
    }
    fails(strbuf_str(&buf), -E2BIG, "nested too deeply after expanding aliases at line 7");
}

T_TEST(billion_laughs_are_not_funny)
{
    AUTO(strbuf) StrBuf buf = STRBUF_INIT(100000);

    strbuf_append_cstr(&buf, "- &a0 [lol]\n");
    for (int i = 1; i < 12; i++) {
        strbuf_printf(&buf, "- &a%d [", i);
        for (int k = 0; k < 9; k++) {
            strbuf_printf(&buf, "*a%d,", i - 1);
        }
        strbuf_append_cstr(&buf, "]\n");
    }
    fails(strbuf_str(&buf), -E2BIG, "too many nodes");
}

T_TEST(a_long_string_cannot_be_multiplied)
{
    AUTO(strbuf) StrBuf buf = STRBUF_INIT(YAML_TEXT_MAX);
    AUTO(mem) char *text = xmalloc(1 << 20);

    memset(text, 'x', 1 << 20);
    strbuf_append_cstr(&buf, "- &a ");
    strbuf_append(&buf, (Str){text, 1 << 20});
    for (int i = 0; i < 20; i++) {
        strbuf_append_cstr(&buf, "\n- *a");
    }
    fails(strbuf_str(&buf), -E2BIG, "too much text");
}

T_TEST(nodes_anchors_and_bytes_are_limited)
{
    AUTO(strbuf) StrBuf buf = STRBUF_INIT(YAML_TEXT_MAX);
    AUTO(mem) char *big = xcalloc(1, YAML_TEXT_MAX + 1);

    strbuf_append_char(&buf, '[');
    for (int i = 0; i < YAML_NODES_MAX; i++) {
        strbuf_append_cstr(&buf, "1,");
    }
    strbuf_append_char(&buf, ']');
    fails(strbuf_str(&buf), -E2BIG, "too many nodes");
    strbuf_clear(&buf);
    for (int i = 0; i <= YAML_ANCHORS_MAX; i++) {
        strbuf_printf(&buf, "- &a%d 1\n", i);
    }
    fails(strbuf_str(&buf), -E2BIG, "too many anchors at line 257");
    fails((Str){big, YAML_TEXT_MAX + 1}, -E2BIG, "longer than");
}

T_TEST(directives_are_read_and_limited)
{
    AUTO(strbuf) StrBuf buf = STRBUF_INIT(YAML_TEXT_MAX);

    loads_as("%YAML 1.1\n%TAG !e! tag:example,2026:\n---\na: 1\n", "{\"a\":1}");
    for (int i = 0; i <= YAML_DIRECTIVES_MAX; i++) {
        strbuf_printf(&buf, "%%TAG !a%d! x\n", i);
    }
    strbuf_append_cstr(&buf, "--- 1\n");
    fails(strbuf_str(&buf), -E2BIG, "more than 32 directives");
    strbuf_consume(&buf, strlen("%TAG !a0! x\n"));
    loads_as(strbuf_str(&buf).ptr, "1");
}

T_TEST(every_prefix_of_a_text_ends_well)
{
    Str text = STR("a: &x {p: [1, 'q', \"\\u00e9\"]}\nb: *x\nc: |\n  t\n---\n- !!str 1\n");

    for (size_t n = 0; n <= text.len; n++) {
        AUTO(mem) char *copy = xmemdup(text.ptr, n);
        json_t *value = NULL;
        Err err = ERR_INIT;
        int r = yaml_load_all((Str){copy, n}, &value, &err);
        T_CHECK((r == 0) == (value != NULL));
        T_CHECK(r == 0 || r == -EINVAL);
        json_decref(value);
    }
}
