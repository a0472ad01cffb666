/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * Who a bearer token is (TokenReview, authentication.k8s.io/v1) and whether that user may use a
 * sandbox (SubjectAccessReview, authorization.k8s.io/v1: verb "get" on the Sandbox, subresource
 * "proxy", in its namespace). Workers ask; what is remembered is answered at once, the rest by the
 * main thread, which asks the API server once for all who want to know the same.
 *
 * Remembered are two kinds of entries: tokens, by SHA-256, and what a token may reach, by SHA-256
 * of that and the sandbox. No token is kept longer than its questions. An answer is believed for
 * the TTL, a refusal for REVIEW_REFUSED_NS at most, trouble for REVIEW_TROUBLE_NS; nothing outlives
 * the token's own `exp`, nor what it may reach the token's review: a revoked token is refused one
 * TTL after it was last reviewed. When an entry must go, refusals go first, so that a flood of bad
 * tokens does not push out good ones.
 *
 * One lock guards everything; it is never held while the API is called or a callback runs.
 */
#include "base/log.h"
#include "kube/api.h"
#include "metrics/metrics.h"

#define REVIEW_TOKEN_MAX 16384   /* bytes; longer ones are refused unseen */
#define REVIEW_CACHE_MAX 1048576 /* largest --authz-tokenreview-cache-size */
#define REVIEW_FLIGHTS_MAX 128   /* calls under way; more are told REVIEW_BUSY */
#define REVIEW_QUERIES_MAX 16384 /* who wait for an answer; more are told REVIEW_BUSY */
#define REVIEW_CALL_NS (3 * NS_PER_S)
#define REVIEW_REFUSED_NS (5 * NS_PER_S)
#define REVIEW_TROUBLE_NS NS_PER_S

typedef enum ReviewVerdict {
    REVIEW_PENDING, /* the callback will tell */
    REVIEW_ALLOWED,
    REVIEW_UNAUTHENTICATED,
    REVIEW_FORBIDDEN,
    REVIEW_UNAVAILABLE, /* the API server did not say */
    REVIEW_BUSY,
} ReviewVerdict;

typedef struct Review Review;
typedef struct ReviewInbox ReviewInbox;
typedef struct ReviewQuery ReviewQuery;
typedef void (*ReviewFn)(void *ctx, ReviewVerdict verdict);

typedef struct ReviewConfig {
    KubeApi *api;          /* of the main thread's loop */
    const char *audiences; /* comma separated, "" = the API server's own */
    uint64_t ttl_ns;
    size_t cache_size; /* entries of each kind */
    Metrics *metrics;
    Logger *log;
} ReviewConfig;

Review *review_new(const ReviewConfig *config);
Review *review_free(Review *review); /* NULL is fine; inboxes are gone */

ReviewInbox *review_inbox_new(Review *review, Loop *loop);
ReviewInbox *review_inbox_free(ReviewInbox *inbox); /* NULL is fine; no query is left */

/* REVIEW_PENDING: *ret_query waits, and fn is called once from the inbox's loop. */
ReviewVerdict review_ask(ReviewInbox *inbox, Str token, Str ns, Str name, ReviewFn fn, void *ctx,
                         ReviewQuery **ret_query);
void review_cancel(ReviewQuery *query); /* fn will not be called; the review goes on for others */

size_t review_entries(Review *review); /* remembered or under way, for tests and gauges */
