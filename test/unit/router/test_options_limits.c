/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>

#include "router/options_limits.h"
#include "test/harness/t.h"

static const char *upgrades, *idle, *lifetime, *keep, *proxies, *open_to_all;

static const char *fake_env(const char *name)
{
    return strcmp(name, "WEBSOCKET_MAX_CONNECTIONS_PER_CLIENT") == 0 ? upgrades
           : strcmp(name, "WEBSOCKET_IDLE_TIMEOUT_SECONDS") == 0     ? idle
           : strcmp(name, "WEBSOCKET_MAX_LIFETIME_SECONDS") == 0     ? lifetime
           : strcmp(name, "MAX_KEEPALIVE_CONNECTIONS") == 0          ? keep
           : strcmp(name, "TRUSTED_PROXY_CIDRS") == 0                ? proxies
           : strcmp(name, "ALLOW_UNAUTHENTICATED_ROUTER") == 0       ? open_to_all
                                                                     : NULL;
}

static int load(RouterOptions *options, Err *err, const char *flag)
{
    char *argv[] = {(char *)(uintptr_t) "sandbox-router",
                    (char *)(uintptr_t) "--authz-mode=allow-all", (char *)(uintptr_t)flag, NULL};
    int argc = open_to_all ? 1 : flag ? 3 : 2;

    return options_load(argc, argv, fake_env, options, err);
}

T_TEST(variables_of_the_python_router)
{
    RouterOptions options;
    Err err = ERR_INIT;

    upgrades = "7";
    idle = "1.5";
    lifetime = "junk";
    keep = "0";
    proxies = "10.0.0.0/8";
    T_OK(load(&options, &err, NULL));
    T_EQ_INT(options.limits.client_upgrades, 7);
    T_EQ_INT(options.limits.upgrade_idle_ns, 1500000000);
    T_EQ_INT(options.limits.upgrade_lifetime_ns, 0); /* cannot be read: as if it were not there */
    T_EQ_INT(options.limits.idle_max, 0);
    T_EQ_STR(options.limits.trusted_proxies, "10.0.0.0/8");
    T_OK(load(&options, &err, "--max-upgrades-per-client=0")); /* a flag wins, also as 0 */
    T_EQ_INT(options.limits.client_upgrades, 0);
    proxies = "nonsense";
    T_EQ_INT(load(&options, &err, NULL), -EINVAL);
    T_CONTAINS(err.msg, "nonsense");
    T_OK(load(&options, &err, "--trusted-proxy-cidrs=fd00::/8"));
    upgrades = idle = lifetime = keep = proxies = NULL;
}

T_TEST(its_profile_has_its_defaults)
{
    RouterOptions options;
    Err err = ERR_INIT;

    T_OK(load(&options, &err, NULL));
    T_EQ_INT(options.limits.client_upgrades, 0);
    T_EQ_INT(options.limits.upgrade_idle_ns, 0);
    T_EQ_INT(options.limits.idle_max, 512);
    open_to_all = "true";
    upgrades = "0"; /* what its manifest sets */
    T_OK(load(&options, &err, NULL));
    T_EQ_INT(options.limits.client_upgrades, 0);
    T_EQ_INT(options.limits.upgrade_idle_ns, 3600000000000);
    T_EQ_INT(options.limits.upgrade_lifetime_ns, 86400000000000);
    T_EQ_INT(options.limits.idle_max, 20);
    open_to_all = upgrades = NULL;
}

T_TEST(what_is_out_of_range_is_named)
{
    static const char *const rows[][2] = {
        {"--max-requests-per-client=-1", "--max-"},
        {"--request-burst-per-sandbox=-1", "--request-burst"},
        {"--request-rate-per-client=-0.5", "--request-rate-per-client"},
        {"--request-rate-per-sandbox=nan", "request-rate-per-sandbox"},
        {"--limit-table-size=15", "--limit-table-size"},
        {"--limit-table-size=9999999", "--limit-table-size"},
        {"--metrics-per-sandbox=5000", "--metrics-per-sandbox"},
        {"--upstream-max-idle=-1", "--upstream-max-idle"},
        {"--max-request-header-bytes=100", "--max-request-header-bytes"},
        {"--max-request-header-bytes=65537", "--max-request-header-bytes"},
        {"--client-idle-timeout=0s", "--client-idle-timeout"},
        {"--dial-timeout=0s", "--dial-timeout"},
        {"--wake-timeout=0s", "--wake-timeout"},
        {"--dead-host-backoff=-1s", "--dead-host-backoff"},
        {"--upgrade-idle-timeout=-1s", "--upgrade-idle-timeout"},
        {"--trusted-proxy-cidrs=10.0.0.0/40", "10.0.0.0/40"},
        {"--activity-annotation=a b", "--activity-annotation"},
        {"--activity-annotation=/x", "--activity-annotation"},
        {"--activity-interval=999ms", "--activity-interval"},
    };

    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        RouterOptions options;
        Err err = ERR_INIT;

        t_row(rows[i][0]);
        T_EQ_INT(load(&options, &err, rows[i][0]), -EINVAL);
        T_CONTAINS(err.msg, rows[i][1]);
    }
}
