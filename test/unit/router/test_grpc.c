/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>

#include "base/clock.h"
#include "router/grpc.h"
#include "test/harness/t.h"

T_TEST(grpc_content_types)
{
    static const struct {
        const char *value;
        bool want;
    } rows[] = {
        {"application/grpc", true},
        {"application/grpc+proto", true},
        {"Application/GRPC;charset=utf-8", true},
        {"application/grpc ; a=b", true},
        {"application/grpc-web", false},
        {"application/grpc-web+proto", false},
        {"application/grpcx", false},
        {"application/json", false},
        {"", false},
    };

    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        t_row(rows[i].value);
        T_EQ_INT(grpc_is_content_type(str_from(rows[i].value)), rows[i].want);
    }
    T_CHECK(!grpc_is_content_type(STR_NULL));
}

T_TEST(grpc_timeouts)
{
    static const struct {
        const char *value;
        int want;
        uint64_t ns;
    } rows[] = {
        {"1H", 0, 3600 * NS_PER_S},
        {"2M", 0, 120 * NS_PER_S},
        {"3S", 0, 3 * NS_PER_S},
        {"100m", 0, 100 * NS_PER_MS},
        {"7u", 0, 7000},
        {"99999999n", 0, 99999999},
        {"0S", 0, 0},
        {"99999999H", 0, INT64_MAX}, /* more than fits is as good as no limit */
        {"123456789S", -EINVAL, 0},
        {"", -EINVAL, 0},
        {"S", -EINVAL, 0},
        {"1", -EINVAL, 0},
        {"1s", -EINVAL, 0},
        {"-1S", -EINVAL, 0},
        {"+1S", -EINVAL, 0},
        {"1.5S", -EINVAL, 0},
        {"1 S", -EINVAL, 0},
        {" 1S", -EINVAL, 0},
        {"1SS", -EINVAL, 0},
    };

    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        uint64_t ns = 0;

        t_row(rows[i].value);
        T_EQ_INT(grpc_timeout_parse(str_from(rows[i].value), &ns), rows[i].want);
        T_EQ_INT(ns, rows[i].ns);
    }
}

T_TEST(grpc_statuses)
{
    static const int rows[][2] = {
        {400, 3}, {401, 16}, {403, 7},  {404, 5},  {408, 4},  {413, 8}, {429, 8},
        {431, 8}, {500, 13}, {501, 12}, {502, 14}, {503, 14}, {504, 4}, {418, 2},
    };

    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        T_EQ_INT(grpc_status_from_http(rows[i][0]), rows[i][1]);
    }
}

T_TEST(grpc_messages_are_percent_encoded)
{
    char out[16];

    T_EQ_STR(((Str){out, grpc_message_encode(STR("a b%\n\xc3\xa4"), out, sizeof(out))}),
             "a b%25%0A%C3%A4");
    T_EQ_STR(((Str){out, grpc_message_encode(STR("aaa\n"), out, 5)}), "aaa");
    T_EQ_STR(((Str){out, grpc_message_encode(STR(""), out, 5)}), "");
}
