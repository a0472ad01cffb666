/* SPDX-License-Identifier: Apache-2.0 */
/*
 * After 101 the two connections are one opaque pipe: bytes both ways, one block of buffer a
 * direction, a FIN passed on when everything before it was. Idle limits are asked for by flag:
 * whoever speaks the other protocol has its own; dead peers are found by TCP keep-alive.
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
    if ((client->eof || client->ended) && !x->back_shut && buf_len(&client->in) == 0 &&
        buf_len(&x->back->out) == 0) {
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
    Str bytes = buf_str(&x->back->in);

    body_move(&x->res, &x->worker->bufs, &x->back->in, &client->out);
    frames_pass(&x->frames, str_take(bytes, bytes.len - buf_len(&x->back->in)));
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

bool exchange_end_tunnel(Exchange *x)
{
    if (x->state != EXCHANGE_TUNNEL || x->client_shut || !frames_at_boundary(&x->frames)) {
        return false;
    }
    if (buf_append(&x->worker->bufs, &x->client->out, FRAMES_GOING_AWAY) < 0) {
        return false;
    }
    x->req.discard = true;
    x->progress_ns = exchange_now(x);
    exchange_drop_back(x);
    x->state = EXCHANGE_FLUSH;
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
