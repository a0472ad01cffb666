/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Session tickets without state: sealed with AES-256-CBC and HMAC-SHA-256 (RFC 5077 section 4) by a
 * key that lives in memory only. A key seals for HTTP_TLS_TICKET_ROTATE_NS and opens until two
 * newer ones exist, which is no sooner than the lifetime of the last ticket it sealed.
 *
 * OpenSSL verifies no certificate again when a session is resumed, so two things end one early: a
 * change of the client CA file (the session id context is its digest, see tls_context.c) and the
 * end of the client's certificate.
 */
#include <errno.h>
#include <openssl/core_names.h>
#include <openssl/params.h>
#include <openssl/rand.h>
#include <openssl/x509.h>
#include <string.h>

#include "http/tls_impl.h"

int tls_tickets_init(TlsTickets *tickets, const Clock *clock)
{
    tickets->clock = clock;
    tickets->cipher = EVP_CIPHER_fetch(NULL, "AES-256-CBC", NULL);
    pthread_mutex_init(&tickets->lock, NULL);
    return tickets->cipher ? 0 : -ENOMEM;
}

void tls_tickets_deinit(TlsTickets *tickets)
{
    OPENSSL_cleanse(tickets->keys, sizeof(tickets->keys));
    EVP_CIPHER_free(tickets->cipher);
    pthread_mutex_destroy(&tickets->lock);
}

static bool make_key(TlsTicketKey *key, uint64_t now)
{
    key->made_ns = now;
    return RAND_bytes(key->name, sizeof(key->name)) == 1 &&
           RAND_priv_bytes(key->cipher, sizeof(key->cipher)) == 1 &&
           RAND_priv_bytes(key->mac, sizeof(key->mac)) == 1;
}

/* The key that seals now. False: no randomness. */
static bool sealing_key(TlsTickets *tickets, TlsTicketKey *ret_key)
{
    uint64_t now = clock_mono_ns(tickets->clock);
    TlsTicketKey fresh;
    bool ok = true;

    pthread_mutex_lock(&tickets->lock);
    if (tickets->n == 0 || now - tickets->keys[0].made_ns >= HTTP_TLS_TICKET_ROTATE_NS) {
        ok = make_key(&fresh, now);
        if (ok) {
            memmove(&tickets->keys[1], &tickets->keys[0],
                    (HTTP_TLS_TICKET_KEYS - 1) * sizeof(fresh));
            tickets->keys[0] = fresh;
            tickets->n += tickets->n < HTTP_TLS_TICKET_KEYS;
        }
    }
    if (ok) {
        *ret_key = tickets->keys[0];
    }
    pthread_mutex_unlock(&tickets->lock);
    OPENSSL_cleanse(&fresh, sizeof(fresh));
    return ok;
}

/* False: no such key, so the handshake is a full one. */
static bool opening_key(TlsTickets *tickets, const unsigned char *name, TlsTicketKey *ret_key)
{
    bool found = false;

    pthread_mutex_lock(&tickets->lock);
    for (size_t i = 0; i < tickets->n && !found; i++) {
        found = memcmp(tickets->keys[i].name, name, sizeof(tickets->keys[i].name)) == 0;
        if (found) {
            *ret_key = tickets->keys[i];
        }
    }
    pthread_mutex_unlock(&tickets->lock);
    return found;
}

static bool set_mac(EVP_MAC_CTX *mac, TlsTicketKey *key)
{
    char digest[] = "SHA256";
    OSSL_PARAM params[] = {
        OSSL_PARAM_construct_octet_string(OSSL_MAC_PARAM_KEY, key->mac, sizeof(key->mac)),
        OSSL_PARAM_construct_utf8_string(OSSL_MAC_PARAM_DIGEST, digest, 0),
        OSSL_PARAM_construct_end(),
    };

    return EVP_MAC_CTX_set_params(mac, params) == 1;
}

/* SSL_CTX_set_tlsext_ticket_key_evp_cb(3): 1 = use it, 0 = no ticket, negative = error. */
static int ticket_key(SSL *ssl, unsigned char *name, unsigned char *iv, EVP_CIPHER_CTX *cipher,
                      EVP_MAC_CTX *mac, int seal)
{
    HttpTls *tls = SSL_CTX_get_app_data(SSL_get_SSL_CTX(ssl));
    TlsTickets *tickets = &tls->tickets;
    TlsTicketKey key;
    int r = -1;

    if (seal) {
        if (!sealing_key(tickets, &key) ||
            RAND_bytes(iv, EVP_CIPHER_get_iv_length(tickets->cipher)) != 1) {
            return -1;
        }
        memcpy(name, key.name, sizeof(key.name));
    } else if (!opening_key(tickets, name, &key)) {
        return 0;
    }
    if (EVP_CipherInit_ex(cipher, tickets->cipher, NULL, key.cipher, iv, seal) == 1 &&
        set_mac(mac, &key)) {
        r = 1;
    }
    OPENSSL_cleanse(&key, sizeof(key));
    return r;
}

static bool has_ended(const HttpTls *tls, const X509 *cert)
{
    time_t now = (time_t)(clock_wall_ns(tls->config.clock) / (int64_t)NS_PER_S);

    return X509_cmp_time(X509_get0_notAfter(cert), &now) < 0;
}

/* An opened ticket: whether its session may go on. */
static SSL_TICKET_RETURN ticket_opened(SSL *ssl, SSL_SESSION *session, const unsigned char *name,
                                       size_t name_len, SSL_TICKET_STATUS status, void *arg)
{
    const HttpTls *tls = arg;
    const X509 *cert = session ? SSL_SESSION_get0_peer(session) : NULL;

    UNUSED(ssl);
    UNUSED(name);
    UNUSED(name_len);
    if (status != SSL_TICKET_SUCCESS && status != SSL_TICKET_SUCCESS_RENEW) {
        return SSL_TICKET_RETURN_IGNORE_RENEW;
    }
    if (cert && has_ended(tls, cert)) {
        return SSL_TICKET_RETURN_IGNORE_RENEW;
    }
    return status == SSL_TICKET_SUCCESS ? SSL_TICKET_RETURN_USE : SSL_TICKET_RETURN_USE_RENEW;
}

void tls_tickets_install(SSL_CTX *ctx)
{
    SSL_CTX_set_tlsext_ticket_key_evp_cb(ctx, ticket_key);
    SSL_CTX_set_session_ticket_cb(ctx, NULL, ticket_opened, SSL_CTX_get_app_data(ctx));
    SSL_CTX_set_timeout(ctx, HTTP_TLS_TICKET_LIFETIME_S);
    SSL_CTX_set_session_cache_mode(ctx, SSL_SESS_CACHE_OFF);
    SSL_CTX_set_num_tickets(ctx, 1);
}
