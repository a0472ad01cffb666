/* SPDX-License-Identifier: Apache-2.0 */
/* See fair.h. */
#include "router/fair.h"

#include <stdio.h>
#include <string.h>

static const char *const whats[] = {
    [LIMIT_CONNECTIONS] = "connections",
    [LIMIT_REQUESTS] = "requests",
    [LIMIT_UPGRADES] = "upgrades",
    [LIMIT_RATE] = "rate",
};

static void count(Worker *worker, LimitScope scope, LimitWhat what)
{
    observe_limited(worker->shared->observe, scope == LIMIT_CLIENT ? "client" : "sandbox",
                    whats[what]);
}

/* What an exchange counts as, besides one of the rate. */
static uint32_t kind_of(const Exchange *x)
{
    return LIMIT_BIT(LIMIT_RATE) |
           (x->upgrade ? LIMIT_BIT(LIMIT_UPGRADES) : LIMIT_BIT(LIMIT_REQUESTS));
}

static void refuse(Exchange *x, LimitScope scope, const LimitRefusal *refusal)
{
    const char *flag = limits_flag(scope, refusal->what);
    char detail[240];
    int status = 429;

    count(x->worker, scope, refusal->what);
    if (scope == LIMIT_CLIENT) {
        snprintf(detail, sizeof(detail), "Too many %s of this client (%s, %.10g).",
                 refusal->what == LIMIT_UPGRADES ? "upgrades" : "requests", flag, refusal->value);
    } else {
        status = refusal->what == LIMIT_RATE ? 429 : 503;
        snprintf(detail, sizeof(detail), "Sandbox %s/%s is busy (%s, %.10g).", x->routing.ns,
                 x->routing.id, flag, refusal->value);
    }
    x->retry_after_s = refusal->retry_after_s;
    x->error = flag;
    exchange_reply(x, status, detail);
}

bool fair_admit(Exchange *x, const HttpHead *head)
{
    const Tuning *tuning = &x->worker->tuning;
    char buf[IDENTITY_KEY_MAX];
    LimitRefusal refusal;
    Str key;

    if (!tuning->client_limited) {
        return true;
    }
    identity_of_client(head, str_from(x->client->peer), &tuning->proxies, buf, &key);
    if (limits_enter(x->worker->shared->limits, &tuning->client, key, kind_of(x), exchange_now(x),
                     &x->client_hold, &refusal)) {
        return true;
    }
    refuse(x, LIMIT_CLIENT, &refusal);
    return false;
}

bool fair_enter_sandbox(Exchange *x)
{
    const Tuning *tuning = &x->worker->tuning;
    char key[2 * ROUTING_LABEL_MAX + 1];
    LimitRefusal refusal;

    if (!tuning->sandbox_limited) {
        return true;
    }
    memcpy(key, x->routing.ns, x->routing.ns_len);
    key[x->routing.ns_len] = '/';
    memcpy(key + x->routing.ns_len + 1, x->routing.id, x->routing.id_len);
    if (limits_enter(x->worker->shared->limits, &tuning->sandbox,
                     (Str){key, (size_t)x->routing.ns_len + 1 + x->routing.id_len},
                     kind_of(x) | LIMIT_BIT(LIMIT_CONNECTIONS), exchange_now(x), &x->sandbox_hold,
                     &refusal)) {
        return true;
    }
    refuse(x, LIMIT_SANDBOX, &refusal);
    return false;
}

void fair_leave(Exchange *x)
{
    limits_leave(&x->client_hold);
    limits_leave(&x->sandbox_hold);
}

bool fair_accept(Worker *worker, const char *peer, LimitHold *hold)
{
    const Tuning *tuning = &worker->tuning;
    char buf[IDENTITY_KEY_MAX];
    LimitRefusal refusal;
    Str key;

    if (tuning->client.most[LIMIT_CONNECTIONS] == 0) {
        return true;
    }
    identity_of_client(NULL, str_from(peer), &tuning->proxies, buf, &key);
    if (limits_enter(worker->shared->limits, &tuning->client, key, LIMIT_BIT(LIMIT_CONNECTIONS),
                     loop_now(worker->loop), hold, &refusal)) {
        return true;
    }
    count(worker, LIMIT_CLIENT, refusal.what);
    return false;
}
