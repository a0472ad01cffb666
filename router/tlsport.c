/* SPDX-License-Identifier: Apache-2.0 */
/* See tlsport.h. */
#include "router/tlsport.h"

#include "base/timefmt.h"

static const char *const protocols[] = {"h2", "http/1.1", NULL};

static void log_loaded(const TlsPort *port, const char *what)
{
    char until[TIMEFMT_SIZE];

    timefmt_seconds(http_tls_not_after(port->tls) * (int64_t)NS_PER_S, until);
    LOG_INFO(port->log, what, F_CSTR("not_after", until));
}

static void on_reload(void *ctx, const Err *err)
{
    TlsPort *port = ctx;

    observe_cert_reload(port->observe, !err);
    if (err) {
        LOG_ERROR(port->log, "certificate not reloaded, the one in use stays", F_ERR(err));
    } else {
        log_loaded(port, "certificate reloaded");
    }
}

int tlsport_start(TlsPort *port, const RouterOptions *options, Loop *loop, Observe *observe,
                  Logger *log, Err *reterr)
{
    HttpTlsConfig config = {.cert_file = options->tls_cert_file,
                            .key_file = options->tls_key_file,
                            .client_ca_file = options->tls_client_ca_file,
                            .client_auth = (HttpTlsClientAuth)options->mtls_mode,
                            .alpn = options->http2 ? protocols : protocols + 1,
                            .clock = clock_system()};
    int r;

    port->observe = observe;
    port->log = log;
    if (!options->https_bind_address[0]) {
        return 0;
    }
    r = http_tls_new(&config, &port->tls, reterr);
    if (r < 0) {
        return err_wrap(reterr, "TLS: ");
    }
    http_tls_watch(port->tls, loop, on_reload, port);
    log_loaded(port, "certificate loaded");
    return 0;
}

void tlsport_stop(TlsPort *port)
{
    if (port->tls) {
        http_tls_unwatch(port->tls);
        port->tls = http_tls_unref(port->tls);
    }
}

/* ---- metrics ---- */

static void collect_handshakes(MetricSink *sink, void *ctx)
{
    const TlsPort *port = ctx;

    for (HttpTlsOutcome outcome = 0; port->tls && outcome < HTTP_TLS_OUTCOMES; outcome++) {
        Str values[] = {str_from(http_tls_outcome_name(outcome))};

        metric_emit(sink, values, (double)http_tls_handshakes(port->tls, outcome));
    }
}

static void collect_not_after(MetricSink *sink, void *ctx)
{
    const TlsPort *port = ctx;

    if (port->tls) {
        metric_emit(sink, NULL, (double)http_tls_not_after(port->tls));
    }
}

void tlsport_register(Metrics *metrics, TlsPort *port)
{
    static const char *const outcome[] = {"outcome", NULL};
    MetricSpec handshakes = {.name = "sandbox_router_tls_handshakes_total",
                             .help = "TLS handshakes of clients, by how they ended.",
                             .labels = outcome};
    MetricSpec not_after = {.name = "sandbox_router_cert_not_after_seconds",
                            .help = "End of the serving certificate, seconds since 1970."};

    metrics_collect(metrics, METRIC_COUNTER, &handshakes, collect_handshakes, port);
    metrics_collect(metrics, METRIC_GAUGE, &not_after, collect_not_after, port);
}
