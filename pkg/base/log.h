/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * Structured log lines: one JSON object (or one console line) a message, written with one write(2).
 * Libraries below the programs do not log; they return errors. Values are escaped, so hostile text
 * cannot forge a line. A Logger is passed, never global. Thread-safe: a line is one write.
 *
 *     LOG_INFO(log, "sandbox adopted", F_STR("claim", name), F_I64("writes", 2));
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/clock.h"
#include "base/err.h"
#include "base/str.h"

#define LOG_LINE_MAX 8192 /* longer lines are cut and end with "truncated":true */

typedef enum LogLevel {
    LOG_LEVEL_DEBUG,
    LOG_LEVEL_INFO,
    LOG_LEVEL_WARN,
    LOG_LEVEL_ERROR,
    LOG_LEVEL_MAX_,
} LogLevel;

typedef enum LogEncoder {
    LOG_ENCODER_JSON,
    LOG_ENCODER_CONSOLE,
} LogEncoder;

typedef enum LogTime {
    LOG_TIME_RFC3339,
    LOG_TIME_RFC3339NANO,
    LOG_TIME_EPOCH,
    LOG_TIME_MILLIS,
    LOG_TIME_NANO,
    LOG_TIME_ISO8601,
} LogTime;

typedef struct LogField {
    const char *key;
    enum { LOG_FIELD_STR, LOG_FIELD_I64, LOG_FIELD_F64, LOG_FIELD_BOOL } kind;
    union {
        Str s;
        int64_t i;
        double d;
        bool b;
    } u;
} LogField;

#define F_STR(k, v) ((LogField){.key = (k), .kind = LOG_FIELD_STR, .u.s = (v)})
#define F_CSTR(k, v) ((LogField){.key = (k), .kind = LOG_FIELD_STR, .u.s = str_from(v)})
#define F_I64(k, v) ((LogField){.key = (k), .kind = LOG_FIELD_I64, .u.i = (int64_t)(v)})
#define F_F64(k, v) ((LogField){.key = (k), .kind = LOG_FIELD_F64, .u.d = (v)})
#define F_BOOL(k, v) ((LogField){.key = (k), .kind = LOG_FIELD_BOOL, .u.b = (v)})
#define F_ERR(e) F_CSTR("error", (e)->msg)

typedef struct Logger Logger;

/* Writes to fd (not owned). `name` becomes the "logger" member, may be NULL. */
Logger *logger_new(int fd, const char *name, const Clock *clock);
Logger *logger_free(Logger *log); /* NULL is fine; returns NULL */
void logger_set_level(Logger *log, LogLevel level);
void logger_set_encoder(Logger *log, LogEncoder encoder);
void logger_set_time(Logger *log, LogTime time);
bool logger_enabled(const Logger *log, LogLevel level); /* a NULL logger is never enabled */

void log_write(Logger *log, LogLevel level, const char *msg, const LogField *fields, size_t n);

#define LOG_AT_(log, level, msg, ...)                                                              \
    do {                                                                                           \
        Logger *log_tmp_ = (log);                                                                  \
        if (logger_enabled(log_tmp_, (level))) {                                                   \
            const LogField log_fields_[] = {F_I64(NULL, 0), ##__VA_ARGS__};                        \
            log_write(log_tmp_, (level), (msg), log_fields_ + 1, ARRAY_LEN(log_fields_) - 1);      \
        }                                                                                          \
    } while (0)

#define LOG_DEBUG(log, msg, ...) LOG_AT_(log, LOG_LEVEL_DEBUG, msg, ##__VA_ARGS__)
#define LOG_INFO(log, msg, ...) LOG_AT_(log, LOG_LEVEL_INFO, msg, ##__VA_ARGS__)
#define LOG_WARN(log, msg, ...) LOG_AT_(log, LOG_LEVEL_WARN, msg, ##__VA_ARGS__)
#define LOG_ERROR(log, msg, ...) LOG_AT_(log, LOG_LEVEL_ERROR, msg, ##__VA_ARGS__)
