/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * Scoped tokens: each opens one sandbox, and says so itself.
 *
 *   v1.<claims>.<mac>         HMAC-SHA256 over "agent-sandbox/scoped-token/v1." <claims>;
 *                             binds ns, name, exp
 *   v2.<kid>.<claims>.<sig>   Ed25519 over "agent-sandbox/scoped-token/v2." <kid> "." <claims>;
 *                             binds ns, name, uid, port, method, path, exp
 *
 * <claims> is JSON, all parts are base64url without padding. A signature is checked before the JSON
 * behind it is read. `exp` is exclusive (now >= exp is expired) and there is no leeway: minter and
 * verifier need clocks that agree to the second.
 *
 * A TokenKeys is immutable once made and may be used by any thread.
 */
#include <stdbool.h>
#include <stdint.h>

#include "base/attr.h"
#include "base/err.h"
#include "base/str.h"

#define TOKEN_MAX 4096        /* bytes of a token */
#define TOKEN_CLAIMS_MAX 3072 /* bytes of decoded claims */
#define TOKEN_TEXT_MAX 2048   /* bytes of one claim */
#define TOKEN_SECRET_MIN 32   /* bytes of a v1 secret, white space around it not counted */
#define TOKEN_FILE_MAX 65536  /* bytes of a secret, key set or private key file */
#define TOKEN_SECRETS_MAX 8   /* v1 secrets in one file: one a line, any of them verifies */
#define TOKEN_KEYS_MAX 64     /* keys of a set */
#define TOKEN_KID_MAX 128
#define TOKEN_PUBLIC_SIZE 32 /* of an Ed25519 key */

typedef struct TokenClaims {
    int version; /* 1 or 2 */
    Str ns;
    Str name;
    Str uid; /* v2 from here on */
    Str method;
    Str path; /* escaped, as in the request line, without query */
    Str kid;
    uint16_t port;
    int64_t exp;                 /* seconds since 1970 */
    char text[TOKEN_CLAIMS_MAX]; /* what the Strs point into */
    size_t used;
} TokenClaims;

typedef enum TokenVerdict {
    TOKEN_GOOD,
    TOKEN_MALFORMED,
    TOKEN_UNKNOWN_KEY, /* no such kid, or no key at all for this version */
    TOKEN_BAD_SIGNATURE,
    TOKEN_EXPIRED,
} TokenVerdict;

const char *token_verdict_text(TokenVerdict verdict);

typedef struct TokenKeys TokenKeys;

TokenKeys *token_keys_new(void);
TokenKeys *token_keys_free(TokenKeys *keys); /* NULL is fine; wipes secrets; returns NULL */
/* Lines of a secret file, each a v1 secret; a file of one line is one secret. -EINVAL. */
int token_keys_add_secret(TokenKeys *keys, Str text, Err *reterr);
/* {"keys":[{"kid","publicKey"}]}, nothing else in it. -EINVAL. */
int token_keys_add_set(TokenKeys *keys, Str json, Err *reterr);

/* Checks everything but what the claims are about. *ret_claims is filled with TOKEN_GOOD and, so
 * that it can be shown, with TOKEN_EXPIRED. */
TokenVerdict token_verify(const TokenKeys *keys, Str token, int64_t now_s, TokenClaims *ret_claims);
/* Claims of a token nobody vouches for. TOKEN_GOOD or TOKEN_MALFORMED. */
TokenVerdict token_read(Str token, TokenClaims *ret_claims);
/* Two escaped paths that differ in nothing but the case of the digits behind a %. */
bool token_path_equal(Str a, Str b);

/* Appends a token. `secret` as in a secret file: its first line signs. -EINVAL. */
int token_mint_v1(Str secret, const TokenClaims *claims, StrBuf *out, Err *reterr);
/* private_pem: PKCS #8, Ed25519, not encrypted. Claims as TokenClaims, kid included. -EINVAL. */
int token_mint_v2(Str private_pem, const TokenClaims *claims, StrBuf *out, Err *reterr);
/* A new key: PEM of the private half, key set of the public half. */
int token_keygen(Str kid, StrBuf *ret_private_pem, StrBuf *ret_set, Err *reterr);
bool token_kid_is_valid(Str kid); /* letters, digits, - and _ */

/*
 * A whole small file. `secret`: refused (-EPERM) when group or others may read or write it and it
 * belongs to this user; files of a mounted Secret belong to root and are taken as they are.
 */
int token_file_read(const char *path, bool secret, StrBuf *out, Err *reterr);
/* The two of above from a file; errors of both. */
int token_keys_add_secret_file(TokenKeys *keys, const char *path, bool secret, Err *reterr);
int token_keys_add_set_file(TokenKeys *keys, const char *path, Err *reterr);

DEFINE_AUTO_PTR(token_keys, TokenKeys, token_keys_free)
