/* SPDX-License-Identifier: Apache-2.0 */
/* See options.h. The table carries every flag of the Go router; own flags follow it. */
#include "router/options.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/log.h"
#include "router/options_authz.h"
#include "router/options_limits.h"
#include "router/options_tls.h"
#include "trace/config.h"
#include "json/yaml.h"

#define CONFIG_FILE_MAX (256 * 1024)
#define DELAY_INITIAL_DEFAULT (200 * (int64_t)NS_PER_MS)
#define DELAY_MAX_DEFAULT (800 * (int64_t)NS_PER_MS)

static const char *const authz_modes[] = {"", "allow-all", "tokenreview", "scoped-token", NULL};
static const char *const encoders[] = {"json", "console", NULL};
static const char *const times[] = {"rfc3339", "rfc3339nano", "epoch", "millis",
                                    "nano",    "iso8601",     NULL};
static const char *const levels[] = {"debug", "info", "warn", "error", NULL};

#define AT(member) offsetof(RouterOptions, member)
#define FLAG(n, k, member, d, text)                                                                \
    {                                                                                              \
        .name = (n), .kind = (k), .offset = AT(member), .def = (d), .help = (text)                 \
    }
#define CHOICE(n, member, d, list, text)                                                           \
    {                                                                                              \
        .name = (n), .kind = OPT_CHOICE, .offset = AT(member), .def = (d), .choices = (list),      \
        .help = (text)                                                                             \
    }
#define INERT(n, k, member, text)                                                                  \
    {                                                                                              \
        .name = (n), .kind = (k), .offset = AT(member), .help = (text), .inert = true              \
    }

static const OptSpec specs[] = {
    FLAG("http-bind-address", OPT_STRING, http_bind_address, ":8080", "plain HTTP proxy port"),
    FLAG("https-bind-address", OPT_STRING, https_bind_address, "", "TLS proxy port; empty = off"),
    FLAG("metrics-bind-address", OPT_STRING, metrics_bind_address, ":9090", "/metrics; 0 = off"),
    FLAG("health-probe-bind-address", OPT_STRING, probe_bind_address, ":8081",
         "/healthz and /readyz; 0 = off"),
    FLAG("tls-cert-file", OPT_STRING, tls_cert_file, "", "certificate and chain, PEM; reloaded"),
    FLAG("tls-key-file", OPT_STRING, tls_key_file, "", "its key, PEM; reloaded"),
    FLAG("tls-client-ca-file", OPT_STRING, tls_client_ca_file, "",
         "CAs of client certificates, PEM; reloaded"),
    CHOICE("mtls-mode", mtls_mode, "off", options_mtls_modes,
           "client certificates: off, optional or required"),
    {.name = "cluster-domain",
     .kind = OPT_STRING,
     .offset = AT(cluster_domain),
     .def = "cluster.local",
     .env = "CLUSTER_DOMAIN",
     .help = "DNS suffix of Services"},
    FLAG("proxy-timeout", OPT_DURATION, proxy_timeout_ns, "180s",
         "longest wait for response headers, and the idle limit after them "
         "(PROXY_TIMEOUT_SECONDS)"),
    FLAG("response-header-timeout", OPT_DURATION, response_header_timeout_ns, "180s",
         "wait for response headers unless X-Sandbox-Timeout says otherwise"),
    FLAG("shutdown-timeout", OPT_DURATION, shutdown_timeout_ns, "30s", "longest drain"),
    FLAG("max-request-body-bytes", OPT_INT, body_max, "0", "larger bodies get 413; 0 = no limit"),
    FLAG("allow-loopback-pod-ip", OPT_BOOL, allow_loopback, "false",
         "accept a loopback address in X-Sandbox-Pod-IP"),
    FLAG("upstream-max-retries", OPT_INT, max_retries, "3", "more attempts to connect"),
    FLAG("upstream-retry-initial-delay", OPT_DURATION, retry_initial_ns, "200ms",
         "wait before the first of them, doubled each time"),
    FLAG("upstream-retry-max-delay", OPT_DURATION, retry_max_ns, "800ms", "longest such wait"),
    FLAG("enable-tracing", OPT_BOOL, enable_tracing, "false",
         "spans to the collector that OTEL_EXPORTER_OTLP_* name; on by itself when they name one"),
    INERT("enable-otel-metrics", OPT_BOOL, inert.flag, "metrics are scraped, not pushed"),
    CHOICE("authz-mode", authz_mode, "", authz_modes, "allow-all, tokenreview or scoped-token"),
    OPTIONS_AUTHZ_SPECS,
    FLAG("cache-enabled", OPT_BOOL, cache_enabled, "true", "follow the API server's Pods"),
    FLAG("cache-namespace", OPT_STRING, cache_namespace, "", "one namespace only; empty = all"),
    FLAG("kubeconfig", OPT_STRING, kubeconfig, "", "default: $KUBECONFIG, then in-cluster"),
    FLAG("http2", OPT_BOOL, http2, "true", "HTTP/2 for clients that speak it, and gRPC"),
    FLAG("access-log", OPT_BOOL, access_log, "true", "a log line for each request"),
    {.name = "config",
     .kind = OPT_STRING,
     .offset = AT(config),
     .env = "SANDBOX_ROUTER_CONFIG",
     .help = "flat YAML file, keys are flag names"},
    FLAG("version", OPT_BOOL, version, "false", "print the version and exit"),
    FLAG("zap-log-level", OPT_STRING, zap_log_level, "info", "debug, info, error or a verbosity"),
    CHOICE("zap-encoder", log_encoder, "json", encoders, "json or console"),
    FLAG("zap-devel", OPT_BOOL, zap_devel, "false", "console log at level debug"),
    INERT("zap-stacktrace-level", OPT_STRING, inert.text, "there are no stack traces"),
    CHOICE("zap-time-encoding", log_time, "rfc3339", times, "time format of the log"),
    FLAG("resolve-wait", OPT_DURATION, resolve_wait_ns, "2s",
         "how long an unknown sandbox may take to appear before 404"),
    FLAG("trust-pod-ip-header", OPT_BOOL, trust_pod_ip, "false",
         "go where X-Sandbox-Pod-IP says, and to DNS for unknown names"),
    FLAG("workers", OPT_INT, workers, "0", "threads; 0 = CPUs by affinity and cgroup quota"),
    FLAG("shutdown-delay", OPT_DURATION, shutdown_delay_ns, "1s",
         "serve on after SIGTERM while others learn that this router is going"),
    OPTIONS_LIMIT_SPECS,
};

#define N_SPECS ARRAY_LEN(specs)

static const char *env_default(const char *name)
{
    return getenv(name);
}

void options_usage(FILE *out)
{
    fputs("usage: sandbox-router [flags]\n\n"
          "Forwards requests to sandboxes by the headers X-Sandbox-ID, X-Sandbox-Namespace and\n"
          "X-Sandbox-Port. One of --authz-mode, ROUTER_AUTH_TOKEN or ALLOW_UNAUTHENTICATED_ROUTER\n"
          "must say who may call.\n\n",
          out);
    opts_print(out, specs, N_SPECS);
}

/* ---- configuration file ---- */

static int read_file(const char *path, StrBuf *out, Err *reterr)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t n;

    if (fd < 0) {
        return err_set_errno(reterr, errno, "--config: %s", path);
    }
    do {
        if (strbuf_reserve(out, 4096) < 0) {
            close(fd);
            return err_set(reterr, EINVAL, "--config: %s is larger than %d bytes", path,
                           CONFIG_FILE_MAX);
        }
        n = read(fd, out->ptr + out->len, 4096);
        out->len += n > 0 ? (size_t)n : 0;
    } while (n > 0);
    close(fd);
    return n < 0 ? err_set_errno(reterr, errno, "--config: %s", path) : 0;
}

/* The text of a scalar as a flag takes it; replaced in the tree so that it stays owned. */
static const char *scalar_text(json_t *file, const char *key, const json_t *value)
{
    AUTO(mem) char *text = NULL;

    if (json_is_string(value)) {
        return json_string_value(value);
    }
    if (json_is_boolean(value)) {
        return json_is_true(value) ? "true" : "false";
    }
    if (!json_is_integer(value) && !json_is_real(value)) {
        return NULL;
    }
    text = json_dumps(value, JSON_ENCODE_ANY);
    json_object_set_new(file, key, json_string(text));
    return json_string_value(json_object_get(file, key));
}

static int apply_file(RouterOptions *options, const OptsResult *given, Err *reterr)
{
    AUTO(strbuf) StrBuf text = STRBUF_INIT(CONFIG_FILE_MAX);
    const char *key;
    json_t *value;
    void *next;
    int r;

    r = read_file(options->config, &text, reterr);
    r = r < 0 ? r : yaml_load(strbuf_str(&text), &options->file, reterr);
    if (r < 0) {
        return err_wrap(reterr, "--config: ");
    }
    if (json_is_null(options->file)) {
        return 0;
    }
    if (!json_is_object(options->file)) {
        return err_set(reterr, EINVAL, "--config: the file is not a mapping of flag names");
    }
    json_object_foreach_safe(options->file, next, key, value)
    {
        const char *scalar = scalar_text(options->file, key, value);

        if (!scalar || strcmp(key, "config") == 0 || strcmp(key, "version") == 0) {
            return err_set(reterr, EINVAL, "--config: \"%s\" cannot be set there", key);
        }
        if (opts_was_set(specs, N_SPECS, given, key)) {
            continue; /* the command line wins */
        }
        r = opts_set(specs, N_SPECS, str_from(key), str_from(scalar), options, reterr);
        if (r < 0) {
            return err_wrap(reterr, "--config: ");
        }
    }
    return 0;
}

/* ---- environment of the Python router ---- */

static bool is_truthy(const char *text)
{
    static const char *const words[] = {"1", "true", "t", "yes", "y", "on"};

    for (size_t i = 0; text && i < ARRAY_LEN(words); i++) {
        if (str_eq_nocase(str_trim(str_from(text)), str_from(words[i]))) {
            return true;
        }
    }
    return false;
}

static void apply_python(RouterOptions *options, bool no_flags, OptionsEnv env)
{
    const char *token = env("ROUTER_AUTH_TOKEN");
    bool open = is_truthy(env("ALLOW_UNAUTHENTICATED_ROUTER"));

    options->auth_token = token && token[0] ? token : NULL;
    if (options->authz_mode == AUTHZ_NONE_GIVEN && (options->auth_token || open)) {
        options->authz_mode = AUTHZ_ALLOW_ALL; /* the token, if any, is asked for on top */
        if (no_flags) {
            options->trust_pod_ip = true;
            options->cache_enabled = false;
            options_limits_profile(&options->limits, env);
        }
    }
}

/* Float seconds; what cannot be read is ignored, as upstream does. */
static void apply_proxy_timeout(RouterOptions *options, const char *text)
{
    double seconds;

    if (text && str_to_double(str_from(text), &seconds) == 0 && seconds > 0 && seconds < 1e9) {
        options->proxy_timeout_ns = (int64_t)(seconds * (double)NS_PER_S);
    }
}

/* ---- validation ---- */

static int check_level(RouterOptions *options, Err *reterr)
{
    uint64_t verbosity;

    if (options->zap_devel) {
        options->log_level = LOG_LEVEL_DEBUG;
        options->log_encoder = LOG_ENCODER_CONSOLE;
        return 0;
    }
    for (int i = 0; levels[i]; i++) {
        if (str_eq_nocase(str_from(levels[i]), str_from(options->zap_log_level))) {
            options->log_level = i;
            return 0;
        }
    }
    if (str_eq_nocase(str_from(options->zap_log_level), STR("panic"))) {
        options->log_level = LOG_LEVEL_ERROR;
        return 0;
    }
    if (str_to_u64(str_from(options->zap_log_level), &verbosity) == 0 && verbosity > 0) {
        options->log_level = LOG_LEVEL_DEBUG;
        return 0;
    }
    return err_set(reterr, EINVAL, "--zap-log-level: \"%s\" is not a log level",
                   options->zap_log_level);
}

static int check_numbers(RouterOptions *options, Err *reterr)
{
    if (options->proxy_timeout_ns <= 0 || options->response_header_timeout_ns <= 0) {
        return err_set(reterr, EINVAL,
                       "--proxy-timeout and --response-header-timeout must be positive");
    }
    if (options->shutdown_timeout_ns < 0 || options->shutdown_delay_ns < 0 ||
        options->resolve_wait_ns < 0) {
        return err_set(reterr, EINVAL,
                       "--shutdown-timeout, --shutdown-delay and --resolve-wait must not be "
                       "negative");
    }
    if (options->body_max < 0 || options->max_retries < 0 || options->retry_initial_ns < 0 ||
        options->retry_max_ns < 0) {
        return err_set(reterr, EINVAL,
                       "--max-request-body-bytes and --upstream-* must not be negative");
    }
    if (options->workers < 0 || options->workers > 256) {
        return err_set(reterr, EINVAL, "--workers must be between 0 and 256");
    }
    options->retry_initial_ns =
        options->retry_initial_ns ? options->retry_initial_ns : DELAY_INITIAL_DEFAULT;
    options->retry_max_ns = options->retry_max_ns ? options->retry_max_ns : DELAY_MAX_DEFAULT;
    return 0;
}

static int validate(RouterOptions *options, Err *reterr)
{
    int r = check_numbers(options, reterr);

    r = r < 0 ? r : check_level(options, reterr);
    r = r < 0 ? r : options_limits_check(&options->limits, reterr);
    r = r < 0 ? r : options_authz_check(options, reterr);
    r = r < 0 ? r : options_tls_check(options, reterr);
    if (r < 0) {
        return r;
    }
    if (!options->cluster_domain[0]) {
        return err_set(reterr, EINVAL, "--cluster-domain must not be empty");
    }
    r = options_sandboxes_check(options, reterr);
    if (r < 0) {
        return r;
    }
    if (!options->cache_enabled && !options->trust_pod_ip) {
        return err_set(reterr, EINVAL,
                       "--cache-enabled=false leaves no way to find a sandbox: add "
                       "--trust-pod-ip-header to go where clients and DNS say");
    }
    return 0;
}

static bool was_set(const OptsResult *given, const char *flag)
{
    return opts_was_set(specs, N_SPECS, given, flag);
}

static bool inert_was_set(const OptsResult *result)
{
    for (size_t i = 0; i < N_SPECS; i++) {
        if (specs[i].inert && (result->set[i / 64] >> (i % 64) & 1)) {
            return true;
        }
    }
    return false;
}

int options_load(int argc, char **argv, const char *(*env)(const char *), RouterOptions *ret,
                 Err *reterr)
{
    RouterOptions options = {0};
    OptsResult result;
    int r;

    env = env ? env : env_default;
    r = opts_parse(specs, N_SPECS, argc, argv, &options, &result, reterr);
    if (r < 0) {
        return r;
    }
    options.argc = argc;
    options.argv = argv;
    options.help = result.help;
    if (options.help || options.version) {
        *ret = options;
        return 0;
    }
    if (result.rest < argc) {
        return err_set(reterr, EINVAL, "unexpected argument \"%s\"", argv[result.rest]);
    }
    if (!opts_was_set(specs, N_SPECS, &result, "proxy-timeout")) {
        apply_proxy_timeout(&options, env("PROXY_TIMEOUT_SECONDS"));
    }
    options_limits_env(&options.limits, &result, was_set, env);
    if (options.config && options.config[0]) {
        r = apply_file(&options, &result, reterr);
    }
    if (r == 0) {
        apply_python(&options, argc <= 1 && !options.file, env);
        options.inert_asked = inert_was_set(&result);
        options.enable_tracing |=
            !opts_was_set(specs, N_SPECS, &result, "enable-tracing") && trace_env_asks(env);
        r = validate(&options, reterr);
    }
    if (r < 0) {
        options_free(&options);
        return -EINVAL;
    }
    *ret = options;
    return 0;
}

const char *options_flag(size_t i)
{
    return i < N_SPECS ? specs[i].name : NULL;
}

bool options_differ(const RouterOptions *a, const RouterOptions *b, size_t i)
{
    const OptSpec *spec = &specs[i];
    const void *left = (const char *)a + spec->offset;
    const void *right = (const char *)b + spec->offset;
    const char *const *text_left = left, *const *text_right = right;

    if (spec->inert) {
        return false;
    }
    switch (spec->kind) {
    case OPT_BOOL:
        return *(const bool *)left != *(const bool *)right;
    case OPT_CHOICE:
        return *(const int *)left != *(const int *)right;
    case OPT_STRING:
        return strcmp(*text_left ? *text_left : "", *text_right ? *text_right : "") != 0;
    default: /* numbers of 8 bytes */
        return memcmp(left, right, sizeof(int64_t)) != 0;
    }
}

void options_free(RouterOptions *options)
{
    json_decref(options->file);
    options->file = NULL;
}
