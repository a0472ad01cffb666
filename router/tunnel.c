/* SPDX-License-Identifier: Apache-2.0 */
/*
 * After 101 the two connections are one opaque pipe: bytes both ways, one block of buffer a
 * direction, a FIN passed on when everything before it was. No idle limit: whoever speaks the other
 * protocol has its own; dead peers are found by TCP keep-alive.
 */
#include <errno.h>

#include "router/exchange.h"

/* Client to sandbox. False: the sandbox is gone. */
static bool pump_up(Exchange *x, bool *ret_moved)
{
    Client *client = x->client;
    size_t before = buf_len(&client->in);

    body_move(&x->req, &x->worker->bufs, &client->in, &x->back->out);
    *ret_moved |= before != buf_len(&client->in);
    buf_trim(&x->worker->bufs, &client->in);
    if (buf_len(&x->back->out) > 0) {
        *ret_moved |= exchange_flush_back(x);
    }
    if (client->eof && !x->back_shut && buf_len(&client->in) == 0 && buf_len(&x->back->out) == 0) {
        x->back_shut = true;
        http_stream_shutdown(&x->back->stream);
    }
    return !x->req_dead;
}

/* Sandbox to client. False: the client is gone. */
static bool pump_down(Exchange *x, bool *ret_moved)
{
    Client *client = x->client;
    size_t before = buf_len(&x->back->in) + buf_len(&client->out);

    body_move(&x->res, &x->worker->bufs, &x->back->in, &client->out);
    buf_trim(&x->worker->bufs, &x->back->in);
    if (!client_flush(client)) {
        return false;
    }
    *ret_moved |= before != buf_len(&x->back->in) + buf_len(&client->out);
    if (x->back->eof && !x->client_shut && buf_len(&x->back->in) == 0 &&
        buf_len(&client->out) == 0) {
        x->client_shut = true;
        client->ops->shutdown(client);
    }
    return true;
}

ExchangeOutcome exchange_tunnel(Exchange *x)
{
    bool moved = true;

    while (moved) {
        moved = false;
        if (!pump_down(x, &moved) || !pump_up(x, &moved)) {
            return EXCHANGE_ABORT;
        }
    }
    if (x->back->error && buf_len(&x->back->in) == 0) {
        return EXCHANGE_ABORT;
    }
    return x->client_shut && x->back_shut ? EXCHANGE_CLOSE : EXCHANGE_PENDING;
}
