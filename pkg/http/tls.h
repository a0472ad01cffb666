/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * TLS for servers, by OpenSSL 3: a certificate that is reloaded while connections live, tickets
 * that every thread can open, client certificates, and a stream that looks like a socket
 * (stream.h).
 *
 *     HttpTlsConfig config = {.cert_file = cert, .key_file = key, .clock = clock_system()};
 *     HttpTls *tls;
 *     int r = http_tls_new(&config, &tls, &err);
 *     ...
 *     r = http_tls_stream_init(&conn->stream, tls, loop, fd, on_ready);
 *
 * TLS 1.2 and 1.3; no renegotiation, no compression, no early data, no session cache. A server name
 * (SNI) is neither needed nor looked at: there is one certificate.
 *
 * One HttpTls serves any number of threads. New handshakes take the context that was published
 * last; a running connection keeps the one it began with. Reference counted: every stream holds a
 * reference.
 */
#include <stdbool.h>
#include <stdint.h>

#include "base/clock.h"
#include "base/err.h"
#include "base/str.h"
#include "http/stream.h"

#define HTTP_TLS_FILE_MAX (1024 * 1024)       /* bytes of a PEM file */
#define HTTP_TLS_CHAIN_MAX 16                 /* certificates behind the leaf in the file */
#define HTTP_TLS_HANDSHAKE_NS (10 * NS_PER_S) /* default limit of a handshake */
#define HTTP_TLS_LINGER_NS (2 * NS_PER_S)     /* after a refused one, so that the alert arrives */
#define HTTP_TLS_TICKET_ROTATE_NS (3600 * NS_PER_S)
#define HTTP_TLS_TICKET_KEYS 3                 /* the one that seals, and two that still open */
#define HTTP_TLS_TICKET_LIFETIME_S 7200        /* so no ticket outlives its key */
#define HTTP_TLS_DEBOUNCE_NS (250 * NS_PER_MS) /* between a change of a file and the reload */
#define HTTP_TLS_RECHECK_NS (60 * NS_PER_S)    /* files are looked at anyway, events or not */
#define HTTP_TLS_GROUPS_MAX 16
#define HTTP_TLS_NAME_MAX 512 /* bytes of a name or a group */
#define HTTP_TLS_ALPN_MAX 64  /* bytes of all protocol names */

typedef struct HttpTls HttpTls;

typedef enum HttpTlsClientAuth {
    HTTP_TLS_CLIENT_OFF,
    HTTP_TLS_CLIENT_OPTIONAL, /* asked for; one that is sent must be good */
    HTTP_TLS_CLIENT_REQUIRED,
} HttpTlsClientAuth;

/* Strings are copied. */
typedef struct HttpTlsConfig {
    const char
        *cert_file;       /* PEM: leaf, then its chain. NULL: a self-signed one is made in memory */
    const char *key_file; /* PEM, not encrypted; NULL only together with cert_file */
    const char *client_ca_file; /* PEM bundle; needed unless client_auth is off */
    HttpTlsClientAuth client_auth;
    const char *const *alpn; /* in order of preference, ends with NULL; NULL = the extension is
                                ignored. A client that offers only others is refused (RFC 7301). */
    bool tls13_only;
    const char *cipher_suites; /* for TLS 1.2: IANA names, by comma; NULL or "" = the default */
    uint64_t handshake_ns;     /* 0 = HTTP_TLS_HANDSHAKE_NS */
    const Clock *clock;
} HttpTlsConfig;

/* -EINVAL with a text that names the file; -ENOENT and the like when it cannot be read. */
int http_tls_new(const HttpTlsConfig *config, HttpTls **ret_tls, Err *reterr);
HttpTls *http_tls_ref(HttpTls *tls);   /* any thread; NULL is fine */
HttpTls *http_tls_unref(HttpTls *tls); /* any thread; NULL is fine; returns NULL */

/* ---- reload: one thread ---- */

enum {
    HTTP_TLS_SAME = 0,   /* what the files say was tried before */
    HTTP_TLS_LOADED = 1, /* new handshakes use what they say now */
};

/* Reads the files. Negative: the reason, and what was in use stays in use. */
int http_tls_reload(HttpTls *tls, Err *reterr);

/* After each attempt that was not HTTP_TLS_SAME; err is NULL when it succeeded. */
typedef void (*HttpTlsReloadFn)(void *ctx, const Err *err);
/*
 * Follows the files: reloads HTTP_TLS_DEBOUNCE_NS after anything happened in their folders (so that
 * the swap of Kubernetes' ..data link is seen), and looks every HTTP_TLS_RECHECK_NS as well, which
 * covers what inotify cannot tell. Does nothing for a self-signed certificate.
 */
void http_tls_watch(HttpTls *tls, Loop *loop, HttpTlsReloadFn fn, void *ctx);
void http_tls_unwatch(HttpTls *tls); /* before the loop goes; does nothing when not watching */
/* End of the certificate in use, seconds since 1970. */
int64_t http_tls_not_after(HttpTls *tls);

/* ---- counters ---- */

typedef enum HttpTlsOutcome {
    HTTP_TLS_FULL,
    HTTP_TLS_RESUMED,
    HTTP_TLS_FAILED, /* refused, broken or abandoned */
    HTTP_TLS_TIMED_OUT,
    HTTP_TLS_PLAIN_HTTP, /* answered 400 in plain text */
    HTTP_TLS_OUTCOMES,
} HttpTlsOutcome;

const char *http_tls_outcome_name(HttpTlsOutcome outcome); /* "full", "resumed", ... */
uint64_t http_tls_handshakes(const HttpTls *tls, HttpTlsOutcome outcome); /* any thread */

/* ---- streams ---- */

/*
 * Takes the non-blocking fd. The handshake runs by itself while any event is watched; fn hears
 * nothing of it but its failure, as readiness whose read says why. What read and write say beyond
 * stream.h:
 *   0              the peer said that it is done (close_notify)
 *   -ECONNABORTED  the peer closed without saying so: what came may be a part of it
 *   -ETIMEDOUT     the handshake took too long
 *   -EPROTO        no TLS, or broken, or refused
 * The next write after an -EAGAIN must begin with the same bytes. Closing says close_notify unless
 * `cut` is set. -ENOMEM: the fd is closed.
 */
int http_tls_stream_init(HttpStream *stream, HttpTls *tls, Loop *loop, int fd, HttpStreamFn fn);
/* The same as an HttpStreamOpenFn; ctx is the HttpTls. */
int http_tls_open(HttpStream *stream, void *ctx, Loop *loop, int fd, HttpStreamFn fn);
/* The same over an end of a memory pair, for tests. */
int http_tls_stream_init_mem(HttpStream *stream, HttpTls *tls, Loop *loop, HttpMemPair *pair,
                             int end, HttpStreamFn fn);

bool http_stream_is_tls(const HttpStream *stream);
/* The following are for any stream: without TLS, or before the handshake is done, "nothing". */
bool http_tls_is_established(const HttpStream *stream);
Str http_tls_alpn(const HttpStream *stream); /* "h2", "http/1.1"; empty = none was agreed on */
const char *http_tls_version(const HttpStream *stream); /* "TLSv1.3"; "" = none */
bool http_tls_is_resumed(const HttpStream *stream);

/* Who a verified client certificate says the peer is. */
typedef struct HttpTlsIdentity {
    char *name;         /* SPIFFE URI, else the first DNS name, else the common name */
    const char *source; /* "spiffe", "dns", "cn" */
    char *groups[HTTP_TLS_GROUPS_MAX]; /* organizations (O), in order */
    size_t n_groups;
} HttpTlsIdentity;

/* NULL without a client certificate, or when it has no usable name. Lives as long as the stream. */
const HttpTlsIdentity *http_tls_identity(const HttpStream *stream);
