/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/* Flags that say who may call: part of the table in options.c, checked here. */
#include "router/options.h"

/* Each is FLAG() of options.c's table. */
#define OPTIONS_AUTHZ_SPECS                                                                        \
    FLAG("path-routing-prefix", OPT_STRING, path_prefix, "",                                       \
         "requests may name their target as PREFIX/NAMESPACE/ID/PORT/...; empty = not"),           \
        FLAG("allowed-ports", OPT_STRING, allowed_ports, "",                                       \
             "ports and ranges that X-Sandbox-Port may name, by comma; empty = all"),              \
        FLAG(                                                                                      \
            "authz-tokenreview-ttl", OPT_DURATION, review_ttl_ns, "30s",                           \
            "how long the API server's word about a token is believed: the longest a revoked one " \
            "works"),                                                                              \
        FLAG("authz-tokenreview-cache-size", OPT_INT, review_cache_size, "2048",                   \
             "tokens remembered, and as many uses of a sandbox by one"),                           \
        FLAG("authz-tokenreview-require-token", OPT_BOOL, review_require_token, "true",            \
             "false: requests without a token go through unreviewed"),                             \
        FLAG("authz-tokenreview-audiences", OPT_STRING, review_audiences, "",                      \
             "comma separated; a token must be for one of them"),                                  \
        FLAG("authz-scoped-token-secret-file", OPT_STRING, token_secret_file, "",                  \
             "secrets of v1 tokens, one a line, 32 bytes at least; read again when it changes"),   \
        FLAG("authz-scoped-token-verification-keys-file", OPT_STRING, token_keys_file, "",         \
             "public keys of v2 tokens, {\"keys\":[{\"kid\",\"publicKey\"}]}; read again when it " \
             "changes")

int options_authz_check(const RouterOptions *options, Err *reterr); /* -EINVAL names the flag */
