/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Head parser, second half: what the fields of a complete head mean for the message and for the
 * connection. How long a body is gets decided here and nowhere else.
 */
#include "http/head.h"

#include <errno.h>
#include <string.h>

#include "http/chars.h"

static const Str method_names[HTTP_METHOD_MAX_] = {
    [HTTP_METHOD_OTHER] = {"OTHER", 5}, [HTTP_METHOD_GET] = {"GET", 3},
    [HTTP_METHOD_HEAD] = {"HEAD", 4},   [HTTP_METHOD_POST] = {"POST", 4},
    [HTTP_METHOD_PUT] = {"PUT", 3},     [HTTP_METHOD_DELETE] = {"DELETE", 6},
    [HTTP_METHOD_PATCH] = {"PATCH", 5}, [HTTP_METHOD_OPTIONS] = {"OPTIONS", 7},
    [HTTP_METHOD_TRACE] = {"TRACE", 5},
};

/* What the framing fields of one head said, before the rules are applied. */
typedef struct Framing {
    bool has_length;
    bool has_coding;
    bool close;
    bool keep_alive;
    bool names_upgrade;
    bool has_upgrade;
    size_t n_hosts;
} Framing;

HttpMethod http_head_method(Str name)
{
    for (size_t i = HTTP_METHOD_GET; i < HTTP_METHOD_MAX_; i++) {
        if (str_eq(name, method_names[i])) {
            return (HttpMethod)i;
        }
    }
    return HTTP_METHOD_OTHER;
}

Str http_method_name(HttpMethod method)
{
    return method_names[method];
}

bool http_method_is_idempotent(HttpMethod method)
{
    switch (method) {
    case HTTP_METHOD_GET:
    case HTTP_METHOD_HEAD:
    case HTTP_METHOD_PUT:
    case HTTP_METHOD_DELETE:
    case HTTP_METHOD_OPTIONS:
    case HTTP_METHOD_TRACE:
        return true;
    default:
        return false;
    }
}

bool http_is_token(Str s)
{
    return s.len > 0 && http_chars_all(s, HTTP_CHAR_TOKEN);
}

bool http_is_field_value(Str s)
{
    return http_chars_all(s, HTTP_CHAR_VALUE);
}

/* Next element of a comma-separated list, trimmed; false at the end. Empty elements are skipped. */
static bool list_next(Str *list, Str *ret_item)
{
    while (list->len > 0) {
        Str rest;
        Str item = str_trim(str_cut(*list, ',', &rest));

        *list = rest;
        if (item.len > 0) {
            *ret_item = item;
            return true;
        }
    }
    return false;
}

bool http_list_has(Str list, Str token)
{
    Str item;

    while (list_next(&list, &item)) {
        if (str_eq_nocase(item, token)) {
            return true;
        }
    }
    return false;
}

const HttpHeader *http_head_find(const HttpHead *head, HttpToken id)
{
    for (size_t i = 0; i < head->n_headers; i++) {
        if (head->headers[i].id == id) {
            return &head->headers[i];
        }
    }
    return NULL;
}

const HttpHeader *http_head_find_name(const HttpHead *head, Str name)
{
    for (size_t i = 0; i < head->n_headers; i++) {
        if (str_eq_nocase(head->headers[i].name, name)) {
            return &head->headers[i];
        }
    }
    return NULL;
}

Str http_head_get(const HttpHead *head, HttpToken id)
{
    const HttpHeader *field = http_head_find(head, id);

    return field ? field->value : STR_NULL;
}

size_t http_head_count(const HttpHead *head, HttpToken id)
{
    size_t n = 0;

    for (size_t i = 0; i < head->n_headers; i++) {
        n += head->headers[i].id == id;
    }
    return n;
}

bool http_head_connection_names(const HttpHead *head, Str name)
{
    if (!head->has_connection_names) {
        return false;
    }
    for (size_t i = 0; i < head->n_headers; i++) {
        if (head->headers[i].id == HTTP_TOKEN_CONNECTION &&
            http_list_has(head->headers[i].value, name)) {
            return true;
        }
    }
    return false;
}

static int connection_field(HttpHead *head, Framing *framing, Str list)
{
    Str item;

    while (list_next(&list, &item)) {
        if (!http_is_token(item)) {
            return http_head_fail(head, EBADMSG, "malformed Connection field");
        }
        if (str_eq_nocase(item, STR("close"))) {
            framing->close = true;
        } else if (str_eq_nocase(item, STR("keep-alive"))) {
            framing->keep_alive = true;
        } else if (str_eq_nocase(item, STR("upgrade"))) {
            framing->names_upgrade = true;
        } else if (!str_eq_nocase(item, STR("te"))) {
            head->has_connection_names = true;
        }
    }
    return 0;
}

static int length_field(HttpHead *head, Framing *framing, Str value)
{
    if (framing->has_length) {
        return http_head_fail(head, EBADMSG, "repeated Content-Length");
    }
    if (str_to_u64(value, &head->content_length) < 0 || head->content_length > INT64_MAX) {
        return http_head_fail(head, EBADMSG, "malformed Content-Length");
    }
    framing->has_length = true;
    return 0;
}

static int coding_field(HttpHead *head, Framing *framing, Str value)
{
    if (framing->has_coding) {
        return http_head_fail(head, EBADMSG, "repeated Transfer-Encoding");
    }
    if (!str_eq_nocase(value, STR("chunked"))) {
        return http_head_fail(head, EOPNOTSUPP, "Transfer-Encoding is not chunked");
    }
    framing->has_coding = true;
    return 0;
}

static int host_field(HttpHead *head, Framing *framing, Str value)
{
    if (++framing->n_hosts > 1) {
        return http_head_fail(head, EBADMSG, "repeated Host");
    }
    if (!http_chars_all(value, HTTP_CHAR_HOST)) {
        return http_head_fail(head, EBADMSG, "malformed Host");
    }
    if (!head->host.ptr) {
        head->host = value;
    }
    return 0;
}

static int read_field(HttpHead *head, Framing *framing, const HttpHeader *field)
{
    switch (field->id) {
    case HTTP_TOKEN_CONNECTION:
        return connection_field(head, framing, field->value);
    case HTTP_TOKEN_CONTENT_LENGTH:
        return length_field(head, framing, field->value);
    case HTTP_TOKEN_TRANSFER_ENCODING:
        return coding_field(head, framing, field->value);
    case HTTP_TOKEN_HOST:
        return host_field(head, framing, field->value);
    case HTTP_TOKEN_EXPECT:
        head->expect_continue = str_eq_nocase(field->value, STR("100-continue"));
        return 0;
    case HTTP_TOKEN_TE:
        head->te_trailers |= http_list_has(field->value, STR("trailers"));
        return 0;
    case HTTP_TOKEN_UPGRADE:
        framing->has_upgrade = true;
        return 0;
    default:
        return 0;
    }
}

static int read_fields(HttpHead *head, Framing *framing)
{
    for (size_t i = 0; i < head->n_headers; i++) {
        int r = read_field(head, framing, &head->headers[i]);

        if (r < 0) {
            return r;
        }
    }
    if (framing->has_coding && framing->has_length) {
        return http_head_fail(head, EBADMSG, "both Content-Length and Transfer-Encoding");
    }
    if (framing->has_coding && head->minor == 0) {
        return http_head_fail(head, EBADMSG, "Transfer-Encoding in HTTP/1.0");
    }
    head->keep_alive = head->minor > 0 ? !framing->close : framing->keep_alive && !framing->close;
    head->upgrade = framing->names_upgrade && framing->has_upgrade && head->minor > 0;
    return 0;
}

int http_head_finish_request(HttpHead *head)
{
    Framing framing = {0};
    int r = read_fields(head, &framing);

    if (r < 0) {
        return r;
    }
    if (framing.n_hosts == 0 && head->minor > 0) {
        return http_head_fail(head, EBADMSG, "Host is missing");
    }
    if (!head->host.ptr) {
        head->host = STR("");
    }
    head->body = framing.has_coding                               ? HTTP_BODY_CHUNKED
                 : framing.has_length && head->content_length > 0 ? HTTP_BODY_LENGTH
                                                                  : HTTP_BODY_NONE;
    head->expect_continue &= head->minor > 0 && head->body != HTTP_BODY_NONE;
    return 0;
}

int http_head_finish_response(HttpHead *head, HttpMethod method)
{
    Framing framing = {0};
    int r = read_fields(head, &framing);

    if (r < 0) {
        return r;
    }
    if (method == HTTP_METHOD_HEAD || head->status < 200 || head->status == 204 ||
        head->status == 304) {
        head->body = HTTP_BODY_NONE;
    } else if (framing.has_coding) {
        head->body = HTTP_BODY_CHUNKED;
    } else if (framing.has_length) {
        head->body = head->content_length > 0 ? HTTP_BODY_LENGTH : HTTP_BODY_NONE;
    } else {
        head->body = HTTP_BODY_EOF;
        head->keep_alive = false;
    }
    return 0;
}

int http_parse_status(int error)
{
    switch (error) {
    case -E2BIG:
        return 431;
    case -ENAMETOOLONG:
        return 414;
    case -EOPNOTSUPP:
        return 501;
    case -EPROTONOSUPPORT:
        return 505;
    default:
        return 400;
    }
}
