/* SPDX-License-Identifier: Apache-2.0 */
/* See tuning.h. */
#include "router/tuning.h"

#include "base/check.h"

static LimitRule client_rule(const LimitOptions *options)
{
    return (LimitRule){
        .scope = LIMIT_CLIENT,
        .most = {[LIMIT_CONNECTIONS] = options->client_connections,
                 [LIMIT_REQUESTS] = options->client_requests,
                 [LIMIT_UPGRADES] = options->client_upgrades},
        .rate = options->client_rate,
        .burst = options->client_burst,
    };
}

static LimitRule sandbox_rule(const LimitOptions *options)
{
    return (LimitRule){
        .scope = LIMIT_SANDBOX,
        .most = {[LIMIT_CONNECTIONS] = options->sandbox_connections,
                 [LIMIT_REQUESTS] = options->sandbox_requests,
                 [LIMIT_UPGRADES] = options->sandbox_upgrades},
        .rate = options->sandbox_rate,
        .burst = options->sandbox_burst,
    };
}

void tuning_from_options(const RouterOptions *options, Tuning *ret)
{
    const LimitOptions *limits = &options->limits;

    *ret = (Tuning){
        .response_header_ns = (uint64_t)options->response_header_timeout_ns,
        .proxy_ns = (uint64_t)options->proxy_timeout_ns,
        .resolve_ns = (uint64_t)options->resolve_wait_ns,
        .body_max = (uint64_t)options->body_max,
        .head_max = (uint64_t)limits->head_max,
        .dial_retries = options->max_retries,
        .retry_min_ns = (uint64_t)options->retry_initial_ns,
        .retry_max_ns = (uint64_t)options->retry_max_ns,
        .idle_max = (size_t)limits->idle_max,
        .dial_ns = (uint64_t)limits->dial_ns,
        .dead_host_ns = (uint64_t)limits->dead_host_ns,
        .head_ns = (uint64_t)limits->head_ns,
        .idle_ns = (uint64_t)limits->idle_ns,
        .lifetime_ns = (uint64_t)limits->lifetime_ns,
        .upgrade_idle_ns = (uint64_t)limits->upgrade_idle_ns,
        .upgrade_lifetime_ns = (uint64_t)limits->upgrade_lifetime_ns,
        .wake_ns = (uint64_t)limits->wake_ns,
        .client = client_rule(limits),
        .sandbox = sandbox_rule(limits),
    };
    ret->client_limited = !limit_rule_is_off(&ret->client);
    ret->sandbox_limited = !limit_rule_is_off(&ret->sandbox);
    proxy_nets_parse(str_from(limits->trusted_proxies), &ret->proxies, NULL); /* checked before */
}

void tuning_board_init(TuningBoard *board)
{
    *board = (TuningBoard){.value = {0}};
    CHECK(pthread_mutex_init(&board->lock, NULL) == 0);
}

void tuning_board_deinit(TuningBoard *board)
{
    pthread_mutex_destroy(&board->lock);
}

void tuning_board_put(TuningBoard *board, const Tuning *value)
{
    pthread_mutex_lock(&board->lock);
    board->value = *value;
    pthread_mutex_unlock(&board->lock);
}

void tuning_board_get(TuningBoard *board, Tuning *ret)
{
    pthread_mutex_lock(&board->lock);
    *ret = board->value;
    pthread_mutex_unlock(&board->lock);
}
