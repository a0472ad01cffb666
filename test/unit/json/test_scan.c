/* SPDX-License-Identifier: Apache-2.0 */
#include "json/scan.h"

#include <errno.h>
#include <stdlib.h>

#include "base/mem.h"
#include "test/harness/t.h"

/* Scans a copy of exactly the right size, so that a sanitizer sees one byte too many. */
static int scan_all(Str text, unsigned depth_max, size_t *ret_offset)
{
    AUTO(mem) char *copy = xmemdup(text.ptr, text.len);
    JScan scan;
    JToken token = {.kind = JTOK_NULL};
    int r = 0;

    jscan_init(&scan, (Str){copy, text.len}, depth_max);
    while (r == 0 && token.kind != JTOK_END) {
        r = jscan_next(&scan, &token);
    }
    *ret_offset = jscan_offset(&scan);
    return r;
}

T_TEST(tokens_come_in_order_with_their_text)
{
    static const struct {
        JTokKind kind;
        const char *text;
    } WANT[] = {
        {JTOK_OBJECT, "{"},  {JTOK_KEY, "a"},        {JTOK_ARRAY, "["},      {JTOK_INT, "-12"},
        {JTOK_REAL, "0.5"},  {JTOK_REAL, "1E+3"},    {JTOK_TRUE, "true"},    {JTOK_FALSE, "false"},
        {JTOK_NULL, "null"}, {JTOK_STRING, "x"},     {JTOK_ARRAY_END, "]"},  {JTOK_KEY, ""},
        {JTOK_OBJECT, "{"},  {JTOK_OBJECT_END, "}"}, {JTOK_OBJECT_END, "}"}, {JTOK_END, ""},
    };
    JScan scan;
    JToken token;

    jscan_init(&scan, STR(" {\"a\" :[-12,0.5,\t1E+3,true,false,null,\"x\"]\r\n, \"\":{} } "), 2);
    for (size_t i = 0; i < ARRAY_LEN(WANT); i++) {
        T_OK(jscan_next(&scan, &token));
        T_EQ_INT(token.kind, WANT[i].kind);
        T_EQ_STR(token.text, WANT[i].text);
    }
}

T_TEST(good_texts_are_accepted)
{
    static const char *const TEXTS[] = {
        "0",
        "-0",
        "1e5",
        "1.0E-2",
        "\"\"",
        "null",
        "[]",
        "{}",
        " [ ] ",
        "[1,[2,[3]]]",
        "\"\\u0000\"",
        "\"\x7f\"",
        "\"\xc2\x80\"",
        "\"\xe0\xa0\x80\"",
        "\"\xed\x9f\xbf\"",
        "\"\xee\x80\x80\"",
        "\"\xf0\x90\x80\x80\"",
        "\"\xf4\x8f\xbf\xbf\"",
        "\"\\ud83d\\ude00\"",
        "\"\\uDBFF\\uDFFF\"",
        "\"plain text longer than eight bytes\"",
        "{\"\":\"\"}",
        "123456789012345678901234567890",
    };
    size_t offset;

    for (size_t i = 0; i < ARRAY_LEN(TEXTS); i++) {
        t_row(TEXTS[i]);
        T_OK(scan_all(str_from(TEXTS[i]), JSON_DEPTH_MAX, &offset));
        T_EQ_INT(offset, strlen(TEXTS[i]));
    }
    t_row(NULL);
}

static const struct {
    const char *text;
    size_t offset;
} BAD_TEXTS[] = {
    {"", 0},
    {"  ", 2},
    {"nul", 0},
    {"nulL", 0},
    {"True", 0},
    {"+1", 0},
    {".5", 0},
    {"01", 1},
    {"-", 1},
    {"-01", 2},
    {"1.", 2},
    {"1.e5", 2},
    {"1e", 2},
    {"1e+", 3},
    {"--1", 1},
    {"0x10", 1},
    {"1 2", 2},
    {"NaN", 0},
    {"Infinity", 0},
    {"[1,]", 3},
    {"[,1]", 1},
    {"[1 2]", 3},
    {"[1}", 2},
    {"[", 1},
    {"]", 0},
    {"{", 1},
    {"}", 0},
    {"{]", 1},
    {"{\"a\"}", 4},
    {"{\"a\":}", 5},
    {"{\"a\":1,}", 7},
    {"{\"a\" 1}", 5},
    {"{a:1}", 1},
    {"{1:1}", 1},
    {"{\"a\":1 \"b\":2}", 7},
    {"{,}", 1},
    {"[1]]", 3},
    {"{}{}", 2},
    {"'a'", 0},
    {"\"a", 2},
    {"\"a\n\"", 2},
    {"\"\t\"", 1},
    {"\"\\x41\"", 1},
    {"\"\\", 1},
    {"\"\\u12\"", 1},
    {"\"\\u12G4\"", 1},
    {"\"\\ud800\"", 1},
    {"\"\\udc00\"", 1},
    {"\"\\ud800\\u0041\"", 1},
    {"\"\\ud800\\\"", 1},
    {"\"\x80\"", 1},
    {"\"\xc0\xaf\"", 1},
    {"\"\xc1\xbf\"", 1},
    {"\"\xe0\x9f\xbf\"", 1},
    {"\"\xed\xa0\x80\"", 1},
    {"\"\xf0\x8f\xbf\xbf\"", 1},
    {"\"\xf4\x90\x80\x80\"", 1},
    {"\"\xf5\x80\x80\x80\"", 1},
    {"\"\xff\"", 1},
    {"\"12345678\xc3\"", 9},
    {"\"\xe2\x82\"", 1},
    {"\"\xf0\x9f\x98\"", 1},
    {"// comment\n1", 0},
    {"1/**/", 1},
    {"\xef\xbb\xbf{}", 0},
    {"\"a\"\v", 3},
};

T_TEST(bad_texts_are_refused_at_the_right_byte)
{
    size_t offset;

    for (size_t i = 0; i < ARRAY_LEN(BAD_TEXTS); i++) {
        t_row(BAD_TEXTS[i].text);
        T_EQ_INT(scan_all(str_from(BAD_TEXTS[i].text), JSON_DEPTH_MAX, &offset), -EINVAL);
        T_EQ_INT(offset, BAD_TEXTS[i].offset);
    }
    t_row(NULL);
}

T_TEST(every_prefix_of_a_text_is_refused)
{
    Str text = STR("{\"k\\u00e9\":[1.5e-3,\"\\ud83d\\ude00\xc3\xa9\",true,false,null,{\"x\":{}}]}");
    size_t offset;

    for (size_t n = 0; n < text.len; n++) {
        T_EQ_INT(scan_all(str_take(text, n), JSON_DEPTH_MAX, &offset), -EINVAL);
    }
    T_OK(scan_all(text, JSON_DEPTH_MAX, &offset));
}

T_TEST(a_special_byte_is_found_at_every_place_of_a_word)
{
    char text[40];
    size_t offset;

    for (size_t at = 1; at < 30; at++) {
        memset(text, 'a', sizeof(text));
        text[0] = '"';
        text[at] = '\x01';
        text[31] = '"';
        T_EQ_INT(scan_all((Str){text, 32}, 1, &offset), -EINVAL);
        T_EQ_INT(offset, at);
        text[at] = '"';
        T_EQ_INT(scan_all((Str){text, at + 1}, 1, &offset), 0);
        text[at] = '\\';
        text[at + 1] = 'n';
        T_EQ_INT(scan_all((Str){text, 32}, 1, &offset), 0);
    }
}

T_TEST(nul_bytes_are_not_white_space_and_not_text)
{
    size_t offset;

    T_EQ_INT(scan_all((Str){"1\0", 2}, 1, &offset), -EINVAL);
    T_EQ_INT(scan_all((Str){"\"a\0b\"", 5}, 1, &offset), -EINVAL);
    T_EQ_INT(scan_all((Str){"\0{}", 3}, 1, &offset), -EINVAL);
}

T_TEST(depth_is_limited)
{
    char text[2 * JSON_DEPTH_MAX + 4];
    size_t offset, n = JSON_DEPTH_MAX;

    memset(text, '[', n + 1);
    memset(text + n, ']', n);
    T_OK(scan_all((Str){text, 2 * n}, JSON_DEPTH_MAX, &offset));
    T_EQ_INT(scan_all((Str){text, 2 * n}, JSON_DEPTH_MAX - 1, &offset), -E2BIG);
    T_EQ_INT(offset, n - 1);
    memset(text, '[', sizeof(text));
    T_EQ_INT(scan_all((Str){text, sizeof(text)}, JSON_DEPTH_MAX, &offset), -E2BIG);
}

T_TEST(errors_say_what_and_where)
{
    Err err = ERR_INIT;
    JScan scan;

    jscan_init(&scan, STR("[1,2,\"\xff\"]"), 4);
    T_EQ_INT(jscan_skip(&scan, NULL), -EINVAL);
    T_EQ_INT(jscan_err(&scan, -EINVAL, &err), -EINVAL);
    T_EQ_STR(err.msg, "bad JSON: string is not UTF-8 at byte 6");
    jscan_init(&scan, STR("{\"a\":"), 4);
    T_EQ_INT(jscan_skip(&scan, NULL), -EINVAL);
    jscan_err(&scan, -EINVAL, &err);
    T_EQ_STR(err.msg, "bad JSON: unexpected end at byte 5");
}

T_TEST(skip_gives_the_raw_text_of_each_element)
{
    static const char *const WANT[] = {"\"a\\n\"", "{ \"x\" : [1] }", "[]", "-1.5"};
    JScan scan;
    JToken token;
    Str raw;

    jscan_init(&scan, STR("[ \"a\\n\", { \"x\" : [1] } , [],-1.5 ]"), 4);
    T_OK(jscan_next(&scan, &token));
    for (size_t i = 0; i < ARRAY_LEN(WANT); i++) {
        T_OK(jscan_skip(&scan, &raw));
        T_EQ_STR(raw, WANT[i]);
    }
    T_EQ_INT(jscan_skip(&scan, &raw), 1);
    T_OK(jscan_next(&scan, &token));
    T_EQ_INT(token.kind, JTOK_END);
}

T_TEST(skip_passes_over_the_value_of_a_key)
{
    JScan scan;
    JToken token;

    jscan_init(&scan, STR("{\"a\":{\"b\":[1,2]},\"c\":3}"), 4);
    T_OK(jscan_next(&scan, &token));
    T_OK(jscan_next(&scan, &token));
    T_OK(jscan_skip(&scan, NULL));
    T_OK(jscan_next(&scan, &token));
    T_EQ_INT(token.kind, JTOK_KEY);
    T_EQ_STR(token.text, "c");
}

T_TEST(skip_validates_what_it_passes_over)
{
    JScan scan;
    JToken token;

    jscan_init(&scan, STR("{\"a\":{\"b\":[1,2,]},\"c\":3}"), 4);
    T_OK(jscan_next(&scan, &token));
    T_OK(jscan_next(&scan, &token));
    T_EQ_INT(jscan_skip(&scan, NULL), -EINVAL);
}

T_TEST(escapes_are_decoded)
{
    char out[64];
    Str in = STR("a\\\"\\\\\\/\\b\\f\\n\\r\\t\\u0041\\u00e9\\u20AC\\ud83d\\ude00z");
    size_t n = jscan_unescape(in, out);

    T_EQ_STR(((Str){out, n}), "a\"\\/\b\f\n\r\tA\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80z");
    n = jscan_unescape(STR("\\u0000"), out);
    T_EQ_INT(n, 1);
    T_EQ_INT(out[0], 0);
    T_EQ_INT(jscan_unescape(STR(""), out), 0);
}
