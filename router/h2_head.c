/* SPDX-License-Identifier: Apache-2.0 */
/* See h2_head.h. */
#include "router/h2_head.h"

#include <errno.h>
#include <openssl/evp.h>
#include <string.h>

#include "base/attr.h"
#include "base/rng.h"
#include "http/chars.h"
#include "router/rewrite.h"

#define FIELD_OVERHEAD 32 /* RFC 9113 6.5.2 */

static const Str pseudo_names[H2_HEAD_PSEUDO_MAX_] = {
    [H2_HEAD_METHOD] = {":method", 7},        [H2_HEAD_SCHEME] = {":scheme", 7},
    [H2_HEAD_AUTHORITY] = {":authority", 10}, [H2_HEAD_PATH] = {":path", 5},
    [H2_HEAD_PROTOCOL] = {":protocol", 9},    [H2_HEAD_STATUS] = {":status", 7},
};

/* Fields that speak about one connection: malformed in HTTP/2 (RFC 9113 8.2.2). */
static bool is_connection_field(HttpToken id)
{
    return id == HTTP_TOKEN_CONNECTION || id == HTTP_TOKEN_KEEP_ALIVE ||
           id == HTTP_TOKEN_PROXY_CONNECTION || id == HTTP_TOKEN_TRANSFER_ENCODING ||
           id == HTTP_TOKEN_UPGRADE;
}

static void fail(H2Head *head, int error, const char *text)
{
    if (head->error == 0) {
        head->error = error;
        head->text = text;
    }
}

int h2_head_on_invalid(nghttp2_session *session, const nghttp2_frame *frame, const uint8_t *name,
                       size_t namelen, const uint8_t *value, size_t valuelen, uint8_t flags,
                       void *ctx)
{
    UNUSED(session);
    UNUSED(frame);
    UNUSED(name);
    UNUSED(namelen);
    UNUSED(value);
    UNUSED(valuelen);
    UNUSED(flags);
    UNUSED(ctx);
    return NGHTTP2_ERR_TEMPORAL_CALLBACK_FAILURE;
}

void h2_head_clear(H2Head *head, BufPool *pool)
{
    buf_release(pool, &head->fields);
    buf_release(pool, &head->cookie);
    buf_release(pool, &head->pseudo);
    *head = (H2Head){0};
}

/* ---- collecting ---- */

static void append(H2Head *head, BufPool *pool, Buf *buf, Str s)
{
    if (buf_append(pool, buf, s) < 0) {
        fail(head, -E2BIG, "head is too long");
    }
}

static void append_field(H2Head *head, BufPool *pool, Buf *buf, Str name, Str value)
{
    append(head, pool, buf, name);
    append(head, pool, buf, STR(": "));
    append(head, pool, buf, value);
    append(head, pool, buf, STR("\r\n"));
}

static Str part(const H2Head *head, int which)
{
    if (!head->parts[which].set) {
        return STR_NULL;
    }
    return (Str){buf_str(&head->pseudo).ptr + head->parts[which].at, head->parts[which].len};
}

static void add_pseudo(H2Head *head, BufPool *pool, Str name, Str value)
{
    for (int i = 0; i < H2_HEAD_PSEUDO_MAX_; i++) {
        if (!str_eq(name, pseudo_names[i])) {
            continue;
        }
        if (head->parts[i].set) {
            fail(head, -EBADMSG, "repeated pseudo header field");
            return;
        }
        head->parts[i].set = true;
        head->parts[i].at = (uint32_t)buf_len(&head->pseudo);
        head->parts[i].len = (uint32_t)value.len;
        append(head, pool, &head->pseudo, value);
        return;
    }
    fail(head, -EBADMSG, "unknown pseudo header field");
}

static bool is_lower_token(Str name)
{
    for (size_t i = 0; i < name.len; i++) {
        if (name.ptr[i] >= 'A' && name.ptr[i] <= 'Z') {
            return false;
        }
    }
    return http_is_token(name);
}

static void add_regular(H2Head *head, BufPool *pool, Str name, Str value)
{
    HttpToken id = http_token_find(name);

    if (!is_lower_token(name)) {
        fail(head, -EBADMSG, "malformed header field name");
    } else if (!http_is_field_value(value)) {
        fail(head, -EBADMSG, "control byte in a header field value");
    } else if (is_connection_field(id)) {
        fail(head, -EBADMSG, "header field of a connection in HTTP/2");
    } else if (id == HTTP_TOKEN_TE && !str_eq_nocase(value, STR("trailers"))) {
        fail(head, -EBADMSG, "TE is not trailers");
    } else if (id == HTTP_TOKEN_HOST) {
        if (head->has_host) {
            fail(head, -EBADMSG, "repeated Host");
        }
        head->has_host = true;
        if (!head->parts[H2_HEAD_AUTHORITY].set) {
            add_pseudo(head, pool, pseudo_names[H2_HEAD_AUTHORITY], value);
        } else if (!str_eq_nocase(part(head, H2_HEAD_AUTHORITY), value)) {
            fail(head, -EBADMSG, "Host is not :authority");
        }
    } else if (str_eq(name, STR("cookie"))) {
        if (buf_len(&head->cookie) > 0) {
            append(head, pool, &head->cookie, STR("; "));
        }
        append(head, pool, &head->cookie, value);
    } else {
        head->has_length |= id == HTTP_TOKEN_CONTENT_LENGTH;
        append_field(head, pool, &head->fields, name, value);
    }
}

void h2_head_add(H2Head *head, BufPool *pool, Str name, Str value, bool trailers)
{
    head->size += name.len + value.len + FIELD_OVERHEAD;
    head->count++;
    if (head->size > HTTP_HEAD_MAX) {
        fail(head, -E2BIG, "head is too long");
    }
    if (head->count > HTTP_HEADERS_MAX + H2_HEAD_PSEUDO_MAX_) {
        fail(head, -E2BIG, "too many header fields");
    }
    if (head->error) {
        return;
    }
    if (name.len == 0 || name.ptr[0] != ':') {
        add_regular(head, pool, name, value);
    } else if (trailers) {
        fail(head, -EBADMSG, "pseudo header field in a trailer");
    } else if (buf_len(&head->fields) > 0 || buf_len(&head->cookie) > 0 || head->has_host) {
        fail(head, -EBADMSG, "pseudo header field after others");
    } else {
        add_pseudo(head, pool, name, value);
    }
}

/* ---- to HTTP/1.1 ---- */

static void put_fields(H2Head *head, BufPool *pool, Buf *out)
{
    append(head, pool, out, buf_str(&head->fields));
    if (buf_len(&head->cookie) > 0) {
        append_field(head, pool, out, STR("cookie"), buf_str(&head->cookie));
    }
}

/* Pseudo fields become parts of the request line: nothing in them may end it. */
static int check_request(H2Head *head)
{
    Str method = part(head, H2_HEAD_METHOD), scheme = part(head, H2_HEAD_SCHEME);
    Str path = part(head, H2_HEAD_PATH), protocol = part(head, H2_HEAD_PROTOCOL);
    bool connect = str_eq(method, STR("CONNECT"));

    if (head->parts[H2_HEAD_STATUS].set || !http_is_token(method)) {
        fail(head, -EBADMSG, "malformed request method");
    } else if (connect && !protocol.ptr) {
        fail(head, -EOPNOTSUPP, "CONNECT is not supported");
    } else if (protocol.ptr && !connect) {
        fail(head, -EBADMSG, ":protocol without CONNECT");
    } else if (connect && !str_eq(protocol, STR("websocket"))) {
        fail(head, -EOPNOTSUPP, ":protocol is not websocket");
    } else if (!str_eq_nocase(scheme, STR("http")) && !str_eq_nocase(scheme, STR("https"))) {
        fail(head, -EBADMSG, ":scheme is not http or https");
    } else if (path.len > HTTP_TARGET_MAX) {
        fail(head, -ENAMETOOLONG, "request target is too long");
    } else if (path.len == 0 || !http_chars_all(path, HTTP_CHAR_TARGET) ||
               (path.ptr[0] != '/' && !str_eq(path, STR("*")))) {
        fail(head, -EBADMSG, "malformed request target");
    } else if (!part(head, H2_HEAD_AUTHORITY).ptr ||
               !http_chars_all(part(head, H2_HEAD_AUTHORITY), HTTP_CHAR_HOST)) {
        fail(head, -EBADMSG, "malformed :authority");
    }
    return head->error;
}

static void put_websocket(H2Head *head, BufPool *pool, Buf *out)
{
    unsigned char nonce[16], key[32];

    rng_os_fill(nonce, sizeof(nonce));
    int n = EVP_EncodeBlock(key, nonce, sizeof(nonce));

    append(head, pool, out, STR("connection: Upgrade\r\nupgrade: websocket\r\n"));
    append_field(head, pool, out, STR("sec-websocket-key"), (Str){(const char *)key, (size_t)n});
}

static void put_body_framing(H2Head *head, BufPool *pool, bool ended, Buf *out)
{
    Str method = part(head, H2_HEAD_METHOD);

    if (head->has_length) {
        return;
    }
    if (!ended) {
        append(head, pool, out, STR("transfer-encoding: chunked\r\n"));
    } else if (str_eq(method, STR("POST")) || str_eq(method, STR("PUT")) ||
               str_eq(method, STR("PATCH"))) {
        append(head, pool, out, STR("content-length: 0\r\n")); /* RFC 9110 8.6 */
    }
}

int h2_head_request(H2Head *head, BufPool *pool, bool ended, Buf *out)
{
    bool websocket;

    if (head->error || check_request(head) < 0) {
        return head->error;
    }
    websocket = head->parts[H2_HEAD_PROTOCOL].set;
    append(head, pool, out, websocket ? STR("GET") : part(head, H2_HEAD_METHOD));
    append(head, pool, out, STR(" "));
    append(head, pool, out, part(head, H2_HEAD_PATH));
    append(head, pool, out, STR(" HTTP/1.1\r\n"));
    append_field(head, pool, out, STR("host"), part(head, H2_HEAD_AUTHORITY));
    put_fields(head, pool, out);
    if (websocket) {
        put_websocket(head, pool, out);
    } else {
        put_body_framing(head, pool, ended, out);
    }
    append(head, pool, out, STR("\r\n"));
    return head->error;
}

bool h2_head_is_interim(const H2Head *head)
{
    return str_starts(part(head, H2_HEAD_STATUS), STR("1"));
}

int h2_head_response(H2Head *head, BufPool *pool, Buf *out)
{
    Str status = part(head, H2_HEAD_STATUS);

    if (!head->error && status.len != 3) {
        fail(head, -EBADMSG, "malformed :status");
    }
    if (head->error) {
        return head->error;
    }
    append(head, pool, out, STR("HTTP/1.1 "));
    append(head, pool, out, status);
    append(head, pool, out, STR(" \r\n"));
    put_fields(head, pool, out);
    append(head, pool, out, STR("\r\n"));
    return head->error;
}

int h2_head_trailers(H2Head *head, BufPool *pool, Buf *out)
{
    if (head->has_length || head->has_host) {
        fail(head, -EBADMSG, "framing field in a trailer");
    }
    if (head->error) {
        return head->error;
    }
    put_fields(head, pool, out);
    append(head, pool, out, STR("\r\n"));
    return head->error;
}

/* ---- to HTTP/2 ---- */

static nghttp2_nv pair(Str name, Str value)
{
    return (nghttp2_nv){.name = (uint8_t *)(uintptr_t)name.ptr,
                        .namelen = name.len,
                        .value = (uint8_t *)(uintptr_t)value.ptr,
                        .valuelen = value.len};
}

size_t h2_head_response_nv(const HttpHead *head, bool upgraded, char status[3], nghttp2_nv *nv)
{
    size_t n = 0;

    int code = upgraded ? 200 : head->status;

    for (int i = 2; i >= 0; i--, code /= 10) {
        status[i] = (char)('0' + code % 10);
    }
    nv[n++] = pair(STR(":status"), (Str){status, 3});
    for (size_t i = 0; i < head->n_headers; i++) {
        const HttpHeader *field = &head->headers[i];
        bool length = field->id == HTTP_TOKEN_CONTENT_LENGTH;

        if (length ? head->status < 200 || head->status == 204
                   : rewrite_response_drops(head, field)) {
            continue;
        }
        if (upgraded && str_eq_nocase(field->name, STR("sec-websocket-accept"))) {
            continue; /* RFC 8441 5: the handshake has no key here */
        }
        nv[n++] = pair(field->name, field->value);
    }
    return n;
}

size_t h2_head_request_nv(const HttpHead *head, nghttp2_nv *nv)
{
    size_t n = 0;

    nv[n++] = pair(STR(":method"), head->method);
    nv[n++] = pair(STR(":scheme"), STR("http"));
    nv[n++] = pair(STR(":authority"), head->host);
    nv[n++] = pair(STR(":path"), head->target);
    for (size_t i = 0; i < head->n_headers; i++) {
        const HttpHeader *field = &head->headers[i];

        if (field->id != HTTP_TOKEN_HOST && !is_connection_field(field->id)) {
            nv[n++] = pair(field->name, field->value);
        }
    }
    return n;
}

size_t h2_head_trailers_nv(const HttpHead *trailers, nghttp2_nv *nv)
{
    size_t n = 0;

    for (size_t i = 0; i < trailers->n_headers; i++) {
        const HttpHeader *field = &trailers->headers[i];

        if (!(http_token_flags(field->id) & (HTTP_TOKEN_HOP | HTTP_TOKEN_ROUTING))) {
            nv[n++] = pair(field->name, field->value);
        }
    }
    return n;
}
