/* SPDX-License-Identifier: Apache-2.0 */
/* See admin.h. */
#include "controller/admin.h"

#include <stdlib.h>

#include "base/mem.h"
#include "http/server.h"

struct Admin {
    Metrics *metrics;
    bool profiles_wanted;
    HttpServer *metrics_server;
    HttpServer *probe_server;
};

static bool is_read(HttpExchange *x)
{
    HttpMethod method = http_exchange_head(x)->method_id;

    if (method == HTTP_METHOD_GET || method == HTTP_METHOD_HEAD) {
        return true;
    }
    http_exchange_respond(x, 405, "text/plain; charset=utf-8", STR("method not allowed\n"));
    return false;
}

static void on_probe(HttpExchange *x, void *ctx)
{
    Str path = http_exchange_head(x)->path;

    UNUSED(ctx);
    if (!is_read(x)) {
        return;
    }
    if (str_eq(path, STR("/healthz")) || str_eq(path, STR("/readyz")) ||
        str_eq(path, STR("/healthz/ping")) || str_eq(path, STR("/readyz/ping"))) {
        http_exchange_respond(x, 200, "text/plain; charset=utf-8", STR("ok"));
    } else {
        http_exchange_respond(x, 404, "text/plain; charset=utf-8", STR("404 page not found\n"));
    }
}

static bool is_profile(const Admin *admin, Str path)
{
    return admin->profiles_wanted &&
           (str_starts(path, STR("/debug/pprof")) || str_starts(path, STR("/debug/fgprof")));
}

static void on_metrics(HttpExchange *x, void *ctx)
{
    Admin *admin = ctx;
    AUTO(strbuf) StrBuf text = STRBUF_INIT(ADMIN_METRICS_MAX);

    if (!is_read(x)) {
        return;
    }
    if (is_profile(admin, http_exchange_head(x)->path)) {
        http_exchange_respond(x, 501, "text/plain; charset=utf-8",
                              STR("Go profiles are not available in this program; use perf on the "
                                  "process.\n"));
    } else if (!str_eq(http_exchange_head(x)->path, STR("/metrics"))) {
        http_exchange_respond(x, 404, "text/plain; charset=utf-8", STR("404 page not found\n"));
    } else if (metrics_write(admin->metrics, &text) < 0) {
        http_exchange_respond(x, 500, "text/plain; charset=utf-8", STR("too many metrics\n"));
    } else {
        http_exchange_respond(x, 200, METRICS_CONTENT_TYPE, strbuf_str(&text));
    }
}

static int serve(Loop *loop, const char *address, HttpTls *tls, HttpHandlerFn handler, Admin *admin,
                 HttpServer **ret_server, Err *reterr)
{
    const HttpServerConfig config = {
        .loop = loop,
        .handler = handler,
        .ctx = admin,
        .stream_open = tls ? http_tls_open : NULL,
        .stream_ctx = tls,
        .conns_max = ADMIN_CONNS_MAX,
    };
    HttpServer *server;
    int r;

    if (address[0] == '\0' || str_eq(str_from(address), STR("0"))) {
        return 0;
    }
    server = http_server_new(&config);
    r = http_server_listen(server, str_from(address), reterr);
    if (r < 0) {
        http_server_free(server);
        return r;
    }
    *ret_server = server;
    return 0;
}

int admin_new(const AdminConfig *config, Admin **ret_admin, Err *reterr)
{
    AUTO(admin) Admin *admin = xcalloc(1, sizeof(*admin));
    int r;

    admin->metrics = config->metrics;
    admin->profiles_wanted = config->profiles_wanted;
    r = serve(config->loop, config->metrics_address, config->metrics_tls, on_metrics, admin,
              &admin->metrics_server, reterr);
    if (r < 0) {
        (void)err_wrap(reterr, "--metrics-bind-address: ");
        return r;
    }
    r = serve(config->loop, config->probe_address, NULL, on_probe, admin, &admin->probe_server,
              reterr);
    if (r < 0) {
        (void)err_wrap(reterr, "--health-probe-bind-address: ");
        return r;
    }
    *ret_admin = TAKE(admin);
    return 0;
}

Admin *admin_free(Admin *admin)
{
    if (!admin) {
        return NULL;
    }
    http_server_free(admin->metrics_server);
    http_server_free(admin->probe_server);
    free(admin);
    return NULL;
}
