/* SPDX-License-Identifier: Apache-2.0 */
/* See access.h. */
#include "router/access.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/timefmt.h"
#include "json/write.h"

#define NO_NAMESPACE STR("-")

static void write_all(int fd, Str bytes)
{
    while (bytes.len > 0) {
        ssize_t n = write(fd, bytes.ptr, bytes.len);

        if (n < 0 && errno == EINTR) {
            continue;
        }
        if (n <= 0) {
            return; /* nobody reads the log: there is no place left to say so */
        }
        bytes = str_drop(bytes, (size_t)n);
    }
}

/* As many whole lines as one atomic write takes; one long line goes alone. */
static size_t piece_len(Str lines)
{
    const char *end;

    if (lines.len <= PIPE_BUF) {
        return lines.len;
    }
    end = memrchr(lines.ptr, '\n', PIPE_BUF);
    if (!end) {
        end = memchr(lines.ptr, '\n', lines.len);
    }
    return end ? (size_t)(end - lines.ptr) + 1 : lines.len;
}

static void write_lines(Access *access)
{
    Str lines = strbuf_str(&access->lines);

    while (lines.len > 0) {
        size_t n = piece_len(lines);

        write_all(access->observe->access_fd, str_take(lines, n));
        lines = str_drop(lines, n);
    }
    strbuf_clear(&access->lines);
}

static void flush(LoopDefer *defer)
{
    write_lines(container_of(defer, Access, flush));
}

void access_init(Access *access, Observe *observe, Loop *loop)
{
    *access = (Access){.observe = observe, .loop = loop};
    strbuf_init(&access->lines, 2 * ACCESS_LINES_MAX);
    loop_defer_init(&access->flush, flush);
}

void access_deinit(Access *access)
{
    loop_defer_cancel(&access->flush);
    write_lines(access);
    strbuf_deinit(&access->lines);
}

/* ---- one line ---- */

static void put_number(StrBuf *out, uint64_t value, int digits)
{
    char text[24];
    size_t at = sizeof(text);

    do {
        text[--at] = (char)('0' + value % 10);
        value /= 10;
        digits--;
    } while (value > 0 || digits > 0);
    strbuf_append(out, (Str){text + at, sizeof(text) - at});
}

static void put_text(StrBuf *out, Str key, Str value)
{
    strbuf_append(out, key);
    json_quote(out, value);
}

static void put_line(Access *access, const ObserveRequest *request)
{
    StrBuf *out = &access->lines;
    int64_t now = loop_wall_now(access->loop);
    uint64_t us = request->duration_ns / NS_PER_US;

    if (access->ts_s != now / (int64_t)NS_PER_S || !access->ts[0]) {
        access->ts_s = now / (int64_t)NS_PER_S;
        timefmt_seconds(now, access->ts);
    }
    strbuf_append(out, STR("{\"level\":\"info\",\"ts\":\""));
    strbuf_append_cstr(out, access->ts);
    put_text(out, STR("\",\"logger\":\"sandbox-router.access\",\"msg\":\"request\",\"method\":"),
             request->method);
    put_text(out, STR(",\"path\":"), request->path);
    strbuf_append(out, STR(",\"status\":"));
    put_number(out, (uint64_t)request->status, 1);
    strbuf_append(out, STR(",\"duration_ms\":"));
    put_number(out, us / 1000, 1);
    strbuf_append(out, STR("."));
    put_number(out, us % 1000, 3);
    put_text(out, STR(",\"client_ip\":"), request->client_ip);
    put_text(out, STR(",\"sandbox_id\":"), request->sandbox_id);
    put_text(out, STR(",\"sandbox_namespace\":"), request->sandbox_namespace);
    strbuf_append(out, STR(",\"bytes_out\":"));
    put_number(out, request->bytes_out, 1);
    put_text(out, STR(",\"user_agent\":"), request->user_agent);
    put_text(out, STR(",\"source\":"), str_from(request->source));
    if (request->trace_id.len > 0) {
        put_text(out, STR(",\"trace_id\":"), request->trace_id);
        put_text(out, STR(",\"span_id\":"), request->span_id);
    }
    if (request->identity.len > 0) {
        put_text(out, STR(",\"client_identity\":"), request->identity);
    }
    if (request->error[0]) {
        put_text(out, STR(",\"error\":"), str_from(request->error));
    }
    strbuf_append(out, STR("}\n"));
}

/* ---- counters ---- */

static void find_series(Access *access, const ObserveRequest *request, Str ns)
{
    char code[12];
    int n = snprintf(code, sizeof(code), "%d", request->status);
    Str values[] = {http_method_name(request->method_id), {code, (size_t)n}, ns};

    access->requests = counter_series(access->observe->requests, values);
    access->duration = histogram_series(access->observe->duration, values);
    access->method = request->method_id;
    access->status = request->status;
    access->ns_len = (uint8_t)(ns.len < sizeof(access->ns) ? ns.len : 0);
    memcpy(access->ns, ns.ptr, access->ns_len);
}

void access_request(Access *access, const ObserveRequest *request)
{
    Str ns = request->known ? request->sandbox_namespace : NO_NAMESPACE;

    if (!access->requests || access->method != request->method_id ||
        access->status != request->status || !str_eq(ns, (Str){access->ns, access->ns_len})) {
        find_series(access, request, ns);
    }
    counter_inc(access->requests);
    histogram_observe(access->duration, (double)request->duration_ns / (double)NS_PER_S);
    if (request->quiet || !logger_enabled(access->observe->access, LOG_LEVEL_INFO)) {
        return;
    }
    if (access->observe->access_fd < 0) {
        observe_log(access->observe, request);
        return;
    }
    put_line(access, request);
    if (access->lines.len > ACCESS_LINES_MAX) {
        write_lines(access);
    } else {
        loop_defer_post(access->loop, &access->flush);
    }
}
