/* SPDX-License-Identifier: Apache-2.0 */
#include "base/str.h"

#include <errno.h>
#include <stdlib.h>

#include "base/mem.h"
#include "test/harness/t.h"

T_TEST(slices_are_cut_trimmed_and_compared)
{
    Str rest;

    T_EQ_STR(str_cut(STR("a=b=c"), '=', &rest), "a");
    T_EQ_STR(rest, "b=c");
    T_EQ_STR(str_cut(STR("abc"), '=', &rest), "abc");
    T_CHECK(!rest.ptr);
    T_EQ_STR(str_trim(STR(" \t a b\r\n")), "a b");
    T_EQ_STR(str_trim(STR(" \n")), "");
    T_CHECK(str_eq_nocase(STR("Content-Length"), STR("cONTENT-lENGTH")));
    T_CHECK(!str_eq_nocase(STR("K"), STR("\xe2\x84\xaa"))); /* Kelvin sign: ASCII only */
    T_CHECK(str_cmp(STR("a"), STR("b")) < 0);
    T_CHECK(str_cmp(STR("ab"), STR("a")) > 0);
    T_CHECK(str_cmp(STR_NULL, STR("")) == 0);
    T_CHECK(str_starts(STR("sandbox-1"), STR("sandbox-")));
    T_CHECK(!str_starts(STR("s"), STR("sandbox-")));
    T_CHECK(str_ends(STR("a.yaml"), STR(".yaml")));
    T_EQ_INT(str_find(STR("abc"), 'c'), 2);
    T_EQ_INT(str_find(STR_NULL, 'c'), -1);
}

T_TEST(whole_numbers_refuse_everything_that_is_not_one)
{
    static const struct {
        const char *text;
        int want;
        uint64_t value;
    } rows[] = {
        {"0", 0, 0},          {"18446744073709551615", 0, UINT64_MAX},
        {"007", 0, 7},        {"18446744073709551616", -ERANGE, 0},
        {"", -EINVAL, 0},     {"+1", -EINVAL, 0},
        {" 1", -EINVAL, 0},   {"1 ", -EINVAL, 0},
        {"0x10", -EINVAL, 0}, {"-1", -EINVAL, 0},
        {"1e3", -EINVAL, 0},  {"99999999999999999999999x", -EINVAL, 0},
    };

    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        uint64_t v = 0;

        t_row(rows[i].text);
        T_EQ_INT(str_to_u64(str_from(rows[i].text), &v), rows[i].want);
        T_CHECK(v == rows[i].value);
    }
}

T_TEST(signed_numbers_reach_both_ends)
{
    int64_t v;

    T_OK(str_to_i64(STR("-9223372036854775808"), &v));
    T_CHECK(v == INT64_MIN);
    T_OK(str_to_i64(STR("+9223372036854775807"), &v));
    T_CHECK(v == INT64_MAX);
    T_EQ_INT(str_to_i64(STR("9223372036854775808"), &v), -ERANGE);
    T_EQ_INT(str_to_i64(STR("-"), &v), -EINVAL);
}

T_TEST(floating_point_numbers_are_finite)
{
    double v;

    T_OK(str_to_double(STR("2.5"), &v));
    T_CHECK(v == 2.5);
    T_EQ_INT(str_to_double(STR("nan"), &v), -EINVAL);
    T_EQ_INT(str_to_double(STR("inf"), &v), -ERANGE);
    T_EQ_INT(str_to_double(STR("1e999"), &v), -ERANGE);
    T_EQ_INT(str_to_double(STR("1 "), &v), -EINVAL);
    T_EQ_INT(str_to_double(STR(""), &v), -EINVAL);
    T_EQ_INT(str_to_double((Str){"1\0002", 3}, &v), -EINVAL);
}

T_TEST(utf8_is_checked_as_the_standard_says)
{
    static const struct {
        const char *label;
        Str text;
        bool ok;
    } rows[] = {
        {"ascii", STR("abc"), true},
        {"two, three, four bytes", STR("\xc3\xbc\xe2\x82\xac\xf0\x9f\x98\x80"), true},
        {"overlong slash", STR("\xc0\xaf"), false},
        {"overlong three", STR("\xe0\x80\x80"), false},
        {"surrogate", STR("\xed\xa0\x80"), false},
        {"above U+10FFFF", STR("\xf4\x90\x80\x80"), false},
        {"lone continuation", STR("\x80"), false},
        {"cut short", STR("\xe2\x82"), false},
        {"NUL is a character", STR("a\0b"), true},
    };

    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        t_row(rows[i].label);
        T_EQ_INT(str_is_utf8(rows[i].text), rows[i].ok);
    }
}

T_TEST(a_buffer_keeps_what_it_had_when_it_is_full)
{
    AUTO(strbuf) StrBuf buf = STRBUF_INIT(8);

    T_OK(strbuf_append(&buf, STR("12345")));
    T_EQ_INT(strbuf_append(&buf, STR("6789")), -E2BIG);
    T_EQ_STR(strbuf_str(&buf), "12345");
    T_EQ_INT(strbuf_append_char(&buf, 'x'), -E2BIG); /* sticky */
    strbuf_clear(&buf);
    T_OK(strbuf_printf(&buf, "%d", 12345678));
    T_EQ_STR(strbuf_str(&buf), "12345678");
    T_EQ_INT(strbuf_reserve(&buf, SIZE_MAX), -E2BIG);
}

T_TEST(a_buffer_gives_its_memory_away)
{
    AUTO(strbuf) StrBuf buf = STRBUF_INIT(100);
    AUTO(mem) char *empty = strbuf_take(&buf);
    char *text;

    T_EQ_STR(empty, "");
    strbuf_append_cstr(&buf, "abcdef");
    strbuf_consume(&buf, 2);
    T_EQ_STR(strbuf_str(&buf), "cdef");
    text = strbuf_take(&buf);
    T_EQ_STR(text, "cdef");
    T_EQ_INT(buf.len, 0);
    free(text);
}

T_TEST(allocations_sized_by_a_peer_have_a_maximum)
{
    void *p = mem_try_alloc(10, 10);

    T_CHECK(p);
    free(p);
    errno = 0;
    T_CHECK(!mem_try_alloc(11, 10));
    T_EQ_INT(errno, E2BIG);
}
