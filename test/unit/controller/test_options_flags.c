/* SPDX-License-Identifier: Apache-2.0 */
/* The command line: every flag of every release, the checks, and the allow-list of label domains.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/log.h"
#include "controller/options.h"
#include "test/harness/t.h"

#define ARGS_MAX 80

static int parse(ControllerOptions *options, const char *const *args, size_t n, Err *err)
{
    char program[] = "sandbox-controller";
    char *argv[ARGS_MAX + 1] = {program};
    OptsResult result;

    T_CHECK(n < ARGS_MAX);
    for (size_t i = 0; i < n; i++) {
        argv[i + 1] = (char *)args[i];
    }
    return options_parse((int)n + 1, argv, options, &result, err);
}

T_TEST(options_defaults_are_upstreams)
{
    ControllerOptions options;

    options_defaults(&options);
    T_CHECK(options.leader_elect && !options.extensions);
    T_EQ_INT(options.sandbox_workers, 100);
    T_EQ_INT(options.claim_workers, 50);
    T_EQ_INT(options.pool_workers, 1);
    T_EQ_INT(options.pool_batch_max, 300);
    T_EQ_INT(options.pool_readiness_grace_ns, 300 * 1000000000ll);
    T_EQ_INT(options.pool_unschedulable_recheck_ns, 60 * 1000000000ll);
    T_EQ_INT(options.claim_candidate_grace_ns, 2 * 1000000000ll);
    T_CHECK(options.warm_pool_eviction);
    T_EQ_STR(options.cluster_domain, "cluster.local");
    T_EQ_STR(options.metrics_bind_address, ":8080");
    T_EQ_STR(options.probe_bind_address, ":8081");
    T_EQ_INT(options.n_label_domains, 1);
    T_EQ_STR(options.label_domains[0], "sandbox.users.io");
    T_EQ_INT(options.log_level, LOG_LEVEL_INFO);
    options_deinit(&options);
}

/* What Deployments, Helm values and the test suites of both generations pass. */
static const char *const every_flag[] = {"-version=false",
                                         "--extensions",
                                         "--leader-elect=true",
                                         "--leader-election-namespace=x",
                                         "--cluster-domain",
                                         "cluster.local",
                                         "--metrics-bind-address=:8080",
                                         "--health-probe-bind-address=:8081",
                                         "--enable-webhook=false",
                                         "--manage-webhook-certs=false",
                                         "--webhook-port=9443",
                                         "--webhook-cert-dir=/tmp",
                                         "--webhook-cert-name=tls.crt",
                                         "--webhook-key-name=tls.key",
                                         "--webhook-service-name=s",
                                         "--webhook-namespace=n",
                                         "--kube-api-qps=-1.000000",
                                         "--kube-api-burst=10",
                                         "--api-connections=4",
                                         "--separate-watch-connection",
                                         "--sandbox-concurrent-workers=10",
                                         "--sandbox-claim-concurrent-workers=10",
                                         "--sandbox-warm-pool-concurrent-workers=1",
                                         "--sandbox-template-concurrent-workers=0",
                                         "--sandbox-warm-pool-max-batch-size=300",
                                         "--sandbox-warm-pool-replenish-delay=1s",
                                         "--sandbox-warm-pool-max-refill-rate=1.5",
                                         "--sandbox-warm-pool-readiness-grace-period=5m",
                                         "--sandbox-warm-pool-unschedulable-recheck-interval=1m",
                                         "--enable-warm-pool-eviction=false",
                                         "--sandbox-write-behind-window=250ms",
                                         "--cache-label-selectors",
                                         "--disable-claim-events",
                                         "--disable-claim-observability-annotations",
                                         "--enable-tracing",
                                         "--enable-pprof",
                                         "--enable-pprof-debug",
                                         "--pprof-block-profile-rate=1",
                                         "--pprof-mutex-profile-fraction=1",
                                         "--kubeconfig=",
                                         "--zap-devel=false",
                                         "--zap-encoder=console",
                                         "--zap-log-level=debug",
                                         "--zap-stacktrace-level=panic",
                                         "--zap-time-encoding=epoch",
                                         "--disable-sandbox-events",
                                         "--metrics-secure-serving=false",
                                         "--metrics-cert-dir=/x",
                                         "--tls-min-version=VersionTLS13",
                                         "--tls-cipher-suites=a,b",
                                         "--enable-rest-client-metrics",
                                         "--sandbox-claim-warm-candidate-grace-period=3s"};

T_TEST(options_accept_every_flag_of_every_release)
{
    ControllerOptions options;
    Err err = ERR_INIT;

    T_OK(parse(&options, every_flag, ARRAY_LEN(every_flag), &err));
    T_OK(options_validate(&options, &err));
    T_EQ_INT(options.template_workers, 1); /* 0 falls back */
    T_CHECK(options.extensions && options.disable_claim_events && options.disable_sandbox_events);
    T_EQ_INT(options.sandbox_write_behind_ns, 250000000);
    T_EQ_INT(options.claim_candidate_grace_ns, 3000000000ll);
    T_EQ_INT(options.log_level, LOG_LEVEL_DEBUG);
    T_EQ_INT(options.log_time, LOG_TIME_EPOCH);
    T_EQ_INT(options.log_encoder, LOG_ENCODER_CONSOLE);
    options_deinit(&options);
}

T_TEST(options_of_the_log_follow_zap)
{
    static const struct {
        const char *args[3];
        size_t n;
        int level, encoder;
    } table[] = {
        {{""}, 0, LOG_LEVEL_INFO, LOG_ENCODER_JSON},
        {{"--zap-devel"}, 1, LOG_LEVEL_DEBUG, LOG_ENCODER_CONSOLE},
        {{"--zap-devel", "--zap-log-level=error"}, 2, LOG_LEVEL_ERROR, LOG_ENCODER_CONSOLE},
        {{"--zap-encoder=json", "--zap-devel=true"}, 2, LOG_LEVEL_DEBUG, LOG_ENCODER_JSON},
        {{"--zap-log-level=panic"}, 1, LOG_LEVEL_ERROR, LOG_ENCODER_JSON},
        {{"--zap-log-level=3"}, 1, LOG_LEVEL_DEBUG, LOG_ENCODER_JSON},
    };

    for (size_t i = 0; i < ARRAY_LEN(table); i++) {
        ControllerOptions options;
        Err err = ERR_INIT;

        t_row(table[i].args[0]);
        T_OK(parse(&options, table[i].args, table[i].n, &err));
        T_OK(options_validate(&options, &err));
        T_EQ_INT(options.log_level, table[i].level);
        T_EQ_INT(options.log_encoder, table[i].encoder);
        options_deinit(&options);
        t_row(NULL);
    }
}

T_TEST(options_refuse_what_cannot_be)
{
    static const struct {
        const char *arg;
        bool at_parse;
        const char *text;
    } table[] = {
        {"--no-such-flag", true, "no-such-flag"},
        {"--sandbox-concurrent-workers=many", true, "sandbox-concurrent-workers"},
        {"--zap-encoder=xml", true, "zap-encoder"},
        {"--sandbox-concurrent-workers=0", false, "--sandbox-concurrent-workers must be"},
        {"--sandbox-claim-concurrent-workers=-1", false, "--sandbox-claim-concurrent-workers"},
        {"--sandbox-warm-pool-concurrent-workers=0", false, "--sandbox-warm-pool-concurrent"},
        {"--sandbox-warm-pool-max-batch-size=0", false, "--sandbox-warm-pool-max-batch-size"},
        {"--sandbox-warm-pool-readiness-grace-period=0s", false, "readiness-grace-period"},
        {"--sandbox-warm-pool-unschedulable-recheck-interval=0s", false, "recheck-interval"},
        {"--sandbox-warm-pool-max-refill-rate=-1", false, "max-refill-rate"},
        {"--sandbox-write-behind-window=-1s", false, "write-behind-window"},
        {"--expired-retention=-1s", false, "--expired-retention must be"},
        {"--kube-api-burst=0", false, "--kube-api-burst"},
        {"--api-connections=0", false, "--api-connections"},
        {"--cluster-domain=", false, "--cluster-domain"},
        {"--zap-log-level=loud", false, "--zap-log-level"},
    };

    for (size_t i = 0; i < ARRAY_LEN(table); i++) {
        ControllerOptions options = {0};
        Err err = ERR_INIT;
        int r = parse(&options, &table[i].arg, 1, &err);

        t_row(table[i].arg);
        T_EQ_INT(r < 0, table[i].at_parse);
        if (r == 0) {
            T_CHECK(options_validate(&options, &err) < 0);
        }
        T_CONTAINS(err.msg, table[i].text);
        options_deinit(&options);
    }
    t_row(NULL);
}

/* ---- the allow-list ---- */

static int load(ControllerOptions *options, const char *content, size_t len, Err *err)
{
    char path[512];
    FILE *file;

    (void)snprintf(path, sizeof(path), "%s/domains", t_tmpdir());
    file = fopen(path, "w");
    T_CHECK(file && fwrite(content, 1, len, file) == len);
    T_OK(fclose(file));
    return options_load_label_domains(options, path, err);
}

T_TEST(options_label_domains_are_trimmed_and_lower_case)
{
    static const char text[] = " Example.COM , b.io\n\n,c.d \n";
    ControllerOptions options;
    Err err = ERR_INIT;

    options_defaults(&options);
    T_OK(load(&options, text, sizeof(text) - 1, &err));
    T_EQ_INT(options.n_label_domains, 3);
    T_EQ_STR(options.label_domains[0], "example.com");
    T_EQ_STR(options.label_domains[1], "b.io");
    T_EQ_STR(options.label_domains[2], "c.d");
    options_deinit(&options);
}

T_TEST(options_label_domains_default_when_missing_or_empty)
{
    ControllerOptions options;
    Err err = ERR_INIT;

    options_defaults(&options);
    T_OK(options_load_label_domains(&options, "/nonexistent/domains", &err));
    T_EQ_STR(options.label_domains[0], OPTIONS_LABEL_DOMAIN_DEFAULT);
    T_OK(load(&options, " ,\n", 3, &err));
    T_EQ_INT(options.n_label_domains, 1);
    T_EQ_STR(options.label_domains[0], OPTIONS_LABEL_DOMAIN_DEFAULT);
    T_CHECK(options_load_label_domains(&options, "/proc/self", &err) < 0);
    options_deinit(&options);
}

T_TEST(options_label_domains_have_limits)
{
    static char text[OPTIONS_LABEL_DOMAINS_FILE_MAX + 10];
    ControllerOptions options;
    Err err = ERR_INIT;

    options_defaults(&options);
    memset(text, 'a', sizeof(text));
    T_EQ_INT(load(&options, text, sizeof(text), &err), -E2BIG);
    for (size_t i = 1; i < 2 * (OPTIONS_LABEL_DOMAINS_MAX + 2); i += 2) {
        text[i] = ',';
    }
    T_EQ_INT(load(&options, text, 2 * (OPTIONS_LABEL_DOMAINS_MAX + 1), &err), -E2BIG);
    T_EQ_INT(load(&options, text, 2 * OPTIONS_LABEL_DOMAINS_MAX, &err), 0);
    T_EQ_INT(options.n_label_domains, OPTIONS_LABEL_DOMAINS_MAX);
    options_deinit(&options);
}
