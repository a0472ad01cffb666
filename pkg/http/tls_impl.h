/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/* Private to tls*.c. */
#include <openssl/evp.h>
#include <openssl/ssl.h>
#include <pthread.h>
#include <stdatomic.h>

#include "base/loop.h"
#include "http/tls.h"

DEFINE_AUTO_PTR(ssl_ctx, SSL_CTX, SSL_CTX_free)
DEFINE_AUTO_PTR(bio, BIO, BIO_free_all)
DEFINE_AUTO_PTR(x509, X509, X509_free)
DEFINE_AUTO_PTR(pkey, EVP_PKEY, EVP_PKEY_free)

#define TLS_DIGEST_SIZE 32
#define TLS_WATCH_DIRS 3

/* tls_ticket.c: keys of tickets, shared by all contexts and threads of one HttpTls. */
typedef struct TlsTicketKey {
    unsigned char name[16];
    unsigned char cipher[32];
    unsigned char mac[32];
    uint64_t made_ns;
} TlsTicketKey;

typedef struct TlsTickets {
    pthread_mutex_t lock;
    TlsTicketKey keys[HTTP_TLS_TICKET_KEYS]; /* newest first */
    size_t n;
    EVP_CIPHER *cipher;
    const Clock *clock;
} TlsTickets;

int tls_tickets_init(TlsTickets *tickets, const Clock *clock); /* -ENOMEM */
void tls_tickets_deinit(TlsTickets *tickets);
void tls_tickets_install(SSL_CTX *ctx); /* the context's app data is the HttpTls */

/* tls_files.c: what the files held, read at one moment. */
typedef struct TlsFiles {
    StrBuf cert, key, ca;
} TlsFiles;

void tls_files_init(TlsFiles *files);
void tls_files_deinit(TlsFiles *files);
int tls_files_read(TlsFiles *files, const HttpTlsConfig *config, Err *reterr);
void tls_files_digest(const TlsFiles *files, unsigned char *ret_digest);

DEFINE_AUTO(tls_files, TlsFiles, tls_files_deinit)

typedef struct TlsWatch {
    LoopIo io;
    LoopTimer timer;
    uint64_t due_ns; /* of the timer */
    Loop *loop;      /* NULL = not watching */
    HttpTlsReloadFn fn;
    void *ctx;
} TlsWatch;

struct HttpTls {
    _Atomic size_t refs;
    HttpTlsConfig config; /* owns its strings; alpn is not used */
    unsigned char alpn[HTTP_TLS_ALPN_MAX];
    unsigned int alpn_len;
    BIO_METHOD *bio_method;
    pthread_mutex_t lock; /* guards ctx */
    SSL_CTX *ctx;
    TlsTickets tickets;
    unsigned char tried[TLS_DIGEST_SIZE]; /* what the files held when last tried */
    TlsWatch watch;
    _Atomic uint64_t handshakes[HTTP_TLS_OUTCOMES];
};

/* tls_context.c */
int tls_context_new(HttpTls *tls, const TlsFiles *files, SSL_CTX **ret_ctx, Err *reterr);
/* "WHAT: REASON" from OpenSSL's error queue, which is emptied. -EINVAL. */
int tls_openssl_error(Err *reterr, const char *what);

/* tls_selfsigned.c */
int tls_selfsigned_new(const Clock *clock, X509 **ret_cert, EVP_PKEY **ret_key, Err *reterr);

/* tls_identity.c */
HttpTlsIdentity *tls_identity_new(X509 *cert); /* NULL: no usable name */
HttpTlsIdentity *tls_identity_free(HttpTlsIdentity *identity);

/* tls_stream.c */
BIO_METHOD *tls_bio_method_new(void);
SSL *tls_ssl_new(HttpTls *tls); /* of the context published last; NULL: memory */
