/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>

#include "router/cpus.h"
#include "router/options.h"
#include "test/harness/t.h"

static const char *env_token, *env_open, *env_timeout;

static const char *fake_env(const char *name)
{
    return strcmp(name, "ROUTER_AUTH_TOKEN") == 0              ? env_token
           : strcmp(name, "ALLOW_UNAUTHENTICATED_ROUTER") == 0 ? env_open
           : strcmp(name, "PROXY_TIMEOUT_SECONDS") == 0        ? env_timeout
                                                               : NULL;
}

static int load(RouterOptions *options, Err *err, const char *flag1, const char *flag2)
{
    char *argv[] = {(char *)(uintptr_t) "sandbox-router", (char *)(uintptr_t)flag1,
                    (char *)(uintptr_t)flag2, NULL};

    return options_load(flag2 ? 3 : flag1 ? 2 : 1, argv, fake_env, options, err);
}

T_TEST(authorization_has_no_default)
{
    RouterOptions options;
    Err err = ERR_INIT;

    env_token = env_open = env_timeout = NULL;
    T_EQ_INT(load(&options, &err, NULL, NULL), -EINVAL);
    T_CONTAINS(err.msg, "--authz-mode=allow-all");
    T_CONTAINS(err.msg, "ROUTER_AUTH_TOKEN");
    T_CONTAINS(err.msg, "ALLOW_UNAUTHENTICATED_ROUTER");
    env_open = "false";
    env_token = "";
    T_EQ_INT(load(&options, &err, NULL, NULL), -EINVAL);
}

T_TEST(the_python_profile_is_the_environment_without_flags)
{
    RouterOptions options;
    Err err = ERR_INIT;

    env_token = NULL;
    env_open = "Yes";
    T_OK(load(&options, &err, NULL, NULL));
    T_CHECK(options.trust_pod_ip && !options.cache_enabled && !options.auth_token);
    env_open = NULL;
    env_token = "t";
    T_OK(load(&options, &err, NULL, NULL));
    T_CHECK(options.trust_pod_ip && !options.cache_enabled);
    T_EQ_STR(options.auth_token, "t");
    T_OK(load(&options, &err, "--cache-enabled", NULL));
    T_CHECK(!options.trust_pod_ip && options.cache_enabled);
    T_EQ_STR(options.auth_token, "t");
    T_OK(load(&options, &err, "--authz-mode=allow-all", NULL));
    T_CHECK(options.cache_enabled);
    T_EQ_STR(options.auth_token, "t");
    env_token = NULL;
}

T_TEST(defaults)
{
    RouterOptions options;
    Err err = ERR_INIT;

    env_token = env_open = env_timeout = NULL;
    T_OK(load(&options, &err, "--authz-mode=allow-all", NULL));
    T_EQ_INT(options.proxy_timeout_ns, 180 * (int64_t)1000000000);
    T_EQ_INT(options.response_header_timeout_ns, 180 * (int64_t)1000000000);
    T_EQ_INT(options.resolve_wait_ns, 2 * (int64_t)1000000000);
    T_CHECK(options.cache_enabled && !options.trust_pod_ip && options.access_log);
    T_EQ_STR(options.http_bind_address, ":8080");
    T_CHECK(options.auth_token == NULL);
    env_timeout = "2.5";
    T_OK(load(&options, &err, "--authz-mode=allow-all", NULL));
    T_EQ_INT(options.proxy_timeout_ns, 2500000000);
    T_OK(load(&options, &err, "--authz-mode=allow-all", "--proxy-timeout=3s"));
    T_EQ_INT(options.proxy_timeout_ns, 3000000000);
    env_timeout = "-1";
    T_OK(load(&options, &err, "--authz-mode=allow-all", NULL));
    T_EQ_INT(options.proxy_timeout_ns, 180 * (int64_t)1000000000);
    env_timeout = NULL;
    T_OK(load(&options, &err, "--authz-mode=allow-all", "--upstream-retry-max-delay=0s"));
    T_EQ_INT(options.retry_max_ns, 800000000);
}

T_TEST(tls_flags_belong_together)
{
    static const struct {
        const char *label;
        const char *args[5];
        const char *part; /* NULL: fine */
    } rows[] = {
        {"plain only", {NULL}, NULL},
        {"nothing", {"--http-bind-address="}, "nothing to listen on"},
        {"TLS only",
         {"--http-bind-address=", "--https-bind-address=:1", "--tls-cert-file=c",
          "--tls-key-file=k"},
         NULL},
        {"no files", {"--https-bind-address=:1"}, "--https-bind-address needs --tls-cert-file"},
        {"no key", {"--https-bind-address=:1", "--tls-cert-file=c"}, "--tls-key-file"},
        {"no port", {"--tls-cert-file=c"}, "belong together"},
        {"files for later", {"--tls-cert-file=c", "--tls-key-file=k"}, NULL},
        {"mTLS, no port", {"--mtls-mode=required"}, "need --https-bind-address"},
        {"mTLS, no CA",
         {"--mtls-mode=optional", "--https-bind-address=:1", "--tls-cert-file=c",
          "--tls-key-file=k"},
         "need --tls-client-ca-file"},
        {"mTLS",
         {"--mtls-mode=required", "--https-bind-address=:1", "--tls-cert-file=c",
          "--tls-key-file=k", "--tls-client-ca-file=a"},
         NULL},
        {"CA for later", {"--tls-client-ca-file=a"}, NULL},
        {"no such mode", {"--mtls-mode=maybe"}, "mtls-mode"},
    };

    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        char *argv[8] = {(char[]){"router"}, (char[]){"--authz-mode=allow-all"}};
        int argc = 2;
        RouterOptions options;
        Err err = ERR_INIT;
        int r;

        t_row(rows[i].label);
        for (size_t k = 0; k < ARRAY_LEN(rows[i].args) && rows[i].args[k]; k++) {
            argv[argc++] = (char *)(uintptr_t)rows[i].args[k];
        }
        r = options_load(argc, argv, fake_env, &options, &err);
        T_EQ_INT(r, rows[i].part ? -EINVAL : 0);
        if (rows[i].part) {
            T_CONTAINS(err.msg, rows[i].part);
        } else {
            options_free(&options);
        }
    }
}

T_TEST(help_and_version_need_nothing_else)
{
    RouterOptions options;
    Err err = ERR_INIT;

    T_OK(load(&options, &err, "--version", NULL));
    T_CHECK(options.version);
    T_OK(load(&options, &err, "-h", NULL));
    T_CHECK(options.help);
}

T_TEST(quotas_of_a_cgroup)
{
    T_EQ_INT(cpus_from_quota("max 100000\n"), 0);
    T_EQ_INT(cpus_from_quota("-1 100000"), 0);
    T_EQ_INT(cpus_from_quota("100000 100000\n"), 1);
    T_EQ_INT(cpus_from_quota("150000 100000\n"), 2);
    T_EQ_INT(cpus_from_quota("50000 100000\n"), 1);
    T_EQ_INT(cpus_from_quota("99999999999 1\n"), CPUS_MAX);
    T_EQ_INT(cpus_from_quota("junk"), -1);
    T_EQ_INT(cpus_from_quota("100000 0"), -1);
    T_CHECK(cpus_available() >= 1 && cpus_available() <= CPUS_MAX);
}

static const char *env_collector;

static const char *trace_env(const char *name)
{
    return strcmp(name, "OTEL_EXPORTER_OTLP_ENDPOINT") == 0 ? env_collector : NULL;
}

T_TEST(tracing_is_on_by_flag_or_by_environment)
{
    static const struct {
        const char *flag, *collector;
        bool on;
    } rows[] = {
        {"--workers=1", NULL, false},
        {"--workers=1", "", false},
        {"--workers=1", "http://c", true},
        {"--enable-tracing", NULL, true},
        {"--enable-tracing=false", "http://c", false},
    };

    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        char *argv[] = {(char *)(uintptr_t) "sandbox-router",
                        (char *)(uintptr_t) "--authz-mode=allow-all",
                        (char *)(uintptr_t)rows[i].flag, NULL};
        RouterOptions options;

        t_row(rows[i].flag);
        env_collector = rows[i].collector;
        T_OK(options_load(3, argv, trace_env, &options, NULL));
        T_EQ_INT(options.enable_tracing, rows[i].on);
        T_CHECK(!options.inert_asked);
        options_free(&options);
    }
}
