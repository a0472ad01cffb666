/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/* base64url without padding (RFC 4648, section 5), as tokens and key sets use it. */
#include "base/str.h"

/* Bytes that n bytes become, without the NUL. */
#define BASE64URL_LEN(n) (((n)*4 + 2) / 3)

int base64url_encode(Str bytes, StrBuf *out); /* appends; 0 or -E2BIG */
/*
 * Strict: padding, other characters and bits that no byte needs are refused, so each value has one
 * spelling. Returns how many bytes were written; -EINVAL, -E2BIG (more than max).
 */
int base64url_decode(Str text, void *ret, size_t max);
