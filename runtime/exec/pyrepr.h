/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * Text of the messages that clients of the Python runtime know and match: quoted strings, lists of
 * them and floats, written as Python's repr() writes them.
 */
#include "base/str.h"

void pyrepr_str(StrBuf *out, Str s);              /* 'x', or "it's" */
void pyrepr_argv(StrBuf *out, char *const *argv); /* ['sleep', '5'] */
void pyrepr_float(StrBuf *out, double value);     /* 3.0, 0.5, 1e+16 */
/* `[Errno 2] No such file or directory: 'x'` */
void pyrepr_oserror(StrBuf *out, int code, Str subject);
