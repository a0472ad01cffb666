/* SPDX-License-Identifier: Apache-2.0 */
#include "runtime/serve/encode.h"
#include "test/harness/t.h"

T_TEST(encode_text_escapes_and_replaces)
{
    static const struct {
        Str in;
        const char *out;
        bool invalid;
    } ROWS[] = {
        {STR("plain"), "plain", false},
        {STR("a\"b\\c\n\r\t\b\f"), "a\\\"b\\\\c\\n\\r\\t\\b\\f", false},
        {STR("\0\x1f\x0b\x7f"), "\\u0000\\u001f\\u000b\x7f", false},
        {STR("\xc3\xbc\xe6\xbc\xa2\xf0\x9f\x98\x80"), "\xc3\xbc\xe6\xbc\xa2\xf0\x9f\x98\x80",
         false},
        {STR("a\xff"
             "b"),
         "a\xef\xbf\xbd"
         "b",
         true},
        {STR("\xc3"), "\xef\xbf\xbd", true},
        {STR("\xed\xa0\x80"), "\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd", true},
        {STR(""), "", false},
    };

    for (size_t i = 0; i < ARRAY_LEN(ROWS); i++) {
        AUTO(strbuf) StrBuf out = STRBUF_INIT(256);
        bool invalid = false;

        t_row(ROWS[i].out);
        encode_text(&out, ROWS[i].in, &invalid);
        T_EQ_STR(strbuf_str(&out), ROWS[i].out);
        T_EQ_INT(invalid, ROWS[i].invalid);
    }
    t_row(NULL);
}

T_TEST(encode_never_cuts_a_character)
{
    Str text = STR("a\xc3\xbc\xe6\xbc\xa2\xf0\x9f\x98\x80z");
    static const size_t CUTS[] = {0, 1, 1, 3, 3, 3, 6, 6, 6, 6, 10, 11};

    for (size_t max = 0; max < ARRAY_LEN(CUTS); max++) {
        T_EQ_INT(encode_text_cut(text, max), CUTS[max]);
    }
    T_EQ_STR(encode_trim_end(STR("ab\xe6\xbc")), "ab");
    T_EQ_STR(encode_trim_end(STR("ab\xe6\xbc\xa2")), "ab\xe6\xbc\xa2");
    T_EQ_STR(encode_trim_start(STR("\xbc\xa2"
                                   "cd")),
             "cd");
    T_EQ_STR(encode_trim_start(STR("cd")), "cd");
    /* Not text at all: something goes on all the same. */
    T_CHECK(encode_text_cut(STR("\x80\x80\x80\x80\x80"), 4) == 4);
}

T_TEST(base64_in_every_split)
{
    static const struct {
        const char *in, *out;
    } ROWS[] = {{"", ""},
                {"f", "Zg=="},
                {"fo", "Zm8="},
                {"foo", "Zm9v"},
                {"foob", "Zm9vYg=="},
                {"fooba", "Zm9vYmE="},
                {"foobar", "Zm9vYmFy"}};

    for (size_t i = 0; i < ARRAY_LEN(ROWS); i++) {
        Str in = str_from(ROWS[i].in);

        for (size_t cut = 0; cut <= in.len; cut++) {
            AUTO(strbuf) StrBuf out = STRBUF_INIT(64);
            Base64 state = {.n = 0};

            base64_append(&state, &out, str_take(in, cut));
            base64_append(&state, &out, str_drop(in, cut));
            base64_finish(&state, &out);
            T_EQ_STR(strbuf_str(&out), ROWS[i].out);
        }
    }
}
