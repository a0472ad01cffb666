/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * Header names this program knows, interned once by the parser, so that every later question about
 * a header ("is it hop-by-hop?") is a table lookup and no string is compared twice. The order of
 * the enum is meaningless; HTTP_TOKEN_OTHER is any name that is not in the table.
 */
#include <stdint.h>

#include "base/str.h"

typedef enum HttpToken {
    HTTP_TOKEN_OTHER,
    HTTP_TOKEN_ACCEPT,
    HTTP_TOKEN_ACCEPT_ENCODING,
    HTTP_TOKEN_AUTHORIZATION,
    HTTP_TOKEN_CONNECTION,
    HTTP_TOKEN_CONTENT_LENGTH,
    HTTP_TOKEN_CONTENT_TYPE,
    HTTP_TOKEN_DATE,
    HTTP_TOKEN_EXPECT,
    HTTP_TOKEN_FORWARDED,
    HTTP_TOKEN_HOST,
    HTTP_TOKEN_KEEP_ALIVE,
    HTTP_TOKEN_ORIGIN,
    HTTP_TOKEN_PROXY_AUTHENTICATE,
    HTTP_TOKEN_PROXY_AUTHORIZATION,
    HTTP_TOKEN_PROXY_CONNECTION,
    HTTP_TOKEN_RANGE,
    HTTP_TOKEN_SERVER,
    HTTP_TOKEN_TE,
    HTTP_TOKEN_TRACEPARENT,
    HTTP_TOKEN_TRACESTATE,
    HTTP_TOKEN_TRAILER,
    HTTP_TOKEN_TRANSFER_ENCODING,
    HTTP_TOKEN_UPGRADE,
    HTTP_TOKEN_USER_AGENT,
    HTTP_TOKEN_X_FORWARDED_FOR,
    HTTP_TOKEN_X_FORWARDED_HOST,
    HTTP_TOKEN_X_FORWARDED_PROTO,
    HTTP_TOKEN_X_SANDBOX_ID,
    HTTP_TOKEN_X_SANDBOX_NAMESPACE,
    HTTP_TOKEN_X_SANDBOX_POD_IP,
    HTTP_TOKEN_X_SANDBOX_PORT,
    HTTP_TOKEN_X_SANDBOX_TIMEOUT,
    HTTP_TOKEN_X_SANDBOX_UID,
    HTTP_TOKEN_MAX_,
} HttpToken;

enum {
    HTTP_TOKEN_HOP = 1 << 0,        /* belongs to one connection: never forwarded */
    HTTP_TOKEN_ROUTING = 1 << 1,    /* says where the request goes: at most one, never forwarded */
    HTTP_TOKEN_FORWARDING = 1 << 2, /* says who forwarded: replaced, never believed */
    HTTP_TOKEN_FRAMING = 1 << 3,    /* never valid in a trailer */
};

HttpToken http_token_find(Str name);  /* any case */
Str http_token_name(HttpToken token); /* as written on the wire; empty for OTHER */
uint8_t http_token_flags(HttpToken token);
