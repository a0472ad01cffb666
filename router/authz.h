/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * Who may call. Decided after the routing headers are known to be well-formed, before anything is
 * resolved. What a token says never gets into a log or a reply.
 *
 * Modes: a static token (ROUTER_AUTH_TOKEN) or nobody asked; scoped tokens, decided at once; token
 * reviews, for which the exchange may wait in EXCHANGE_AUTHORIZE.
 */
#include <stdbool.h>

#include "http/parse.h"
#include "router/authz_keys.h"
#include "router/options.h"
#include "router/review.h"
#include "router/routing.h"

#define AUTHZ_UID_MAX 63 /* bytes of the UID a token may be bound to */

typedef struct Authz {
    AuthzMode mode;
    const char *token;  /* ROUTER_AUTH_TOKEN; NULL = everybody may call */
    bool require_token; /* reviews: a request without a token is refused */
    bool trust_headers; /* --trust-pod-ip-header: the client chooses the target */
    Review *review;
    AuthzKeys *keys;
} Authz;

typedef struct Exchange Exchange;
typedef struct Route Route;

/* Allows, refuses, or leaves the exchange in EXCHANGE_AUTHORIZE. True: allowed. */
bool authz_begin(Exchange *x, const HttpHead *head);
void authz_leave(Exchange *x);   /* nobody waits for the answer any more */
void authz_give_up(Exchange *x); /* the time to wait for it is over */

/* False: the token was made for another Sandbox of that name. */
bool authz_is_bound_to(const Exchange *x, const Route *route);

/* ---- pure parts ---- */

/* The bearer token, STR_NULL when there is none: "Bearer", any case, one space, trimmed. A field
 * that is there twice is none. */
Str authz_bearer(const HttpHead *head);
/* NULL: allowed. Else the `detail` of a 401. */
const char *authz_check(const Authz *authz, const HttpHead *head);
/*
 * What claims allow: 0, or 403. v1 binds namespace and name. v2 also port, method and path; its UID
 * is compared with the Sandbox's when that is known. With trust_headers the client could go
 * elsewhere: then X-Sandbox-Pod-IP is forbidden, X-Sandbox-UID with v1 too, and v2 needs its UID
 * there.
 */
int authz_claims_check(const TokenClaims *claims, const Routing *routing, const HttpHead *head,
                       bool trust_headers);
/* Compares in a time that depends on the lengths only. */
bool authz_equal(Str a, Str b);
