/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>

#include "runtime/exec/pyrepr.h"
#include "test/harness/t.h"

T_TEST(pyrepr_quotes_like_python)
{
    static const struct {
        const char *in, *out;
    } ROWS[] = {
        {"x", "'x'"},
        {"it's", "\"it's\""},
        {"\"q\"", "'\"q\"'"},
        {"a'b\"c", "'a\\'b\"c'"},
        {"tab\tnl\ncr\rbs\\", "'tab\\tnl\\ncr\\rbs\\\\'"},
        {"\x01\x7f", "'\\x01\\x7f'"},
        {"\xc3\xbc", "'\xc3\xbc'"},
        {"", "''"},
    };

    for (size_t i = 0; i < ARRAY_LEN(ROWS); i++) {
        AUTO(strbuf) StrBuf out = STRBUF_INIT(256);

        t_row(ROWS[i].out);
        pyrepr_str(&out, str_from(ROWS[i].in));
        T_EQ_STR(strbuf_str(&out), ROWS[i].out);
    }
    t_row(NULL);
}

T_TEST(pyrepr_floats)
{
    static const struct {
        double in;
        const char *out;
    } ROWS[] = {{3, "3.0"},     {0.5, "0.5"},    {300, "300.0"},
                {2.25, "2.25"}, {1e16, "1e+16"}, {123456789, "123456789.0"},
                {0.1, "0.1"},   {1e-5, "1e-05"}, {1.0 / 3, "0.3333333333333333"}};

    for (size_t i = 0; i < ARRAY_LEN(ROWS); i++) {
        AUTO(strbuf) StrBuf out = STRBUF_INIT(64);

        pyrepr_float(&out, ROWS[i].in);
        T_EQ_STR(strbuf_str(&out), ROWS[i].out);
    }
}

T_TEST(pyrepr_sentences)
{
    AUTO(strbuf) StrBuf out = STRBUF_INIT(256);
    char *argv[] = {(char[]){"sleep"}, (char[]){"5"}, NULL};

    pyrepr_oserror(&out, ENOENT, STR("x"));
    strbuf_append_char(&out, ' ');
    pyrepr_argv(&out, argv);
    T_EQ_STR(strbuf_str(&out), "[Errno 2] No such file or directory: 'x' ['sleep', '5']");
}
