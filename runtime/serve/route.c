/* SPDX-License-Identifier: Apache-2.0 */
#include "runtime/serve/route.h"

#include <errno.h>

#include "base/mem.h"
#include "http/url.h"
#include "runtime/serve/reply.h"

static const Endpoint ENDPOINTS[] = {
    {"/", false, {"GET", "HEAD"}, health_handle},
    {"/healthz", false, {"GET", "HEAD"}, health_handle},
    {"/execute", false, {"POST"}, execute_handle},
    {"/upload", false, {"POST"}, upload_handle},
    {"/download", true, {"GET", "HEAD"}, download_handle},
    {"/list", true, {"GET", "HEAD"}, listing_handle},
    {"/exists", true, {"GET", "HEAD"}, exists_handle},
    {"/files", true, {"DELETE"}, delete_handle},
};

static bool matches(const Endpoint *endpoint, Str path, Str *ret_raw)
{
    Str name = str_from(endpoint->name);
    Str rest;

    if (str_eq(path, name)) {
        *ret_raw = STR("");
        return true;
    }
    if (!endpoint->has_path || !str_starts(path, name)) {
        return false;
    }
    rest = str_drop(path, name.len);
    if (rest.ptr[0] != '/') {
        return false;
    }
    *ret_raw = str_drop(rest, 1);
    return true;
}

static bool allows(const Endpoint *endpoint, Str method)
{
    for (size_t i = 0; i < ARRAY_LEN(endpoint->methods) && endpoint->methods[i]; i++) {
        if (str_eq(method, str_from(endpoint->methods[i]))) {
            return true;
        }
    }
    return false;
}

RouteResult route_find(const Endpoint *table, size_t n, Str method, Str raw_path,
                       const Endpoint **ret_endpoint, Str *ret_raw)
{
    for (size_t i = 0; i < n; i++) {
        if (matches(&table[i], raw_path, ret_raw)) {
            *ret_endpoint = &table[i];
            return allows(&table[i], method) ? ROUTE_OK : ROUTE_NOT_ALLOWED;
        }
    }
    return ROUTE_NOT_FOUND;
}

static void reply_not_allowed(HttpExchange *x, const Endpoint *endpoint)
{
    AUTO(strbuf) StrBuf allow = STRBUF_INIT(64);

    for (size_t i = 0; i < ARRAY_LEN(endpoint->methods) && endpoint->methods[i]; i++) {
        strbuf_printf(&allow, "%s%s", i > 0 ? ", " : "", endpoint->methods[i]);
    }
    const HttpField fields[] = {
        {STR("Allow"), strbuf_str(&allow)},
        {STR("Content-Type"), STR(REPLY_JSON)},
    };
    http_exchange_respond_fields(x, 405, fields, ARRAY_LEN(fields),
                                 STR("{\"detail\":\"Method Not Allowed\"}"));
}

static void call(Serve *serve, HttpExchange *x, const Endpoint *endpoint, Str raw)
{
    AUTO(mem) char *path = xmalloc(raw.len + 1);
    size_t len;
    int r = http_url_decode(raw, path, &len);

    if (r == -EINVAL) {
        reply_denied(x); /* a NUL: no path of this file system has one */
    } else if (r < 0) {
        reply_detail(x, 400, "The path is not percent-encoded correctly");
    } else {
        endpoint->fn(serve, x, (Str){path, len});
    }
}

void route_request(HttpExchange *x, void *ctx)
{
    const HttpHead *head = http_exchange_head(x);
    const Endpoint *endpoint;
    Str raw;

    switch (
        route_find(ENDPOINTS, ARRAY_LEN(ENDPOINTS), head->method, head->path, &endpoint, &raw)) {
    case ROUTE_OK:
        call(ctx, x, endpoint, raw);
        break;
    case ROUTE_NOT_ALLOWED:
        reply_not_allowed(x, endpoint);
        break;
    case ROUTE_NOT_FOUND:
        reply_detail(x, 404, "Not Found");
        break;
    }
}

void health_handle(Serve *serve, HttpExchange *x, Str path)
{
    UNUSED(serve);
    UNUSED(path);
    http_exchange_respond(x, 200, REPLY_JSON,
                          STR("{\"status\":\"ok\",\"message\":\"Sandbox Runtime is active.\"}"));
}
