/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * Command line of sandbox-controller, parsed once at start and read-only afterwards.
 *
 * Every flag of every upstream release is accepted, so that an unchanged Deployment starts; flags
 * that mean nothing here are marked inert in the table and named once in the log. Plans read these
 * values through view->options, tests fill in the struct by hand after options_defaults().
 */
#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "base/opts.h"

/* Most domains in the allow-list of claim label keys, and most bytes of its file. */
#define OPTIONS_LABEL_DOMAINS_MAX 256
#define OPTIONS_LABEL_DOMAINS_FILE_MAX 65536
#define OPTIONS_LABEL_DOMAINS_FILE "/etc/sandbox-config/allowed-label-domains"
#define OPTIONS_LABEL_DOMAIN_DEFAULT "sandbox.users.io"

typedef struct ControllerOptions {
    /* process */
    bool version;
    bool extensions;
    bool leader_elect;
    const char *leader_election_namespace; /* "" = of the service account */
    const char *kubeconfig;
    const char *metrics_bind_address; /* "0" = off */
    const char *probe_bind_address;   /* "0" = off */
    int log_level;                    /* LogLevel */
    int log_encoder;                  /* LogEncoder */
    int log_time;                     /* LogTime */
    const char *zap_log_level;        /* as given; options_validate() turns it into log_level */
    bool zap_devel;
    int zap_stacktrace_level;

    /* API client */
    double kube_api_qps; /* negative = no limit */
    int64_t kube_api_burst;
    int64_t api_connections;
    bool separate_watch_connection;

    /* reconcilers */
    int64_t sandbox_workers;
    int64_t claim_workers;
    int64_t pool_workers;
    int64_t template_workers;
    const char *cluster_domain;
    bool disable_sandbox_events;
    bool disable_claim_events;
    bool disable_claim_observability; /* no first-observed, first-ready and trace annotations */
    bool warm_pool_eviction;          /* safe-to-evict on the Pods of pool members */
    int64_t pool_batch_max;
    int64_t pool_replenish_delay_ns;
    double pool_refill_rate_max; /* Sandboxes per second and pool, 0 = unlimited */
    int64_t pool_readiness_grace_ns;
    int64_t pool_unschedulable_recheck_ns;
    int64_t claim_candidate_grace_ns;
    int64_t sandbox_write_behind_ns;
    int64_t expired_retention_ns; /* how long Retain retains; 0 = for ever */
    bool enable_tracing;
    bool enable_pprof;
    bool enable_pprof_debug;
    bool metrics_secure_serving;
    const char *metrics_cert_dir;  /* "" = self-signed */
    const char *tls_min_version;   /* Go's name; "" = 1.2 */
    const char *tls_cipher_suites; /* "" = the default */

    /* accepted without effect; see options.c */
    struct {
        bool flag;
        int64_t number;
        const char *text;
    } inert;

    /* from OPTIONS_LABEL_DOMAINS_FILE; never empty after options_load_label_domains() */
    const char *label_domains[OPTIONS_LABEL_DOMAINS_MAX];
    size_t n_label_domains;
    char *label_domains_text; /* owned backing store */
} ControllerOptions;

/* All defaults of the table; for tests and as the base of options_parse(). */
void options_defaults(ControllerOptions *ret_options);

/* Fills from argv. -EINVAL with a text that names the flag (the program then exits 2). */
int options_parse(int argc, char **argv, ControllerOptions *ret_options, OptsResult *ret_result,
                  Err *reterr);

/* Range checks of the whole; -EINVAL with a text that names the flag (exit 1). */
int options_validate(ControllerOptions *options, Err *reterr);

/*
 * Reads the allow-list of label domains: comma or newline separated, trimmed, lower-cased. A
 * missing or empty file gives OPTIONS_LABEL_DOMAIN_DEFAULT. -errno for any other read error,
 * -E2BIG.
 */
int options_load_label_domains(ControllerOptions *options, const char *path, Err *reterr);

void options_deinit(ControllerOptions *options);

/* Neither Events nor observability annotations on claims: as few writes as the contract allows. */
static inline bool options_are_lean(const ControllerOptions *options)
{
    return options->disable_claim_events && options->disable_claim_observability;
}

/* The table itself, for usage text and for naming inert flags. */
const OptSpec *options_specs(size_t *ret_n);
