/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/* Which endpoint a request is for. A table; nothing is normalised, paths are decoded once. */
#include "http/parse.h"
#include "http/server.h"
#include "runtime/serve/serve.h"

/* `path`: what follows the endpoint's name, decoded, without a slash before it; borrowed. */
typedef void (*EndpointFn)(Serve *serve, HttpExchange *x, Str path);

typedef struct Endpoint {
    const char *name; /* "/list" */
    bool has_path;    /* /list and /list/... */
    const char *methods[4];
    EndpointFn fn;
} Endpoint;

typedef enum RouteResult {
    ROUTE_OK,
    ROUTE_NOT_FOUND,
    ROUTE_NOT_ALLOWED, /* *ret_endpoint tells which methods are */
} RouteResult;

/* Pure. *ret_raw: the rest of the raw path. */
RouteResult route_find(const Endpoint *table, size_t n, Str method, Str raw_path,
                       const Endpoint **ret_endpoint, Str *ret_raw);

/* Handler of the HTTP server; ctx is the Serve. */
void route_request(HttpExchange *x, void *ctx);

/* ---- endpoints ---- */
void execute_handle(Serve *serve, HttpExchange *x, Str path);
void upload_handle(Serve *serve, HttpExchange *x, Str path);
void download_handle(Serve *serve, HttpExchange *x, Str path);
void listing_handle(Serve *serve, HttpExchange *x, Str path);
void exists_handle(Serve *serve, HttpExchange *x, Str path);
void delete_handle(Serve *serve, HttpExchange *x, Str path);
void health_handle(Serve *serve, HttpExchange *x, Str path);
/* A place became free: starts commands that wait. */
void execute_start_waiting(Serve *serve);
/* The server stops: commands that wait are answered 503. */
void execute_drop_waiting(Serve *serve);
