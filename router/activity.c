/* SPDX-License-Identifier: Apache-2.0 */
/* See activity.h. */
#include "router/activity.h"

#include <stdlib.h>

#include "base/check.h"
#include "base/mem.h"
#include "base/timefmt.h"
#include "json/write.h"

typedef struct Write {
    ListNode node;
    Activity *activity;
    const Route *route; /* a reference */
    int64_t at_s;
    KubeCall *call;
} Write;

struct Activity {
    ActivityConfig config;
    Loop *loop;
    LoopTimer timer;
    RouteTable *table; /* being walked, NULL between two walks */
    RouteCursor cursor;
    List writes;
    size_t n_writes;
    bool complained; /* in this walk */
    CounterFamily *results;
};

/* ---- workers ---- */

const Route *activity_begin(const Route *route)
{
    route_ref(route);
    atomic_fetch_add_explicit(&route->use->open, 1, memory_order_relaxed);
    return route;
}

void activity_end(const Route *route, int64_t wall_ns)
{
    atomic_store_explicit(&route->use->last_s, wall_ns / (int64_t)NS_PER_S, memory_order_relaxed);
    atomic_fetch_sub_explicit(&route->use->open, 1, memory_order_relaxed);
    route_unref(route);
}

/* ---- the main thread ---- */

static int64_t last_use(const Activity *activity, const Route *route)
{
    bool open = atomic_load_explicit(&route->use->open, memory_order_relaxed) > 0;

    return open ? loop_wall_now(activity->loop) / (int64_t)NS_PER_S
                : atomic_load_explicit(&route->use->last_s, memory_order_relaxed);
}

static void walk(Activity *activity);

static void write_free(Write *write)
{
    list_remove(&write->node);
    write->activity->n_writes--;
    route_unref(write->route);
    free(write);
}

static void on_written(void *ctx, const KubeError *error, KubeObj *obj)
{
    Write *write = ctx;
    Activity *activity = write->activity;
    bool gone = error && error->reason == KUBE_REASON_NOT_FOUND;

    UNUSED(obj);
    counter_inc(counter_with(activity->results, error ? STR("error") : STR("written")));
    if (!error || gone) {
        write->route->use->written_s = write->at_s;
    } else if (!activity->complained) {
        activity->complained = true;
        LOG_WARN(activity->config.log, "cannot write when a sandbox was last used",
                 F_STR("namespace", write->route->ns), F_STR("sandbox", write->route->name),
                 F_CSTR("error", error->msg), F_I64("http", error->http));
    }
    write_free(write);
    walk(activity);
    if (activity_is_idle(activity)) {
        activity->config.on_idle(activity->config.ctx);
    }
}

bool activity_is_idle(const Activity *activity)
{
    return !activity->table && activity->n_writes == 0;
}

static void start_write(Activity *activity, const Route *route, int64_t at_s)
{
    static const KubeCallOptions low = {.priority = KUBE_PRIO_LOW};
    Write *write = xcalloc(1, sizeof(*write));
    AUTO(strbuf) StrBuf body = STRBUF_INIT(1024);
    char when[TIMEFMT_SIZE];

    timefmt_seconds(at_s * (int64_t)NS_PER_S, when);
    strbuf_append(&body, STR("{\"metadata\":{\"annotations\":{"));
    json_quote(&body, str_from(activity->config.annotation));
    strbuf_printf(&body, ":\"%s\"}}}", when);
    *write = (Write){.activity = activity, .route = route_ref(route), .at_s = at_s};
    list_push_back(&activity->writes, &write->node);
    activity->n_writes++;
    write->call = kube_api_patch(activity->config.api, kube_kind(KUBE_SANDBOX),
                                 (KubeKey){route->ns, route->name}, NULL, strbuf_str(&body), &low,
                                 on_written, write);
}

static void walk(Activity *activity)
{
    const Route *route;

    while (activity->table && activity->n_writes < ACTIVITY_INFLIGHT_MAX) {
        route = route_table_next(activity->table, &activity->cursor);
        if (!route) {
            activity->table = route_table_unref(activity->table);
            break;
        }
        int64_t at_s = last_use(activity, route);

        if (at_s > route->use->written_s) {
            start_write(activity, route, at_s);
        }
    }
}

void activity_flush(Activity *activity)
{
    if (!activity->table) {
        activity->table = route_board_get(activity->config.board);
        activity->cursor = (RouteCursor){0};
        activity->complained = false;
    }
    walk(activity);
}

static void on_timer(LoopTimer *timer)
{
    Activity *activity = container_of(timer, Activity, timer);

    loop_timer_arm(activity->loop, timer, loop_now(activity->loop) + activity->config.interval_ns);
    activity_flush(activity);
}

Activity *activity_new(const ActivityConfig *config)
{
    static const char *const labels[] = {"result", NULL};
    MetricSpec results = {.name = "sandbox_router_activity_writes_total",
                          .help = "Annotations of last use written to Sandboxes.",
                          .labels = labels};
    Activity *activity = xcalloc(1, sizeof(*activity));

    activity->config = *config;
    activity->loop = kube_api_loop(config->api);
    activity->results = metrics_counter(config->metrics, &results);
    list_init(&activity->writes);
    loop_timer_init(&activity->timer, on_timer);
    loop_timer_arm(activity->loop, &activity->timer,
                   loop_now(activity->loop) + config->interval_ns);
    return activity;
}

Activity *activity_free(Activity *activity)
{
    if (!activity) {
        return NULL;
    }
    loop_timer_disarm(&activity->timer);
    activity->table = route_table_unref(activity->table);
    list_foreach (&activity->writes, node) {
        Write *write = list_entry(node, Write, node);

        kube_call_cancel(write->call);
        write_free(write);
    }
    free(activity);
    return NULL;
}
