/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * Error text for boundaries: configuration, API, validation, builders.
 *
 * Rules of the whole tree: a function returns 0 on success, a negative errno for an error that the
 * caller forwards, and a positive value only where its header documents that outcome. An Err lives
 * on the caller's stack and has a fixed size, so the error path cannot allocate and cannot fail.
 */
#include <stdarg.h>

#include "base/attr.h"

#define ERR_MSG_MAX 240

typedef struct Err {
    int code;              /* positive errno, 0 when unset */
    char msg[ERR_MSG_MAX]; /* one line, truncated at the end with "..." */
} Err;

#define ERR_INIT                                                                                   \
    {                                                                                              \
        .code = 0                                                                                  \
    }

/* Fills `reterr` (which may be NULL) and returns -code, so that `return err_set(...)` reads well.
 */
int err_set(Err *reterr, int code, const char *fmt, ...) PRINTF_LIKE(3, 4);

/* As err_set, with ": <strerror(code)>" appended. */
int err_set_errno(Err *reterr, int code, const char *fmt, ...) PRINTF_LIKE(3, 4);

/* Puts a prefix in front of the message already there; returns -reterr->code (or -EIO when unset).
 */
int err_wrap(Err *reterr, const char *fmt, ...) PRINTF_LIKE(2, 3);
