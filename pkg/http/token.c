/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The table of known header names. A lookup compares only names of the same length, of which there
 * are at most TOKENS_PER_LENGTH; test_token.c checks that every entry is reachable.
 */
#include "http/token.h"

typedef struct TokenInfo {
    Str name;
    uint8_t flags;
} TokenInfo;

#define T(text, bits)                                                                              \
    {                                                                                              \
        {text, sizeof(text) - 1}, bits                                                             \
    }

static const TokenInfo tokens[HTTP_TOKEN_MAX_] = {
    [HTTP_TOKEN_OTHER] = T("", 0),
    [HTTP_TOKEN_ACCEPT] = T("Accept", 0),
    [HTTP_TOKEN_ACCEPT_ENCODING] = T("Accept-Encoding", 0),
    [HTTP_TOKEN_AUTHORIZATION] = T("Authorization", 0),
    [HTTP_TOKEN_CONNECTION] = T("Connection", HTTP_TOKEN_HOP),
    [HTTP_TOKEN_CONTENT_LENGTH] = T("Content-Length", HTTP_TOKEN_FRAMING),
    [HTTP_TOKEN_CONTENT_TYPE] = T("Content-Type", 0),
    [HTTP_TOKEN_DATE] = T("Date", 0),
    [HTTP_TOKEN_EXPECT] = T("Expect", 0),
    [HTTP_TOKEN_FORWARDED] = T("Forwarded", HTTP_TOKEN_FORWARDING),
    [HTTP_TOKEN_HOST] = T("Host", HTTP_TOKEN_FRAMING),
    [HTTP_TOKEN_KEEP_ALIVE] = T("Keep-Alive", HTTP_TOKEN_HOP),
    [HTTP_TOKEN_ORIGIN] = T("Origin", 0),
    [HTTP_TOKEN_PROXY_AUTHENTICATE] = T("Proxy-Authenticate", HTTP_TOKEN_HOP),
    [HTTP_TOKEN_PROXY_AUTHORIZATION] = T("Proxy-Authorization", HTTP_TOKEN_HOP),
    [HTTP_TOKEN_PROXY_CONNECTION] = T("Proxy-Connection", HTTP_TOKEN_HOP),
    [HTTP_TOKEN_RANGE] = T("Range", 0),
    [HTTP_TOKEN_SERVER] = T("Server", 0),
    [HTTP_TOKEN_TE] = T("TE", HTTP_TOKEN_HOP),
    [HTTP_TOKEN_TRACEPARENT] = T("traceparent", 0),
    [HTTP_TOKEN_TRACESTATE] = T("tracestate", 0),
    [HTTP_TOKEN_TRAILER] = T("Trailer", 0),
    [HTTP_TOKEN_TRANSFER_ENCODING] = T("Transfer-Encoding", HTTP_TOKEN_HOP | HTTP_TOKEN_FRAMING),
    [HTTP_TOKEN_UPGRADE] = T("Upgrade", HTTP_TOKEN_HOP),
    [HTTP_TOKEN_USER_AGENT] = T("User-Agent", 0),
    [HTTP_TOKEN_X_FORWARDED_FOR] = T("X-Forwarded-For", HTTP_TOKEN_FORWARDING),
    [HTTP_TOKEN_X_FORWARDED_HOST] = T("X-Forwarded-Host", HTTP_TOKEN_FORWARDING),
    [HTTP_TOKEN_X_FORWARDED_PROTO] = T("X-Forwarded-Proto", HTTP_TOKEN_FORWARDING),
    [HTTP_TOKEN_X_SANDBOX_ID] = T("X-Sandbox-ID", HTTP_TOKEN_ROUTING),
    [HTTP_TOKEN_X_SANDBOX_NAMESPACE] = T("X-Sandbox-Namespace", HTTP_TOKEN_ROUTING),
    [HTTP_TOKEN_X_SANDBOX_POD_IP] = T("X-Sandbox-Pod-IP", HTTP_TOKEN_ROUTING),
    [HTTP_TOKEN_X_SANDBOX_PORT] = T("X-Sandbox-Port", HTTP_TOKEN_ROUTING),
    [HTTP_TOKEN_X_SANDBOX_TIMEOUT] = T("X-Sandbox-Timeout", HTTP_TOKEN_ROUTING),
    [HTTP_TOKEN_X_SANDBOX_UID] = T("X-Sandbox-UID", HTTP_TOKEN_ROUTING),
};

#define TOKEN_LENGTH_MAX 19
#define TOKENS_PER_LENGTH 6

/* Zero (HTTP_TOKEN_OTHER) ends a row. */
static const uint8_t by_length[TOKEN_LENGTH_MAX + 1][TOKENS_PER_LENGTH] = {
    [2] = {HTTP_TOKEN_TE},
    [4] = {HTTP_TOKEN_HOST, HTTP_TOKEN_DATE},
    [5] = {HTTP_TOKEN_RANGE},
    [6] = {HTTP_TOKEN_ACCEPT, HTTP_TOKEN_EXPECT, HTTP_TOKEN_ORIGIN, HTTP_TOKEN_SERVER},
    [7] = {HTTP_TOKEN_UPGRADE, HTTP_TOKEN_TRAILER},
    [9] = {HTTP_TOKEN_FORWARDED},
    [10] = {HTTP_TOKEN_USER_AGENT, HTTP_TOKEN_CONNECTION, HTTP_TOKEN_KEEP_ALIVE,
            HTTP_TOKEN_TRACESTATE},
    [11] = {HTTP_TOKEN_TRACEPARENT},
    [12] = {HTTP_TOKEN_CONTENT_TYPE, HTTP_TOKEN_X_SANDBOX_ID},
    [13] = {HTTP_TOKEN_AUTHORIZATION, HTTP_TOKEN_X_SANDBOX_UID},
    [14] = {HTTP_TOKEN_CONTENT_LENGTH, HTTP_TOKEN_X_SANDBOX_PORT},
    [15] = {HTTP_TOKEN_ACCEPT_ENCODING, HTTP_TOKEN_X_FORWARDED_FOR},
    [16] = {HTTP_TOKEN_X_SANDBOX_POD_IP, HTTP_TOKEN_X_FORWARDED_HOST, HTTP_TOKEN_PROXY_CONNECTION},
    [17] = {HTTP_TOKEN_TRANSFER_ENCODING, HTTP_TOKEN_X_SANDBOX_TIMEOUT,
            HTTP_TOKEN_X_FORWARDED_PROTO},
    [18] = {HTTP_TOKEN_PROXY_AUTHENTICATE},
    [19] = {HTTP_TOKEN_X_SANDBOX_NAMESPACE, HTTP_TOKEN_PROXY_AUTHORIZATION},
};

HttpToken http_token_find(Str name)
{
    if (name.len > TOKEN_LENGTH_MAX) {
        return HTTP_TOKEN_OTHER;
    }
    for (size_t i = 0; i < TOKENS_PER_LENGTH; i++) {
        HttpToken token = (HttpToken)by_length[name.len][i];

        if (token == HTTP_TOKEN_OTHER) {
            break;
        }
        if (str_eq_nocase(tokens[token].name, name)) {
            return token;
        }
    }
    return HTTP_TOKEN_OTHER;
}

Str http_token_name(HttpToken token)
{
    return tokens[token].name;
}

uint8_t http_token_flags(HttpToken token)
{
    return tokens[token].flags;
}
