/* SPDX-License-Identifier: Apache-2.0 */
/*
 * An SSL_CTX from the content of files: parsed and matched completely before anybody sees it. What
 * is fixed for all of them (versions, suites, options) stands in tune().
 */
#include <errno.h>
#include <openssl/err.h>
#include <openssl/pem.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "http/tls_impl.h"

#define VERIFY_DEPTH_MAX 8
#define CIPHERS_MAX 2048

/* Forward secrecy and AEAD only; TLS 1.3 has nothing else. AES-128 first: it costs least. */
#define CIPHERS_DEFAULT                                                                            \
    "ECDHE-ECDSA-AES128-GCM-SHA256:ECDHE-RSA-AES128-GCM-SHA256:"                                   \
    "ECDHE-ECDSA-AES256-GCM-SHA384:ECDHE-RSA-AES256-GCM-SHA384:"                                   \
    "ECDHE-ECDSA-CHACHA20-POLY1305:ECDHE-RSA-CHACHA20-POLY1305"
#define SUITES_13 "TLS_AES_128_GCM_SHA256:TLS_AES_256_GCM_SHA384:TLS_CHACHA20_POLY1305_SHA256"
#define GROUPS_DEFAULT "X25519:P-256:P-384"

int tls_openssl_error(Err *reterr, const char *what)
{
    unsigned long code = ERR_peek_last_error();
    const char *reason = ERR_reason_error_string(code);

    ERR_clear_error();
    return err_set(reterr, EINVAL, "%s: %s", what, reason ? reason : "failed");
}

/* An encrypted key has nobody who could type its password. */
static int no_password(char *buf, int size, int rwflag, void *ctx)
{
    UNUSED(buf);
    UNUSED(size);
    UNUSED(rwflag);
    UNUSED(ctx);
    return -1;
}

static BIO *bio_of(const StrBuf *buf)
{
    return BIO_new_mem_buf(buf->ptr ? buf->ptr : "", (int)buf->len);
}

/* After PEM_read_bio_X509() gave NULL: the end of the file, or something broken in it. */
static bool is_end_of_pem(void)
{
    unsigned long code = ERR_peek_last_error();
    bool end = ERR_GET_LIB(code) == ERR_LIB_PEM && ERR_GET_REASON(code) == PEM_R_NO_START_LINE;

    if (end) {
        ERR_clear_error();
    }
    return end;
}

/* ---- certificate and key ---- */

static int use_chain(SSL_CTX *ctx, BIO *pem, const char *path, Err *reterr)
{
    X509 *cert;

    for (int n = 0; (cert = PEM_read_bio_X509(pem, NULL, no_password, NULL)); n++) {
        if (n == HTTP_TLS_CHAIN_MAX) {
            X509_free(cert);
            return err_set(reterr, E2BIG, "%s: more than %d certificates behind the first", path,
                           HTTP_TLS_CHAIN_MAX);
        }
        if (SSL_CTX_add0_chain_cert(ctx, cert) != 1) {
            X509_free(cert);
            return tls_openssl_error(reterr, path);
        }
    }
    return is_end_of_pem() ? 0 : tls_openssl_error(reterr, path);
}

static int use_cert(SSL_CTX *ctx, const StrBuf *content, const char *path, Err *reterr)
{
    AUTO(bio) BIO *pem = bio_of(content);
    AUTO(x509) X509 *leaf = pem ? PEM_read_bio_X509(pem, NULL, no_password, NULL) : NULL;

    if (!leaf && is_end_of_pem()) {
        return err_set(reterr, EINVAL, "%s: no certificate in it", path);
    }
    if (!leaf || SSL_CTX_use_certificate(ctx, leaf) != 1) {
        return tls_openssl_error(reterr, path);
    }
    return use_chain(ctx, pem, path, reterr);
}

static int use_key(SSL_CTX *ctx, const StrBuf *content, const HttpTlsConfig *config, Err *reterr)
{
    AUTO(bio) BIO *pem = bio_of(content);
    AUTO(pkey) EVP_PKEY *key = NULL;
    const X509 *leaf = SSL_CTX_get0_certificate(ctx);

    if (memmem(content->ptr ? content->ptr : "", content->len, "ENCRYPTED", 9)) {
        return err_set(reterr, EINVAL, "%s: the key is encrypted", config->key_file);
    }
    key = pem ? PEM_read_bio_PrivateKey(pem, NULL, no_password, NULL) : NULL;
    if (!key) {
        ERR_clear_error();
        return err_set(reterr, EINVAL, "%s: no private key in it", config->key_file);
    }
    if (X509_check_private_key(leaf, key) != 1) {
        ERR_clear_error();
        return err_set(reterr, EINVAL, "%s: the key does not belong to the certificate in %s",
                       config->key_file, config->cert_file);
    }
    return SSL_CTX_use_PrivateKey(ctx, key) == 1 ? 0 : tls_openssl_error(reterr, config->key_file);
}

static int use_selfsigned(SSL_CTX *ctx, const Clock *clock, Err *reterr)
{
    AUTO(x509) X509 *cert = NULL;
    AUTO(pkey) EVP_PKEY *key = NULL;
    int r = tls_selfsigned_new(clock, &cert, &key, reterr);

    if (r == 0 &&
        (SSL_CTX_use_certificate(ctx, cert) != 1 || SSL_CTX_use_PrivateKey(ctx, key) != 1)) {
        r = tls_openssl_error(reterr, "self-signed certificate");
    }
    return r;
}

/* ---- client certificates ---- */

static int add_ca(SSL_CTX *ctx, X509 *cert, const char *path, Err *reterr)
{
    if (X509_STORE_add_cert(SSL_CTX_get_cert_store(ctx), cert) != 1 ||
        SSL_CTX_add_client_CA(ctx, cert) != 1) {
        return tls_openssl_error(reterr, path);
    }
    return 0;
}

static int use_client_ca(SSL_CTX *ctx, const StrBuf *content, const HttpTlsConfig *config,
                         Err *reterr)
{
    AUTO(bio) BIO *pem = bio_of(content);
    const char *path = config->client_ca_file;
    int mode = SSL_VERIFY_PEER;
    int n = 0, r = 0;
    X509 *cert;

    while (r == 0 && pem && (cert = PEM_read_bio_X509(pem, NULL, no_password, NULL))) {
        r = add_ca(ctx, cert, path, reterr);
        X509_free(cert);
        n++;
    }
    if (r < 0) {
        return r;
    }
    if (!is_end_of_pem()) {
        return tls_openssl_error(reterr, path);
    }
    if (n == 0) {
        return err_set(reterr, EINVAL, "%s: no certificate in it", path);
    }
    if (config->client_auth == HTTP_TLS_CLIENT_REQUIRED) {
        mode |= SSL_VERIFY_FAIL_IF_NO_PEER_CERT;
    }
    SSL_CTX_set_verify(ctx, mode, NULL);
    SSL_CTX_set_verify_depth(ctx, VERIFY_DEPTH_MAX);
    return 0;
}

/* Sessions made under other client CAs are not resumed: see tls_ticket.c. */
static int set_session_context(SSL_CTX *ctx, const TlsFiles *files, const HttpTlsConfig *config,
                               Err *reterr)
{
    unsigned char digest[TLS_DIGEST_SIZE];
    bool ca = config->client_auth != HTTP_TLS_CLIENT_OFF;

    EVP_Digest(ca ? files->ca.ptr : "", ca ? files->ca.len : 0, digest, NULL, EVP_sha256(), NULL);
    digest[0] = (unsigned char)config->client_auth;
    return SSL_CTX_set_session_id_context(ctx, digest, sizeof(digest)) == 1
               ? 0
               : tls_openssl_error(reterr, "session context");
}

/* ---- what is always so ---- */

static int choose_alpn(SSL *ssl, const unsigned char **ret, unsigned char *ret_len,
                       const unsigned char *offer, unsigned int offer_len, void *arg)
{
    const HttpTls *tls = arg;
    unsigned char *chosen;

    UNUSED(ssl);
    if (SSL_select_next_proto(&chosen, ret_len, tls->alpn, tls->alpn_len, offer, offer_len) !=
        OPENSSL_NPN_NEGOTIATED) {
        return SSL_TLSEXT_ERR_ALERT_FATAL;
    }
    *ret = chosen;
    return SSL_TLSEXT_ERR_OK;
}

/* IANA names by comma to OpenSSL's by colon. Suites of TLS 1.3 are not chosen one by one. */
static int translate_ciphers(const char *names, char *ret, size_t size, Err *reterr)
{
    Str rest = str_from(names);
    size_t at = 0;

    ret[0] = '\0';
    while (rest.len > 0) {
        char name[80];
        Str one = str_trim(str_cut(rest, ',', &rest));
        int n = snprintf(name, sizeof(name), STR_FMT, STR_ARG(str_take(one, sizeof(name) - 1)));
        const char *known = OPENSSL_cipher_name(name);

        if (str_eq(str_take(one, 8), STR("TLS_AES_")) ||
            str_eq(one, STR("TLS_CHACHA20_POLY1305_SHA256"))) {
            continue;
        }
        if (n < 0 || strcmp(known, "(NONE)") == 0) {
            return err_set(reterr, EINVAL, "no cipher suite is called \"%s\"", name);
        }
        n = snprintf(ret + at, size - at, "%s%s", at > 0 ? ":" : "", known);
        if (n < 0 || (size_t)n >= size - at) {
            return err_set(reterr, E2BIG, "too many cipher suites");
        }
        at += (size_t)n;
    }
    return 0;
}

static int set_ciphers(SSL_CTX *ctx, const char *names, Err *reterr)
{
    char list[CIPHERS_MAX];
    int r = names ? translate_ciphers(names, list, sizeof(list), reterr) : 0;

    if (r < 0) {
        return r;
    }
    if (SSL_CTX_set_cipher_list(ctx, names && list[0] ? list : CIPHERS_DEFAULT) != 1) {
        return tls_openssl_error(reterr, "cipher suites");
    }
    return 0;
}

static int tune(SSL_CTX *ctx, HttpTls *tls, Err *reterr)
{
    int min = tls->config.tls13_only ? TLS1_3_VERSION : TLS1_2_VERSION;

    SSL_CTX_set_app_data(ctx, tls);
    SSL_CTX_set_options(ctx, SSL_OP_NO_RENEGOTIATION | SSL_OP_NO_COMPRESSION |
                                 SSL_OP_CIPHER_SERVER_PREFERENCE | SSL_OP_PRIORITIZE_CHACHA);
    SSL_CTX_set_mode(ctx, SSL_MODE_RELEASE_BUFFERS | SSL_MODE_ENABLE_PARTIAL_WRITE |
                              SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER |
                              SSL_MODE_NO_AUTO_CHAIN); /* client CAs are not our chain */
    /* A record without data ends the call, so that a flood of them cannot hold a loop. */
    SSL_CTX_clear_mode(ctx, SSL_MODE_AUTO_RETRY);
    SSL_CTX_set_read_ahead(ctx, 1);
    if (tls->alpn_len > 0) {
        SSL_CTX_set_alpn_select_cb(ctx, choose_alpn, tls);
    }
    tls_tickets_install(ctx);
    if (SSL_CTX_set_min_proto_version(ctx, min) != 1 ||
        SSL_CTX_set_max_proto_version(ctx, TLS1_3_VERSION) != 1 ||
        SSL_CTX_set_ciphersuites(ctx, SUITES_13) != 1 ||
        SSL_CTX_set1_groups_list(ctx, GROUPS_DEFAULT) != 1) {
        return tls_openssl_error(reterr, "TLS versions");
    }
    return set_ciphers(ctx, tls->config.cipher_suites, reterr);
}

int tls_context_new(HttpTls *tls, const TlsFiles *files, SSL_CTX **ret_ctx, Err *reterr)
{
    const HttpTlsConfig *config = &tls->config;
    AUTO(ssl_ctx) SSL_CTX *ctx = SSL_CTX_new(TLS_server_method());
    int r;

    ERR_clear_error();
    if (!ctx) {
        return tls_openssl_error(reterr, "TLS");
    }
    r = tune(ctx, tls, reterr);
    if (r == 0 && !config->cert_file) {
        r = use_selfsigned(ctx, config->clock, reterr);
    } else if (r == 0) {
        r = use_cert(ctx, &files->cert, config->cert_file, reterr);
        r = r < 0 ? r : use_key(ctx, &files->key, config, reterr);
    }
    if (r == 0 && config->client_auth != HTTP_TLS_CLIENT_OFF) {
        r = use_client_ca(ctx, &files->ca, config, reterr);
    }
    r = r < 0 ? r : set_session_context(ctx, files, config, reterr);
    if (r < 0) {
        return r;
    }
    *ret_ctx = TAKE(ctx);
    return 0;
}
