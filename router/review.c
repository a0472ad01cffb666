/* SPDX-License-Identifier: Apache-2.0 */
/*
 * See review.h. A question goes through two steps on the main thread: its token's entry, then the
 * entry of what the token may reach. Each step answers, waits for the call that is under way, or
 * starts one; when a call ends, all that wait take their next step.
 */
#include <errno.h>
#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <stdlib.h>
#include <string.h>

#include "base/check.h"
#include "base/mem.h"
#include "router/review_api.h"
#include "router/review_impl.h"

#define COMPLAIN_NS (60 * NS_PER_S) /* between two lines about the API server */

static void free_query(ReviewQuery *query)
{
    OPENSSL_cleanse(query->token, query->token_len);
    free(query);
}

/* ---- answers, any thread ---- */

static void deliver(ListNode *node)
{
    ReviewQuery *query = list_entry(node, ReviewQuery, node);
    ReviewFn fn = query->fn;
    void *ctx = query->ctx;
    ReviewVerdict verdict = query->verdict;

    free_query(query);
    fn(ctx, verdict);
}

ReviewInbox *review_inbox_new(Review *review, Loop *loop)
{
    ReviewInbox *inbox = xcalloc(1, sizeof(*inbox));

    inbox->review = review;
    inbox->loop = loop;
    mailbox_init(&inbox->box, loop, &review->lock, &review->n_queries, deliver);
    return inbox;
}

ReviewInbox *review_inbox_free(ReviewInbox *inbox)
{
    if (inbox) {
        mailbox_deinit(&inbox->box);
        free(inbox);
    }
    return NULL;
}

static void digest(const void *bytes, size_t len, ReviewKey *ret)
{
    CHECK(EVP_Digest(bytes, len, ret->bytes, NULL, EVP_sha256(), NULL) == 1);
}

static void make_keys(Str token, Str ns, Str name, ReviewKey *ret_token, ReviewKey *ret_access)
{
    unsigned char text[REVIEW_KEY_SIZE + 2 * REVIEW_LABEL_MAX + 1];
    size_t len = REVIEW_KEY_SIZE;

    digest(token.ptr, token.len, ret_token);
    memcpy(text, ret_token->bytes, REVIEW_KEY_SIZE);
    memcpy(text + len, ns.ptr, ns.len);
    len += ns.len;
    text[len++] = '/';
    memcpy(text + len, name.ptr, name.len);
    digest(text, len + name.len, ret_access);
}

/* With the lock held: what is remembered, REVIEW_PENDING when that is nothing. */
static ReviewVerdict recall(Review *review, const ReviewKey *token_key, const ReviewKey *access_key,
                            uint64_t now)
{
    const ReviewEntry *access = review_cache_find(review, REVIEW_ACCESS, access_key);

    if (review_is_fresh(access, now)) {
        return access->verdict;
    }
    const ReviewEntry *token = review_cache_find(review, REVIEW_TOKENS, token_key);

    return review_is_fresh(token, now) && token->verdict != REVIEW_ALLOWED ? token->verdict
                                                                           : REVIEW_PENDING;
}

static ReviewQuery *new_query(Str token, Str ns, Str name)
{
    ReviewQuery *query = xcalloc(1, sizeof(*query) + token.len);

    query->token_len = token.len;
    memcpy(query->token, token.ptr, token.len);
    memcpy(query->ns, ns.ptr, ns.len);
    memcpy(query->name, name.ptr, name.len);
    return query;
}

ReviewVerdict review_ask(ReviewInbox *inbox, Str token, Str ns, Str name, ReviewFn fn, void *ctx,
                         ReviewQuery **ret_query)
{
    Review *review = inbox->review;
    ReviewKey token_key, access_key;
    ReviewVerdict verdict;
    ReviewQuery *query;

    if (token.len > REVIEW_TOKEN_MAX || ns.len > REVIEW_LABEL_MAX || name.len > REVIEW_LABEL_MAX) {
        return REVIEW_UNAUTHENTICATED;
    }
    make_keys(token, ns, name, &token_key, &access_key);
    pthread_mutex_lock(&review->lock);
    verdict = recall(review, &token_key, &access_key, loop_now(inbox->loop));
    if (verdict == REVIEW_PENDING && review->n_queries >= REVIEW_QUERIES_MAX) {
        verdict = REVIEW_BUSY;
    }
    if (verdict == REVIEW_PENDING) {
        query = new_query(token, ns, name);
        query->inbox = inbox;
        query->fn = fn;
        query->ctx = ctx;
        query->token_key = token_key;
        query->access_key = access_key;
        review->n_queries++;
        list_push_back(&review->incoming, &query->node);
        *ret_query = query;
    }
    pthread_mutex_unlock(&review->lock);
    if (verdict == REVIEW_PENDING) {
        loop_wake_signal(&review->bell);
    }
    return verdict;
}

void review_cancel(ReviewQuery *query)
{
    Review *review = query->inbox->review;

    pthread_mutex_lock(&review->lock);
    list_remove(&query->node);
    review->n_queries--;
    pthread_mutex_unlock(&review->lock);
    free_query(query);
}

/* ---- the main thread, with the lock held ---- */

static void answer(ReviewQuery *query, ReviewVerdict verdict)
{
    query->verdict = verdict;
    mailbox_post(&query->inbox->box, &query->node);
}

static void on_done(KubeRequest *req, const KubeResult *result);

static void start(Review *review, ReviewEntry *entry, const char *path, char *body)
{
    ReviewFlight *flight = xcalloc(1, sizeof(*flight));

    flight->review = review;
    flight->entry = entry;
    flight->body = body;
    flight->req = (KubeRequest){.method = KUBE_POST,
                                .priority = KUBE_PRIO_HIGH,
                                .path = path,
                                .content_type = "application/json",
                                .body = str_from(body),
                                .body_max = REVIEW_ANSWER_MAX,
                                .timeout_ns = REVIEW_CALL_NS,
                                .on_done = on_done};
    entry->flight = flight;
    list_remove(&entry->age);
    review->n_flights++;
    list_push_back(&review->starting, &flight->node);
}

static ReviewEntry *get(Review *review, ReviewKind kind, const ReviewKey *key)
{
    ReviewEntry *entry = review_cache_find(review, kind, key);

    if (entry || review->n_flights >= REVIEW_FLIGHTS_MAX) {
        return entry;
    }
    return review_cache_add(review, kind, key);
}

/* Waits for the entry's call. False: one has to be started, and may be. */
static bool join(Review *review, ReviewEntry *entry, ReviewQuery *query)
{
    if (!entry || (!entry->flight && review->n_flights >= REVIEW_FLIGHTS_MAX)) {
        answer(query, REVIEW_BUSY);
        return true;
    }
    list_push_back(&entry->queries, &query->node);
    return entry->flight != NULL;
}

static void step_access(Review *review, ReviewQuery *query, const ReviewEntry *token)
{
    ReviewEntry *entry = review_cache_find(review, REVIEW_ACCESS, &query->access_key);

    if (review_is_fresh(entry, loop_now(review->loop))) {
        answer(query, entry->verdict);
        return;
    }
    entry = get(review, REVIEW_ACCESS, &query->access_key);
    if (!join(review, entry, query)) {
        entry->token_until_ns = token->until_ns;
        start(review, entry, REVIEW_ACCESS_PATH,
              review_access_body(token->user, str_from(query->ns), str_from(query->name)));
    }
}

/* The query is in no list. */
static void step(Review *review, ReviewQuery *query)
{
    ReviewEntry *entry = review_cache_find(review, REVIEW_TOKENS, &query->token_key);
    Str token = {query->token, query->token_len};

    if (review_is_fresh(entry, loop_now(review->loop))) {
        if (entry->verdict == REVIEW_ALLOWED) {
            step_access(review, query, entry);
        } else {
            answer(query, entry->verdict);
        }
        return;
    }
    entry = get(review, REVIEW_TOKENS, &query->token_key);
    if (!join(review, entry, query)) {
        entry->exp_s = review_token_exp(token);
        start(review, entry, REVIEW_TOKEN_PATH,
              review_token_body(token, str_from(review->config.audiences)));
    }
}

/* ---- the main thread ---- */

static void launch(Review *review)
{
    for (;;) {
        pthread_mutex_lock(&review->lock);
        ListNode *node = list_pop_front(&review->starting);

        pthread_mutex_unlock(&review->lock);
        if (!node) {
            return;
        }
        kube_submit(kube_api_transport(review->config.api),
                    &list_entry(node, ReviewFlight, node)->req);
    }
}

static void on_questions(LoopWake *bell)
{
    Review *review = container_of(bell, Review, bell);
    ListNode *node;

    pthread_mutex_lock(&review->lock);
    while ((node = list_pop_front(&review->incoming))) {
        step(review, list_entry(node, ReviewQuery, node));
    }
    pthread_mutex_unlock(&review->lock);
    launch(review);
}

static void complain(Review *review, ReviewKind kind, const KubeResult *result)
{
    uint64_t now = loop_now(review->loop);

    if (review->complained_ns == 0 || now - review->complained_ns >= COMPLAIN_NS) {
        review->complained_ns = now;
        LOG_ERROR(review->config.log, "cannot review who may call: requests are refused",
                  F_CSTR("review", kind == REVIEW_TOKENS ? "TokenReview" : "SubjectAccessReview"),
                  F_CSTR("error", result->err ? result->msg : "unexpected answer"),
                  F_I64("http", result->http_status));
    }
}

/* How long the token itself says it is good, on the clock of the loop. */
static uint64_t end_of_token(const Review *review, int64_t exp_s)
{
    int64_t now_s = loop_wall_now(review->loop) / (int64_t)NS_PER_S;

    if (exp_s == 0) {
        return LOOP_NEVER;
    }
    return loop_now(review->loop) + (exp_s > now_s ? (uint64_t)(exp_s - now_s) * NS_PER_S : 0);
}

static ReviewVerdict read_answer(const Review *review, const ReviewEntry *entry,
                                 const KubeResult *result, char **ret_user)
{
    if (result->err || result->http_status < 200 || result->http_status > 299) {
        return REVIEW_UNAVAILABLE;
    }
    return entry->kind == REVIEW_ACCESS
               ? review_access_answer(result->body)
               : review_token_answer(result->body, str_from(review->config.audiences), ret_user);
}

static const char *result_name(ReviewVerdict verdict)
{
    return verdict == REVIEW_ALLOWED       ? "allowed"
           : verdict == REVIEW_UNAVAILABLE ? "error"
                                           : "denied";
}

static void land(ReviewFlight *flight)
{
    OPENSSL_cleanse(flight->body, strlen(flight->body));
    free(flight->body);
    free(flight);
}

static void on_done(KubeRequest *req, const KubeResult *result)
{
    ReviewFlight *flight = container_of(req, ReviewFlight, req);
    Review *review = flight->review;
    ReviewEntry *entry = flight->entry;
    const char *kind = entry->kind == REVIEW_TOKENS ? "token" : "access";
    char *user = NULL;
    ReviewVerdict verdict = read_answer(review, entry, result, &user);
    List waiting;
    ListNode *node;

    if (verdict == REVIEW_UNAVAILABLE) {
        complain(review, entry->kind, result);
    }
    counter_inc(counter_with(review->reviews, str_from(kind), str_from(result_name(verdict))));
    list_init(&waiting);
    pthread_mutex_lock(&review->lock);
    while ((node = list_pop_front(&entry->queries))) {
        list_push_back(&waiting, node);
    }
    entry->flight = NULL;
    review->n_flights--;
    free(entry->user);
    entry->user = user;
    review_cache_settle(review, entry, verdict,
                        entry->kind == REVIEW_TOKENS ? end_of_token(review, entry->exp_s)
                                                     : entry->token_until_ns);
    while ((node = list_pop_front(&waiting))) {
        ReviewQuery *query = list_entry(node, ReviewQuery, node);

        if (verdict == REVIEW_ALLOWED && entry->kind == REVIEW_TOKENS) {
            step_access(review, query, entry);
        } else {
            answer(query, verdict); /* also when it may not be remembered at all */
        }
    }
    pthread_mutex_unlock(&review->lock);
    land(flight);
    launch(review);
}

Review *review_new(const ReviewConfig *config)
{
    static const char *const labels[] = {"review", "result", NULL};
    MetricSpec reviews = {.name = "sandbox_router_authz_reviews_total",
                          .help = "Reviews that the API server was asked for.",
                          .labels = labels};
    Review *review = xcalloc(1, sizeof(*review));

    review->config = *config;
    review->loop = kube_api_loop(config->api);
    CHECK(pthread_mutex_init(&review->lock, NULL) == 0);
    CHECK(loop_wake_init(review->loop, &review->bell, on_questions) == 0);
    list_init(&review->incoming);
    list_init(&review->starting);
    for (int kind = 0; kind < REVIEW_KINDS; kind++) {
        hmap_init(&review->map[kind]);
        list_init(&review->refused[kind]);
        list_init(&review->allowed[kind]);
    }
    review->reviews = metrics_counter(config->metrics, &reviews);
    return review;
}

Review *review_free(Review *review)
{
    if (!review) {
        return NULL;
    }
    CHECK(list_is_empty(&review->incoming));
    for (int kind = 0; kind < REVIEW_KINDS; kind++) {
        hmap_foreach (&review->map[kind], node) {
            ReviewEntry *entry = container_of(node, ReviewEntry, node);

            if (entry->flight) {
                kube_cancel(kube_api_transport(review->config.api), &entry->flight->req);
                land(TAKE(entry->flight));
            }
        }
    }
    review_cache_clear(review);
    loop_wake_deinit(&review->bell);
    pthread_mutex_destroy(&review->lock);
    free(review);
    return NULL;
}

size_t review_entries(Review *review)
{
    pthread_mutex_lock(&review->lock);
    size_t n = review->map[REVIEW_TOKENS].len + review->map[REVIEW_ACCESS].len;

    pthread_mutex_unlock(&review->lock);
    return n;
}
