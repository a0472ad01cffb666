/* SPDX-License-Identifier: Apache-2.0 */
#include "json/write.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "test/harness/t.h"

T_TEST(a_patch_is_written_with_commas_where_they_belong)
{
    AUTO(strbuf) StrBuf buf = STRBUF_INIT(1000);
    JWriter w;

    jw_init(&w, &buf);
    jw_object(&w);
    jw_key(&w, STR("metadata"));
    jw_object(&w);
    jw_member_cstr(&w, "uid", "u-1");
    jw_member_str(&w, "none", STR_NULL);
    jw_object_end(&w);
    jw_key(&w, STR("list"));
    jw_array(&w);
    jw_i64(&w, INT64_MIN);
    jw_u64(&w, UINT64_MAX);
    jw_f64(&w, 0.1);
    jw_f64(&w, 3);
    jw_f64(&w, NAN);
    jw_bool(&w, true);
    jw_array(&w);
    jw_array_end(&w);
    jw_object(&w);
    jw_object_end(&w);
    jw_raw(&w, STR("{\"r\":1}"));
    jw_cstr(&w, NULL);
    jw_array_end(&w);
    jw_member_i64(&w, "n", -1);
    jw_member_bool(&w, "b", false);
    jw_object_end(&w);
    T_EQ_INT(buf.error, 0);
    T_EQ_STR(strbuf_str(&buf),
             "{\"metadata\":{\"uid\":\"u-1\",\"none\":null},\"list\":[-9223372036854775808,"
             "18446744073709551615,0.1,3.0,null,true,[],{},{\"r\":1},null],\"n\":-1,\"b\":false}");
}

T_TEST(strings_are_escaped_and_made_utf8)
{
    static const struct {
        Str in;
        const char *out;
    } ROWS[] = {
        {{"", 0}, "\"\""},
        {{NULL, 0}, "\"\""},
        {{"a\"b\\c/", 6}, "\"a\\\"b\\\\c/\""},
        {{"\b\t\n\v\f\r\x01\x1f\x7f", 9}, "\"\\b\\t\\n\\u000b\\f\\r\\u0001\\u001f\x7f\""},
        {{"\0", 1}, "\"\\u0000\""},
        {{"\xc3\xa9\xf0\x9f\x98\x80", 6}, "\"\xc3\xa9\xf0\x9f\x98\x80\""},
        {{"a\xff\xc3", 3}, "\"a\xef\xbf\xbd\xef\xbf\xbd\""},
        {{"\xed\xa0\x80", 3}, "\"\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\""},
    };

    for (size_t i = 0; i < ARRAY_LEN(ROWS); i++) {
        AUTO(strbuf) StrBuf buf = STRBUF_INIT(1000);
        t_row(ROWS[i].out);
        T_OK(json_quote(&buf, ROWS[i].in));
        T_EQ_STR(strbuf_str(&buf), ROWS[i].out);
    }
    t_row(NULL);
}

T_TEST(a_full_buffer_is_a_sticky_error)
{
    AUTO(strbuf) StrBuf buf = STRBUF_INIT(8);
    JWriter w;

    jw_init(&w, &buf);
    jw_array(&w);
    jw_str(&w, STR("longer than that"));
    jw_i64(&w, 1);
    jw_array_end(&w);
    T_EQ_INT(buf.error, -E2BIG);
    T_CHECK(buf.len <= 8);
}

T_TEST(doubles_are_short_and_read_back_the_same)
{
    static const struct {
        double v;
        const char *text;
    } ROWS[] = {
        {0, "0.0"},
        {-0.0, "-0.0"},
        {1, "1.0"},
        {0.1, "0.1"},
        {1e21, "1e+21"},
        {1.0 / 3, "0.3333333333333333"},
        {5e-324, "4.94065645841247e-324"},
        {1.7976931348623157e308, "1.7976931348623157e+308"},
        {100, "100.0"},
    };
    char text[JSON_DOUBLE_MAX];

    for (size_t i = 0; i < ARRAY_LEN(ROWS); i++) {
        t_row(ROWS[i].text);
        size_t n = json_format_double(ROWS[i].v, text);
        T_EQ_STR(((Str){text, n}), ROWS[i].text);
        T_CHECK(strtod(text, NULL) == ROWS[i].v);
    }
    t_row(NULL);
}

T_TEST(a_node_is_written_as_it_was_read)
{
    Str text = STR("{\"a\":[1,-2.5,\"x\\ny\",null,true,false,{}],\"b\":{\"c\":\"\"}}");
    AUTO(strbuf) StrBuf buf = STRBUF_INIT(1000);
    AUTO(jdoc) JDoc *doc = NULL;
    JWriter w;

    T_OK(jdoc_parse(text, NULL, 1000, &doc, NULL));
    jw_init(&w, &buf);
    jw_node(&w, jdoc_root(doc));
    T_EQ_STR(strbuf_str(&buf), text);
    strbuf_clear(&buf);
    jw_init(&w, &buf);
    jw_node(&w, JNODE_ABSENT);
    T_EQ_STR(strbuf_str(&buf), "null");
}
