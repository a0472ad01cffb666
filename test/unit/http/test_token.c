/* SPDX-License-Identifier: Apache-2.0 */
#include <ctype.h>

#include "http/status.h"
#include "http/token.h"
#include "test/harness/t.h"

T_TEST(every_token_finds_itself_in_any_case)
{
    for (int i = HTTP_TOKEN_OTHER + 1; i < HTTP_TOKEN_MAX_; i++) {
        Str name = http_token_name((HttpToken)i);
        char other[32];

        T_CHECK(name.len > 0 && name.len < sizeof(other));
        for (size_t k = 0; k < name.len; k++) {
            char c = name.ptr[k];

            other[k] = (char)(islower((unsigned char)c) ? toupper(c) : tolower(c));
        }
        t_row(name.ptr);
        T_EQ_INT(http_token_find(name), i);
        T_EQ_INT(http_token_find((Str){other, name.len}), i);
    }
    t_row(NULL);
}

T_TEST(unknown_names_are_other)
{
    T_EQ_INT(http_token_find(STR("")), HTTP_TOKEN_OTHER);
    T_EQ_INT(http_token_find(STR("Hosts")), HTTP_TOKEN_OTHER);
    T_EQ_INT(http_token_find(STR("X-Sandbox-IDX")), HTTP_TOKEN_OTHER);
    T_EQ_INT(http_token_find(STR("X_Sandbox_ID")), HTTP_TOKEN_OTHER);
    T_EQ_INT(http_token_find(STR("a-name-longer-than-any-in-the-table")), HTTP_TOKEN_OTHER);
}

T_TEST(flags_say_what_a_proxy_must_know)
{
    T_CHECK(http_token_flags(HTTP_TOKEN_CONNECTION) & HTTP_TOKEN_HOP);
    T_CHECK(http_token_flags(HTTP_TOKEN_TRANSFER_ENCODING) & HTTP_TOKEN_FRAMING);
    T_CHECK(http_token_flags(HTTP_TOKEN_X_SANDBOX_UID) & HTTP_TOKEN_ROUTING);
    T_CHECK(http_token_flags(HTTP_TOKEN_FORWARDED) & HTTP_TOKEN_FORWARDING);
    T_EQ_INT(http_token_flags(HTTP_TOKEN_OTHER), 0);
}

T_TEST(reasons)
{
    T_EQ_STR(http_status_reason(200), "OK");
    T_EQ_STR(http_status_reason(504), "Gateway Timeout");
    T_EQ_STR(http_status_reason(299), "Unknown");
}
