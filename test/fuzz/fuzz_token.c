/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Any bytes as a token of either version, and as a key set. Without the key nothing verifies; the
 * claims of what can be read, minted again, say the same and verify.
 */
#include "test/fuzz/fuzz.h"
#include "token/token.h"

#define SECRET STR("0123456789abcdef0123456789abcdef")

static void check_again(const TokenClaims *claims)
{
    AUTO(token_keys) TokenKeys *keys = token_keys_new();
    AUTO(strbuf) StrBuf token = STRBUF_INIT(2 * TOKEN_MAX);
    TokenClaims got;

    if (claims->version != 1 || !str_is_utf8(claims->ns) || !str_is_utf8(claims->name) ||
        token_mint_v1(SECRET, claims, &token, NULL) < 0) {
        return;
    }
    CHECK(token_keys_add_secret(keys, SECRET, NULL) == 0);
    TokenVerdict verdict = token_verify(keys, strbuf_str(&token), claims->exp - 1, &got);

    CHECK(verdict == TOKEN_GOOD || token.len > TOKEN_MAX * 3 / 4); /* escapes may grow */
    CHECK(verdict != TOKEN_GOOD || (str_eq(got.ns, claims->ns) && str_eq(got.name, claims->name)));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    AUTO(token_keys) TokenKeys *keys = token_keys_new();
    Str text = fuzz_str(data, size);
    TokenClaims claims;
    Err err = ERR_INIT;

    CHECK(token_keys_add_secret(keys, SECRET, NULL) == 0);
    if (token_read(text, &claims) == TOKEN_GOOD) {
        CHECK(claims.ns.len > 0 && claims.name.len > 0 && claims.used <= sizeof(claims.text));
        check_again(&claims);
    }
    CHECK(token_verify(keys, text, 0, &claims) != TOKEN_GOOD);
    CHECK(token_keys_add_set(keys, text, &err) == 0 || err.msg[0]);
    return 0;
}
