/* SPDX-License-Identifier: Apache-2.0 */
/* See probes.h. */
#include "router/probes.h"

#include <errno.h>

#define SCRAPE_MAX (32 * 1024 * 1024)
#define PROBE_CONNS_MAX 128

static bool only_reads(HttpExchange *x)
{
    HttpMethod method = http_exchange_head(x)->method_id;

    if (method == HTTP_METHOD_GET || method == HTTP_METHOD_HEAD) {
        return true;
    }
    http_exchange_respond(x, 405, "text/plain", STR("method not allowed\n"));
    return false;
}

static void on_health(HttpExchange *x, void *ctx)
{
    const Probes *probes = ctx;
    Str path = http_exchange_head(x)->path;

    if (!only_reads(x)) {
        return;
    }
    if (str_eq(path, STR("/healthz"))) {
        http_exchange_respond(x, 200, "application/json", STR("{\"status\":\"ok\"}\n"));
    } else if (str_eq(path, STR("/readyz"))) {
        http_exchange_respond(x, probes->not_ready ? 503 : 200, "text/plain",
                              probes->not_ready ? str_from(probes->not_ready) : STR("ok"));
    } else {
        http_exchange_respond(x, 404, "text/plain", STR("not found\n"));
    }
}

static void on_metrics(HttpExchange *x, void *ctx)
{
    Probes *probes = ctx;
    AUTO(strbuf) StrBuf text = STRBUF_INIT(SCRAPE_MAX);

    if (!only_reads(x)) {
        return;
    }
    if (!str_eq(http_exchange_head(x)->path, STR("/metrics"))) {
        http_exchange_respond(x, 404, "text/plain", STR("not found\n"));
    } else if (metrics_write(probes->registry, &text) < 0) {
        http_exchange_respond(x, 500, "text/plain", STR("too many series\n"));
    } else {
        http_exchange_respond(x, 200, METRICS_CONTENT_TYPE, strbuf_str(&text));
    }
}

static bool is_off(Str address)
{
    return address.len == 0 || str_eq(address, STR("0"));
}

static int start(HttpServer **server, Probes *probes, Loop *loop, HttpHandlerFn handler,
                 Str address, Err *reterr)
{
    HttpServerConfig config = {
        .loop = loop, .handler = handler, .ctx = probes, .conns_max = PROBE_CONNS_MAX};

    if (is_off(address)) {
        return 0;
    }
    *server = http_server_new(&config);
    return http_server_listen(*server, address, reterr);
}

int probes_start(Probes *probes, Loop *loop, Metrics *registry, Str health_address,
                 Str metrics_address, Err *reterr)
{
    int r;

    probes->registry = registry;
    r = start(&probes->health, probes, loop, on_health, health_address, reterr);
    if (r == 0) {
        r = start(&probes->metrics, probes, loop, on_metrics, metrics_address, reterr);
    }
    return r;
}

void probes_stop(Probes *probes)
{
    probes->health = http_server_free(probes->health);
    probes->metrics = http_server_free(probes->metrics);
}
