/* SPDX-License-Identifier: Apache-2.0 */
/* See options_limits.h. */
#include "router/options_limits.h"

#include <errno.h>

#include "base/clock.h"
#include "http/parse.h"
#include "kube/meta.h"
#include "router/census.h"
#include "router/identity.h"
#include "router/limits.h"
#include "router/upstream.h"

#define HEAD_MIN 256
#define SECONDS_MAX 1e9

/* Variables of the Python router and what it does without them. */
static const struct {
    const char *name;
    const char *flag;
    size_t offset;
    bool seconds; /* float seconds, kept in ns; else a whole number */
    int64_t fallback;
} variables[] = {
    {"WEBSOCKET_MAX_CONNECTIONS_PER_CLIENT", "max-upgrades-per-client",
     offsetof(LimitOptions, client_upgrades), false, 64},
    {"MAX_KEEPALIVE_CONNECTIONS", "upstream-max-idle", offsetof(LimitOptions, idle_max), false, 20},
    {"WEBSOCKET_IDLE_TIMEOUT_SECONDS", "upgrade-idle-timeout",
     offsetof(LimitOptions, upgrade_idle_ns), true, 3600 * (int64_t)NS_PER_S},
    {"WEBSOCKET_MAX_LIFETIME_SECONDS", "upgrade-max-lifetime",
     offsetof(LimitOptions, upgrade_lifetime_ns), true, 86400 * (int64_t)NS_PER_S},
};

static int64_t *member(LimitOptions *limits, size_t offset)
{
    return (int64_t *)(void *)((char *)limits + offset);
}

static bool read_number(const char *text, bool seconds, int64_t *ret)
{
    double number;

    if (!text || str_to_double(str_from(text), &number) < 0 ||
        !(number >= 0 && number < SECONDS_MAX)) {
        return false;
    }
    *ret = (int64_t)(seconds ? number * (double)NS_PER_S : number);
    return true;
}

void options_limits_env(LimitOptions *limits, const OptsResult *given, OptionsWasSet was_set,
                        OptionsEnv env)
{
    const char *proxies = env("TRUSTED_PROXY_CIDRS");

    for (size_t i = 0; i < ARRAY_LEN(variables); i++) {
        if (!was_set(given, variables[i].flag)) {
            read_number(env(variables[i].name), variables[i].seconds,
                        member(limits, variables[i].offset));
        }
    }
    if (proxies && !was_set(given, "trusted-proxy-cidrs")) {
        limits->trusted_proxies = proxies;
    }
}

void options_limits_profile(LimitOptions *limits, OptionsEnv env)
{
    for (size_t i = 0; i < ARRAY_LEN(variables); i++) {
        int64_t value;

        if (!read_number(env(variables[i].name), variables[i].seconds, &value)) {
            *member(limits, variables[i].offset) = variables[i].fallback;
        }
    }
}

static int check_counts(const LimitOptions *limits, Err *reterr)
{
    const int64_t counts[] = {
        limits->client_connections,  limits->client_requests,  limits->client_upgrades,
        limits->client_burst,        limits->sandbox_requests, limits->sandbox_upgrades,
        limits->sandbox_connections, limits->sandbox_burst,
    };

    for (size_t i = 0; i < ARRAY_LEN(counts); i++) {
        if (counts[i] < 0) {
            return err_set(reterr, EINVAL,
                           "--max-...-per-client, --max-...-per-sandbox and --request-burst-... "
                           "must not be negative");
        }
    }
    if (!(limits->client_rate >= 0 && limits->client_rate < SECONDS_MAX) ||
        !(limits->sandbox_rate >= 0 && limits->sandbox_rate < SECONDS_MAX)) {
        return err_set(reterr, EINVAL,
                       "--request-rate-per-client and --request-rate-per-sandbox must be numbers "
                       "from 0 on");
    }
    if (limits->table_size < LIMIT_SHARDS || limits->table_size > LIMIT_ENTRIES_MAX) {
        return err_set(reterr, EINVAL, "--limit-table-size must be %d to %d", LIMIT_SHARDS,
                       LIMIT_ENTRIES_MAX);
    }
    if (limits->sandbox_metrics < 0 || limits->sandbox_metrics > CENSUS_MAX) {
        return err_set(reterr, EINVAL, "--metrics-per-sandbox must be 0 to %d", CENSUS_MAX);
    }
    if (limits->idle_max < 0 || limits->idle_max > UPSTREAM_IDLE_MAX) {
        return err_set(reterr, EINVAL, "--upstream-max-idle must be 0 to %d", UPSTREAM_IDLE_MAX);
    }
    return 0;
}

static int check_times(const LimitOptions *limits, Err *reterr)
{
    if (limits->head_ns <= 0 || limits->idle_ns <= 0 || limits->dial_ns <= 0 ||
        limits->wake_ns <= 0) {
        return err_set(reterr, EINVAL,
                       "--client-header-timeout, --client-idle-timeout, --dial-timeout and "
                       "--wake-timeout must be positive");
    }
    if (limits->lifetime_ns < 0 || limits->upgrade_idle_ns < 0 || limits->upgrade_lifetime_ns < 0 ||
        limits->dead_host_ns < 0) {
        return err_set(reterr, EINVAL,
                       "--client-max-lifetime, --upgrade-idle-timeout, --upgrade-max-lifetime and "
                       "--dead-host-backoff must not be negative");
    }
    return 0;
}

int options_limits_check(const LimitOptions *limits, Err *reterr)
{
    ProxyNets nets;
    int r = check_counts(limits, reterr);

    r = r < 0 ? r : check_times(limits, reterr);
    r = r < 0 ? r : proxy_nets_parse(str_from(limits->trusted_proxies), &nets, reterr);
    if (r == 0 && (limits->head_max < HEAD_MIN || limits->head_max > HTTP_HEAD_MAX)) {
        return err_set(reterr, EINVAL, "--max-request-header-bytes must be %d to %d", HEAD_MIN,
                       HTTP_HEAD_MAX);
    }
    return r;
}

int options_sandboxes_check(const RouterOptions *options, Err *reterr)
{
    const char *annotation = options->activity_annotation;

    if (!options->cache_enabled &&
        (options->wake_suspended || options->sandbox_lookup || annotation[0])) {
        return err_set(reterr, EINVAL,
                       "--wake-suspended, --sandbox-lookup and --activity-annotation need "
                       "--cache-enabled");
    }
    if (annotation[0] && !kube_name_is_qualified(str_from(annotation))) {
        return err_set(reterr, EINVAL, "--activity-annotation: \"%s\" is no annotation's key",
                       annotation);
    }
    if (options->activity_interval_ns < (int64_t)NS_PER_S) {
        return err_set(reterr, EINVAL, "--activity-interval must be at least 1s");
    }
    return 0;
}
