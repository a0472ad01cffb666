/* SPDX-License-Identifier: Apache-2.0 */
/* See authz.h. */
#include "router/authz.h"

#include <string.h>

#include "router/exchange.h"

#define UNAVAILABLE_RETRY_S 1

bool authz_equal(Str a, Str b)
{
    volatile unsigned char difference = a.len != b.len;

    for (size_t i = 0; i < a.len; i++) {
        char other = b.len > 0 ? b.ptr[i % b.len] : 0;

        difference = (unsigned char)(difference | ((unsigned char)a.ptr[i] ^ (unsigned char)other));
    }
    return difference == 0;
}

Str authz_bearer(const HttpHead *head)
{
    const HttpHeader *field = http_head_find(head, HTTP_TOKEN_AUTHORIZATION);
    Str token;

    if (!field || http_head_count(head, HTTP_TOKEN_AUTHORIZATION) > 1 || field->value.len < 7 ||
        !str_eq_nocase(str_take(field->value, 7), STR("Bearer "))) {
        return STR_NULL;
    }
    token = str_trim(str_drop(field->value, 7));
    return token.len > 0 ? token : STR_NULL;
}

const char *authz_check(const Authz *authz, const HttpHead *head)
{
    Str token;

    if (!authz->token) {
        return NULL;
    }
    token = authz_bearer(head);
    if (!token.ptr) {
        return "Missing or invalid Authorization header.";
    }
    return authz_equal(token, str_from(authz->token)) ? NULL : "Invalid token.";
}

int authz_claims_check(const TokenClaims *claims, const Routing *routing, const HttpHead *head,
                       bool trust_headers)
{
    Str uid = http_head_get(head, HTTP_TOKEN_X_SANDBOX_UID);
    bool good =
        str_eq(claims->ns, routing_ns(routing)) && str_eq(claims->name, routing_id(routing));

    if (claims->version == 2) {
        good = good && claims->port == routing->port && str_eq(claims->method, head->method) &&
               token_path_equal(claims->path, head->path) && claims->uid.len <= AUTHZ_UID_MAX &&
               (uid.len == 0 || str_eq(claims->uid, uid));
    }
    if (trust_headers) {
        good = good && !routing->pod_ip.set && (claims->version == 2) == (uid.len > 0);
    }
    return good ? 0 : 403;
}

static bool decide(Exchange *x, bool allowed, int status, const char *detail)
{
    observe_authz(x->worker->shared->observe, allowed);
    if (!allowed) {
        exchange_reply(x, status, detail);
    }
    return allowed;
}

/* ---- scoped tokens ---- */

static bool scoped(Exchange *x, const HttpHead *head, Str token)
{
    const Authz *authz = &x->worker->shared->authz;
    int64_t now_s = loop_wall_now(x->worker->loop) / (int64_t)NS_PER_S;
    TokenClaims claims;

    if (!token.ptr || authz_keys_verify(authz->keys, token, now_s, &claims) != TOKEN_GOOD) {
        return decide(x, false, 401, "unauthenticated");
    }
    if (authz_claims_check(&claims, &x->routing, head, authz->trust_headers) != 0) {
        return decide(x, false, 403, "forbidden");
    }
    if (claims.version == 2) {
        memcpy(x->bound_uid, claims.uid.ptr, claims.uid.len); /* at most AUTHZ_UID_MAX */
    }
    return decide(x, true, 0, NULL);
}

/* ---- token reviews ---- */

static bool finish_review(Exchange *x, ReviewVerdict verdict)
{
    switch (verdict) {
    case REVIEW_ALLOWED:
        return decide(x, true, 0, NULL);
    case REVIEW_UNAUTHENTICATED:
        return decide(x, false, 401, "unauthenticated");
    case REVIEW_FORBIDDEN:
        return decide(x, false, 403, "forbidden");
    case REVIEW_BUSY:
        x->retry_after_s = UNAVAILABLE_RETRY_S;
        return decide(x, false, 503, "Too many tokens wait for their review.");
    default:
        x->retry_after_s = UNAVAILABLE_RETRY_S;
        return decide(x, false, 503, "The API server did not say who may call.");
    }
}

static void on_verdict(void *ctx, ReviewVerdict verdict)
{
    Exchange *x = ctx;

    x->review_query = NULL;
    if (finish_review(x, verdict)) {
        x->state = EXCHANGE_RESOLVE;
        x->resolve_ns = exchange_now(x) + x->worker->tuning.resolve_ns;
        x->sent_ns = exchange_now(x); /* the sandbox's time begins here */
        if (x->too_large) {
            exchange_refuse_body(x);
        }
    }
    client_step(x->client);
}

static bool reviewed(Exchange *x, Str token)
{
    ReviewVerdict verdict;

    if (!token.ptr && !x->worker->shared->authz.require_token) {
        return decide(x, true, 0, NULL);
    }
    verdict = token.ptr ? review_ask(x->worker->reviews, token, routing_ns(&x->routing),
                                     routing_id(&x->routing), on_verdict, x, &x->review_query)
                        : REVIEW_UNAUTHENTICATED;
    if (verdict == REVIEW_PENDING) {
        x->state = EXCHANGE_AUTHORIZE;
        return false;
    }
    return finish_review(x, verdict);
}

bool authz_begin(Exchange *x, const HttpHead *head)
{
    const Authz *authz = &x->worker->shared->authz;
    const char *detail;

    switch (authz->mode) {
    case AUTHZ_TOKENREVIEW:
        return reviewed(x, authz_bearer(head));
    case AUTHZ_SCOPED_TOKEN:
        return scoped(x, head, authz_bearer(head));
    default:
        detail = authz_check(authz, head);
        return decide(x, !detail, 401, detail);
    }
}

void authz_leave(Exchange *x)
{
    if (x->review_query) {
        review_cancel(TAKE(x->review_query));
    }
}

void authz_give_up(Exchange *x)
{
    authz_leave(x);
    finish_review(x, REVIEW_UNAVAILABLE);
}

bool authz_is_bound_to(const Exchange *x, const Route *route)
{
    return !x->bound_uid[0] || !route || str_eq(route->uid, str_from(x->bound_uid));
}
