/* SPDX-License-Identifier: Apache-2.0 */
/* The maximums of reviews, over an API server that answers when the test says so. */
#include <stdio.h>
#include <stdlib.h>

#include "base/mem.h"
#include "router/review.h"
#include "router/review_api.h"
#include "test/harness/t.h"

#define CALLS_MAX 20000

typedef struct World {
    KubeTransport transport;
    KubeRequest *calls[CALLS_MAX]; /* NULL: answered */
    size_t n_calls;
    size_t n_answered;
    Loop *loop;
    KubeApi *api;
    Metrics *metrics;
    Review *review;
    ReviewInbox *inbox;
    size_t verdicts[REVIEW_BUSY + 1];
} World;

static void submit(KubeTransport *transport, KubeRequest *req)
{
    World *world = container_of(transport, World, transport);

    T_CHECK(world->n_calls < CALLS_MAX);
    world->calls[world->n_calls++] = req;
}

static void cancel(KubeTransport *transport, KubeRequest *req)
{
    World *world = container_of(transport, World, transport);

    for (size_t i = 0; i < world->n_calls; i++) {
        world->calls[i] = world->calls[i] == req ? NULL : world->calls[i];
    }
}

static World *world_new(size_t cache_size)
{
    World *world = xcalloc(1, sizeof(*world));
    ReviewConfig config = {.audiences = "", .ttl_ns = 60 * NS_PER_S, .cache_size = cache_size};

    world->transport = (KubeTransport){.submit = submit, .cancel = cancel};
    T_OK(loop_new(clock_system(), &world->loop));
    world->metrics = metrics_new();
    world->api = kube_api_new(world->loop, &world->transport, NULL);
    config.api = world->api;
    config.metrics = world->metrics;
    world->review = review_new(&config);
    world->inbox = review_inbox_new(world->review, world->loop);
    return world;
}

static void world_free(World *world)
{
    review_inbox_free(world->inbox);
    review_free(world->review);
    kube_api_free(world->api);
    metrics_free(world->metrics);
    loop_free(world->loop);
    free(world);
}

static void turn(World *world)
{
    for (int i = 0; i < 4; i++) {
        T_OK(loop_step(world->loop, 0));
    }
}

static void answer_all(World *world)
{
    for (; world->n_answered < world->n_calls; world->n_answered++) {
        KubeRequest *req = world->calls[world->n_answered];
        bool good = memmem(req->body.ptr, req->body.len, "\"good", 5) != NULL;
        KubeResult result = {.http_status = 201};

        if (strcmp(req->path, REVIEW_ACCESS_PATH) == 0) {
            result.body = STR("{\"kind\":\"SubjectAccessReview\",\"status\":{\"allowed\":true}}");
        } else if (good) {
            result.body = STR("{\"kind\":\"TokenReview\",\"status\":{\"authenticated\":true,"
                              "\"user\":{\"username\":\"good\"}}}");
        } else {
            result.body = STR("{\"kind\":\"TokenReview\",\"status\":{}}");
        }
        world->calls[world->n_answered] = NULL;
        req->on_done(req, &result);
    }
}

static void on_verdict(void *ctx, ReviewVerdict verdict)
{
    World *world = ctx;

    world->verdicts[verdict]++;
}

static ReviewVerdict ask(World *world, const char *token, ReviewQuery **ret)
{
    ReviewQuery *query = NULL;

    return review_ask(world->inbox, str_from(token), STR("ns"), STR("box"), on_verdict, world,
                      ret ? ret : &query);
}

T_TEST(ten_thousand_bad_tokens_do_not_push_out_a_good_one)
{
    World *world = world_new(300);
    char token[32];

    T_EQ_INT(ask(world, "good-1", NULL), REVIEW_PENDING);
    turn(world);
    answer_all(world);
    turn(world);
    T_EQ_INT(world->verdicts[REVIEW_ALLOWED], 1);
    for (int i = 0; i < 10000; i++) {
        snprintf(token, sizeof(token), "bad-%d", i);
        T_EQ_INT(ask(world, token, NULL), REVIEW_PENDING);
        if (i % 100 == 99) {
            turn(world);
            answer_all(world);
            turn(world);
            T_CHECK(review_entries(world->review) <= 301);
        }
    }
    T_EQ_INT(world->verdicts[REVIEW_UNAUTHENTICATED], 10000);
    T_EQ_INT(ask(world, "bad-9999", NULL), REVIEW_UNAUTHENTICATED);
    T_EQ_INT(ask(world, "good-1", NULL), REVIEW_ALLOWED);
    T_EQ_INT(world->n_calls, 10002);
    world_free(world);
}

T_TEST(more_calls_than_the_most_are_not_made)
{
    World *world = world_new(1000);
    char token[32];

    for (int i = 0; i < REVIEW_FLIGHTS_MAX + 5; i++) {
        snprintf(token, sizeof(token), "good-%d", i);
        T_EQ_INT(ask(world, token, NULL), REVIEW_PENDING);
    }
    turn(world);
    T_EQ_INT(world->n_calls, REVIEW_FLIGHTS_MAX);
    T_EQ_INT(world->verdicts[REVIEW_BUSY], 5);
    T_EQ_INT(ask(world, "good-0", NULL), REVIEW_PENDING); /* joins the call under way */
    turn(world);
    answer_all(world);
    turn(world);
    T_EQ_INT(world->verdicts[REVIEW_ALLOWED], REVIEW_FLIGHTS_MAX + 1);
    world_free(world);
}

T_TEST(one_who_leaves_takes_nothing_from_the_others)
{
    World *world = world_new(10);
    ReviewQuery *first, *second;

    T_EQ_INT(ask(world, "good", &first), REVIEW_PENDING);
    review_cancel(first); /* before the main thread saw it */
    turn(world);
    T_EQ_INT(world->n_calls, 0);
    T_EQ_INT(ask(world, "good", &first), REVIEW_PENDING);
    T_EQ_INT(ask(world, "good", &second), REVIEW_PENDING);
    turn(world);
    T_EQ_INT(world->n_calls, 1);
    review_cancel(first);
    review_cancel(second);
    answer_all(world);
    turn(world);
    T_EQ_INT(world->verdicts[REVIEW_ALLOWED], 0);
    T_EQ_INT(ask(world, "good", &first), REVIEW_PENDING); /* the token is known, access is not */
    turn(world);
    T_EQ_INT(world->n_calls, 2);
    review_cancel(first);
    world_free(world); /* with a call under way */
}

T_TEST(more_questions_than_the_most_are_refused)
{
    World *world = world_new(10);
    ReviewQuery **queries = xcalloc(REVIEW_QUERIES_MAX, sizeof(*queries));

    for (size_t i = 0; i < REVIEW_QUERIES_MAX; i++) {
        T_EQ_INT(ask(world, "good", &queries[i]), REVIEW_PENDING);
    }
    T_EQ_INT(ask(world, "good", NULL), REVIEW_BUSY);
    for (size_t i = 0; i < REVIEW_QUERIES_MAX; i++) {
        review_cancel(queries[i]);
    }
    turn(world);
    free(queries);
    world_free(world);
}
