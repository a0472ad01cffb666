/* SPDX-License-Identifier: Apache-2.0 */
/*
 * See rewrite.h. Framing fields are never copied as they are: Content-Length is written from the
 * parsed number and Transfer-Encoding only when the body really leaves chunked, so both sides of
 * this proxy agree about where a message ends whatever the peer wrote.
 *
 * Authorization is for the router and never reaches a sandbox, which runs code nobody has vetted;
 * the X-Sandbox-* fields have done their work, and a UID or an address is not the sandbox's
 * business.
 */
#include "router/rewrite.h"

#include <stdio.h>

typedef struct Out {
    BufPool *pool;
    Buf *buf;
    int error; /* sticky */
} Out;

static void put(Out *out, Str s)
{
    if (out->error == 0) {
        out->error = buf_append(out->pool, out->buf, s);
    }
}

static void put_field(Out *out, Str name, Str value)
{
    put(out, name);
    put(out, STR(": "));
    put(out, value);
    put(out, STR("\r\n"));
}

static void put_length(Out *out, uint64_t length)
{
    char text[48];
    int n = snprintf(text, sizeof(text), "Content-Length: %llu\r\n", (unsigned long long)length);

    put(out, (Str){text, (size_t)n});
}

static bool request_drops(const HttpHead *head, const HttpHeader *field,
                          const RewriteRequest *options)
{
    uint8_t flags = http_token_flags(field->id);

    if (flags &
        (HTTP_TOKEN_HOP | HTTP_TOKEN_ROUTING | HTTP_TOKEN_FORWARDING | HTTP_TOKEN_FRAMING)) {
        return true;
    }
    if (field->id == HTTP_TOKEN_AUTHORIZATION ||
        (field->id == HTTP_TOKEN_ORIGIN && options->upgrade)) {
        return true; /* Origin would not match the Host we set, and servers compare them */
    }
    if (options->traceparent.len > 0 &&
        (field->id == HTTP_TOKEN_TRACEPARENT ||
         (field->id == HTTP_TOKEN_TRACESTATE && options->drop_state))) {
        return true;
    }
    return http_head_connection_names(head, field->name);
}

static void put_request_framing(Out *out, const HttpHead *head)
{
    if (head->body == HTTP_BODY_CHUNKED) {
        put(out, STR("Transfer-Encoding: chunked\r\n"));
    } else if (http_head_find(head, HTTP_TOKEN_CONTENT_LENGTH)) {
        put_length(out, head->content_length);
    }
}

int rewrite_request(const HttpHead *head, const RewriteRequest *options, BufPool *pool, Buf *buf)
{
    Out out = {.pool = pool, .buf = buf};

    put(&out, head->method);
    put(&out, STR(" "));
    put(&out, head->path);
    if (head->query.ptr) {
        put(&out, STR("?"));
        put(&out, head->query);
    }
    put(&out, STR(" HTTP/1.1\r\n"));
    put_field(&out, STR("Host"), options->host);
    for (size_t i = 0; i < head->n_headers; i++) {
        const HttpHeader *field = &head->headers[i];

        if (!request_drops(head, field, options)) {
            put_field(&out, field->name, field->value);
        }
    }
    put_request_framing(&out, head);
    put_field(&out, STR("X-Forwarded-For"), options->peer);
    put_field(&out, STR("X-Forwarded-Host"), head->host);
    put_field(&out, STR("X-Forwarded-Proto"), options->https ? STR("https") : STR("http"));
    if (options->traceparent.len > 0) {
        put_field(&out, STR("traceparent"), options->traceparent);
    }
    if (head->te_trailers) {
        put(&out, STR("TE: trailers\r\n"));
    }
    if (options->upgrade) {
        put(&out, STR("Connection: Upgrade\r\n"));
        put_field(&out, STR("Upgrade"), http_head_get(head, HTTP_TOKEN_UPGRADE));
    }
    put(&out, STR("\r\n"));
    return out.error;
}

bool rewrite_response_drops(const HttpHead *head, const HttpHeader *field)
{
    return (http_token_flags(field->id) & HTTP_TOKEN_HOP) ||
           field->id == HTTP_TOKEN_CONTENT_LENGTH || http_head_connection_names(head, field->name);
}

int rewrite_response(const HttpHead *head, const RewriteResponse *options, BufPool *pool, Buf *buf)
{
    Out out = {.pool = pool, .buf = buf};
    bool may_have_length = head->status >= 200 && head->status != 204 && !options->chunked;
    char line[32];
    int n = snprintf(line, sizeof(line), "HTTP/1.1 %03d ", head->status);

    put(&out, (Str){line, (size_t)n});
    put(&out, head->reason);
    put(&out, STR("\r\n"));
    for (size_t i = 0; i < head->n_headers; i++) {
        const HttpHeader *field = &head->headers[i];

        if (!rewrite_response_drops(head, field)) {
            put_field(&out, field->name, field->value);
        }
    }
    if (options->chunked) {
        put(&out, STR("Transfer-Encoding: chunked\r\n"));
    } else if (may_have_length && http_head_find(head, HTTP_TOKEN_CONTENT_LENGTH)) {
        put_length(&out, head->content_length);
    }
    if (options->upgrade) {
        put(&out, STR("Connection: Upgrade\r\n"));
        put_field(&out, STR("Upgrade"), http_head_get(head, HTTP_TOKEN_UPGRADE));
    } else if (options->close) {
        put(&out, STR("Connection: close\r\n"));
    } else if (options->keep_alive) {
        put(&out, STR("Connection: keep-alive\r\n"));
    }
    put(&out, STR("\r\n"));
    return out.error;
}
