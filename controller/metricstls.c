/* SPDX-License-Identifier: Apache-2.0 */
/* See metricstls.h. */
#include "controller/metricstls.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>

/* Go's names. What is older than 1.2 is not spoken: asking for it gets 1.2. */
static int parse_version(const char *name, bool *ret_tls13_only, Err *reterr)
{
    static const char *const older[] = {"", "VersionTLS10", "VersionTLS11", "VersionTLS12"};

    if (strcmp(name, "VersionTLS13") == 0) {
        *ret_tls13_only = true;
        return 0;
    }
    for (size_t i = 0; i < ARRAY_LEN(older); i++) {
        if (strcmp(name, older[i]) == 0) {
            *ret_tls13_only = false;
            return 0;
        }
    }
    return err_set(reterr, EINVAL,
                   "--tls-min-version: \"%s\" is none of VersionTLS10, VersionTLS11, VersionTLS12, "
                   "VersionTLS13",
                   name);
}

static void on_reload(void *ctx, const Err *err)
{
    MetricsTls *port = ctx;

    counter_inc(port->reads);
    if (err) {
        counter_inc(port->errors);
        LOG_ERROR(port->log, "certificate of the metrics port not reloaded, the one in use stays",
                  F_ERR(err));
    } else {
        LOG_INFO(port->log, "certificate of the metrics port reloaded");
    }
}

static Counter *counter(Metrics *metrics, const char *name, const char *help)
{
    MetricSpec spec = {.name = name, .help = help};

    return counter_series(metrics_counter(metrics, &spec), NULL);
}

static int load(MetricsTls *port, const ControllerOptions *options, Err *reterr)
{
    static const char *const protocols[] = {"http/1.1", NULL};
    char cert[PATH_MAX], key[PATH_MAX];
    HttpTlsConfig config = {
        .alpn = protocols, .cipher_suites = options->tls_cipher_suites, .clock = clock_system()};
    int r = parse_version(options->tls_min_version, &config.tls13_only, reterr);

    if (r < 0) {
        return r;
    }
    if (options->metrics_cert_dir[0]) {
        (void)snprintf(cert, sizeof(cert), "%s/tls.crt", options->metrics_cert_dir);
        (void)snprintf(key, sizeof(key), "%s/tls.key", options->metrics_cert_dir);
        config.cert_file = cert;
        config.key_file = key;
    }
    r = http_tls_new(&config, &port->tls, reterr);
    return r < 0 ? err_wrap(reterr, "--metrics-secure-serving: ") : 0;
}

int metricstls_start(MetricsTls *port, const ControllerOptions *options, Loop *loop,
                     Metrics *metrics, Logger *log, Err *reterr)
{
    int r;

    *port = (MetricsTls){.log = log};
    if (!options->metrics_secure_serving) {
        return 0;
    }
    r = load(port, options, reterr);
    if (r < 0) {
        return r;
    }
    if (options->metrics_cert_dir[0]) {
        port->reads = counter(metrics, "certwatcher_read_certificate_total",
                              "Times that the certificate was read.");
        port->errors = counter(metrics, "certwatcher_read_certificate_errors_total",
                               "Times that it could not be read.");
        counter_inc(port->reads);
        http_tls_watch(port->tls, loop, on_reload, port);
    } else {
        LOG_INFO(log, "metrics are served with a self-signed certificate");
    }
    return 0;
}

void metricstls_stop(MetricsTls *port)
{
    if (port->tls) {
        http_tls_unwatch(port->tls);
        port->tls = http_tls_unref(port->tls);
    }
}
