/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * What an exchange knows of its client: a buffer of bytes that came, a buffer of bytes to go, and a
 * few things only the client's protocol can do. An HTTP/1.1 connection is one client; of an HTTP/2
 * connection every stream is one. Exchange, relay and tunnel know no more, so both protocols share
 * admission, resolution, dialling, relaying, time limits and logging.
 *
 * `in` starts with the head as HTTP/1.1 text (a stream's is written from its checked fields, and
 * read by the same strict parser) and goes on with the body: in HTTP/1.1 framing when `framed`,
 * else as plain payload whose end is `ended`. `out` takes the reply's body likewise; heads and
 * trailers go through the operations. A full `out`, or an `in` that nobody empties, is the flow
 * control of both protocols.
 *
 * The client owns its exchange and outlives it.
 */
#include <stdbool.h>

#include "http/parse.h"
#include "http/tls.h"
#include "router/buf.h"
#include "router/rewrite.h"
#include "router/worker.h"

typedef struct Client Client;
typedef struct Exchange Exchange;

typedef struct ClientOps {
    /* Something happened to the exchange: it is run, now or before the loop waits again. The client
     * may be gone when this returns. */
    void (*step)(Client *client);
    /* Sends what is queued as far as it goes. False: the client is gone. */
    bool (*flush)(Client *client);
    /* Queues a head of the sandbox: 1xx, 101 (options->upgrade), or the final one. -E2BIG. */
    int (*head)(Client *client, const HttpHead *head, const RewriteResponse *options);
    /* Queues a reply of the router itself: `head` is a complete HTTP/1.1 head, `body` all of it. */
    void (*own)(Client *client, Str head, Str body);
    /* Clients that are not framed: trailers of the reply, once, after all of its body. -E2BIG. */
    int (*trailers)(Client *client, const HttpHead *trailers);
    /* Tunnels: nothing more goes to the client. */
    void (*shutdown)(Client *client);
} ClientOps;

struct Client {
    const ClientOps *ops;
    Worker *worker;
    Exchange *exchange;     /* NULL between two */
    const char *peer;       /* numeric address; borrowed from the connection */
    const HttpStream *conn; /* the connection below, for what TLS knows of it; borrowed */
    Buf in;
    Buf out;
    Buf trailers; /* of the request, as field lines with the empty line; not framed only */
    bool eof;     /* sends no more: gone, or in a tunnel half closed */
    bool framed;  /* HTTP/1.1 */
    bool ended;   /* not framed: `in` and `trailers` hold all that is left of the request */
};

static inline void client_step(Client *client)
{
    client->ops->step(client);
}

static inline bool client_flush(Client *client)
{
    return client->ops->flush(client);
}

static inline bool client_is_tls(const Client *client)
{
    return http_stream_is_tls(client->conn);
}

/* Who the client's certificate says it is; NULL without one. */
static inline const HttpTlsIdentity *client_identity(const Client *client)
{
    return http_tls_identity(client->conn);
}
