/* SPDX-License-Identifier: Apache-2.0 */
/* See reload.h. */
#include "router/reload.h"

#include <string.h>

static const char *const may_change[] = {
    "proxy-timeout",
    "response-header-timeout",
    "resolve-wait",
    "max-request-body-bytes",
    "upstream-max-retries",
    "upstream-retry-initial-delay",
    "upstream-retry-max-delay",
    "shutdown-timeout",
    "shutdown-delay",
    "zap-log-level",
    "max-connections-per-client",
    "max-requests-per-client",
    "max-upgrades-per-client",
    "request-rate-per-client",
    "request-burst-per-client",
    "max-connections-per-sandbox",
    "max-requests-per-sandbox",
    "max-upgrades-per-sandbox",
    "request-rate-per-sandbox",
    "request-burst-per-sandbox",
    "trusted-proxy-cidrs",
    "max-request-header-bytes",
    "client-header-timeout",
    "client-idle-timeout",
    "client-max-lifetime",
    "upgrade-idle-timeout",
    "upgrade-max-lifetime",
    "upstream-max-idle",
    "dial-timeout",
    "dead-host-backoff",
    "wake-timeout",
};

bool reload_may_change(const char *flag)
{
    for (size_t i = 0; i < ARRAY_LEN(may_change); i++) {
        if (strcmp(may_change[i], flag) == 0) {
            return true;
        }
    }
    return false;
}

static void put(StrBuf *names, const char *flag)
{
    strbuf_append_cstr(names, names->len > 0 ? ", --" : "--");
    strbuf_append_cstr(names, flag);
}

/* Changed since the last look and in effect now; different from what runs and without effect. */
static void compare(const Reload *reload, const RouterOptions *next, StrBuf *changed,
                    StrBuf *restart)
{
    for (size_t i = 0; options_flag(i); i++) {
        const char *flag = options_flag(i);

        if (reload_may_change(flag)) {
            if (options_differ(&reload->latest, next, i)) {
                put(changed, flag);
            }
        } else if (options_differ(reload->running, next, i)) {
            put(restart, flag);
        }
    }
}

static void apply(Reload *reload, RouterOptions *next)
{
    AUTO(strbuf) StrBuf changed = STRBUF_INIT(4096);
    AUTO(strbuf) StrBuf restart = STRBUF_INIT(4096);
    Tuning tuning;

    compare(reload, next, &changed, &restart);
    if (reload->owned) {
        options_free(&reload->latest);
    }
    reload->latest = *next;
    reload->owned = true;
    tuning_from_options(next, &tuning);
    tuning_board_put(reload->board, &tuning);
    reload->on_change(reload->ctx, next);
    LOG_INFO(reload->log, "configuration read again", F_STR("changed", strbuf_str(&changed)));
    if (restart.len > 0) {
        LOG_WARN(reload->log, "these flags change with the next start only",
                 F_STR("flags", strbuf_str(&restart)));
    }
}

void reload_now(Reload *reload)
{
    RouterOptions next;
    Err err = ERR_INIT;
    int r = options_load(reload->running->argc, reload->running->argv, NULL, &next, &err);

    counter_inc(counter_with(reload->results, r < 0 ? STR("error") : STR("success")));
    if (r < 0) {
        LOG_ERROR(reload->log, "the new configuration is wrong, the old one stays", F_ERR(&err));
    } else {
        apply(reload, &next);
    }
}

static void look(LoopTimer *timer)
{
    Reload *reload = container_of(timer, Reload, timer);

    loop_timer_arm(reload->loop, timer, loop_now(reload->loop) + RELOAD_LOOK_NS);
    if (file_mark_changed(&reload->seen, reload->running->config)) {
        reload_now(reload);
    }
}

void reload_init(Reload *reload, Metrics *metrics)
{
    static const char *const labels[] = {"outcome", NULL};
    MetricSpec results = {.name = "sandbox_router_config_reloads_total",
                          .help = "Times the configuration was read again.",
                          .labels = labels};
    const char *file = reload->running->config;

    reload->results = metrics_counter(metrics, &results);
    reload->latest = *reload->running;
    loop_timer_init(&reload->timer, look);
    if (file && file[0] && file_mark_changed(&reload->seen, file)) {
        loop_timer_arm(reload->loop, &reload->timer, loop_now(reload->loop) + RELOAD_LOOK_NS);
    }
}

void reload_deinit(Reload *reload)
{
    loop_timer_disarm(&reload->timer);
    if (reload->owned) {
        options_free(&reload->latest);
    }
}
