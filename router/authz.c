/* SPDX-License-Identifier: Apache-2.0 */
/* See authz.h. */
#include "router/authz.h"

bool authz_equal(Str a, Str b)
{
    volatile unsigned char difference = a.len != b.len;

    for (size_t i = 0; i < a.len; i++) {
        char other = b.len > 0 ? b.ptr[i % b.len] : 0;

        difference = (unsigned char)(difference | ((unsigned char)a.ptr[i] ^ (unsigned char)other));
    }
    return difference == 0;
}

const char *authz_check(const Authz *authz, const HttpHead *head)
{
    const HttpHeader *field = http_head_find(head, HTTP_TOKEN_AUTHORIZATION);
    Str token;

    if (!authz->token) {
        return NULL;
    }
    if (!field || http_head_count(head, HTTP_TOKEN_AUTHORIZATION) > 1 || field->value.len < 7 ||
        !str_eq_nocase(str_take(field->value, 7), STR("Bearer "))) {
        return "Missing or invalid Authorization header.";
    }
    token = str_trim(str_drop(field->value, 7));
    if (token.len == 0) {
        return "Missing or invalid Authorization header.";
    }
    return authz_equal(token, str_from(authz->token)) ? NULL : "Invalid token.";
}
