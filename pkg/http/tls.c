/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The server's TLS object: configuration, the context in use, reload. The context is published
 * under a lock that is held for the time of SSL_new(), once a connection; what lives longer is
 * OpenSSL's reference count.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/check.h"
#include "base/mem.h"
#include "http/tls_impl.h"

static char *copy(const char *s)
{
    return s && s[0] ? xstrdup(s) : NULL;
}

static int pack_alpn(HttpTls *tls, const char *const *names, Err *reterr)
{
    for (size_t i = 0; names && names[i]; i++) {
        size_t len = strlen(names[i]);

        if (len == 0 || len > 255 || tls->alpn_len + 1 + len > sizeof(tls->alpn)) {
            return err_set(reterr, EINVAL, "protocol names are too long");
        }
        tls->alpn[tls->alpn_len++] = (unsigned char)len;
        memcpy(tls->alpn + tls->alpn_len, names[i], len);
        tls->alpn_len += (unsigned int)len;
    }
    return 0;
}

static int check_config(const HttpTlsConfig *config, Err *reterr)
{
    if (!config->cert_file != !config->key_file) {
        return err_set(reterr, EINVAL,
                       "a certificate and its key are given together or not at all");
    }
    if (config->client_auth != HTTP_TLS_CLIENT_OFF && !config->client_ca_file) {
        return err_set(reterr, EINVAL, "client certificates need a CA to be checked against");
    }
    return 0;
}

int http_tls_new(const HttpTlsConfig *config, HttpTls **ret_tls, Err *reterr)
{
    HttpTls *tls = xcalloc(1, sizeof(*tls));
    int r;

    atomic_store(&tls->refs, 1);
    pthread_mutex_init(&tls->lock, NULL);
    tls->config = *config;
    tls->config.cert_file = copy(config->cert_file);
    tls->config.key_file = copy(config->key_file);
    tls->config.client_ca_file = copy(config->client_ca_file);
    tls->config.cipher_suites = copy(config->cipher_suites);
    tls->config.alpn = NULL;
    if (tls->config.handshake_ns == 0) {
        tls->config.handshake_ns = HTTP_TLS_HANDSHAKE_NS;
    }
    r = tls_tickets_init(&tls->tickets, config->clock);
    tls->bio_method = tls_bio_method_new();
    if (r < 0 || !tls->bio_method) {
        http_tls_unref(tls);
        return err_set(reterr, ENOMEM, "set up TLS");
    }
    r = check_config(&tls->config, reterr);
    r = r < 0 ? r : pack_alpn(tls, config->alpn, reterr);
    r = r < 0 ? r : http_tls_reload(tls, reterr);
    if (r < 0) {
        http_tls_unref(tls);
        return r;
    }
    *ret_tls = tls;
    return 0;
}

HttpTls *http_tls_ref(HttpTls *tls)
{
    if (tls) {
        atomic_fetch_add(&tls->refs, 1);
    }
    return tls;
}

HttpTls *http_tls_unref(HttpTls *tls)
{
    if (tls && atomic_fetch_sub(&tls->refs, 1) == 1) {
        CHECK(!tls->watch.loop);
        SSL_CTX_free(tls->ctx);
        BIO_meth_free(tls->bio_method);
        tls_tickets_deinit(&tls->tickets);
        pthread_mutex_destroy(&tls->lock);
        free((void *)(uintptr_t)tls->config.cert_file);
        free((void *)(uintptr_t)tls->config.key_file);
        free((void *)(uintptr_t)tls->config.client_ca_file);
        free((void *)(uintptr_t)tls->config.cipher_suites);
        free(tls);
    }
    return NULL;
}

SSL *tls_ssl_new(HttpTls *tls)
{
    SSL *ssl;

    pthread_mutex_lock(&tls->lock);
    ssl = SSL_new(tls->ctx);
    pthread_mutex_unlock(&tls->lock);
    return ssl;
}

static void publish(HttpTls *tls, SSL_CTX *ctx)
{
    SSL_CTX *old;

    pthread_mutex_lock(&tls->lock);
    old = tls->ctx;
    tls->ctx = ctx;
    pthread_mutex_unlock(&tls->lock);
    SSL_CTX_free(old); /* streams that use it have references of their own */
}

int http_tls_reload(HttpTls *tls, Err *reterr)
{
    AUTO(tls_files) TlsFiles files;
    unsigned char digest[TLS_DIGEST_SIZE];
    SSL_CTX *ctx;
    int r;

    tls_files_init(&files);
    r = tls_files_read(&files, &tls->config, reterr);
    if (r < 0) {
        memset(digest, 0, sizeof(digest)); /* unreadable again and again is one failure */
        digest[0] = 1;
    } else {
        tls_files_digest(&files, digest);
    }
    if (memcmp(digest, tls->tried, sizeof(digest)) == 0) {
        return HTTP_TLS_SAME;
    }
    memcpy(tls->tried, digest, sizeof(digest));
    r = r < 0 ? r : tls_context_new(tls, &files, &ctx, reterr);
    if (r < 0) {
        return r;
    }
    publish(tls, ctx);
    return HTTP_TLS_LOADED;
}

int64_t http_tls_not_after(HttpTls *tls)
{
    int64_t seconds = 0;
    struct tm tm;

    pthread_mutex_lock(&tls->lock);
    if (ASN1_TIME_to_tm(X509_get0_notAfter(SSL_CTX_get0_certificate(tls->ctx)), &tm) == 1) {
        seconds = (int64_t)timegm(&tm);
    }
    pthread_mutex_unlock(&tls->lock);
    return seconds;
}

const char *http_tls_outcome_name(HttpTlsOutcome outcome)
{
    static const char *const names[HTTP_TLS_OUTCOMES] = {"full", "resumed", "failed", "timeout",
                                                         "plain_http"};

    return names[outcome];
}

uint64_t http_tls_handshakes(const HttpTls *tls, HttpTlsOutcome outcome)
{
    return atomic_load_explicit(&tls->handshakes[outcome], memory_order_relaxed);
}
