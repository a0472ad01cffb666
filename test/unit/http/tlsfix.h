/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/* Certificates made on the spot, and an OpenSSL client on the other end of a memory pair. */
#include <openssl/ssl.h>
#include <openssl/x509v3.h>

#include "base/loop.h"
#include "http/tls.h"

typedef struct FixCert {
    X509 *cert;
    EVP_PKEY *key;
} FixCert;

typedef struct FixSpec {
    const char *cn;  /* NULL = none */
    const char *san; /* as in openssl.cnf; NULL = none */
    const char *orgs[4];
    const FixCert *issuer; /* NULL = self-signed */
    bool ca;
    bool expired;
} FixSpec;

FixCert fix_cert(const FixSpec *spec);
void fix_free(FixCert *cert);
/* Write PEM files; NULL leaves one out. */
void fix_write(const char *cert_path, const char *key_path, const FixCert *cert);
const char *fix_path(const char *name); /* in the directory of this test; good until the next 8 */
void fix_text(const char *path, const char *text);

/* A client whose bytes travel through `end` of a memory pair. */
typedef struct FixClient {
    HttpStream end;
    SSL_CTX *ctx;
    SSL *ssl;
    BIO *in, *out;
    bool done;    /* handshake */
    int error;    /* SSL_get_error of the last failure, 0 = none */
    bool closed;  /* close_notify came */
    bool cut;     /* the stream ended without it */
    bool raw_eof; /* the stream below ended */
    StrBuf got;
    size_t write_step; /* ciphertext bytes given at a time, 0 = all */
} FixClient;

void fix_client_init(FixClient *client, Loop *loop, HttpMemPair *pair, int end);
void fix_client_start(FixClient *client); /* after SSL options were set on client->ssl */
void fix_client_pump(FixClient *client);  /* moves what can be moved, once */
void fix_client_deinit(FixClient *client);

/* ---- both ends on one virtual loop ---- */

/* The server's end: echoes what it gets, or keeps it. */
typedef struct Server {
    HttpStream stream;
    StrBuf got;
    StrBuf out;
    bool echo;
    bool ended;
    ssize_t error;
    int calls;
} Server;

typedef struct Rig {
    FakeClock clock;
    Loop *loop;
    HttpTls *tls;
    HttpMemPair *pair;
    Server server;
    FixClient client;
    FixCert cert;
} Rig;

extern Rig rig;

HttpTlsConfig rig_config(void); /* tls.crt and tls.key of this test */
void rig_begin(void);           /* loop, clock, certificate */
void rig_open(const HttpTlsConfig *config);
/* A stream and a client that has not started; capacity and step as http_mem_pair_new. */
void rig_connect(size_t capacity, size_t step);
void rig_run(int rounds);
void rig_handshake(void); /* fails the test when it does not succeed */
void rig_disconnect(void);
void rig_end(void);
