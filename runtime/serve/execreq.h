/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * The body of POST /execute: {"command", "timeout_seconds", "env", "cwd"}. Members that are not
 * known are ignored, null means absent. What is wrong is told in the form that clients of the
 * Python runtime know: 422 {"detail":[{"type","loc","msg"}]}.
 *
 * Pure: no I/O. Splitting happens here, so a command that cannot be split is an outcome too.
 */
#include <stdbool.h>

#include "base/str.h"
#include "runtime/exec/shlex.h"

#define EXECREQ_BODY_MAX (1024 * 1024)
#define EXECREQ_ENV_MAX 1024 /* variables of one request */

typedef struct ExecRequest {
    Argv argv;          /* may be empty */
    const char *refuse; /* why the command cannot run: a result with exit code 1, static text */
    Argv env;           /* name, value, name, value, ... */
    bool has_timeout;
    double timeout_s; /* > 0 and finite */
    bool has_cwd;
    Argv cwd; /* one element when has_cwd */
} ExecRequest;

/*
 * 0, or 1 with the 422 body in `problem`. `timeout_max_s` bounds timeout_seconds. The request must
 * be zeroed before and deinited after, whatever the outcome.
 */
int exec_request_parse(Str body, double timeout_max_s, ExecRequest *request, StrBuf *problem);
void exec_request_deinit(ExecRequest *request);

DEFINE_AUTO(exec_request, ExecRequest, exec_request_deinit)
