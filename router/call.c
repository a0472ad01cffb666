/* SPDX-License-Identifier: Apache-2.0 */
/* See call.h. */
#include "router/call.h"

#include <stdio.h>
#include <string.h>

#include "router/grpc.h"

bool call_is(const Client *client, const HttpHead *head)
{
    return !client->framed && grpc_is_content_type(http_head_get(head, HTTP_TOKEN_CONTENT_TYPE));
}

bool call_admit(Exchange *x, const HttpHead *head)
{
    const HttpHeader *timeout = http_head_find_name(head, STR("grpc-timeout"));
    uint64_t ns = 0;

    if (!x->routing.port_named) {
        exchange_reply(x, 400, "X-Sandbox-Port header is required for gRPC.");
        return false;
    }
    if (timeout && grpc_timeout_parse(timeout->value, &ns) < 0) {
        exchange_reply(x, 400, "Invalid grpc-timeout.");
        return false;
    }
    if (timeout) {
        x->call_end_ns = x->start_ns + ns;
    }
    return true;
}

void call_refuse(Exchange *x, int status, const char *detail)
{
    char message[GRPC_MESSAGE_MAX], head[GRPC_MESSAGE_MAX + 160];
    size_t len = grpc_message_encode(str_from(detail), message, sizeof(message));
    int n = snprintf(head, sizeof(head),
                     "HTTP/1.1 200 OK\r\ncontent-type: application/grpc\r\ngrpc-status: %d\r\n"
                     "grpc-message: %.*s\r\n\r\n",
                     grpc_status_from_http(status), (int)len, message);

    x->client->ops->own(x->client, (Str){head, (size_t)n}, STR(""));
}

void call_abort(Exchange *x, int status, const char *detail)
{
    char message[GRPC_MESSAGE_MAX], text[GRPC_MESSAGE_MAX + 80];
    size_t len = grpc_message_encode(str_from(detail), message, sizeof(message));
    int n = snprintf(text, sizeof(text), "grpc-status: %d\r\ngrpc-message: %.*s\r\n\r\n",
                     grpc_status_from_http(status), (int)len, message);
    HttpHead trailers;

    http_head_init(&trailers);
    if (http_trailers_parse(&trailers, text, (size_t)n) == n) { /* our own text: always */
        x->client->ops->trailers(x->client, &trailers);
    }
    exchange_drop_back(x);
    x->req.discard = true;
    x->res_open = false;
    x->progress_ns = exchange_now(x);
    x->state = EXCHANGE_FLUSH;
}
