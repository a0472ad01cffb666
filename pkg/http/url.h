/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * Parts of a URL. Percent-encoding is decoded exactly once, by whoever needs the bytes; a proxy
 * never decodes. "+" is not a space in a path; it is one in a query.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/str.h"

/*
 * Decodes into `out`, which holds at least in.len bytes and may be in.ptr itself.
 * -EBADMSG on a malformed escape, -EINVAL on a decoded NUL.
 */
int http_url_decode(Str in, char *out, size_t *ret_len);
/* As above with '+' for space, for one key or value of a query. */
int http_url_decode_query(Str in, char *out, size_t *ret_len);

/* Next "key=value" of a raw query; false at the end. Both parts are still encoded. */
bool http_query_next(Str *query, Str *ret_key, Str *ret_value);
/* Raw value of the first pair whose raw key equals `key`; STR_NULL when absent, empty when bare. */
Str http_query_get(Str query, Str key);

/* Splits "host:port", "[v6]:port", ":port". Brackets are removed. -EINVAL; port 0 only if allowed.
 */
int http_authority_split(Str authority, Str *ret_host, uint16_t *ret_port);
