/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/* Who may call. Decided after the routing headers are known to be well-formed, before resolving. */
#include <stdbool.h>

#include "http/parse.h"

typedef struct Authz {
    const char *token; /* ROUTER_AUTH_TOKEN; NULL = everybody may call */
} Authz;

/* NULL: allowed. Else the `detail` of a 401. */
const char *authz_check(const Authz *authz, const HttpHead *head);
/* Compares in a time that depends on the lengths only. */
bool authz_equal(Str a, Str b);
