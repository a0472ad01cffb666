/* SPDX-License-Identifier: Apache-2.0 */
/* Secrets and public keys that verify, and the files they come from. See token.h. */
#include <errno.h>
#include <fcntl.h>
#include <openssl/crypto.h>
#include <openssl/hmac.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/check.h"
#include "base/mem.h"
#include "token/base64url.h"
#include "token/token_impl.h"
#include "json/doc.h"

TokenKeys *token_keys_new(void)
{
    return xcalloc(1, sizeof(TokenKeys));
}

TokenKeys *token_keys_free(TokenKeys *keys)
{
    if (!keys) {
        return NULL;
    }
    for (size_t i = 0; i < keys->n_secrets; i++) {
        OPENSSL_cleanse(keys->secrets[i].ptr, keys->secrets[i].len);
        free(keys->secrets[i].ptr);
    }
    for (size_t i = 0; i < keys->n_keys; i++) {
        EVP_PKEY_free(keys->keys[i].key);
    }
    free(keys);
    return NULL;
}

int token_signed_text(Str kid, Str payload, StrBuf *out)
{
    if (kid.len == 0) {
        strbuf_append_cstr(out, TOKEN_CONTEXT_V1);
    } else {
        strbuf_append_cstr(out, TOKEN_CONTEXT_V2);
        strbuf_append(out, kid);
        strbuf_append_char(out, '.');
    }
    return strbuf_append(out, payload);
}

void token_mac(Str secret, Str text, unsigned char ret[TOKEN_MAC_SIZE])
{
    unsigned int len = TOKEN_MAC_SIZE;

    CHECK(secret.len <= TOKEN_FILE_MAX);
    CHECK(HMAC(EVP_sha256(), secret.ptr, (int)secret.len, (const unsigned char *)text.ptr, text.len,
               ret, &len) != NULL);
}

Str token_first_secret(Str text)
{
    Str rest;

    return str_trim(str_cut(str_trim(text), '\n', &rest));
}

int token_keys_add_secret(TokenKeys *keys, Str text, Err *reterr)
{
    Str rest = str_trim(text);

    do {
        Str secret = str_trim(str_cut(rest, '\n', &rest));

        if (secret.len < TOKEN_SECRET_MIN) {
            return err_set(reterr, EINVAL, "the secret has %zu bytes, it needs at least %d",
                           secret.len, TOKEN_SECRET_MIN);
        }
        if (keys->n_secrets == TOKEN_SECRETS_MAX) {
            return err_set(reterr, EINVAL, "more than %d secrets", TOKEN_SECRETS_MAX);
        }
        keys->secrets[keys->n_secrets++] =
            (TokenSecret){xstrndup(secret.ptr, secret.len), secret.len};
    } while (rest.ptr);
    return 0;
}

/* Nothing but kid and publicKey may be in there: a private key in a set is a mistake to stop at. */
static int add_key(TokenKeys *keys, JNode node, Err *reterr)
{
    Str kid = jnode_str(jnode_get(node, STR("kid")));
    Str text = jnode_str(jnode_get(node, STR("publicKey")));
    unsigned char raw[TOKEN_PUBLIC_SIZE];
    TokenKey *key = &keys->keys[keys->n_keys];

    if (jnode_len(node) != 2 || !kid.ptr || !text.ptr) {
        return err_set(reterr, EINVAL, "a key has kid and publicKey, and nothing else");
    }
    if (!token_kid_is_valid(kid)) {
        return err_set(reterr, EINVAL, "a kid has 1 to %d letters, digits, \"-\" or \"_\"",
                       TOKEN_KID_MAX);
    }
    for (size_t i = 0; i < keys->n_keys; i++) {
        if (str_eq(str_from(keys->keys[i].kid), kid)) {
            return err_set(reterr, EINVAL, "kid \"%s\" is there twice", keys->keys[i].kid);
        }
    }
    if (base64url_decode(text, raw, sizeof(raw)) != sizeof(raw)) {
        return err_set(reterr, EINVAL, "publicKey of \"" STR_FMT "\" is not %d bytes of base64url",
                       STR_ARG(kid), TOKEN_PUBLIC_SIZE);
    }
    if (keys->n_keys == TOKEN_KEYS_MAX) {
        return err_set(reterr, EINVAL, "more than %d keys", TOKEN_KEYS_MAX);
    }
    key->key = EVP_PKEY_new_raw_public_key(EVP_PKEY_ED25519, NULL, raw, sizeof(raw));
    if (!key->key) {
        return err_set(reterr, EINVAL, "publicKey of \"" STR_FMT "\" is no Ed25519 key",
                       STR_ARG(kid));
    }
    memcpy(key->kid, kid.ptr, kid.len);
    key->kid[kid.len] = '\0';
    keys->n_keys++;
    return 0;
}

int token_keys_add_set(TokenKeys *keys, Str json, Err *reterr)
{
    AUTO(jdoc) JDoc *doc = NULL;
    JNode list, node;
    int r = jdoc_parse(json, NULL, TOKEN_FILE_MAX, &doc, reterr);

    if (r < 0) {
        return -EINVAL;
    }
    list = jnode_get(jdoc_root(doc), STR("keys"));
    if (jnode_len(jdoc_root(doc)) != 1 || jnode_type(list) != JTYPE_ARRAY || jnode_len(list) == 0) {
        return err_set(reterr, EINVAL, "a key set is {\"keys\":[{\"kid\",\"publicKey\"}, ...]}");
    }
    for (JIter it = jnode_iter(list); jiter_next(&it, NULL, &node);) {
        r = add_key(keys, node, reterr);
        if (r < 0) {
            return r;
        }
    }
    return 0;
}

int token_file_read(const char *path, bool secret, StrBuf *out, Err *reterr)
{
    struct stat st;
    ssize_t n;
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);

    if (fd < 0) {
        return err_set_errno(reterr, errno, "%s", path);
    }
    if (fstat(fd, &st) < 0 || !S_ISREG(st.st_mode) || st.st_size > TOKEN_FILE_MAX) {
        close(fd);
        return err_set(reterr, EINVAL, "%s is no file of at most %d bytes", path, TOKEN_FILE_MAX);
    }
    if (secret && (st.st_mode & 077) && st.st_uid == geteuid()) {
        close(fd);
        return err_set(reterr, EPERM, "%s: others may use this file (mode %04o): chmod 600", path,
                       (unsigned)st.st_mode & 07777);
    }
    do {
        if (strbuf_reserve(out, 4096) < 0) {
            close(fd);
            return err_set(reterr, EINVAL, "%s is larger than %d bytes", path, TOKEN_FILE_MAX);
        }
        n = read(fd, out->ptr + out->len, 4096);
        out->len += n > 0 ? (size_t)n : 0;
    } while (n > 0);
    close(fd);
    if (n < 0) {
        return err_set_errno(reterr, errno, "%s", path);
    }
    out->ptr[out->len] = '\0';
    return 0;
}

int token_keys_add_secret_file(TokenKeys *keys, const char *path, bool secret, Err *reterr)
{
    AUTO(strbuf) StrBuf text = STRBUF_INIT(TOKEN_FILE_MAX);
    int r = token_file_read(path, secret, &text, reterr);

    return r < 0 ? r : token_keys_add_secret(keys, strbuf_str(&text), reterr);
}

int token_keys_add_set_file(TokenKeys *keys, const char *path, Err *reterr)
{
    AUTO(strbuf) StrBuf text = STRBUF_INIT(TOKEN_FILE_MAX);
    int r = token_file_read(path, false, &text, reterr);

    return r < 0 ? r : token_keys_add_set(keys, strbuf_str(&text), reterr);
}
