/* SPDX-License-Identifier: Apache-2.0 */
/* Word splitting, vector by vector. Words are shown joined by '|' between '<' and '>'. */
#include "runtime/exec/shlex.h"
#include "test/harness/t.h"

static void show(const Argv *argv, StrBuf *out)
{
    for (size_t i = 0; i < argv->v.len; i++) {
        strbuf_printf(out, "<%s>", argv->v.ptr[i]);
    }
}

static const struct {
    const char *text;
    ShlexResult result;
    const char *words;
} VECTORS[] = {
    {"a  \"b c\"", SHLEX_OK, "<a><b c>"},
    {"a \"b\\c\\\"d\\\\e\\$f\"", SHLEX_OK, "<a><b\\c\"d\\e\\$f>"},
    {"a 'b\\c'", SHLEX_OK, "<a><b\\c>"},
    {"a\\ b", SHLEX_OK, "<a b>"},
    {"a\\\nb", SHLEX_OK, "<a\nb>"},
    {"\"a\\\nb\"", SHLEX_OK, "<a\\\nb>"},
    {"a \"\" ''", SHLEX_OK, "<a><><>"},
    {"a\"b\"c'd'", SHLEX_OK, "<abcd>"},
    {"a #b", SHLEX_OK, "<a><#b>"},
    {"a;b|c>d", SHLEX_OK, "<a;b|c>d>"},
    {"$HOME *", SHLEX_OK, "<$HOME><*>"},
    {"\t a\r\nb \n", SHLEX_OK, "<a><b>"},
    {"a\vb\fc", SHLEX_OK, "<a\vb\fc>"},
    {"a\xc2\xa0"
     "b",
     SHLEX_OK,
     "<a\xc2\xa0"
     "b>"},
    {"", SHLEX_OK, ""},
    {" \t ", SHLEX_OK, ""},
    {"\"x", SHLEX_NO_CLOSING, ""},
    {"'x", SHLEX_NO_CLOSING, ""},
    {"a 'b' \"", SHLEX_NO_CLOSING, "<a><b>"},
    {"a\\", SHLEX_NO_ESCAPED, ""},
    {"\"a\\", SHLEX_NO_ESCAPED, ""},
    {"python -c 'import os; print('\"'\"'x'\"'\"')'", SHLEX_OK,
     "<python><-c><import os; print('x')>"},
    {"\\'a\\\" \\\\", SHLEX_OK, "<'a\"><\\>"},
    {"''''", SHLEX_OK, "<>"},
};

T_TEST(shlex_vectors)
{
    for (size_t i = 0; i < ARRAY_LEN(VECTORS); i++) {
        AUTO(argv) Argv argv = {0};
        AUTO(strbuf) StrBuf words = STRBUF_INIT(1024);

        t_row(VECTORS[i].text);
        T_EQ_INT(shlex_split(str_from(VECTORS[i].text), &argv), VECTORS[i].result);
        show(&argv, &words);
        T_EQ_STR(strbuf_str(&words), VECTORS[i].words);
    }
    t_row(NULL);
}

T_TEST(shlex_stops_at_the_maximum_of_words)
{
    AUTO(argv) Argv argv = {0};
    AUTO(strbuf) StrBuf text = STRBUF_INIT(4 * ARGV_MAX);

    for (size_t i = 0; i < ARGV_MAX; i++) {
        strbuf_append_cstr(&text, "x ");
    }
    T_EQ_INT(shlex_split(strbuf_str(&text), &argv), SHLEX_OK);
    T_EQ_INT(argv_len(&argv), ARGV_MAX);
    T_EQ_INT(shlex_split(STR("one-more"), &argv), SHLEX_TOO_MANY);
    T_EQ_INT(argv_len(&argv), ARGV_MAX);
}

T_TEST(argv_ends_with_null_for_exec)
{
    AUTO(argv) Argv argv = {0};
    char *const *v;

    T_CHECK(argv_exec(&argv)[0] == NULL);
    argv_push(&argv, STR("a"));
    argv_push(&argv, STR_NULL);
    v = argv_exec(&argv);
    T_EQ_STR(v[0], "a");
    T_EQ_STR(v[1], "");
    T_CHECK(v[2] == NULL);
}
