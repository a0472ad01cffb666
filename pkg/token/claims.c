/* SPDX-License-Identifier: Apache-2.0 */
/* Taking a token apart and looking at its claims. See token.h. */
#include <errno.h>
#include <openssl/crypto.h>
#include <string.h>

#include "token/base64url.h"
#include "token/token_impl.h"
#include "json/doc.h"

typedef struct Parts {
    int version;
    Str kid;
    Str payload;
    Str signature;
} Parts;

const char *token_verdict_text(TokenVerdict verdict)
{
    static const char *const texts[] = {
        [TOKEN_GOOD] = "good",
        [TOKEN_MALFORMED] = "malformed",
        [TOKEN_UNKNOWN_KEY] = "no key for it",
        [TOKEN_BAD_SIGNATURE] = "bad signature",
        [TOKEN_EXPIRED] = "expired",
    };

    return texts[verdict];
}

bool token_kid_is_valid(Str kid)
{
    for (size_t i = 0; i < kid.len; i++) {
        char c = kid.ptr[i];

        if (!((c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
              c == '-' || c == '_')) {
            return false;
        }
    }
    return kid.len > 0 && kid.len <= TOKEN_KID_MAX;
}

static bool take_apart(Str token, Parts *ret)
{
    Str rest, version;
    Parts parts = {0};

    if (token.len > TOKEN_MAX) {
        return false;
    }
    version = str_cut(token, '.', &rest);
    if (str_eq(version, STR("v1"))) {
        parts.version = 1;
    } else if (str_eq(version, STR("v2"))) {
        parts.version = 2;
        parts.kid = str_cut(rest, '.', &rest);
    } else {
        return false;
    }
    parts.payload = str_cut(rest, '.', &parts.signature);
    *ret = parts;
    return parts.payload.len > 0 && parts.signature.len > 0 &&
           (parts.version == 1 || token_kid_is_valid(parts.kid));
}

/* Copies text into the claims; a claim that is not a string, or too long, is not there. */
static Str keep(TokenClaims *claims, Str text)
{
    Str kept = {claims->text + claims->used, text.len};

    if (!text.ptr || text.len > TOKEN_TEXT_MAX || text.len > sizeof(claims->text) - claims->used ||
        memchr(text.ptr, '\0', text.len)) {
        return STR_NULL;
    }
    memcpy(claims->text + claims->used, text.ptr, text.len);
    claims->used += text.len;
    return kept;
}

static bool read_claims(const Parts *parts, TokenClaims *ret)
{
    char json[TOKEN_CLAIMS_MAX];
    AUTO(jdoc) JDoc *doc = NULL;
    int n = base64url_decode(parts->payload, json, sizeof(json));
    int64_t port;
    JNode root;

    ret->used = 0;
    if (n < 0 || jdoc_parse((Str){json, (size_t)n}, NULL, sizeof(json), &doc, NULL) < 0) {
        return false;
    }
    root = jdoc_root(doc);
    ret->version = parts->version;
    ret->kid = ret->uid = ret->method = ret->path = STR("");
    ret->ns = keep(ret, jnode_str(jnode_get(root, STR("ns"))));
    ret->name = keep(ret, jnode_str(jnode_get(root, STR("name"))));
    ret->exp = jnode_i64(jnode_get(root, STR("exp")), 0);
    ret->port = 0;
    if (parts->version == 2) {
        port = jnode_i64(jnode_get(root, STR("port")), 0);
        ret->uid = keep(ret, jnode_str(jnode_get(root, STR("uid"))));
        ret->method = keep(ret, jnode_str(jnode_get(root, STR("method"))));
        ret->path = keep(ret, jnode_str(jnode_get(root, STR("path"))));
        ret->kid = keep(ret, parts->kid);
        ret->port = port > 0 && port <= UINT16_MAX ? (uint16_t)port : 0;
        if (ret->uid.len == 0 || ret->method.len == 0 || ret->path.len == 0 || ret->port == 0) {
            return false;
        }
    }
    return ret->ns.len > 0 && ret->name.len > 0 && ret->exp > 0;
}

TokenVerdict token_read(Str token, TokenClaims *ret_claims)
{
    Parts parts;

    return take_apart(token, &parts) && read_claims(&parts, ret_claims) ? TOKEN_GOOD
                                                                        : TOKEN_MALFORMED;
}

static TokenVerdict check_mac(const TokenKeys *keys, const Parts *parts, Str text)
{
    unsigned char given[TOKEN_MAC_SIZE], mac[TOKEN_MAC_SIZE];
    bool good = false;

    if (keys->n_secrets == 0) {
        return TOKEN_UNKNOWN_KEY;
    }
    if (base64url_decode(parts->signature, given, sizeof(given)) != sizeof(given)) {
        return TOKEN_BAD_SIGNATURE;
    }
    for (size_t i = 0; i < keys->n_secrets; i++) {
        token_mac((Str){keys->secrets[i].ptr, keys->secrets[i].len}, text, mac);
        good |= CRYPTO_memcmp(given, mac, sizeof(mac)) == 0;
    }
    return good ? TOKEN_GOOD : TOKEN_BAD_SIGNATURE;
}

static TokenVerdict check_signature(const TokenKeys *keys, const Parts *parts, Str text)
{
    unsigned char given[TOKEN_SIGNATURE_SIZE];
    EVP_PKEY *key = NULL;
    bool good;

    for (size_t i = 0; i < keys->n_keys; i++) {
        key = str_eq(str_from(keys->keys[i].kid), parts->kid) ? keys->keys[i].key : key;
    }
    if (!key) {
        return TOKEN_UNKNOWN_KEY;
    }
    if (base64url_decode(parts->signature, given, sizeof(given)) != sizeof(given)) {
        return TOKEN_BAD_SIGNATURE;
    }
    AUTO(md_ctx) EVP_MD_CTX *ctx = EVP_MD_CTX_new();

    good =
        ctx && EVP_DigestVerifyInit(ctx, NULL, NULL, NULL, key) == 1 &&
        EVP_DigestVerify(ctx, given, sizeof(given), (const unsigned char *)text.ptr, text.len) == 1;
    return good ? TOKEN_GOOD : TOKEN_BAD_SIGNATURE;
}

TokenVerdict token_verify(const TokenKeys *keys, Str token, int64_t now_s, TokenClaims *ret_claims)
{
    AUTO(strbuf) StrBuf text = STRBUF_INIT(TOKEN_MAX + 64);
    TokenVerdict verdict;
    Parts parts;

    if (!take_apart(token, &parts) || token_signed_text(parts.kid, parts.payload, &text) < 0) {
        return TOKEN_MALFORMED;
    }
    verdict = parts.version == 1 ? check_mac(keys, &parts, strbuf_str(&text))
                                 : check_signature(keys, &parts, strbuf_str(&text));
    if (verdict != TOKEN_GOOD) {
        return verdict;
    }
    if (!read_claims(&parts, ret_claims)) {
        return TOKEN_MALFORMED;
    }
    return now_s >= ret_claims->exp ? TOKEN_EXPIRED : TOKEN_GOOD;
}

static char upper(char c)
{
    return c >= 'a' && c <= 'f' ? (char)(c - 'a' + 'A') : c;
}

bool token_path_equal(Str a, Str b)
{
    size_t digits = 0; /* that belong to the last % */

    if (a.len != b.len) {
        return false;
    }
    for (size_t i = 0; i < a.len; i++) {
        bool same = digits > 0 ? upper(a.ptr[i]) == upper(b.ptr[i]) : a.ptr[i] == b.ptr[i];

        if (!same) {
            return false;
        }
        digits = digits > 0 ? digits - 1 : a.ptr[i] == '%' ? 2 : 0;
    }
    return true;
}
