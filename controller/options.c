/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The flag table and its checks. Names, types and defaults are upstream's (both generations); what
 * a flag does here is said in docs/controller.md.
 */
#include "controller/options.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/check.h"
#include "base/log.h"
#include "base/mem.h"

static const char *const log_levels[] = {"debug", "info", "warn", "error", "panic", NULL};
static const char *const log_encoders[] = {"json", "console", NULL};
static const char *const log_times[] = {"rfc3339", "rfc3339nano", "epoch", "millis",
                                        "nano",    "iso8601",     NULL};
static const char *const stacktrace_levels[] = {"info", "error", "panic", NULL};

#define MEMBER(m) offsetof(ControllerOptions, m)
#define FLAG_BOOL(n, m, d, h)                                                                      \
    {                                                                                              \
        .name = (n), .kind = OPT_BOOL, .offset = MEMBER(m), .def = (d), .help = (h)                \
    }
#define FLAG_INT(n, m, d, h)                                                                       \
    {                                                                                              \
        .name = (n), .kind = OPT_INT, .offset = MEMBER(m), .def = (d), .help = (h)                 \
    }
#define FLAG_REAL(n, m, d, h)                                                                      \
    {                                                                                              \
        .name = (n), .kind = OPT_DOUBLE, .offset = MEMBER(m), .def = (d), .help = (h)              \
    }
#define FLAG_TEXT(n, m, d, h)                                                                      \
    {                                                                                              \
        .name = (n), .kind = OPT_STRING, .offset = MEMBER(m), .def = (d), .help = (h)              \
    }
#define FLAG_TIME(n, m, d, h)                                                                      \
    {                                                                                              \
        .name = (n), .kind = OPT_DURATION, .offset = MEMBER(m), .def = (d), .help = (h)            \
    }
#define FLAG_CHOICE(n, m, d, c, h)                                                                 \
    {                                                                                              \
        .name = (n), .kind = OPT_CHOICE, .offset = MEMBER(m), .def = (d), .choices = (c),          \
        .help = (h)                                                                                \
    }
#define INERT_BOOL(n, d)                                                                           \
    {                                                                                              \
        .name = (n), .kind = OPT_BOOL, .offset = MEMBER(inert.flag), .def = (d), .inert = true,    \
        .help = "of other releases"                                                                \
    }
#define INERT_INT(n, d)                                                                            \
    {                                                                                              \
        .name = (n), .kind = OPT_INT, .offset = MEMBER(inert.number), .def = (d), .inert = true,   \
        .help = "of other releases"                                                                \
    }
#define INERT_TEXT(n, d)                                                                           \
    {                                                                                              \
        .name = (n), .kind = OPT_STRING, .offset = MEMBER(inert.text), .def = (d), .inert = true,  \
        .help = "of other releases"                                                                \
    }

/* clang-format off */
static const OptSpec specs[] = {
    FLAG_BOOL("version", version, "false", "print the version and exit"),
    FLAG_BOOL("extensions", extensions, "false", "run the claim, template and warm pool controllers"),
    FLAG_BOOL("leader-elect", leader_elect, "true", "only the holder of the Lease reconciles"),
    FLAG_TEXT("leader-election-namespace", leader_election_namespace, "", "namespace of the Lease; empty: the service account's"),
    FLAG_TEXT("kubeconfig", kubeconfig, "", "client configuration; then $KUBECONFIG, in-cluster, ~/.kube/config"),
    FLAG_TEXT("cluster-domain", cluster_domain, "cluster.local", "suffix of status.serviceFQDN"),
    FLAG_TEXT("metrics-bind-address", metrics_bind_address, ":8080", "address of /metrics; 0: off"),
    FLAG_TEXT("health-probe-bind-address", probe_bind_address, ":8081", "address of /healthz and /readyz; 0: off"),
    FLAG_REAL("kube-api-qps", kube_api_qps, "-1", "requests per second to the API server; negative: unlimited, 0: 5"),
    FLAG_INT("kube-api-burst", kube_api_burst, "10", "burst allowed above --kube-api-qps"),
    FLAG_INT("api-connections", api_connections, "1", "connections for requests to the API server"),
    FLAG_BOOL("separate-watch-connection", separate_watch_connection, "false", "watches always have their own connection here"),
    FLAG_INT("sandbox-concurrent-workers", sandbox_workers, "100", "most Sandboxes in work at once"),
    FLAG_INT("sandbox-claim-concurrent-workers", claim_workers, "50", "most SandboxClaims in work at once"),
    FLAG_INT("sandbox-warm-pool-concurrent-workers", pool_workers, "1", "most SandboxWarmPools in work at once"),
    FLAG_INT("sandbox-template-concurrent-workers", template_workers, "1", "most SandboxTemplates in work at once"),
    FLAG_INT("sandbox-warm-pool-max-batch-size", pool_batch_max, "300", "most creations or deletions of a pool in one pass"),
    FLAG_TIME("sandbox-warm-pool-replenish-delay", pool_replenish_delay_ns, "0s", "wait after a member was taken before refilling"),
    FLAG_REAL("sandbox-warm-pool-max-refill-rate", pool_refill_rate_max, "0", "Sandboxes per second and pool; 0: unlimited"),
    FLAG_TIME("sandbox-warm-pool-readiness-grace-period", pool_readiness_grace_ns, "5m", "time a member has to become Ready"),
    FLAG_TIME("sandbox-warm-pool-unschedulable-recheck-interval", pool_unschedulable_recheck_ns, "1m", "interval of checks on unschedulable members"),
    FLAG_BOOL("enable-warm-pool-eviction", warm_pool_eviction, "true", "mark Pods of pool members safe to evict"),
    FLAG_TIME("sandbox-claim-warm-candidate-grace-period", claim_candidate_grace_ns, "2s", "time a claim waits for a member without an IP"),
    FLAG_TIME("sandbox-write-behind-window", sandbox_write_behind_ns, "0s", "delay of metadata-only Pod patches, 1 s at most"),
    FLAG_TIME("expired-retention", expired_retention_ns, "0s", "time after which expired Sandboxes and claims with policy Retain are deleted; 0: never"),
    FLAG_BOOL("disable-sandbox-events", disable_sandbox_events, "false", "no Events on Sandboxes"),
    FLAG_BOOL("disable-claim-events", disable_claim_events, "false", "no Events on SandboxClaims"),
    FLAG_BOOL("disable-claim-observability-annotations", disable_claim_observability, "false", "no first-observed and trace annotations on SandboxClaims"),
    FLAG_BOOL("zap-devel", zap_devel, "false", "console log at level debug"),
    FLAG_TEXT("zap-log-level", zap_log_level, "info", "debug, info, error, panic or a number above 0"),
    FLAG_CHOICE("zap-encoder", log_encoder, "json", log_encoders, "json or console"),
    FLAG_CHOICE("zap-time-encoding", log_time, "rfc3339", log_times, "time format of the log"),
    {.name = "zap-stacktrace-level", .kind = OPT_CHOICE, .offset = MEMBER(zap_stacktrace_level), .def = "error",
     .choices = stacktrace_levels, .inert = true, .help = "of other releases"},
    FLAG_BOOL("enable-tracing", enable_tracing, "false", "spans to the collector that OTEL_EXPORTER_OTLP_* name; on by itself when they name one"),
    INERT_BOOL("cache-label-selectors", "false"),
    {.name = "enable-pprof", .kind = OPT_BOOL, .offset = MEMBER(enable_pprof), .def = "false", .inert = true,
     .help = "there are no Go profiles; /debug/pprof says so"},
    {.name = "enable-pprof-debug", .kind = OPT_BOOL, .offset = MEMBER(enable_pprof_debug), .def = "false", .inert = true,
     .help = "there are no Go profiles; /debug/pprof says so"},
    INERT_INT("pprof-block-profile-rate", "1000000"),
    INERT_INT("pprof-mutex-profile-fraction", "10"),
    INERT_BOOL("enable-rest-client-metrics", "false"),
    FLAG_BOOL("metrics-secure-serving", metrics_secure_serving, "false", "/metrics by TLS, on the same port"),
    FLAG_TEXT("metrics-cert-dir", metrics_cert_dir, "", "folder of tls.crt and tls.key for it, reloaded; empty: self-signed"),
    FLAG_TEXT("tls-min-version", tls_min_version, "", "VersionTLS12 (also for less) or VersionTLS13"),
    FLAG_TEXT("tls-cipher-suites", tls_cipher_suites, "", "suites of TLS 1.2 by IANA name, by comma"),
    INERT_BOOL("enable-webhook", "true"),
    INERT_BOOL("manage-webhook-certs", "true"),
    INERT_INT("webhook-port", "9443"),
    INERT_TEXT("webhook-cert-dir", ""),
    INERT_TEXT("webhook-cert-name", "tls.crt"),
    INERT_TEXT("webhook-key-name", "tls.key"),
    INERT_TEXT("webhook-service-name", "agent-sandbox-webhook-service"),
    INERT_TEXT("webhook-namespace", "agent-sandbox-system"),
};
/* clang-format on */

_Static_assert(ARRAY_LEN(specs) <= OPTS_SET_MAX, "more flags than opts_parse() can mark as set");

const OptSpec *options_specs(size_t *ret_n)
{
    *ret_n = ARRAY_LEN(specs);
    return specs;
}

int options_parse(int argc, char **argv, ControllerOptions *ret_options, OptsResult *ret_result,
                  Err *reterr)
{
    ControllerOptions options = {0};
    int r;

    r = opts_parse(specs, ARRAY_LEN(specs), argc, argv, &options, ret_result, reterr);
    if (r < 0) {
        return r;
    }
    /* Development mode is other defaults, nothing more. */
    if (options.zap_devel && !opts_was_set(specs, ARRAY_LEN(specs), ret_result, "zap-log-level")) {
        options.zap_log_level = "debug";
    }
    if (options.zap_devel && !opts_was_set(specs, ARRAY_LEN(specs), ret_result, "zap-encoder")) {
        options.log_encoder = LOG_ENCODER_CONSOLE;
    }
    options.label_domains[0] = OPTIONS_LABEL_DOMAIN_DEFAULT;
    options.n_label_domains = 1;
    *ret_options = options;
    return 0;
}

void options_defaults(ControllerOptions *ret_options)
{
    char name[] = "sandbox-controller";
    char *argv[] = {name, NULL};
    OptsResult result;
    Err err = ERR_INIT;
    int r;

    r = options_parse(1, argv, ret_options, &result, &err);
    CHECK(r == 0);
    r = options_validate(ret_options, &err);
    CHECK(r == 0);
}

/* zap takes a name or a verbosity above 0, where any verbosity means debug. */
static int parse_log_level(ControllerOptions *options, Err *reterr)
{
    static const LogLevel of_name[] = {LOG_LEVEL_DEBUG, LOG_LEVEL_INFO, LOG_LEVEL_WARN,
                                       LOG_LEVEL_ERROR, LOG_LEVEL_ERROR};
    uint64_t verbosity;

    for (size_t i = 0; log_levels[i]; i++) {
        if (str_eq_nocase(str_from(options->zap_log_level), str_from(log_levels[i]))) {
            options->log_level = (int)of_name[i];
            return 0;
        }
    }
    if (str_to_u64(str_from(options->zap_log_level), &verbosity) == 0 && verbosity > 0) {
        options->log_level = LOG_LEVEL_DEBUG;
        return 0;
    }
    return err_set(reterr, EINVAL, "--zap-log-level: \"%s\" is not a log level",
                   options->zap_log_level);
}

int options_validate(ControllerOptions *options, Err *reterr)
{
    const struct {
        const char *flag;
        bool bad;
        const char *want;
    } rules[] = {
        {"sandbox-concurrent-workers", options->sandbox_workers <= 0, "greater than 0"},
        {"sandbox-claim-concurrent-workers", options->claim_workers <= 0, "greater than 0"},
        {"sandbox-warm-pool-concurrent-workers", options->pool_workers <= 0, "greater than 0"},
        {"sandbox-warm-pool-max-batch-size", options->pool_batch_max <= 0, "greater than 0"},
        {"sandbox-warm-pool-replenish-delay", options->pool_replenish_delay_ns < 0, "0 or more"},
        {"sandbox-warm-pool-readiness-grace-period", options->pool_readiness_grace_ns <= 0,
         "greater than 0"},
        {"sandbox-warm-pool-unschedulable-recheck-interval",
         options->pool_unschedulable_recheck_ns <= 0, "greater than 0"},
        {"sandbox-warm-pool-max-refill-rate",
         !isfinite(options->pool_refill_rate_max) || options->pool_refill_rate_max < 0,
         "a finite number, 0 or more"},
        {"sandbox-claim-warm-candidate-grace-period", options->claim_candidate_grace_ns < 0,
         "0 or more"},
        {"expired-retention", options->expired_retention_ns < 0, "0 or more"},
        {"sandbox-write-behind-window", options->sandbox_write_behind_ns < 0, "0 or more"},
        {"kube-api-burst", options->kube_api_burst <= 0, "greater than 0"},
        {"api-connections", options->api_connections < 1, "1 or more"},
        {"cluster-domain", options->cluster_domain[0] == '\0', "not empty"},
    };

    for (size_t i = 0; i < ARRAY_LEN(rules); i++) {
        if (rules[i].bad) {
            return err_set(reterr, EINVAL, "--%s must be %s", rules[i].flag, rules[i].want);
        }
    }
    if (options->template_workers <= 0) {
        options->template_workers = 1;
    }
    return parse_log_level(options, reterr);
}

/* -ENOENT is an answer of its own: the ConfigMap is optional. */
static int read_domains_file(const char *path, char **ret_text, Err *reterr)
{
    AUTO(mem) char *text = xmalloc(OPTIONS_LABEL_DOMAINS_FILE_MAX + 1);
    size_t len = 0;
    ssize_t n = 0;
    int fd;

    fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0) {
        return errno == ENOENT ? -ENOENT : err_set_errno(reterr, errno, "%s", path);
    }
    while (len <= OPTIONS_LABEL_DOMAINS_FILE_MAX) {
        n = read(fd, text + len, OPTIONS_LABEL_DOMAINS_FILE_MAX + 1 - len);
        if (n <= 0) {
            break;
        }
        len += (size_t)n;
    }
    if (n < 0) {
        int code = errno;

        (void)close(fd);
        return err_set_errno(reterr, code, "%s", path);
    }
    (void)close(fd);
    if (len > OPTIONS_LABEL_DOMAINS_FILE_MAX) {
        return err_set(reterr, E2BIG, "%s is larger than %d bytes", path,
                       OPTIONS_LABEL_DOMAINS_FILE_MAX);
    }
    text[len] = '\0';
    *ret_text = TAKE(text);
    return 0;
}

int options_load_label_domains(ControllerOptions *options, const char *path, Err *reterr)
{
    AUTO(mem) char *text = NULL;
    size_t n = 0;
    Str rest;
    int r;

    r = read_domains_file(path, &text, reterr);
    if (r == -ENOENT) {
        return 0;
    }
    if (r < 0) {
        return r;
    }
    CHECK(text);
    for (char *c = text; *c; c++) {
        *c = (char)(*c == '\n' ? ',' : tolower((unsigned char)*c));
    }
    rest = str_from(text);
    while (rest.ptr) {
        Str domain = str_trim(str_cut(rest, ',', &rest));

        if (domain.len == 0) {
            continue;
        }
        if (n == OPTIONS_LABEL_DOMAINS_MAX) {
            return err_set(reterr, E2BIG, "%s names more than %d domains", path,
                           OPTIONS_LABEL_DOMAINS_MAX);
        }
        text[(size_t)(domain.ptr - text) + domain.len] = '\0';
        options->label_domains[n++] = domain.ptr;
    }
    if (n > 0) {
        options->n_label_domains = n;
        free(options->label_domains_text);
        options->label_domains_text = TAKE(text);
    }
    return 0;
}

void options_deinit(ControllerOptions *options)
{
    free(options->label_domains_text);
    options->label_domains_text = NULL;
    options->n_label_domains = 0;
}
