/* SPDX-License-Identifier: Apache-2.0 */
/* Certificates: loading and reloading, client certificates and identities, tickets. */
#include <errno.h>
#include <openssl/err.h>
#include <openssl/pem.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/check.h"
#include "test/harness/t.h"
#include "test/unit/http/tlsfix.h"

static FixCert ca;

static void begin_ca(void)
{
    rig_begin();
    ca = fix_cert(&(FixSpec){.cn = "ca", .ca = true});
    fix_write(fix_path("ca.crt"), NULL, &ca);
}

static HttpTlsConfig ca_config(HttpTlsClientAuth mode)
{
    HttpTlsConfig config = rig_config();

    config.client_ca_file = fix_path("ca.crt");
    config.client_auth = mode;
    return config;
}

static void end_ca(void)
{
    fix_free(&ca);
    rig_end();
}

static int not_new(const HttpTlsConfig *config, Err *err)
{
    HttpTls *tls = NULL;
    int r = http_tls_new(config, &tls, err);

    http_tls_unref(tls);
    return r;
}

/* ---- loading ---- */

T_TEST(what_cannot_be_loaded_is_named)
{
    static const struct {
        const char *label, *file, *text, *part;
        int r;
    } rows[] = {
        {"no certificate file", "tls.crt", NULL, "tls.crt: No such file", -ENOENT},
        {"no key file", "tls.key", NULL, "tls.key: No such file", -ENOENT},
        {"no CA file", "ca.crt", NULL, "ca.crt: No such file", -ENOENT},
        {"empty certificate", "tls.crt", "", "tls.crt: no certificate in it", -EINVAL},
        {"certificate is text", "tls.crt", "hello\n", "tls.crt: no certificate in it", -EINVAL},
        {"broken certificate", "tls.crt",
         "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n", "tls.crt: ", -EINVAL},
        {"cut certificate", "tls.crt", "-----BEGIN CERTIFICATE-----\nAAAA\n", "tls.crt: ", -EINVAL},
        {"empty key", "tls.key", "", "tls.key: no private key in it", -EINVAL},
        {"encrypted key", "tls.key",
         "-----BEGIN ENCRYPTED PRIVATE KEY-----\nAAAA\n-----END ENCRYPTED PRIVATE KEY-----\n",
         "tls.key: the key is encrypted", -EINVAL},
        {"empty CA", "ca.crt", "", "ca.crt: no certificate in it", -EINVAL},
        {"CA is text", "ca.crt", "hello\n", "ca.crt: no certificate in it", -EINVAL},
    };

    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        Err err = ERR_INIT;
        HttpTlsConfig config;

        t_row(rows[i].label);
        begin_ca();
        config = ca_config(HTTP_TLS_CLIENT_REQUIRED);
        if (rows[i].text) {
            fix_text(fix_path(rows[i].file), rows[i].text);
        } else {
            unlink(fix_path(rows[i].file));
        }
        T_EQ_INT(not_new(&config, &err), rows[i].r);
        T_CONTAINS(err.msg, rows[i].part);
        end_ca();
    }
}

T_TEST(what_does_not_fit_together)
{
    Err err = ERR_INIT;
    HttpTlsConfig config;
    FixCert other;

    begin_ca();
    other = fix_cert(&(FixSpec){.cn = "other"});
    fix_write(NULL, fix_path("tls.key"), &other);
    config = rig_config();
    T_EQ_INT(not_new(&config, &err), -EINVAL);
    T_CONTAINS(err.msg, "tls.key: the key does not belong to the certificate in ");
    config.key_file = NULL;
    T_EQ_INT(not_new(&config, &err), -EINVAL);
    T_CONTAINS(err.msg, "together");
    config = (HttpTlsConfig){.clock = &rig.clock.clock, .client_auth = HTTP_TLS_CLIENT_OPTIONAL};
    T_EQ_INT(not_new(&config, &err), -EINVAL);
    T_CONTAINS(err.msg, "CA");
    config = (HttpTlsConfig){.clock = &rig.clock.clock, .cipher_suites = "TLS_NO_SUCH_SUITE"};
    T_EQ_INT(not_new(&config, &err), -EINVAL);
    T_CONTAINS(err.msg, "TLS_NO_SUCH_SUITE");
    fix_free(&other);
    end_ca();
}

T_TEST(a_file_has_a_maximum)
{
    Err err = ERR_INIT;
    HttpTlsConfig config;
    FILE *file;

    rig_begin();
    config = rig_config();
    file = fopen(config.cert_file, "a");
    CHECK(file && ftruncate(fileno(file), HTTP_TLS_FILE_MAX) == 0);
    fclose(file);
    T_EQ_INT(not_new(&config, &err), -EFBIG);
    T_CONTAINS(err.msg, "tls.crt");
    rig_end();
}

T_TEST(a_chain_has_a_maximum)
{
    Err err = ERR_INIT;
    HttpTlsConfig config;

    for (int more = 0; more < 2; more++) {
        rig_begin();
        config = rig_config();
        FILE *file = fopen(config.cert_file, "a");

        for (int i = 0; file && i < HTTP_TLS_CHAIN_MAX + more; i++) {
            PEM_write_X509(file, rig.cert.cert);
        }
        fclose(file);
        T_EQ_INT(not_new(&config, &err), more ? -E2BIG : 0);
        rig_end();
    }
}

T_TEST(chosen_suites_and_versions)
{
    HttpTlsConfig config;

    rig_begin();
    config = rig_config();
    config.cipher_suites = "TLS_AES_128_GCM_SHA256, TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384,"
                           "TLS_ECDHE_RSA_WITH_CHACHA20_POLY1305_SHA256";
    rig_open(&config);
    rig_connect(1 << 20, 0);
    SSL_set_max_proto_version(rig.client.ssl, TLS1_2_VERSION);
    fix_client_start(&rig.client);
    rig_handshake();
    T_EQ_STR(SSL_get_cipher_name(rig.client.ssl), "ECDHE-ECDSA-AES256-GCM-SHA384");
    rig_disconnect();
    rig.tls = http_tls_unref(rig.tls);
    config = rig_config();
    config.tls13_only = true;
    rig_open(&config);
    rig_connect(1 << 20, 0);
    SSL_set_max_proto_version(rig.client.ssl, TLS1_2_VERSION);
    fix_client_start(&rig.client);
    rig_run(10);
    T_CHECK(!rig.client.done);
    rig_disconnect();
    rig_end();
}

T_TEST(without_files_a_certificate_is_made)
{
    HttpTlsConfig config;
    X509 *cert;

    rig_begin();
    config = (HttpTlsConfig){.clock = &rig.clock.clock};
    rig_open(&config);
    rig_connect(1 << 20, 0);
    fix_client_start(&rig.client);
    rig_handshake();
    cert = SSL_get1_peer_certificate(rig.client.ssl);
    T_EQ_INT(X509_check_host(cert, "localhost", 0, 0, NULL), 1);
    T_EQ_INT(X509_check_ip_asc(cert, "127.0.0.1", 0), 1);
    T_EQ_INT(X509_verify(cert, X509_get0_pubkey(cert)), 1);
    T_CHECK(X509_cmp_current_time(X509_get0_notAfter(cert)) > 0);
    X509_free(cert);
    T_EQ_INT(http_tls_reload(rig.tls, NULL), HTTP_TLS_SAME);
    rig_disconnect();
    rig_end();
}

/* ---- client certificates ---- */

typedef enum Present { NOTHING, GOOD, EXPIRED, FOREIGN, UNSIGNED } Present;

static void present(Present what)
{
    FixCert foreign = fix_cert(&(FixSpec){.cn = "ca", .ca = true});
    FixSpec spec = {.cn = "joe", .orgs = {"dev", "ops"}, .issuer = &ca};
    FixCert cert;

    spec.expired = what == EXPIRED;
    spec.issuer = what == FOREIGN ? &foreign : what == UNSIGNED ? NULL : &ca;
    cert = fix_cert(&spec);
    rig_connect(1 << 20, 0);
    if (what != NOTHING) {
        SSL_use_certificate(rig.client.ssl, cert.cert);
        SSL_use_PrivateKey(rig.client.ssl, cert.key);
    }
    fix_client_start(&rig.client);
    rig_run(12);
    fix_free(&cert);
    fix_free(&foreign);
}

T_TEST(client_certificates_by_mode)
{
    static const struct {
        const char *label;
        HttpTlsClientAuth mode;
        Present what;
        bool ok, known;
    } rows[] = {
        {"off, nothing", HTTP_TLS_CLIENT_OFF, NOTHING, true, false},
        {"off, good", HTTP_TLS_CLIENT_OFF, GOOD, true, false},
        {"optional, nothing", HTTP_TLS_CLIENT_OPTIONAL, NOTHING, true, false},
        {"optional, good", HTTP_TLS_CLIENT_OPTIONAL, GOOD, true, true},
        {"optional, expired", HTTP_TLS_CLIENT_OPTIONAL, EXPIRED, false, false},
        {"optional, foreign CA", HTTP_TLS_CLIENT_OPTIONAL, FOREIGN, false, false},
        {"optional, self-signed", HTTP_TLS_CLIENT_OPTIONAL, UNSIGNED, false, false},
        {"required, nothing", HTTP_TLS_CLIENT_REQUIRED, NOTHING, false, false},
        {"required, good", HTTP_TLS_CLIENT_REQUIRED, GOOD, true, true},
        {"required, expired", HTTP_TLS_CLIENT_REQUIRED, EXPIRED, false, false},
        {"required, foreign CA", HTTP_TLS_CLIENT_REQUIRED, FOREIGN, false, false},
        {"required, self-signed", HTTP_TLS_CLIENT_REQUIRED, UNSIGNED, false, false},
    };

    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        HttpTlsConfig config;
        const HttpTlsIdentity *identity;

        t_row(rows[i].label);
        begin_ca();
        config = ca_config(rows[i].mode);
        rig_open(&config);
        present(rows[i].what);
        T_EQ_INT(http_tls_is_established(&rig.server.stream), rows[i].ok);
        T_EQ_INT(rig.client.error != 0, !rows[i].ok);
        identity = http_tls_identity(&rig.server.stream);
        T_EQ_INT(identity != NULL, rows[i].known);
        if (identity) {
            T_EQ_STR(identity->name, "joe");
            T_EQ_STR(identity->source, "cn");
            T_EQ_INT(identity->n_groups, 2);
            T_EQ_STR(identity->groups[0], "dev");
            T_EQ_STR(identity->groups[1], "ops");
        }
        rig_disconnect();
        end_ca();
    }
}

T_TEST(the_name_of_a_certificate)
{
    char longest[HTTP_TLS_NAME_MAX + 40];
    char *too_long = longest;

    snprintf(longest, sizeof(longest), "URI:spiffe://d/%0*d", HTTP_TLS_NAME_MAX, 7);
    const struct {
        const char *label, *cn, *san, *name, *source;
    } rows[] = {
        {"SPIFFE first", "cn", "DNS:a.b,URI:spiffe://d/ns/x/sa/y", "spiffe://d/ns/x/sa/y",
         "spiffe"},
        {"another URI is none", "cn", "URI:https://d/x,DNS:a.b", "a.b", "dns"},
        {"first DNS name", "cn", "DNS:a.b,DNS:c.d", "a.b", "dns"},
        {"common name", "cn", NULL, "cn", "cn"},
        {"common name beside an address", "cn", "IP:127.0.0.1", "cn", "cn"},
        {"UTF-8", "J\xc3\xb6rg", NULL, "J\xc3\xb6rg", "cn"},
        {"two SPIFFE names are none", "cn", "URI:spiffe://d/a,URI:spiffe://d/b", NULL, NULL},
        {"control bytes", "a\nb", NULL, NULL, NULL},
        {"too long", "cn", too_long, "cn", "cn"},
        {"no name at all", NULL, NULL, NULL, NULL},
    };

    begin_ca();
    HttpTlsConfig config = ca_config(HTTP_TLS_CLIENT_REQUIRED);

    rig_open(&config);
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        FixCert cert = fix_cert(&(FixSpec){.cn = rows[i].cn, .san = rows[i].san, .issuer = &ca});
        const HttpTlsIdentity *identity;

        t_row(rows[i].label);
        rig_connect(1 << 20, 0);
        SSL_use_certificate(rig.client.ssl, cert.cert);
        SSL_use_PrivateKey(rig.client.ssl, cert.key);
        fix_client_start(&rig.client);
        rig_handshake();
        identity = http_tls_identity(&rig.server.stream);
        T_EQ_STR(identity ? identity->name : "none", rows[i].name ? rows[i].name : "none");
        if (identity) {
            T_EQ_STR(identity->source, rows[i].source);
        }
        rig_disconnect();
        fix_free(&cert);
    }
    end_ca();
}

/* ---- tickets ---- */

/* A session that the client may resume with. */
static SSL_SESSION *first_session(int version, const FixCert *cert)
{
    SSL_SESSION *session;

    rig_connect(1 << 20, 0);
    SSL_set_max_proto_version(rig.client.ssl, version);
    if (cert) {
        SSL_use_certificate(rig.client.ssl, cert->cert);
        SSL_use_PrivateKey(rig.client.ssl, cert->key);
    }
    fix_client_start(&rig.client);
    rig_handshake();
    rig_run(3); /* the ticket */
    T_CHECK(!http_tls_is_resumed(&rig.server.stream));
    session = SSL_get1_session(rig.client.ssl);
    T_CHECK(SSL_SESSION_is_resumable(session));
    SSL_shutdown(rig.client.ssl); /* a session that ends badly is not resumed */
    rig_disconnect();
    return session;
}

static bool resumes(SSL_SESSION *session, int version, const FixCert *cert, bool want_identity)
{
    bool resumed;

    rig_connect(1 << 20, 0);
    SSL_set_max_proto_version(rig.client.ssl, version);
    if (cert) {
        SSL_use_certificate(rig.client.ssl, cert->cert);
        SSL_use_PrivateKey(rig.client.ssl, cert->key);
    }
    SSL_set_session(rig.client.ssl, session);
    fix_client_start(&rig.client);
    rig_run(12);
    resumed = SSL_session_reused(rig.client.ssl) == 1;
    T_EQ_INT(http_tls_is_resumed(&rig.server.stream), resumed);
    T_EQ_INT(http_tls_identity(&rig.server.stream) != NULL, want_identity);
    SSL_shutdown(rig.client.ssl);
    rig_disconnect();
    return resumed;
}

T_TEST(tickets_live_through_reloads_and_die_with_their_key)
{
    static const int versions[] = {TLS1_2_VERSION, TLS1_3_VERSION};

    for (size_t i = 0; i < ARRAY_LEN(versions); i++) {
        int v = versions[i];
        HttpTlsConfig config;
        SSL_SESSION *session;
        FixCert fresh;

        t_row(i ? "1.3" : "1.2");
        rig_begin();
        config = rig_config();
        rig_open(&config);
        session = first_session(v, NULL);
        T_CHECK(SSL_SESSION_get_ticket_lifetime_hint(session) <= HTTP_TLS_TICKET_LIFETIME_S);
        T_CHECK(resumes(session, v, NULL, false));
        fresh = fix_cert(&(FixSpec){.cn = "fresh"});
        fix_write(fix_path("tls.crt"), fix_path("tls.key"), &fresh);
        T_EQ_INT(http_tls_reload(rig.tls, NULL), HTTP_TLS_LOADED);
        T_CHECK(resumes(session, v, NULL, false));
        for (int hours = 1; hours < HTTP_TLS_TICKET_KEYS; hours++) {
            fake_clock_advance(&rig.clock, HTTP_TLS_TICKET_ROTATE_NS);
            SSL_SESSION_free(first_session(v, NULL)); /* seals, so the key is rotated */
            T_CHECK(resumes(session, v, NULL, false));
        }
        fake_clock_advance(&rig.clock, HTTP_TLS_TICKET_ROTATE_NS);
        SSL_SESSION_free(first_session(v, NULL));
        T_CHECK(!resumes(session, v, NULL, false)); /* a full handshake, no failure */
        T_EQ_INT(http_tls_handshakes(rig.tls, HTTP_TLS_RESUMED), 4);
        T_EQ_INT(http_tls_handshakes(rig.tls, HTTP_TLS_FAILED), 0);
        SSL_SESSION_free(session);
        fix_free(&fresh);
        rig_end();
    }
}

T_TEST(a_ticket_carries_the_identity_until_the_ca_or_the_certificate_ends)
{
    static const int versions[] = {TLS1_2_VERSION, TLS1_3_VERSION};

    for (size_t i = 0; i < ARRAY_LEN(versions); i++) {
        int v = versions[i];
        HttpTlsConfig config;
        FixCert joe, other;
        SSL_SESSION *session;

        t_row(i ? "1.3" : "1.2");
        begin_ca();
        joe = fix_cert(&(FixSpec){.cn = "joe", .issuer = &ca});
        config = ca_config(HTTP_TLS_CLIENT_OPTIONAL);
        rig_open(&config);
        session = first_session(v, &joe);
        T_CHECK(resumes(session, v, NULL, true)); /* its ticket says who it is */
        rig.clock.now_wall_ns += 40 * 86400 * (int64_t)NS_PER_S;
        T_CHECK(!resumes(session, v, NULL, false)); /* joe's certificate has ended */
        rig.clock.now_wall_ns -= 40 * 86400 * (int64_t)NS_PER_S;
        other = fix_cert(&(FixSpec){.cn = "other ca", .ca = true});
        fix_write(fix_path("ca.crt"), NULL, &other);
        T_EQ_INT(http_tls_reload(rig.tls, NULL), HTTP_TLS_LOADED);
        T_CHECK(!resumes(session, v, NULL, false)); /* its CA is no longer trusted */
        SSL_SESSION_free(session);
        fix_free(&other);
        fix_free(&joe);
        end_ca();
    }
}

T_TEST(a_forged_ticket_is_a_full_handshake)
{
    HttpTlsConfig config;
    SSL_SESSION *session;
    unsigned char *der = NULL, *at;
    const unsigned char *in;
    const unsigned char *ticket;
    size_t len;
    int n;

    rig_begin();
    config = rig_config();
    rig_open(&config);
    session = first_session(TLS1_2_VERSION, NULL);
    SSL_SESSION_get0_ticket(session, &ticket, &len);
    n = i2d_SSL_SESSION(session, &der);
    at = memmem(der, (size_t)n, ticket, len);
    T_CHECK(at != NULL);
    at[len / 2] ^= 1;
    SSL_SESSION_free(session);
    in = der;
    session = d2i_SSL_SESSION(NULL, &in, n);
    T_CHECK(!resumes(session, TLS1_2_VERSION, NULL, false));
    T_EQ_INT(http_tls_handshakes(rig.tls, HTTP_TLS_FULL), 2);
    SSL_SESSION_free(session);
    OPENSSL_free(der);
    rig_end();
}

/* ---- reload ---- */

static void served_name(const char *want)
{
    X509 *cert;
    char name[64];

    rig_connect(1 << 20, 0);
    fix_client_start(&rig.client);
    rig_handshake();
    cert = SSL_get1_peer_certificate(rig.client.ssl);
    X509_NAME_get_text_by_NID(X509_get_subject_name(cert), NID_commonName, name, sizeof(name));
    T_EQ_STR(name, want);
    X509_free(cert);
    rig_disconnect();
}

T_TEST(a_bad_pair_keeps_the_old_one)
{
    HttpTlsConfig config;
    FixCert fresh;
    Err err = ERR_INIT;

    rig_begin();
    config = rig_config();
    rig_open(&config);
    fresh = fix_cert(&(FixSpec){.cn = "fresh"});
    T_EQ_INT(http_tls_reload(rig.tls, &err), HTTP_TLS_SAME);
    fix_write(fix_path("tls.crt"), NULL, &fresh); /* half of a pair */
    T_EQ_INT(http_tls_reload(rig.tls, &err), -EINVAL);
    T_CONTAINS(err.msg, "does not belong");
    T_EQ_INT(http_tls_reload(rig.tls, &err), HTTP_TLS_SAME); /* said once */
    served_name("server");
    unlink(fix_path("tls.key"));
    T_EQ_INT(http_tls_reload(rig.tls, &err), -ENOENT);
    T_EQ_INT(http_tls_reload(rig.tls, &err), HTTP_TLS_SAME);
    served_name("server");
    fix_write(NULL, fix_path("tls.key"), &fresh);
    T_EQ_INT(http_tls_reload(rig.tls, &err), HTTP_TLS_LOADED);
    served_name("fresh");
    T_CHECK(http_tls_not_after(rig.tls) > (int64_t)time(NULL) + 29 * 86400);
    fix_free(&fresh);
    rig_end();
}

T_TEST(a_running_connection_outlives_its_certificate)
{
    HttpTlsConfig config;
    FixCert fresh;

    rig_begin();
    config = rig_config();
    rig_open(&config);
    rig_connect(1 << 20, 0);
    fix_client_start(&rig.client);
    rig_handshake();
    fresh = fix_cert(&(FixSpec){.cn = "fresh"});
    fix_write(fix_path("tls.crt"), fix_path("tls.key"), &fresh);
    T_EQ_INT(http_tls_reload(rig.tls, NULL), HTTP_TLS_LOADED);
    rig.tls = http_tls_unref(rig.tls); /* the stream holds what it needs */
    T_EQ_INT(SSL_write(rig.client.ssl, "still", 5), 5);
    rig_run(4);
    T_EQ_STR(strbuf_str(&rig.server.got), "still");
    rig_disconnect();
    fix_free(&fresh);
    rig_end();
}

/* ---- following the files ---- */

typedef struct Watcher {
    int loaded, failed;
    char why[ERR_MSG_MAX];
} Watcher;

static void on_reload(void *ctx, const Err *err)
{
    Watcher *watcher = ctx;

    if (err) {
        watcher->failed++;
        memcpy(watcher->why, err->msg, sizeof(watcher->why));
    } else {
        watcher->loaded++;
    }
}

static void write_dir(const char *name, const FixCert *cert)
{
    char path[300];
    const char *dir = fix_path(name);

    mkdir(dir, 0755);
    snprintf(path, sizeof(path), "%s/tls.crt", dir);
    fix_write(path, NULL, cert);
    snprintf(path, sizeof(path), "%s/tls.key", dir);
    fix_write(NULL, path, cert);
}

/* As the kubelet does it: tls.crt -> ..data/tls.crt, ..data -> ..N, replaced by a rename. */
static void swap_data(const char *target)
{
    unlink(fix_path("..data_tmp"));
    CHECK(symlink(target, fix_path("..data_tmp")) == 0);
    CHECK(rename(fix_path("..data_tmp"), fix_path("..data")) == 0);
}

static void wait_for(Loop *loop, const int *counter, int want)
{
    for (int i = 0; i < 400 && *counter < want; i++) {
        T_OK(loop_step(loop, 10 * NS_PER_MS));
    }
    T_EQ_INT(*counter, want);
}

T_TEST(the_swap_of_a_mounted_secret_is_seen)
{
    Watcher watcher = {0};
    HttpTlsConfig config;
    FixCert fresh;
    Loop *loop;

    rig_begin();
    T_OK(loop_new(clock_system(), &loop));
    fresh = fix_cert(&(FixSpec){.cn = "fresh"});
    write_dir("..1", &rig.cert);
    write_dir("..2", &fresh);
    write_dir("..3", &fresh);
    fix_write(fix_path("..3/tls.crt"), NULL, &rig.cert); /* a pair that does not match */
    swap_data("..1");
    unlink(fix_path("tls.crt"));
    unlink(fix_path("tls.key"));
    CHECK(symlink("..data/tls.crt", fix_path("tls.crt")) == 0);
    CHECK(symlink("..data/tls.key", fix_path("tls.key")) == 0);
    config = rig_config();
    rig_open(&config);
    http_tls_watch(rig.tls, loop, on_reload, &watcher);
    swap_data("..2");
    wait_for(loop, &watcher.loaded, 1);
    served_name("fresh");
    swap_data("..3");
    wait_for(loop, &watcher.failed, 1);
    T_CONTAINS(watcher.why, "does not belong");
    served_name("fresh");
    swap_data("..1");
    wait_for(loop, &watcher.loaded, 2);
    served_name("server");
    T_EQ_INT(watcher.failed, 1);
    http_tls_unwatch(rig.tls);
    http_tls_unwatch(rig.tls);
    loop_free(loop);
    fix_free(&fresh);
    rig_end();
}
