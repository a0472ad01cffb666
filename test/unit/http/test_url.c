/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>

#include "http/url.h"
#include "test/harness/t.h"

static void check_decode(Str in, int want, Str out)
{
    char buf[128] = {0};
    size_t len = 99;

    t_row(in.ptr);
    T_EQ_INT(http_url_decode(in, buf, &len), want);
    if (want == 0) {
        T_EQ_STR(((Str){buf, len}), out);
    } else {
        T_EQ_INT(len, 99);
    }
    t_row(NULL);
}

T_TEST(percent_encoding_is_decoded_once)
{
    check_decode(STR(""), 0, STR(""));
    check_decode(STR("a%2Fb%2fc"), 0, STR("a/b/c"));
    check_decode(STR("%252e"), 0, STR("%2e"));
    check_decode(STR("a+b"), 0, STR("a+b"));
    check_decode(STR("%c3%bc"), 0, STR("\xc3\xbc"));
    check_decode(STR("%"), -EBADMSG, STR(""));
    check_decode(STR("%4"), -EBADMSG, STR(""));
    check_decode(STR("%4g"), -EBADMSG, STR(""));
    check_decode(STR("%g4"), -EBADMSG, STR(""));
    check_decode(STR("a%"), -EBADMSG, STR(""));
    check_decode(STR("a%00"), -EINVAL, STR(""));
    check_decode(STR("a\0b"), -EINVAL, STR(""));
}

T_TEST(decoding_may_happen_in_place)
{
    char buf[] = "%41%42c";
    size_t len;

    T_OK(http_url_decode(str_from(buf), buf, &len));
    T_EQ_STR(((Str){buf, len}), "ABc");
}

T_TEST(plus_is_a_space_in_a_query_only)
{
    char buf[16];
    size_t len;

    T_OK(http_url_decode_query(STR("a+b%2B"), buf, &len));
    T_EQ_STR(((Str){buf, len}), "a b+");
}

T_TEST(query_pairs)
{
    Str query = STR("&&a=1&b&c=x=y&=z&");
    Str key, value;

    T_EQ_STR(http_query_get(query, STR("a")), "1");
    T_EQ_STR(http_query_get(query, STR("c")), "x=y");
    T_CHECK(http_query_get(query, STR("b")).ptr != NULL);
    T_EQ_STR(http_query_get(query, STR("b")), "");
    T_CHECK(http_query_get(query, STR("d")).ptr == NULL);
    T_CHECK(!http_query_next(&(Str){NULL, 0}, &key, &value));
    T_CHECK(http_query_get(STR("aa=1"), STR("a")).ptr == NULL);
}

T_TEST(authorities)
{
    static const struct {
        Str text;
        int want;
        const char *host;
        int port;
    } rows[] = {
        {STR(":8080"), 0, "", 8080},           {STR("1.2.3.4:0"), 0, "1.2.3.4", 0},
        {STR("[::1]:65535"), 0, "::1", 65535}, {STR("name:80"), 0, "name", 80},
        {STR("name"), -EINVAL, NULL, 0},       {STR("name:"), -EINVAL, NULL, 0},
        {STR("::1:80"), -EINVAL, NULL, 0},     {STR("[::1]"), -EINVAL, NULL, 0},
        {STR("[::1]80"), -EINVAL, NULL, 0},    {STR("[::1:80"), -EINVAL, NULL, 0},
        {STR("a:65536"), -EINVAL, NULL, 0},    {STR("a:+80"), -EINVAL, NULL, 0},
        {STR("a:999999"), -EINVAL, NULL, 0},   {STR(""), -EINVAL, NULL, 0},
    };

    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        Str host;
        uint16_t port;

        t_row(rows[i].text.ptr);
        T_EQ_INT(http_authority_split(rows[i].text, &host, &port), rows[i].want);
        if (rows[i].want == 0) {
            T_EQ_STR(host, rows[i].host);
            T_EQ_INT(port, rows[i].port);
        }
    }
    t_row(NULL);
}
