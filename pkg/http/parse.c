/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Head parser, first half: finding the end of the head, the start lines, the field lines.
 *
 * Two passes. scan() walks over new bytes only and cuts lines; it is the one that is called again
 * and again while bytes arrive, so every decision it takes depends on a prefix of the message and
 * never on how the prefix was split. The second pass runs once, over a complete head.
 */
#include "http/parse.h"

#include <errno.h>
#include <string.h>

#include "http/chars.h"
#include "http/head.h"

#define START_LINE_MAX (HTTP_TARGET_MAX + HTTP_METHOD_MAX + 16)

enum {
    SCAN_START_LINE = 1, /* the first line is a start line, not a field */
    SCAN_SKIP_EMPTY = 2, /* one empty line in front is tolerated (RFC 9112 2.2) */
};

int http_head_fail(HttpHead *head, int code, const char *text)
{
    head->error = text;
    return -code;
}

void http_head_init(HttpHead *head)
{
    memset(head, 0, offsetof(HttpHead, headers));
    head->error = NULL;
    head->scanned = head->line = head->lines = head->start = 0;
}

/* A line [head->line, at) ended with LF at `at`. >0 end of the head, 0 go on. */
static int scan_line(HttpHead *head, const char *buf, size_t at, int flags)
{
    if (at == head->line || buf[at - 1] != '\r') {
        return http_head_fail(head, EBADMSG, "line does not end with CRLF");
    }
    bool empty = at - head->line == 1;

    head->line = at + 1;
    if (empty && head->lines == 0 && (flags & SCAN_START_LINE)) {
        if (!(flags & SCAN_SKIP_EMPTY) || head->start > 0) {
            return http_head_fail(head, EBADMSG, "empty start line");
        }
        head->start = 2;
        return 0;
    }
    if (empty) {
        return (int)(at + 1);
    }
    if (++head->lines > HTTP_HEADERS_MAX + (flags & SCAN_START_LINE ? 1u : 0u)) {
        return http_head_fail(head, E2BIG, "too many header fields");
    }
    return 0;
}

/* 0 more bytes needed, >0 length of the head, <0 error. */
static int scan(HttpHead *head, const char *buf, size_t len, size_t max, int flags)
{
    size_t first_max = head->start + START_LINE_MAX;

    if (len > max) {
        len = max;
    }
    while (head->scanned < len) {
        const char *lf = memchr(buf + head->scanned, '\n', len - head->scanned);
        size_t at = lf ? (size_t)(lf - buf) : len;

        if ((flags & SCAN_START_LINE) && head->lines == 0 && at >= first_max) {
            return http_head_fail(head, ENAMETOOLONG, "start line is too long");
        }
        head->scanned = lf ? at + 1 : len;
        if (lf) {
            int r = scan_line(head, buf, at, flags);

            if (r != 0) {
                return r;
            }
            first_max = head->start + START_LINE_MAX;
        }
    }
    return len == max ? http_head_fail(head, E2BIG, "head is too long") : 0;
}

/* Takes "name: value" apart; `line` is without CRLF. */
static int parse_field(HttpHead *head, Str line)
{
    HttpHeader *field = &head->headers[head->n_headers];
    size_t n = 0;

    while (n < line.len && (http_char_class[(uint8_t)line.ptr[n]] & HTTP_CHAR_TOKEN)) {
        n++;
    }
    if (n == 0 || n == line.len || line.ptr[n] != ':') {
        return http_head_fail(head, EBADMSG, "malformed header field name");
    }
    field->name = (Str){line.ptr, n};
    field->value = str_drop(line, n + 1);
    if (!http_chars_all(field->value, HTTP_CHAR_VALUE)) {
        return http_head_fail(head, EBADMSG, "control byte in a header field value");
    }
    field->value = str_trim(field->value);
    field->id = http_token_find(field->name);
    head->n_headers++;
    return 0;
}

static int parse_fields(HttpHead *head, Str rest)
{
    head->n_headers = 0;
    for (;;) {
        const char *lf = memchr(rest.ptr, '\n', rest.len);
        Str line = {rest.ptr, (size_t)(lf - rest.ptr) - 1};

        if (line.len == 0) {
            return 0;
        }
        int r = parse_field(head, line);

        if (r < 0) {
            return r;
        }
        rest = str_drop(rest, line.len + 2);
    }
}

/* "HTTP/1.0" or "HTTP/1.1", nothing else. */
static int parse_version(HttpHead *head, Str s)
{
    if (s.len != 8 || memcmp(s.ptr, "HTTP/", 5) != 0 || s.ptr[5] < '0' || s.ptr[5] > '9' ||
        s.ptr[6] != '.' || s.ptr[7] < '0' || s.ptr[7] > '9') {
        return http_head_fail(head, EBADMSG, "malformed HTTP version");
    }
    if (s.ptr[5] != '1' || s.ptr[7] > '1') {
        return http_head_fail(head, EPROTONOSUPPORT, "HTTP version is not supported");
    }
    head->minor = s.ptr[7] - '0';
    return 0;
}

/* Origin form, absolute form of http(s), or "*" with OPTIONS. */
static int parse_target(HttpHead *head)
{
    Str rest = head->target;

    if (rest.len == 0 || !http_chars_all(rest, HTTP_CHAR_TARGET)) {
        return http_head_fail(head, EBADMSG, "malformed request target");
    }
    if (rest.len > HTTP_TARGET_MAX) {
        return http_head_fail(head, ENAMETOOLONG, "request target is too long");
    }
    head->host = STR_NULL;
    if (rest.ptr[0] != '/') {
        bool asterisk = rest.len == 1 && rest.ptr[0] == '*';
        size_t scheme = str_starts(rest, STR("http://"))    ? 7
                        : str_starts(rest, STR("https://")) ? 8
                                                            : 0;

        if (asterisk ? head->method_id != HTTP_METHOD_OPTIONS : scheme == 0) {
            return http_head_fail(head, EBADMSG, "malformed request target");
        }
        rest = str_drop(rest, scheme);
        size_t n = 0;

        while (n < rest.len && rest.ptr[n] != '/' && rest.ptr[n] != '?') {
            n++;
        }
        if (!asterisk) {
            head->host = str_take(rest, n);
            rest = str_drop(rest, n);
        }
        if (!asterisk && (head->host.len == 0 || !http_chars_all(head->host, HTTP_CHAR_HOST))) {
            return http_head_fail(head, EBADMSG, "malformed request target");
        }
    }
    ptrdiff_t mark = str_find(rest, '?');

    head->path = mark < 0 ? rest : str_take(rest, (size_t)mark);
    head->query = mark < 0 ? STR_NULL : str_drop(rest, (size_t)mark + 1);
    if (head->path.len == 0) {
        head->path = STR("/");
    }
    return 0;
}

static int parse_request_line(HttpHead *head, Str line)
{
    Str rest, version;
    int r;

    head->method = str_cut(line, ' ', &rest);
    head->target = str_cut(rest, ' ', &version);
    if (head->method.len > HTTP_METHOD_MAX || !http_is_token(head->method)) {
        return http_head_fail(head, EBADMSG, "malformed request method");
    }
    r = parse_version(head, version);
    if (r < 0) {
        return r;
    }
    if (str_eq(head->method, STR("CONNECT"))) {
        return http_head_fail(head, EOPNOTSUPP, "CONNECT is not supported");
    }
    head->method_id = http_head_method(head->method);
    return parse_target(head);
}

static int parse_status_line(HttpHead *head, Str line)
{
    Str rest;
    Str version = str_cut(line, ' ', &rest);
    int r = parse_version(head, version);

    if (r < 0) {
        return r;
    }
    if (rest.len < 3 || (rest.len > 3 && rest.ptr[3] != ' ')) {
        return http_head_fail(head, EBADMSG, "malformed status line");
    }
    head->status = 0;
    for (int i = 0; i < 3; i++) {
        if (rest.ptr[i] < '0' || rest.ptr[i] > '9') {
            return http_head_fail(head, EBADMSG, "malformed status line");
        }
        head->status = head->status * 10 + (rest.ptr[i] - '0');
    }
    head->reason = str_drop(rest, 4);
    if (head->status < 100 || head->status > 999 ||
        !http_chars_all(head->reason, HTTP_CHAR_VALUE)) {
        return http_head_fail(head, EBADMSG, "malformed status line");
    }
    return 0;
}

/* The start line of a complete head, without CRLF; *ret_rest is what follows it. */
static Str start_line(const HttpHead *head, const char *buf, int len, Str *ret_rest)
{
    Str all = {buf + head->start, (size_t)len - head->start};
    const char *lf = memchr(all.ptr, '\n', all.len);
    size_t n = (size_t)(lf - all.ptr);

    *ret_rest = str_drop(all, n + 1);
    return (Str){all.ptr, n - 1};
}

int http_request_parse(HttpHead *head, const char *buf, size_t len)
{
    Str line, rest;
    int n, r;

    if (len > 0 && buf[0] != '\r' && !(http_char_class[(uint8_t)buf[0]] & HTTP_CHAR_TOKEN)) {
        return http_head_fail(head, EBADMSG, "malformed request method");
    }
    n = scan(head, buf, len, HTTP_HEAD_MAX, SCAN_START_LINE | SCAN_SKIP_EMPTY);
    if (n <= 0) {
        return n;
    }
    line = start_line(head, buf, n, &rest);
    r = parse_request_line(head, line);
    if (r == 0) {
        r = parse_fields(head, rest);
    }
    if (r == 0) {
        r = http_head_finish_request(head);
    }
    return r < 0 ? r : n;
}

int http_response_parse(HttpHead *head, HttpMethod method, const char *buf, size_t len)
{
    Str line, rest;
    int n, r;

    if (len > 0 && buf[0] != 'H') {
        return http_head_fail(head, EBADMSG, "malformed status line");
    }
    n = scan(head, buf, len, HTTP_HEAD_MAX, SCAN_START_LINE);
    if (n <= 0) {
        return n;
    }
    line = start_line(head, buf, n, &rest);
    r = parse_status_line(head, line);
    if (r == 0) {
        r = parse_fields(head, rest);
    }
    if (r == 0) {
        r = http_head_finish_response(head, method);
    }
    return r < 0 ? r : n;
}

int http_trailers_parse(HttpHead *head, const char *buf, size_t len)
{
    int n = scan(head, buf, len, HTTP_TRAILERS_MAX, 0);
    int r;

    if (n <= 0) {
        return n;
    }
    r = parse_fields(head, (Str){buf, (size_t)n});
    for (size_t i = 0; r == 0 && i < head->n_headers; i++) {
        if (http_token_flags(head->headers[i].id) & HTTP_TOKEN_FRAMING) {
            r = http_head_fail(head, EBADMSG, "framing field in a trailer");
        }
    }
    return r < 0 ? r : n;
}
