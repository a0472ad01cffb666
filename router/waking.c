/* SPDX-License-Identifier: Apache-2.0 */
/* See waking.h. */
#include "router/waking.h"

#include <stdio.h>

#include "base/timefmt.h"

#define SUSPENDED_RETRY_S 5

static bool is_one_of(Str text, const char *const *list, bool prefix)
{
    for (; *list; list++) {
        Str word = str_from(*list);

        if (str_eq_nocase(prefix ? str_take(text, word.len) : text, word)) {
            return true;
        }
    }
    return false;
}

bool waking_is_meant(const HttpHead *head)
{
    static const char *const agents[] = {"kube-probe/", "GoogleHC/", "ELB-HealthChecker/",
                                         "Prometheus/", NULL};
    static const char *const paths[] = {"/health", "/healthz",   "/livez",
                                        "/readyz", "/v1/health", NULL};
    static const char *const no[] = {"false", "0", "no", NULL};
    const HttpHeader *wish = http_head_find_name(head, STR("X-Sandbox-Wake"));

    return head->method_id != HTTP_METHOD_HEAD && head->method_id != HTTP_METHOD_OPTIONS &&
           !is_one_of(http_head_get(head, HTTP_TOKEN_USER_AGENT), agents, true) &&
           !is_one_of(head->path, paths, false) && !(wish && is_one_of(wish->value, no, false));
}

static void say(Exchange *x, int status, uint32_t retry_after_s, const char *what)
{
    char detail[240];

    snprintf(detail, sizeof(detail), "Sandbox %s/%s %s.", x->routing.ns, x->routing.id, what);
    x->retry_after_s = retry_after_s;
    exchange_reply(x, status, detail);
}

static void on_answer(void *ctx, WakeState state)
{
    Exchange *x = ctx;

    x->wake_query = NULL;
    x->wake_state = (uint8_t)state;
    if (state == WAKE_STARTING && wake_resumes(x->worker->shared->wake)) {
        x->resolve_ns = x->start_ns + x->worker->tuning.wake_ns;
    }
    client_step(x->client);
}

bool waking_resolve(Exchange *x)
{
    if (!x->wake_asked) {
        x->wake_asked = true;
        x->wake_query = wake_ask(x->worker->waking, routing_ns(&x->routing),
                                 routing_id(&x->routing), x->may_wake, on_answer, x);
        return false;
    }
    switch ((WakeState)x->wake_state) {
    case WAKE_UNKNOWN:
        say(x, 404, 0, "is not known");
        return true;
    case WAKE_EXPIRED:
        say(x, 404, 0, "has expired");
        return true;
    case WAKE_SUSPENDED:
        say(x, 503, SUSPENDED_RETRY_S, "is suspended");
        return true;
    default:
        return false;
    }
}

void waking_give_up(Exchange *x)
{
    const Tuning *tuning = &x->worker->tuning;
    bool resumes = x->worker->shared->wake && wake_resumes(x->worker->shared->wake);
    char duration[TIMEFMT_SIZE], what[96];

    if (x->wake_state != WAKE_STARTING) {
        say(x, 404, 0, "is not known");
        return;
    }
    timefmt_duration((int64_t)(resumes ? tuning->wake_ns : tuning->resolve_ns), duration);
    snprintf(what, sizeof(what), "is not ready yet (%s, %s)",
             resumes ? "--wake-timeout" : "--resolve-wait", duration);
    say(x, 503, 1, what);
}

void waking_leave(Exchange *x)
{
    if (x->wake_query) {
        wake_cancel(TAKE(x->wake_query));
    }
}
