/* SPDX-License-Identifier: Apache-2.0 */
#include <pthread.h>
#include <stdio.h>

#include "base/clock.h"
#include "router/limits.h"
#include "test/harness/t.h"

#define S NS_PER_S

static LimitRefusal refusal;

static bool enter(Limits *limits, const LimitRule *rule, const char *key, uint32_t take,
                  uint64_t now, LimitHold *hold)
{
    return limits_enter(limits, rule, str_from(key), take, now, hold, &refusal);
}

T_TEST(what_is_at_once_is_counted_and_given_back)
{
    Limits *limits = limits_new(64, 1);
    LimitRule rule = {.scope = LIMIT_CLIENT, .most = {[LIMIT_REQUESTS] = 2}};
    LimitHold a = {0}, b = {0}, c = {0};
    uint32_t take = LIMIT_BIT(LIMIT_REQUESTS);

    T_CHECK(enter(limits, &rule, "k", take, S, &a));
    T_CHECK(enter(limits, &rule, "k", take, S, &b));
    T_CHECK(!enter(limits, &rule, "k", take, S, &c));
    T_EQ_INT(refusal.what, LIMIT_REQUESTS);
    T_CHECK(refusal.value == 2 && refusal.retry_after_s == 1);
    T_CHECK(!c.entry);
    T_CHECK(enter(limits, &rule, "other", take, S, &c));
    limits_leave(&c);
    limits_leave(&a);
    limits_leave(&a); /* nothing is held any more */
    T_CHECK(enter(limits, &rule, "k", take, S, &a));
    T_CHECK(!enter(limits, &rule, "k", take, S, &c));
    limits_leave(&a);
    limits_leave(&b);
    limits_free(limits);
}

T_TEST(all_or_nothing_is_taken)
{
    Limits *limits = limits_new(64, 1);
    LimitRule rule = {.scope = LIMIT_SANDBOX,
                      .most = {[LIMIT_CONNECTIONS] = 5, [LIMIT_UPGRADES] = 1}};
    uint32_t take = LIMIT_BIT(LIMIT_CONNECTIONS) | LIMIT_BIT(LIMIT_UPGRADES);
    LimitHold a = {0}, rest[5] = {0};

    T_CHECK(enter(limits, &rule, "k", take, S, &a));
    T_CHECK(!enter(limits, &rule, "k", take, S, &rest[0])); /* must not take a connection */
    T_EQ_INT(refusal.what, LIMIT_UPGRADES);
    for (int i = 0; i < 4; i++) {
        T_CHECK(enter(limits, &rule, "k", LIMIT_BIT(LIMIT_CONNECTIONS), S, &rest[i]));
    }
    T_CHECK(!enter(limits, &rule, "k", LIMIT_BIT(LIMIT_CONNECTIONS), S, &rest[4]));
    T_EQ_INT(refusal.what, LIMIT_CONNECTIONS);
    limits_leave(&a);
    for (int i = 0; i < 4; i++) {
        limits_leave(&rest[i]);
    }
    limits_free(limits);
}

T_TEST(a_bucket_fills_with_time)
{
    Limits *limits = limits_new(64, 1);
    LimitRule rule = {.scope = LIMIT_CLIENT, .rate = 2, .burst = 3};
    uint32_t take = LIMIT_BIT(LIMIT_RATE);
    LimitHold hold = {0};
    uint64_t now = 100 * S;

    for (int i = 0; i < 3; i++) {
        T_CHECK(enter(limits, &rule, "k", take, now, &hold));
        limits_leave(&hold);
    }
    T_CHECK(!enter(limits, &rule, "k", take, now, &hold));
    T_EQ_INT(refusal.what, LIMIT_RATE);
    T_EQ_INT(refusal.retry_after_s, 1);
    T_CHECK(!enter(limits, &rule, "k", take, now - S, &hold)); /* another loop's older clock */
    T_CHECK(enter(limits, &rule, "k", take, now + S / 2, &hold));
    limits_leave(&hold);
    T_CHECK(!enter(limits, &rule, "k", take, now + S / 2, &hold));
    now += 1000 * S; /* no more than the burst is saved up */
    for (int i = 0; i < 3; i++) {
        T_CHECK(enter(limits, &rule, "k", take, now, &hold));
        limits_leave(&hold);
    }
    T_CHECK(!enter(limits, &rule, "k", take, now, &hold));
    limits_free(limits);
}

T_TEST(a_slow_rate_says_how_long)
{
    Limits *limits = limits_new(64, 1);
    LimitRule rule = {.scope = LIMIT_CLIENT, .rate = 0.1};
    LimitHold hold = {0};

    T_CHECK(enter(limits, &rule, "k", LIMIT_BIT(LIMIT_RATE), S, &hold));
    limits_leave(&hold);
    T_CHECK(!enter(limits, &rule, "k", LIMIT_BIT(LIMIT_RATE), 2 * S, &hold));
    T_EQ_INT(refusal.retry_after_s, 9);
    rule.rate = 1e-9;
    T_CHECK(!enter(limits, &rule, "k", LIMIT_BIT(LIMIT_RATE), 2 * S, &hold));
    T_EQ_INT(refusal.retry_after_s, LIMIT_RETRY_MAX_S);
    limits_free(limits);
}

T_TEST(idle_keys_are_forgotten_the_oldest_first)
{
    Limits *limits = limits_new(LIMIT_SHARDS, 7); /* one entry a part */
    LimitRule rule = {.scope = LIMIT_CLIENT, .most = {[LIMIT_REQUESTS] = 1}};
    char key[16];

    for (int i = 0; i < 1000; i++) {
        LimitHold hold = {0};

        snprintf(key, sizeof(key), "k%d", i);
        T_CHECK(enter(limits, &rule, key, LIMIT_BIT(LIMIT_REQUESTS), S, &hold));
        limits_leave(&hold);
    }
    T_EQ_INT(limits_entries(limits), LIMIT_SHARDS);
    T_EQ_INT(limits_overflows(limits), 0);
    limits_free(limits);
}

T_TEST(without_room_keys_share_an_allowance)
{
    Limits *limits = limits_new(LIMIT_SHARDS, 7);
    LimitRule rule = {.scope = LIMIT_CLIENT, .most = {[LIMIT_REQUESTS] = 2}};
    LimitHold holds[400] = {0};
    size_t taken = 0;
    char key[16];

    for (int i = 0; i < 400; i++) {
        snprintf(key, sizeof(key), "k%d", i);
        taken += enter(limits, &rule, key, LIMIT_BIT(LIMIT_REQUESTS), S, &holds[i]);
    }
    T_EQ_INT(limits_entries(limits), LIMIT_SHARDS);
    /* each part: one key of its own, and two requests of all other keys together */
    T_EQ_INT(taken, 3 * LIMIT_SHARDS);
    T_EQ_INT(limits_overflows(limits), 400 - LIMIT_SHARDS);
    for (int i = 0; i < 400; i++) {
        limits_leave(&holds[i]);
    }
    limits_free(limits);
}

T_TEST(scopes_do_not_mix)
{
    Limits *limits = limits_new(64, 1);
    LimitRule client = {.scope = LIMIT_CLIENT, .most = {[LIMIT_REQUESTS] = 1}};
    LimitRule sandbox = {.scope = LIMIT_SANDBOX, .most = {[LIMIT_REQUESTS] = 1}};
    LimitHold a = {0}, b = {0};

    T_CHECK(enter(limits, &client, "k", LIMIT_BIT(LIMIT_REQUESTS), S, &a));
    T_CHECK(enter(limits, &sandbox, "k", LIMIT_BIT(LIMIT_REQUESTS), S, &b));
    T_EQ_STR(limits_flag(LIMIT_SANDBOX, LIMIT_UPGRADES), "--max-upgrades-per-sandbox");
    limits_leave(&a);
    limits_leave(&b);
    limits_free(limits);
}

T_TEST(off_is_known)
{
    LimitRule rule = {0};

    T_CHECK(limit_rule_is_off(&rule));
    rule.burst = 5;
    T_CHECK(limit_rule_is_off(&rule));
    rule.rate = 0.5;
    T_CHECK(!limit_rule_is_off(&rule));
    rule = (LimitRule){.most = {[LIMIT_UPGRADES] = 1}};
    T_CHECK(!limit_rule_is_off(&rule));
}

typedef struct Racer {
    Limits *limits;
    int got;
} Racer;

static void *race(void *arg)
{
    Racer *racer = arg;
    LimitRule rule = {.scope = LIMIT_CLIENT, .most = {[LIMIT_REQUESTS] = 1000}, .rate = 500};
    LimitRefusal why;

    for (int i = 0; i < 1000; i++) {
        LimitHold hold = {0};

        racer->got +=
            limits_enter(racer->limits, &rule, STR("k"),
                         LIMIT_BIT(LIMIT_REQUESTS) | LIMIT_BIT(LIMIT_RATE), S, &hold, &why);
        limits_leave(&hold);
    }
    return NULL;
}

T_TEST(workers_share_one_exact_bucket)
{
    Racer racers[4];
    pthread_t threads[4];
    Limits *limits = limits_new(64, 1);
    int got = 0;

    for (int i = 0; i < 4; i++) {
        racers[i] = (Racer){.limits = limits};
        T_EQ_INT(pthread_create(&threads[i], NULL, race, &racers[i]), 0);
    }
    for (int i = 0; i < 4; i++) {
        pthread_join(threads[i], NULL);
        got += racers[i].got;
    }
    T_EQ_INT(got, 500);
    limits_free(limits);
}
