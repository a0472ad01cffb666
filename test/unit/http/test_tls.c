/* SPDX-License-Identifier: Apache-2.0 */
/* A TLS session as a stream: every split, both ends of a life, hostile peers, identities. */
#include <errno.h>
#include <openssl/err.h>
#include <string.h>
#include <time.h>

#include "test/harness/t.h"
#include "test/unit/http/tlsfix.h"

static char *pattern(size_t len)
{
    static char bytes[300000];

    for (size_t i = 0; i < len; i++) {
        bytes[i] = (char)('a' + (i * 7 + i / 251) % 26);
    }
    return bytes;
}

/* ---- bytes ---- */

static void echo_row(size_t capacity, size_t step, size_t write_step, size_t len, int version)
{
    char label[120];
    size_t sent = 0;

    snprintf(label, sizeof(label), "capacity %zu step %zu write %zu len %zu version %x", capacity,
             step, write_step, len, (unsigned)version);
    t_row(label);
    rig_connect(capacity, step);
    rig.server.echo = true;
    rig.client.write_step = write_step;
    SSL_set_max_proto_version(rig.client.ssl, version);
    SSL_set_mode(rig.client.ssl, SSL_MODE_ENABLE_PARTIAL_WRITE);
    fix_client_start(&rig.client);
    rig_handshake();
    for (int i = 0; i < 1000000 && rig.client.got.len < len; i++) {
        if (sent < len && BIO_ctrl_pending(rig.client.out) == 0) {
            int n = SSL_write(rig.client.ssl, pattern(len) + sent, (int)(len - sent));

            sent += n > 0 ? (size_t)n : 0;
        }
        rig_run(1);
        T_EQ_INT(rig.client.error, 0);
    }
    T_EQ_INT(rig.client.got.len, len);
    T_CHECK(memcmp(rig.client.got.ptr, pattern(len), len) == 0);
    rig_disconnect();
}

static void on_nothing(HttpStream *stream, uint32_t events)
{
    UNUSED(stream);
    UNUSED(events);
}

/* A client that is connected over an ample pair. */
static void connected(void)
{
    rig_connect(1 << 20, 0);
    fix_client_start(&rig.client);
    rig_handshake();
}

static void client_write(const char *text)
{
    T_EQ_INT(SSL_write(rig.client.ssl, text, (int)strlen(text)), (int)strlen(text));
}

/* A stream whose peer sends these bytes as they are. */
static void raw_connect(const char *bytes, size_t len)
{
    struct iovec iov = {(void *)(uintptr_t)bytes, len};

    rig_connect(1 << 20, 0);
    T_EQ_INT(http_stream_write(&rig.client.end, &iov, 1), (int)len);
}

static void raw_steps(int n)
{
    for (int i = 0; i < n; i++) {
        T_OK(loop_step(rig.loop, 0));
    }
}

static StrBuf raw_reply(void)
{
    StrBuf reply;
    char buf[4096];
    ssize_t n;

    strbuf_init(&reply, 1 << 20);
    while ((n = http_stream_read(&rig.client.end, buf, sizeof(buf))) > 0) {
        strbuf_append(&reply, (Str){buf, (size_t)n});
    }
    return reply;
}

static void begin_default(void)
{
    HttpTlsConfig config;

    rig_begin();
    config = rig_config();
    rig_open(&config);
}

T_TEST(bytes_come_through_at_every_split)
{
    static const int versions[] = {TLS1_2_VERSION, TLS1_3_VERSION};

    begin_default();
    for (size_t v = 0; v < ARRAY_LEN(versions); v++) {
        for (size_t step = 1; step < 40; step++) {
            echo_row(1 << 16, step, 0, 100, versions[v]);
            echo_row(step * 3, 0, step, 100, versions[v]);
        }
        echo_row(1, 1, 1, 50, versions[v]);
        echo_row(20000, 0, 0, 300000, versions[v]);
        echo_row(700, 333, 0, 100000, versions[v]);
        echo_row(1 << 20, 0, 0, 300000, versions[v]);
    }
    rig_end();
}

T_TEST(small_pieces_share_a_record_and_large_ones_are_taken_in_part)
{
    struct iovec small[] = {{(char[]){"head"}, 4}, {(char[]){"body"}, 4}, {(char[]){""}, 0}};
    struct iovec large = {pattern(100000), 100000};
    struct iovec mixed[] = {{(char[]){"head"}, 4}, {pattern(100000), 100000}};

    begin_default();
    connected();
    T_EQ_INT(http_stream_write(&rig.server.stream, small, 3), 8);
    T_EQ_INT(http_stream_write(&rig.server.stream, small + 2, 1), 0);
    T_EQ_INT(http_stream_write(&rig.server.stream, &large, 1), 16384);
    T_EQ_INT(http_stream_write(&rig.server.stream, mixed, 2), 16384);
    rig_run(3);
    T_EQ_INT(rig.client.got.len, 8 + 2 * 16384);
    T_CHECK(memcmp(rig.client.got.ptr, "headbody", 8) == 0);
    T_CHECK(memcmp(rig.client.got.ptr + 8 + 16384, "head", 4) == 0);
    rig_disconnect();
    rig_end();
}

T_TEST(a_write_that_is_taken_back_ends_the_session)
{
    struct iovec large = {pattern(100000), 16384};
    struct iovec small = {pattern(100000), 10};

    begin_default();
    rig_connect(3000, 0);
    fix_client_start(&rig.client);
    rig_handshake();
    T_EQ_INT(http_stream_write(&rig.server.stream, &large, 1), -EAGAIN);
    T_EQ_INT(http_stream_write(&rig.server.stream, &small, 1), -EPROTO);
    rig_disconnect();
    rig_end();
}

/* ---- the end ---- */

T_TEST(the_end_of_a_peer_is_told_from_a_cut)
{
    begin_default();
    connected();
    client_write("last");
    SSL_shutdown(rig.client.ssl);
    rig_run(5);
    T_EQ_STR(strbuf_str(&rig.server.got), "last");
    T_CHECK(rig.server.ended);
    T_EQ_INT(rig.server.error, 0);
    rig_disconnect();

    connected();
    client_write("last");
    rig_run(5);
    http_stream_shutdown(&rig.client.end); /* FIN without close_notify */
    rig_run(5);
    T_EQ_STR(strbuf_str(&rig.server.got), "last");
    T_CHECK(!rig.server.ended);
    T_EQ_INT(rig.server.error, -ECONNABORTED);
    rig_disconnect();
    rig_end();
}

T_TEST(closing_says_goodbye_unless_it_cuts)
{
    for (int cut = 0; cut < 2; cut++) {
        begin_default();
        connected();
        rig.server.stream.cut = cut != 0;
        http_stream_close(&rig.server.stream);
        rig_run(3);
        T_EQ_INT(rig.client.closed, !cut);
        T_EQ_INT(rig.client.cut, cut);
        rig_disconnect();
        rig_end();
    }
}

T_TEST(after_our_end_the_peer_may_still_speak)
{
    struct iovec iov = {(char[]){"x"}, 1};

    begin_default();
    connected();
    T_OK(http_stream_shutdown(&rig.server.stream));
    T_OK(http_stream_shutdown(&rig.server.stream));
    T_EQ_INT(http_stream_write(&rig.server.stream, &iov, 1), -EPIPE);
    rig_run(3);
    T_CHECK(rig.client.closed);
    client_write("still here");
    rig_run(5);
    T_EQ_STR(strbuf_str(&rig.server.got), "still here");
    rig_disconnect();
    rig_end();
}

/* ---- what is no TLS ---- */

T_TEST(plain_http_gets_a_plain_400)
{
    static const char *const requests[] = {
        "GET / HTTP/1.1\r\nHost: h\r\n\r\n", "DELETE /x HTTP/1.1\r\nHost: h\r\n\r\n",
        "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", "get / http/1.0\r\n\r\n"};

    for (size_t i = 0; i < ARRAY_LEN(requests); i++) {
        AUTO(strbuf) StrBuf reply = STRBUF_INIT(1);

        t_row(requests[i]);
        begin_default();
        raw_connect(requests[i], strlen(requests[i]));
        raw_steps(5);
        reply = raw_reply();
        T_CONTAINS(strbuf_str(&reply), "HTTP/1.1 400 Bad Request\r\n");
        T_CONTAINS(strbuf_str(&reply), "\r\n\r\nClient sent an HTTP request to an HTTPS server.\n");
        T_EQ_INT(rig.server.calls, 0); /* it reads on, so that the answer arrives */
        http_stream_shutdown(&rig.client.end);
        raw_steps(5);
        T_EQ_INT(rig.server.error, -EPROTO);
        T_EQ_INT(http_tls_handshakes(rig.tls, HTTP_TLS_PLAIN_HTTP), 1);
        rig_disconnect();
        rig_end();
    }
}

T_TEST(garbage_is_refused_and_let_go_after_a_moment)
{
    char zeros[4096] = {0};
    char hello[64] = {0x16, 3, 1, 0x7f, (char)0xff};

    begin_default();
    for (int i = 0; i < 2; i++) {
        raw_connect(i ? zeros : hello, i ? sizeof(zeros) : sizeof(hello));
        raw_steps(5);
        T_EQ_INT(rig.server.calls, 0);
        fake_clock_advance(&rig.clock, HTTP_TLS_LINGER_NS + NS_PER_MS);
        raw_steps(5);
        T_EQ_INT(rig.server.error, -EPROTO);
        rig_disconnect();
    }
    T_EQ_INT(http_tls_handshakes(rig.tls, HTTP_TLS_FAILED), 2);
    rig_end();
}

T_TEST(a_handshake_has_a_time_limit)
{
    begin_default();
    raw_connect("\x16\x03\x01", 3);
    raw_steps(3);
    fake_clock_advance(&rig.clock, HTTP_TLS_HANDSHAKE_NS - NS_PER_MS);
    raw_steps(3);
    T_EQ_INT(rig.server.calls, 0);
    fake_clock_advance(&rig.clock, 2 * NS_PER_MS);
    raw_steps(3);
    T_EQ_INT(rig.server.error, -ETIMEDOUT);
    T_EQ_INT(http_tls_handshakes(rig.tls, HTTP_TLS_TIMED_OUT), 1);
    rig_disconnect();
    rig_end();
}

T_TEST(a_peer_that_leaves_during_the_handshake)
{
    begin_default();
    raw_connect("\x16\x03\x01", 3);
    raw_steps(3);
    http_stream_shutdown(&rig.client.end);
    raw_steps(3);
    T_EQ_INT(rig.server.error, -EPROTO);
    T_EQ_INT(http_tls_handshakes(rig.tls, HTTP_TLS_FAILED), 1);
    rig_disconnect();
    rig_end();
}

T_TEST(a_broken_record_ends_the_session)
{
    struct iovec iov = {(char[]){"\x17\x03\x03\x00\x20garbage-garbage-garbage-garbage-garbage"},
                        37};

    begin_default();
    connected();
    T_EQ_INT(http_stream_write(&rig.client.end, &iov, 1), 37);
    raw_steps(5);
    T_EQ_INT(rig.server.error, -EPROTO);
    rig_disconnect();
    rig_end();
}

/* ---- what is agreed on ---- */

T_TEST(old_versions_and_weak_suites_are_refused)
{
    static const struct {
        const char *label;
        int version;
        const char *ciphers;
        bool ok;
    } rows[] = {
        {"TLS 1.0", TLS1_VERSION, "ALL:@SECLEVEL=0", false},
        {"TLS 1.1", TLS1_1_VERSION, "ALL:@SECLEVEL=0", false},
        {"TLS 1.2", TLS1_2_VERSION, "DEFAULT", true},
        {"TLS 1.3", TLS1_3_VERSION, "DEFAULT", true},
        {"CBC", TLS1_2_VERSION, "ECDHE-ECDSA-AES128-SHA256:ECDHE-ECDSA-AES256-SHA:@SECLEVEL=0",
         false},
        {"no forward secrecy", TLS1_2_VERSION, "AES128-GCM-SHA256:AES256-SHA:@SECLEVEL=0", false},
        {"no encryption", TLS1_2_VERSION, "NULL:@SECLEVEL=0", false},
        {"anonymous", TLS1_2_VERSION, "aNULL:@SECLEVEL=0", false},
        {"AES-128", TLS1_2_VERSION, "ECDHE-ECDSA-AES128-GCM-SHA256", true},
        {"ChaCha20", TLS1_2_VERSION, "ECDHE-ECDSA-CHACHA20-POLY1305", true},
    };

    begin_default();
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        t_row(rows[i].label);
        rig_connect(1 << 20, 0);
        SSL_set_min_proto_version(rig.client.ssl, rows[i].version);
        SSL_set_max_proto_version(rig.client.ssl, rows[i].version);
        T_EQ_INT(SSL_set_cipher_list(rig.client.ssl, rows[i].ciphers), 1);
        fix_client_start(&rig.client);
        rig_run(10);
        T_EQ_INT(rig.client.done, rows[i].ok);
        T_EQ_INT(http_tls_is_established(&rig.server.stream), rows[i].ok);
        T_EQ_STR(http_tls_version(&rig.server.stream),
                 rows[i].ok ? rows[i].label[0] == 'T' && rows[i].version == TLS1_3_VERSION
                                  ? "TLSv1.3"
                                  : "TLSv1.2"
                            : "");
        rig_disconnect();
    }
    rig_end();
}

T_TEST(protocols_by_the_servers_preference)
{
    static const char *const both[] = {"h2", "http/1.1", NULL};
    static const char *const one[] = {"http/1.1", NULL};
    static const struct {
        const char *label;
        const char *const *server;
        const char *offer;
        const char *want; /* NULL: refused */
    } rows[] = {
        {"both want both", both, "\x08http/1.1\x02h2", "h2"},
        {"client has one", both, "\x08http/1.1", "http/1.1"},
        {"server has one", one, "\x02h2\x08http/1.1", "http/1.1"},
        {"nothing in common", one, "\x02h2", NULL},
        {"client says nothing", both, "", ""},
        {"server says nothing", NULL, "\x02h2", ""},
    };

    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        HttpTlsConfig config;

        t_row(rows[i].label);
        rig_begin();
        config = rig_config();
        config.alpn = rows[i].server;
        rig_open(&config);
        rig_connect(1 << 20, 0);
        SSL_set_alpn_protos(rig.client.ssl, (const unsigned char *)rows[i].offer,
                            (unsigned int)strlen(rows[i].offer));
        fix_client_start(&rig.client);
        rig_run(10);
        T_EQ_INT(http_tls_is_established(&rig.server.stream), rows[i].want != NULL);
        T_EQ_STR(http_tls_alpn(&rig.server.stream), rows[i].want ? rows[i].want : "");
        rig_disconnect();
        rig_end();
    }
}

T_TEST(a_server_name_does_not_matter)
{
    static const char *const names[] = {"server", "other.example", "xn--bcher-kva.example"};

    begin_default();
    for (size_t i = 0; i < ARRAY_LEN(names); i++) {
        rig_connect(1 << 20, 0);
        SSL_set_tlsext_host_name(rig.client.ssl, names[i]);
        fix_client_start(&rig.client);
        rig_handshake();
        rig_disconnect();
    }
    rig_end();
}

T_TEST(renegotiation_is_refused)
{
    begin_default();
    rig_connect(1 << 20, 0);
    SSL_set_max_proto_version(rig.client.ssl, TLS1_2_VERSION);
    fix_client_start(&rig.client);
    rig_handshake();
    SSL_renegotiate(rig.client.ssl);
    SSL_do_handshake(rig.client.ssl);
    rig_run(5);
    T_CHECK(rig.client.error != 0);
    T_EQ_INT(http_tls_handshakes(rig.tls, HTTP_TLS_FULL), 1);
    T_CHECK(SSL_get_current_compression(rig.client.ssl) == NULL);
    rig_disconnect();
    rig_end();
}

T_TEST(a_key_update_changes_nothing)
{
    begin_default();
    connected();
    for (int i = 0; i < 3; i++) {
        T_EQ_INT(SSL_key_update(rig.client.ssl, SSL_KEY_UPDATE_REQUESTED), 1);
        client_write("abc");
        rig_run(5);
    }
    T_EQ_STR(strbuf_str(&rig.server.got), "abcabcabc");
    T_EQ_INT(rig.client.error, 0);
    rig_disconnect();
    rig_end();
}

T_TEST(a_stream_without_tls_knows_nothing)
{
    HttpMemPair *pair;
    HttpStream plain;

    rig_begin();
    pair = http_mem_pair_new(10, 0);
    http_stream_init_mem(&plain, rig.loop, pair, 0, on_nothing);
    T_CHECK(!http_stream_is_tls(&plain));
    T_CHECK(!http_tls_is_established(&plain));
    T_EQ_STR(http_tls_alpn(&plain), "");
    T_EQ_STR(http_tls_version(&plain), "");
    T_CHECK(!http_tls_is_resumed(&plain));
    T_CHECK(http_tls_identity(&plain) == NULL);
    http_stream_close(&plain);
    http_mem_pair_free(pair);
    rig_end();
}
