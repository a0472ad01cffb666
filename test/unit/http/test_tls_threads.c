/* SPDX-License-Identifier: Apache-2.0 */
/* Several threads take connections and resume each other's sessions while certificates change. */
#include <openssl/err.h>
#include <pthread.h>
#include <stdatomic.h>
#include <string.h>

#include "base/check.h"
#include "test/harness/t.h"
#include "test/unit/http/tlsfix.h"

#define THREADS 4
#define ROUNDS 40

static HttpTls *shared;
static SSL_SESSION *common; /* of a connection that was made before the threads began */
static _Atomic int open_threads;

static void on_ready(HttpStream *stream, uint32_t events)
{
    char buf[64];

    if (events & EPOLLIN) {
        http_stream_read(stream, buf, sizeof(buf));
    }
}

/* One connection; true when it was resumed. The session of the client is given to ret_session. */
static bool connect_once(Loop *loop, SSL_SESSION *session, SSL_SESSION **ret_session)
{
    HttpMemPair *pair = http_mem_pair_new(1 << 16, 0);
    HttpStream stream;
    FixClient client;
    bool resumed;

    CHECK(http_tls_stream_init_mem(&stream, shared, loop, pair, 0, on_ready) == 0);
    fix_client_init(&client, loop, pair, 1);
    CHECK(http_stream_watch(&stream, EPOLLIN) == 0);
    if (session) {
        SSL_set_session(client.ssl, session);
    }
    fix_client_start(&client);
    for (int i = 0; i < 100 && !(client.done && http_tls_is_established(&stream)); i++) {
        fix_client_pump(&client);
        CHECK(loop_step(loop, 0) == 0);
    }
    fix_client_pump(&client);
    CHECK(client.done && http_tls_is_established(&stream));
    resumed = SSL_session_reused(client.ssl) == 1;
    if (ret_session) {
        *ret_session = SSL_get1_session(client.ssl);
    }
    SSL_shutdown(client.ssl);
    http_stream_close(&stream);
    fix_client_deinit(&client);
    http_mem_pair_free(pair);
    return resumed;
}

static void *work(void *arg)
{
    int *resumed = arg;
    Loop *loop;

    CHECK(loop_new_virtual(clock_system(), &loop) == 0);
    for (int i = 0; i < ROUNDS; i++) {
        SSL_SESSION *session = SSL_SESSION_dup(common);

        *resumed += connect_once(loop, session, NULL);
        SSL_SESSION_free(session);
        connect_once(loop, NULL, NULL);
    }
    loop_free(loop);
    atomic_fetch_sub(&open_threads, 1);
    return NULL;
}

T_TEST(threads_share_tickets_and_survive_reloads)
{
    FixCert certs[] = {fix_cert(&(FixSpec){.cn = "a"}), fix_cert(&(FixSpec){.cn = "b"})};
    HttpTlsConfig config = {
        .cert_file = fix_path("tls.crt"), .key_file = fix_path("tls.key"), .clock = clock_system()};
    pthread_t threads[THREADS];
    int resumed[THREADS] = {0};
    Loop *loop;
    int reloads = 0;

    fix_write(config.cert_file, config.key_file, &certs[0]);
    T_OK(http_tls_new(&config, &shared, NULL));
    T_OK(loop_new_virtual(clock_system(), &loop));
    connect_once(loop, NULL, &common);
    atomic_store(&open_threads, THREADS);
    for (int i = 0; i < THREADS; i++) {
        T_OK(pthread_create(&threads[i], NULL, work, &resumed[i]));
    }
    while (atomic_load(&open_threads) > 0) {
        fix_write(config.cert_file, config.key_file, &certs[++reloads % 2]);
        T_EQ_INT(http_tls_reload(shared, NULL), HTTP_TLS_LOADED);
        connect_once(loop, NULL, NULL);
        (void)http_tls_not_after(shared);
    }
    for (int i = 0; i < THREADS; i++) {
        T_OK(pthread_join(threads[i], NULL));
        T_EQ_INT(resumed[i], ROUNDS);
    }
    T_CHECK(reloads > 0);
    T_EQ_INT(http_tls_handshakes(shared, HTTP_TLS_RESUMED), THREADS * ROUNDS);
    T_EQ_INT(http_tls_handshakes(shared, HTTP_TLS_FAILED), 0);
    SSL_SESSION_free(common);
    loop_free(loop);
    shared = http_tls_unref(shared);
    fix_free(&certs[0]);
    fix_free(&certs[1]);
}
