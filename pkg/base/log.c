/* SPDX-License-Identifier: Apache-2.0 */
/*
 * See log.h. A line is put together on the stack and written with one write(2): lines of different
 * threads never mix, and a line costs no allocation. What does not fit is dropped whole field by
 * whole field, and the line says so.
 */
#include "base/log.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/timefmt.h"

struct Logger {
    int fd;
    char *name;
    const Clock *clock;
    _Atomic int level; /* may change while others log */
    LogEncoder encoder;
    LogTime time;
};

typedef struct Line {
    char text[LOG_LINE_MAX];
    size_t len;
    bool full;
} Line;

#define LINE_TAIL 32 /* kept free for `,"truncated":true}` and the newline */

static const char *const level_names[LOG_LEVEL_MAX_] = {"debug", "info", "warn", "error"};

Logger *logger_new(int fd, const char *name, const Clock *clock)
{
    Logger *log = xcalloc(1, sizeof(*log));

    log->fd = fd;
    log->name = name ? xstrdup(name) : NULL;
    log->clock = clock;
    atomic_init(&log->level, LOG_LEVEL_INFO);
    return log;
}

Logger *logger_free(Logger *log)
{
    if (log) {
        free(log->name);
        free(log);
    }
    return NULL;
}

void logger_set_level(Logger *log, LogLevel level)
{
    atomic_store_explicit(&log->level, (int)level, memory_order_relaxed);
}

void logger_set_encoder(Logger *log, LogEncoder encoder)
{
    log->encoder = encoder;
}

void logger_set_time(Logger *log, LogTime time)
{
    log->time = time;
}

bool logger_enabled(const Logger *log, LogLevel level)
{
    return log && (int)level >= atomic_load_explicit(&log->level, memory_order_relaxed);
}

static void line_put(Line *line, Str s)
{
    if (s.len == 0) {
        return;
    }
    if (line->full || s.len > sizeof(line->text) - LINE_TAIL - line->len) {
        line->full = true;
        return;
    }
    memcpy(line->text + line->len, s.ptr, s.len);
    line->len += s.len;
}

static void PRINTF_LIKE(2, 3) line_printf(Line *line, const char *fmt, ...)
{
    char text[512];
    va_list ap;
    int n;

    va_start(ap, fmt);
    n = vsnprintf(text, sizeof(text), fmt, ap);
    va_end(ap);
    if (n > 0) {
        line_put(line, (Str){text, (size_t)n < sizeof(text) ? (size_t)n : sizeof(text) - 1});
    }
}

static void line_put_escaped_char(Line *line, unsigned char c)
{
    switch (c) {
    case '"':
        line_put(line, STR("\\\""));
        break;
    case '\\':
        line_put(line, STR("\\\\"));
        break;
    case '\n':
        line_put(line, STR("\\n"));
        break;
    case '\r':
        line_put(line, STR("\\r"));
        break;
    case '\t':
        line_put(line, STR("\\t"));
        break;
    default:
        line_printf(line, "\\u%04x", c);
        break;
    }
}

/* Text that is not UTF-8 is written byte by byte, each high byte as U+00XX, so that nothing is lost
 * and the line stays valid JSON. */
static void line_put_json_string(Line *line, Str s)
{
    bool utf8 = str_is_utf8(s);
    size_t start = 0;

    line_put(line, STR("\""));
    for (size_t i = 0; i < s.len; i++) {
        unsigned char c = (unsigned char)s.ptr[i];

        if (c < 0x20 || c == '"' || c == '\\' || c == 0x7f || (c >= 0x80 && !utf8)) {
            line_put(line, (Str){s.ptr + start, i - start});
            line_put_escaped_char(line, c);
            start = i + 1;
        }
    }
    line_put(line, (Str){s.ptr + start, s.len - start});
    line_put(line, STR("\""));
}

static void line_put_value(Line *line, const LogField *field)
{
    switch (field->kind) {
    case LOG_FIELD_STR:
        line_put_json_string(line, field->u.s);
        break;
    case LOG_FIELD_I64:
        line_printf(line, "%" PRId64, field->u.i);
        break;
    case LOG_FIELD_F64:
        if (isfinite(field->u.d)) {
            line_printf(line, "%.6g", field->u.d);
        } else {
            line_put(line, STR("null"));
        }
        break;
    case LOG_FIELD_BOOL:
        line_put(line, field->u.b ? STR("true") : STR("false"));
        break;
    }
}

static void line_put_time(Line *line, const Logger *log)
{
    int64_t ns = log->clock->wall_ns(log->clock);
    bool quote = log->encoder == LOG_ENCODER_JSON;
    char text[TIMEFMT_SIZE];

    switch (log->time) {
    case LOG_TIME_EPOCH:
        line_printf(line, "%.6f", (double)ns / 1e9);
        return;
    case LOG_TIME_MILLIS:
        line_printf(line, "%.3f", (double)ns / 1e6);
        return;
    case LOG_TIME_NANO:
        line_printf(line, "%" PRId64, ns);
        return;
    case LOG_TIME_RFC3339:
        timefmt_seconds(ns, text);
        break;
    case LOG_TIME_RFC3339NANO:
        timefmt_nanos(ns, text);
        break;
    case LOG_TIME_ISO8601: /* zap's has milliseconds */
        timefmt_micros(ns, text);
        memcpy(strchr(text, '.') + 4, "Z", 2);
        break;
    }
    line_printf(line, quote ? "\"%s\"" : "%s", text);
}

static void line_put_head(Line *line, const Logger *log, LogLevel level, const char *msg)
{
    if (log->encoder == LOG_ENCODER_CONSOLE) {
        line_put_time(line, log);
        line_printf(line, "\t%s\t", level_names[level]);
        if (log->name) {
            line_printf(line, "%s\t", log->name);
        }
        line_put(line, str_from(msg));
        return;
    }
    line_printf(line, "{\"level\":\"%s\",\"ts\":", level_names[level]);
    line_put_time(line, log);
    if (log->name) {
        line_put(line, STR(",\"logger\":"));
        line_put_json_string(line, str_from(log->name));
    }
    line_put(line, STR(",\"msg\":"));
    line_put_json_string(line, str_from(msg));
}

static void line_put_fields(Line *line, const Logger *log, const LogField *fields, size_t n)
{
    bool console = log->encoder == LOG_ENCODER_CONSOLE;

    for (size_t i = 0; i < n && !line->full; i++) {
        size_t before = line->len;

        if (console) {
            line_put(line, i == 0 ? STR("\t{") : STR(", "));
        } else {
            line_put(line, STR(","));
        }
        line_put_json_string(line, str_from(fields[i].key));
        line_put(line, console ? STR(": ") : STR(":"));
        line_put_value(line, &fields[i]);
        if (line->full) {
            line->len = before;
        }
    }
    if (console && n > 0) {
        line_put(line, STR("}"));
    }
}

static void line_write(const Line *line, int fd)
{
    size_t done = 0;

    while (done < line->len) {
        ssize_t n = write(fd, line->text + done, line->len - done);

        if (n < 0 && errno == EINTR) {
            continue;
        }
        if (n <= 0) {
            return; /* nobody reads the log: there is no place left to say so */
        }
        done += (size_t)n;
    }
}

void log_write(Logger *log, LogLevel level, const char *msg, const LogField *fields, size_t n)
{
    UNCLEARED Line line;
    const char *tail = log->encoder == LOG_ENCODER_JSON ? "}\n" : "\n";

    line.len = 0;
    line.full = false;
    line_put_head(&line, log, level, msg);
    line_put_fields(&line, log, fields, n);
    if (line.full) {
        tail = log->encoder == LOG_ENCODER_JSON ? ",\"truncated\":true}\n" : " ...\n";
    }
    memcpy(line.text + line.len, tail, strlen(tail));
    line.len += strlen(tail);
    line_write(&line, log->fd);
}
