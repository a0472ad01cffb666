/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * Trace context as W3C Trace Context (level 1, version 00) puts it on the wire: `traceparent`, and
 * the list of `tracestate`, which is carried and never changed. Pure functions.
 */
#include <stdbool.h>
#include <stdint.h>

#include "base/str.h"

#define TRACE_ID_LEN 16
#define TRACE_SPAN_ID_LEN 8
#define TRACE_FLAG_SAMPLED 0x01
#define TRACE_PARENT_LEN 55 /* characters of a version 00 traceparent */
#define TRACE_STATE_MAX 512 /* longest tracestate that is carried (3.3.1.5 asks for this much) */
#define TRACE_STATE_MEMBERS_MAX 32 /* 3.3.1.1 */

typedef struct TraceContext {
    uint8_t trace_id[TRACE_ID_LEN];
    uint8_t span_id[TRACE_SPAN_ID_LEN];
    uint8_t flags; /* TRACE_FLAG_SAMPLED or 0 */
} TraceContext;

static inline bool trace_context_sampled(const TraceContext *context)
{
    return (context->flags & TRACE_FLAG_SAMPLED) != 0;
}

/* Neither id is all zero. */
bool trace_context_is_valid(const TraceContext *context);

/* Versions above 00 are read as 00 (3.2.4). -EINVAL; *ret is then untouched. */
int trace_parent_parse(Str text, TraceContext *ret);
void trace_parent_format(const TraceContext *context, char ret[TRACE_PARENT_LEN + 1]);

/* Whether this is a list of at most TRACE_STATE_MEMBERS_MAX distinct keys with values, of at most
 * TRACE_STATE_MAX bytes. What is not must be dropped whole. */
bool trace_state_is_valid(Str text);

/* Lower-case hex with NUL: 2 * len + 1 bytes. */
void trace_hex(const uint8_t *bytes, size_t len, char *ret);
