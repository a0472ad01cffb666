/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/* Whole replies in JSON. */
#include "http/server.h"

#define REPLY_JSON "application/json"
#define REPLY_BODY_MAX (256 * 1024)

void reply_json(HttpExchange *x, int status, const StrBuf *body);
void reply_detail(HttpExchange *x, int status, const char *detail);
void reply_message(HttpExchange *x, int status, Str message);
void reply_denied(HttpExchange *x); /* 403 {"message":"Access denied"} */
/*
 * A file operation failed: 404 with `missing` for what is not there, 403 for what leads outside,
 * otherwise the status that fits and "<what> failed: [Errno N] text: 'path'". Permanent failures
 * never get a 500 or a 503, which clients would try again.
 */
void reply_errno(HttpExchange *x, int r, const char *what, const char *missing, Str path);
