/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/* Private to pkg/token. */
#include <openssl/evp.h>

#include "token/token.h"

#define TOKEN_CONTEXT_V1 "agent-sandbox/scoped-token/v1."
#define TOKEN_CONTEXT_V2 "agent-sandbox/scoped-token/v2."
#define TOKEN_MAC_SIZE 32
#define TOKEN_SIGNATURE_SIZE 64

typedef struct TokenSecret {
    char *ptr;
    size_t len;
} TokenSecret;

typedef struct TokenKey {
    char kid[TOKEN_KID_MAX + 1];
    EVP_PKEY *key;
} TokenKey;

struct TokenKeys {
    TokenSecret secrets[TOKEN_SECRETS_MAX];
    size_t n_secrets;
    TokenKey keys[TOKEN_KEYS_MAX];
    size_t n_keys;
};

DEFINE_AUTO_PTR(pkey, EVP_PKEY, EVP_PKEY_free)
DEFINE_AUTO_PTR(md_ctx, EVP_MD_CTX, EVP_MD_CTX_free)

/* The text that a signature covers. `kid` empty: v1. */
int token_signed_text(Str kid, Str payload, StrBuf *out);
void token_mac(Str secret, Str text, unsigned char ret[TOKEN_MAC_SIZE]);
Str token_first_secret(Str text); /* the first line, trimmed */
