/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * Keys of scoped tokens, from files that are read again when they change. Any thread may ask; one
 * thread follows the files. Files that cannot be used leave the keys as they were: old and new keys
 * overlap as long as the files hold both.
 */
#include "base/log.h"
#include "base/loop.h"
#include "metrics/metrics.h"
#include "token/token.h"

#define AUTHZ_KEYS_LOOK_NS (2 * NS_PER_S) /* between two looks at the files */

typedef struct AuthzKeys AuthzKeys;

typedef struct AuthzKeysConfig {
    const char *secret_file; /* v1; "" = none */
    const char *set_file;    /* v2; "" = none */
    Loop *loop;
    Metrics *metrics;
    Logger *log;
} AuthzKeysConfig;

/* -errno with the file's name. */
int authz_keys_new(const AuthzKeysConfig *config, AuthzKeys **ret_keys, Err *reterr);
AuthzKeys *authz_keys_free(AuthzKeys *keys); /* NULL is fine */
TokenVerdict authz_keys_verify(AuthzKeys *keys, Str token, int64_t now_s, TokenClaims *ret_claims);
