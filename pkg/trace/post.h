/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * One POST at a time to one URL, by libcurl on the loop; the connection is kept. TLS is verified,
 * redirects are not followed, and no proxy of the environment is used. The only file of this layer
 * that sees libcurl is post.c.
 */
#include "base/err.h"
#include "base/loop.h"
#include "trace/config.h"

#define TRACE_ANSWER_MAX (64u << 10) /* bytes kept of an answer; a longer one is a failure */

typedef struct TracePost TracePost;

typedef struct TracePostResult {
    int status;              /* 0 when no whole answer came */
    Str body;                /* borrowed for the callback */
    uint64_t retry_after_ns; /* 0 = not given; at most TRACE_RETRY_AFTER_MAX_NS */
    const char *error;       /* with status 0 */
} TracePostResult;

#define TRACE_RETRY_AFTER_MAX_NS (300 * NS_PER_S)

/* Never from inside trace_post_send(). May send again. */
typedef void (*TracePostFn)(void *ctx, const TracePostResult *result);

/* loop is borrowed; url, headers, files and protocol of config are copied. */
int trace_post_new(Loop *loop, const TraceConfig *config, TracePostFn done, void *ctx,
                   TracePost **ret, Err *reterr);
/* Cancels what is under way. Not from inside the callback. */
TracePost *trace_post_free(TracePost *post);
/* body is borrowed until the callback. One at a time. */
void trace_post_send(TracePost *post, Str body);
