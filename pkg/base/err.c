/* SPDX-License-Identifier: Apache-2.0 */
/* See err.h. A message that does not fit ends in "...", so that a cut is visible. */
#include "base/err.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/check.h"

static void mark_cut(Err *err, int n)
{
    if (n >= (int)sizeof(err->msg)) {
        memcpy(err->msg + sizeof(err->msg) - 4, "...", 4);
    }
}

int err_set(Err *reterr, int code, const char *fmt, ...)
{
    va_list ap;

    CHECK(code > 0);
    if (reterr) {
        reterr->code = code;
        va_start(ap, fmt);
        mark_cut(reterr, vsnprintf(reterr->msg, sizeof(reterr->msg), fmt, ap));
        va_end(ap);
    }
    return -code;
}

int err_set_errno(Err *reterr, int code, const char *fmt, ...)
{
    char text[ERR_MSG_MAX];
    va_list ap;

    CHECK(code > 0);
    va_start(ap, fmt);
    vsnprintf(text, sizeof(text), fmt, ap);
    va_end(ap);
    return err_set(reterr, code, "%s: %s", text, strerror(code));
}

int err_wrap(Err *reterr, const char *fmt, ...)
{
    Err old;
    char text[ERR_MSG_MAX];
    va_list ap;

    if (!reterr) {
        return -EIO;
    }
    old = *reterr;
    va_start(ap, fmt);
    vsnprintf(text, sizeof(text), fmt, ap);
    va_end(ap);
    return err_set(reterr, old.code > 0 ? old.code : EIO, "%s%s", text, old.msg);
}
