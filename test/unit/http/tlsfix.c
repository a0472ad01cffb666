/* SPDX-License-Identifier: Apache-2.0 */
/* See tlsfix.h. */
#include "test/unit/http/tlsfix.h"

#include <errno.h>
#include <openssl/err.h>
#include <openssl/pem.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "base/check.h"
#include "test/harness/t.h"

static void extend(X509 *cert, int nid, const char *value)
{
    X509V3_CTX ctx;
    X509_EXTENSION *extension;

    X509V3_set_ctx(&ctx, cert, cert, NULL, NULL, 0);
    extension = X509V3_EXT_conf_nid(NULL, &ctx, nid, value);
    CHECK(extension && X509_add_ext(cert, extension, -1) == 1);
    X509_EXTENSION_free(extension);
}

static void add_name(X509_NAME *name, const char *field, const char *value)
{
    if (value) {
        CHECK(X509_NAME_add_entry_by_txt(name, field, MBSTRING_UTF8, (const unsigned char *)value,
                                         -1, -1, 0) == 1);
    }
}

FixCert fix_cert(const FixSpec *spec)
{
    static long serial = 1;
    FixCert fix = {.cert = X509_new(), .key = EVP_EC_gen("P-256")};
    const FixCert *issuer = spec->issuer ? spec->issuer : &fix;
    time_t now = time(NULL);
    X509_NAME *name = X509_get_subject_name(fix.cert);

    X509_set_version(fix.cert, X509_VERSION_3);
    ASN1_INTEGER_set(X509_get_serialNumber(fix.cert), serial++);
    X509_time_adj_ex(X509_getm_notBefore(fix.cert), -2, 0, &now);
    X509_time_adj_ex(X509_getm_notAfter(fix.cert), spec->expired ? -1 : 30, 0, &now);
    add_name(name, "CN", spec->cn);
    for (size_t i = 0; i < ARRAY_LEN(spec->orgs); i++) {
        add_name(name, "O", spec->orgs[i]);
    }
    X509_set_issuer_name(fix.cert, X509_get_subject_name(issuer->cert));
    X509_set_pubkey(fix.cert, fix.key);
    extend(fix.cert, NID_basic_constraints, spec->ca ? "critical,CA:TRUE" : "CA:FALSE");
    if (spec->san) {
        extend(fix.cert, NID_subject_alt_name, spec->san);
    }
    CHECK(X509_sign(fix.cert, issuer->key, EVP_sha256()) > 0);
    return fix;
}

void fix_free(FixCert *fix)
{
    X509_free(fix->cert);
    EVP_PKEY_free(fix->key);
    *fix = (FixCert){0};
}

const char *fix_path(const char *name)
{
    static char paths[8][256];
    static size_t at;

    at = (at + 1) % ARRAY_LEN(paths);
    snprintf(paths[at], sizeof(paths[at]), "%s/%s", t_tmpdir(), name);
    return paths[at];
}

void fix_text(const char *path, const char *text)
{
    FILE *file = fopen(path, "w");

    CHECK(file);
    fputs(text, file);
    fclose(file);
}

void fix_write(const char *cert_path, const char *key_path, const FixCert *fix)
{
    FILE *file;

    if (cert_path) {
        file = fopen(cert_path, "w");
        CHECK(file && PEM_write_X509(file, fix->cert) == 1);
        fclose(file);
    }
    if (key_path) {
        file = fopen(key_path, "w");
        CHECK(file && PEM_write_PrivateKey(file, fix->key, NULL, NULL, 0, NULL, NULL) == 1);
        fclose(file);
    }
}

/* ---- the client ---- */

static void on_end(HttpStream *stream, uint32_t events)
{
    UNUSED(stream);
    UNUSED(events); /* pumped by hand */
}

void fix_client_init(FixClient *client, Loop *loop, HttpMemPair *pair, int end)
{
    memset(client, 0, sizeof(*client));
    client->ctx = SSL_CTX_new(TLS_client_method());
    client->ssl = SSL_new(client->ctx);
    strbuf_init(&client->got, 64 << 20);
    http_stream_init_mem(&client->end, loop, pair, end, on_end);
}

void fix_client_start(FixClient *client)
{
    client->in = BIO_new(BIO_s_mem());
    client->out = BIO_new(BIO_s_mem());
    BIO_set_mem_eof_return(client->in, -1);
    SSL_set_bio(client->ssl, client->in, client->out);
    SSL_set_connect_state(client->ssl);
}

static void send_pending(FixClient *client)
{
    char *bytes;
    long len;

    while ((len = BIO_get_mem_data(client->out, &bytes)) > 0) {
        size_t part = client->write_step && (size_t)len > client->write_step ? client->write_step
                                                                             : (size_t)len;
        struct iovec iov = {bytes, part};
        ssize_t n = http_stream_write(&client->end, &iov, 1);
        char scratch[4096];

        if (n <= 0) {
            return;
        }
        while (n > 0) {
            int chunk = n > (ssize_t)sizeof(scratch) ? (int)sizeof(scratch) : (int)n;

            n -= BIO_read(client->out, scratch, chunk);
        }
        if (client->write_step) {
            return;
        }
    }
}

static void receive(FixClient *client)
{
    char buf[8192];
    ssize_t n;

    while ((n = http_stream_read(&client->end, buf, sizeof(buf))) > 0) {
        BIO_write(client->in, buf, (int)n);
    }
    if (n == 0 && !client->raw_eof) {
        client->raw_eof = true;
        BIO_set_mem_eof_return(client->in, 0);
    }
}

static void note(FixClient *client, int r)
{
    int error = SSL_get_error(client->ssl, r);

    if (error == SSL_ERROR_ZERO_RETURN) {
        client->closed = true;
    } else if (error != SSL_ERROR_WANT_READ && error != SSL_ERROR_WANT_WRITE) {
        client->error = error;
        client->cut = client->raw_eof;
    }
}

void fix_client_pump(FixClient *client)
{
    char buf[16384];
    int r;

    receive(client);
    ERR_clear_error();
    if (!client->done && client->error == 0) {
        r = SSL_do_handshake(client->ssl);
        client->done = r == 1;
        if (r != 1) {
            note(client, r);
        }
    }
    while (client->done && client->error == 0 && !client->closed) {
        r = SSL_read(client->ssl, buf, sizeof(buf));
        if (r <= 0) {
            note(client, r);
            break;
        }
        strbuf_append(&client->got, (Str){buf, (size_t)r});
    }
    send_pending(client);
    ERR_clear_error();
}

void fix_client_deinit(FixClient *client)
{
    SSL_free(client->ssl);
    SSL_CTX_free(client->ctx);
    http_stream_close(&client->end);
    strbuf_deinit(&client->got);
}

/* ---- both ends ---- */

Rig rig;

static void flush(Server *server)
{
    while (server->out.len > 0) {
        struct iovec iov = {server->out.ptr, server->out.len};
        ssize_t n = http_stream_write(&server->stream, &iov, 1);

        if (n <= 0) {
            server->error = n == -EAGAIN ? server->error : n;
            break;
        }
        strbuf_consume(&server->out, (size_t)n);
    }
}

static void on_ready(HttpStream *stream, uint32_t events)
{
    Server *server = container_of(stream, Server, stream);
    char buf[1000];
    ssize_t n = -EAGAIN;

    server->calls++;
    if (events & EPOLLIN) {
        n = http_stream_read(stream, buf, sizeof(buf));
        if (n > 0) {
            strbuf_append(server->echo ? &server->out : &server->got, (Str){buf, (size_t)n});
        }
        server->ended |= n == 0;
        server->error = n < 0 && n != -EAGAIN ? n : server->error;
    }
    flush(server);
    http_stream_watch(stream, (server->ended || server->error ? 0 : EPOLLIN) |
                                  (server->out.len > 0 && !server->error ? EPOLLOUT : 0));
}

HttpTlsConfig rig_config(void)
{
    return (HttpTlsConfig){.cert_file = fix_path("tls.crt"),
                           .key_file = fix_path("tls.key"),
                           .clock = &rig.clock.clock};
}

void rig_connect(size_t capacity, size_t step)
{
    T_OK(loop_step(rig.loop, 0)); /* the loop learns what time it is */
    rig.pair = http_mem_pair_new(capacity, step);
    memset(&rig.server, 0, sizeof(rig.server));
    strbuf_init(&rig.server.got, 64 << 20);
    strbuf_init(&rig.server.out, 64 << 20);
    T_OK(http_tls_stream_init_mem(&rig.server.stream, rig.tls, rig.loop, rig.pair, 0, on_ready));
    fix_client_init(&rig.client, rig.loop, rig.pair, 1);
    T_OK(http_stream_watch(&rig.server.stream, EPOLLIN));
}

void rig_disconnect(void)
{
    http_stream_close(&rig.server.stream);
    fix_client_deinit(&rig.client);
    rig.pair = http_mem_pair_free(rig.pair);
    strbuf_deinit(&rig.server.got);
    strbuf_deinit(&rig.server.out);
}

void rig_open(const HttpTlsConfig *config)
{
    Err err = ERR_INIT;

    if (http_tls_new(config, &rig.tls, &err) < 0) {
        T_FAIL("%s", err.msg);
    }
}

void rig_begin(void)
{
    memset(&rig, 0, sizeof(rig));
    fake_clock_init(&rig.clock, NS_PER_S, (int64_t)time(NULL) * (int64_t)NS_PER_S);
    T_OK(loop_new_virtual(&rig.clock.clock, &rig.loop));
    rig.cert = fix_cert(&(FixSpec){.cn = "server", .san = "DNS:server"});
    fix_write(fix_path("tls.crt"), fix_path("tls.key"), &rig.cert);
}

void rig_end(void)
{
    rig.tls = http_tls_unref(rig.tls);
    loop_free(rig.loop);
    fix_free(&rig.cert);
}

void rig_run(int rounds)
{
    for (int i = 0; i < rounds; i++) {
        fix_client_pump(&rig.client);
        T_OK(loop_step(rig.loop, 0));
    }
}

void rig_handshake(void)
{
    for (int i = 0; i < 20000 && !(rig.client.done && http_tls_is_established(&rig.server.stream));
         i++) {
        rig_run(1);
        if (rig.client.error) {
            break;
        }
    }
    T_EQ_INT(rig.client.error, 0);
    T_CHECK(rig.client.done);
    T_CHECK(http_tls_is_established(&rig.server.stream));
}
