/* SPDX-License-Identifier: Apache-2.0 */
/* Making tokens and keys. See token.h. */
#include <errno.h>
#include <openssl/bio.h>
#include <openssl/pem.h>

#include "token/base64url.h"
#include "token/token_impl.h"
#include "json/jx.h"

DEFINE_AUTO_PTR(bio, BIO, BIO_free_all)

static int append_claims(const TokenClaims *claims, StrBuf *out)
{
    AUTO(json) json_t *json = jx_object_new();
    AUTO(mem) char *text = NULL;

    jx_set_str(json, "ns", claims->ns);
    jx_set_str(json, "name", claims->name);
    if (claims->version == 2) {
        jx_set_str(json, "uid", claims->uid);
        jx_set_i64(json, "port", claims->port);
        jx_set_str(json, "method", claims->method);
        jx_set_str(json, "path", claims->path);
    }
    jx_set_i64(json, "exp", claims->exp);
    text = jx_dump_compact(json);
    return base64url_encode(str_from(text), out);
}

int token_mint_v1(Str secret, const TokenClaims *claims, StrBuf *out, Err *reterr)
{
    AUTO(strbuf) StrBuf payload = STRBUF_INIT(TOKEN_MAX);
    AUTO(strbuf) StrBuf text = STRBUF_INIT(TOKEN_MAX + 64);
    unsigned char mac[TOKEN_MAC_SIZE];
    Str key = token_first_secret(secret);

    if (key.len < TOKEN_SECRET_MIN) {
        return err_set(reterr, EINVAL, "the secret has %zu bytes, it needs at least %d", key.len,
                       TOKEN_SECRET_MIN);
    }
    if (append_claims(claims, &payload) < 0 ||
        token_signed_text(STR(""), strbuf_str(&payload), &text) < 0) {
        return err_set(reterr, EINVAL, "the claims are too long");
    }
    token_mac(key, strbuf_str(&text), mac);
    strbuf_append_cstr(out, "v1.");
    strbuf_append(out, strbuf_str(&payload));
    strbuf_append_char(out, '.');
    return base64url_encode((Str){(const char *)mac, sizeof(mac)}, out);
}

static EVP_PKEY *read_private(Str pem)
{
    AUTO(bio) BIO *bio = BIO_new_mem_buf(pem.ptr, (int)pem.len);
    EVP_PKEY *key = bio ? PEM_read_bio_PrivateKey(bio, NULL, NULL, (char[]){""}) : NULL;

    if (key && EVP_PKEY_get_id(key) != EVP_PKEY_ED25519) {
        EVP_PKEY_free(key);
        key = NULL;
    }
    return key;
}

int token_mint_v2(Str private_pem, const TokenClaims *claims, StrBuf *out, Err *reterr)
{
    AUTO(strbuf) StrBuf payload = STRBUF_INIT(TOKEN_MAX);
    AUTO(strbuf) StrBuf text = STRBUF_INIT(TOKEN_MAX + 64);
    AUTO(pkey) EVP_PKEY *key = read_private(private_pem);
    AUTO(md_ctx) EVP_MD_CTX *ctx = EVP_MD_CTX_new();
    unsigned char signature[TOKEN_SIGNATURE_SIZE];
    size_t len = sizeof(signature);

    if (!key) {
        return err_set(reterr, EINVAL, "the key file holds no Ed25519 private key in PEM");
    }
    if (!token_kid_is_valid(claims->kid)) {
        return err_set(reterr, EINVAL, "a kid has 1 to %d letters, digits, \"-\" or \"_\"",
                       TOKEN_KID_MAX);
    }
    if (append_claims(claims, &payload) < 0 ||
        token_signed_text(claims->kid, strbuf_str(&payload), &text) < 0) {
        return err_set(reterr, EINVAL, "the claims are too long");
    }
    if (!ctx || EVP_DigestSignInit(ctx, NULL, NULL, NULL, key) != 1 ||
        EVP_DigestSign(ctx, signature, &len, (const unsigned char *)text.ptr, text.len) != 1) {
        return err_set(reterr, EIO, "cannot sign");
    }
    strbuf_append_cstr(out, "v2.");
    strbuf_append(out, claims->kid);
    strbuf_append_char(out, '.');
    strbuf_append(out, strbuf_str(&payload));
    strbuf_append_char(out, '.');
    return base64url_encode((Str){(const char *)signature, len}, out);
}

int token_keygen(Str kid, StrBuf *ret_private_pem, StrBuf *ret_set, Err *reterr)
{
    AUTO(pkey) EVP_PKEY *key = EVP_PKEY_Q_keygen(NULL, NULL, "ED25519");
    AUTO(bio) BIO *bio = BIO_new(BIO_s_mem());
    unsigned char raw[TOKEN_PUBLIC_SIZE];
    size_t len = sizeof(raw);
    char *pem;
    long n;

    if (!token_kid_is_valid(kid)) {
        return err_set(reterr, EINVAL, "a kid has 1 to %d letters, digits, \"-\" or \"_\"",
                       TOKEN_KID_MAX);
    }
    if (!key || !bio || PEM_write_bio_PKCS8PrivateKey(bio, key, NULL, NULL, 0, NULL, NULL) != 1 ||
        EVP_PKEY_get_raw_public_key(key, raw, &len) != 1) {
        return err_set(reterr, EIO, "cannot make a key");
    }
    n = BIO_get_mem_data(bio, &pem);
    strbuf_append(ret_private_pem, (Str){pem, (size_t)n});
    strbuf_append_cstr(ret_set, "{\"keys\":[{\"kid\":\"");
    strbuf_append(ret_set, kid);
    strbuf_append_cstr(ret_set, "\",\"publicKey\":\"");
    base64url_encode((Str){(const char *)raw, len}, ret_set);
    return strbuf_append_cstr(ret_set, "\"}]}\n");
}
