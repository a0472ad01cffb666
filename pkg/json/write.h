/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * Streaming writer into a StrBuf, for small bodies and patches that are not worth a tree. Commas
 * and colons are its job; calls out of order (a value where a key is due) are bugs and fail a
 * CHECK. The only run-time error is a full StrBuf, which is sticky there: look at it once, at the
 * end. Bytes that are not UTF-8 come out as U+FFFD, so that the output is always valid JSON.
 *
 *     JWriter w;
 *     jw_init(&w, &buf);
 *     jw_object(&w);
 *     jw_key(&w, STR("metadata")), jw_object(&w), jw_member_str(&w, "uid", uid), jw_object_end(&w);
 *     jw_object_end(&w);
 */
#include <stdbool.h>
#include <stdint.h>

#include "base/str.h"
#include "json/doc.h"

typedef struct JWriter {
    StrBuf *out;      /* not owned */
    uint64_t objects; /* bit d: container at depth d + 1 is an object */
    unsigned depth;
    bool comma; /* the next key or element needs one before it */
    bool value; /* a key was written, a value is due */
} JWriter;

void jw_init(JWriter *w, StrBuf *out);
void jw_object(JWriter *w);
void jw_object_end(JWriter *w);
void jw_array(JWriter *w);
void jw_array_end(JWriter *w);
void jw_key(JWriter *w, Str key);

void jw_str(JWriter *w, Str s);          /* STR_NULL writes null */
void jw_cstr(JWriter *w, const char *s); /* NULL writes null */
void jw_i64(JWriter *w, int64_t v);
void jw_u64(JWriter *w, uint64_t v);
void jw_f64(JWriter *w, double v); /* shortest text that reads back the same; not finite = null */
void jw_bool(JWriter *w, bool v);
void jw_null(JWriter *w);
void jw_raw(JWriter *w, Str json);    /* the caller vouches that it is one JSON value */
void jw_node(JWriter *w, JNode node); /* absent writes null */

/* Member shorthands. */
void jw_member_str(JWriter *w, const char *key, Str v);
void jw_member_cstr(JWriter *w, const char *key, const char *v);
void jw_member_i64(JWriter *w, const char *key, int64_t v);
void jw_member_bool(JWriter *w, const char *key, bool v);

/* "s" with quotes and escapes, appended to any buffer. */
int json_quote(StrBuf *out, Str s);
/* Decimal text of a finite double into dst, shortest that reads back the same; returns its length.
 */
#define JSON_DOUBLE_MAX 32
size_t json_format_double(double v, char dst[JSON_DOUBLE_MAX]);
