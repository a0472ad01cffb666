/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * Command line, environment and configuration file of sandbox-router, read once at start.
 * Precedence: command line, file, environment, default. Everything that is wrong here ends the
 * program with 2.
 *
 * Profiles. With a table (the normal one) targets come from the Pods the API server knows. Without
 * (--trust-pod-ip-header with --cache-enabled=false, or only the environment variables of the
 * Python router) they come from the client and from DNS, and no API access is needed.
 */
#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "base/opts.h"
#include "json/jx.h"

typedef enum AuthzMode {
    AUTHZ_NONE_GIVEN,
    AUTHZ_ALLOW_ALL,
    AUTHZ_TOKENREVIEW,
    AUTHZ_SCOPED_TOKEN,
} AuthzMode;

typedef struct LimitOptions {
    int64_t client_connections; /* 0 = any number */
    int64_t client_requests;
    int64_t client_upgrades;
    int64_t client_burst;
    double client_rate;
    int64_t sandbox_connections;
    int64_t sandbox_requests;
    int64_t sandbox_upgrades;
    int64_t sandbox_burst;
    double sandbox_rate;
    int64_t table_size;
    int64_t sandbox_metrics;     /* sandboxes with series of their own */
    const char *trusted_proxies; /* "" = none */
    int64_t head_max;
    int64_t head_ns;
    int64_t idle_ns;
    int64_t lifetime_ns;
    int64_t upgrade_idle_ns;
    int64_t upgrade_lifetime_ns;
    int64_t idle_max;
    int64_t dial_ns;
    int64_t dead_host_ns;
    int64_t wake_ns;
} LimitOptions;

typedef struct RouterOptions {
    LimitOptions limits;
    bool version;
    bool help;
    const char *http_bind_address;  /* "" = TLS only */
    const char *https_bind_address; /* "" = no TLS */
    const char *tls_cert_file;
    const char *tls_key_file;
    const char *tls_client_ca_file;
    int mtls_mode;                    /* HttpTlsClientAuth */
    const char *metrics_bind_address; /* "" or "0" = off */
    const char *probe_bind_address;
    const char *cluster_domain;
    int64_t proxy_timeout_ns;
    int64_t response_header_timeout_ns;
    int64_t shutdown_timeout_ns;
    int64_t shutdown_delay_ns;
    int64_t body_max;
    bool allow_loopback;
    int64_t max_retries;
    int64_t retry_initial_ns;
    int64_t retry_max_ns;
    int authz_mode;            /* AuthzMode */
    const char *path_prefix;   /* "" = none */
    const char *allowed_ports; /* "" = all */
    int64_t review_ttl_ns;
    int64_t review_cache_size;
    bool review_require_token;
    const char *review_audiences;
    const char *token_secret_file; /* "" = none, as below */
    const char *token_keys_file;
    bool cache_enabled;
    const char *cache_namespace;
    const char *kubeconfig;
    bool http2;
    bool access_log;
    const char *config;
    int64_t resolve_wait_ns;
    bool trust_pod_ip;
    int64_t workers; /* 0 = what the machine gives */
    int log_level;
    const char *zap_log_level;
    int log_encoder;
    int log_time;
    bool zap_devel;
    const char *activity_annotation; /* "" = last use is not written */
    int64_t activity_interval_ns;
    bool sandbox_lookup;
    bool wake_suspended;    /* and sandbox_lookup */
    const char *auth_token; /* ROUTER_AUTH_TOKEN, NULL = none */

    struct {
        bool flag;
        int64_t number;
        const char *text;
    } inert;
    bool enable_tracing;
    bool inert_asked; /* a flag that has no effect here was given */
    int argc;         /* as given to options_load() */
    char **argv;
    json_t *file; /* owns the strings that came from the configuration file */
} RouterOptions;

/* env: NULL = getenv. -EINVAL with a text that names the flag. */
int options_load(int argc, char **argv, const char *(*env)(const char *), RouterOptions *ret,
                 Err *reterr);
/* Flags by number, NULL behind the last one; whether two configurations differ in it. Flags without
 * effect never do. */
const char *options_flag(size_t i);
bool options_differ(const RouterOptions *a, const RouterOptions *b, size_t i);
void options_free(RouterOptions *options);
void options_usage(FILE *out);
