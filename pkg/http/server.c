/* SPDX-License-Identifier: Apache-2.0 */
/* Server object: listeners, the set of connections, drain. Connections themselves are conn.c's. */
#include <errno.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/mem.h"
#include "http/listen.h"
#include "http/server_impl.h"

static const char too_many[] = "HTTP/1.1 503 Service Unavailable\r\nConnection: close\r\n"
                               "Content-Length: 0\r\n\r\n";

static void default_u64(uint64_t *value, uint64_t otherwise)
{
    if (*value == 0) {
        *value = otherwise;
    }
}

static void drained_run(LoopDefer *defer)
{
    HttpServer *server = container_of(defer, HttpServer, drained);

    server->drained_fn(server, server->drained_ctx);
}

HttpServer *http_server_new(const HttpServerConfig *config)
{
    HttpServer *server = xcalloc(1, sizeof(*server));

    server->config = *config;
    if (server->config.conns_max == 0) {
        server->config.conns_max = HTTP_SERVER_CONNS_MAX;
    }
    default_u64(&server->config.head_timeout_ns, HTTP_SERVER_HEAD_TIMEOUT_NS);
    default_u64(&server->config.idle_timeout_ns, HTTP_SERVER_IDLE_TIMEOUT_NS);
    default_u64(&server->config.body_timeout_ns, HTTP_SERVER_BODY_TIMEOUT_NS);
    list_init(&server->conns);
    loop_defer_init(&server->drained, drained_run);
    return server;
}

static void on_accept(HttpAcceptor *acceptor, int fd, const char *peer)
{
    HttpServer *server = container_of(acceptor, HttpListener, acceptor)->server;

    if (server->n_conns >= server->config.conns_max) {
        if (!server->config.stream_open) {
            ssize_t n = send(fd, too_many, sizeof(too_many) - 1, MSG_NOSIGNAL);

            UNUSED(n); /* best effort: the connection ends either way */
        }
        close(fd);
        return;
    }
    http_conn_accept(server, fd, peer);
}

int http_server_listen(HttpServer *server, Str address, Err *reterr)
{
    HttpListener *listener = &server->listeners[server->n_listeners];
    int fd, r;

    if (server->n_listeners == SERVER_LISTENERS_MAX) {
        return err_set(reterr, E2BIG, "too many listeners");
    }
    r = http_listen(address, false, &fd, reterr);
    if (r < 0) {
        return r;
    }
    listener->server = server;
    r = http_acceptor_start(&listener->acceptor, server->config.loop, fd, on_accept);
    if (r < 0) {
        return err_set_errno(reterr, -r, "watch the listener on " STR_FMT, STR_ARG(address));
    }
    server->n_listeners++;
    return 0;
}

uint16_t http_server_port(const HttpServer *server)
{
    return server->n_listeners > 0 ? http_listen_port(server->listeners[0].acceptor.io.fd) : 0;
}

size_t http_server_conns(const HttpServer *server)
{
    return server->n_conns;
}

static void close_listeners(HttpServer *server)
{
    for (size_t i = 0; i < server->n_listeners; i++) {
        http_acceptor_stop(&server->listeners[i].acceptor);
    }
    server->n_listeners = 0;
}

void http_server_conn_gone(HttpServer *server)
{
    server->n_conns--;
    if (server->draining && !server->freeing && server->n_conns == 0) {
        loop_defer_post(server->config.loop, &server->drained);
    }
}

void http_server_drain(HttpServer *server, HttpServerDrainedFn fn, void *ctx)
{
    close_listeners(server);
    server->draining = true;
    server->drained_fn = fn;
    server->drained_ctx = ctx;
    list_foreach (&server->conns, node) {
        HttpConn *conn = list_entry(node, HttpConn, node);

        if (http_conn_is_idle(conn)) {
            http_conn_destroy(conn, 0);
        }
    }
    if (server->n_conns == 0) {
        loop_defer_post(server->config.loop, &server->drained);
    }
}

HttpServer *http_server_free(HttpServer *server)
{
    if (!server) {
        return NULL;
    }
    server->freeing = true;
    loop_defer_cancel(&server->drained);
    close_listeners(server);
    list_foreach (&server->conns, node) {
        http_conn_destroy(list_entry(node, HttpConn, node), -ECANCELED);
    }
    free(server);
    return NULL;
}
