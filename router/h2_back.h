/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * HTTP/2 towards a sandbox, in clear text by prior knowledge: what gRPC needs. A Back with an
 * H2Back carries one request at a time, as any Back does, so nothing of two clients ever shares a
 * connection at the same moment; when a stream has ended on both sides the connection waits in the
 * pool for the next gRPC request to the same address.
 *
 * To the relay it looks like HTTP/1.1: `out` takes the plain payload of the request; `in` gives
 * heads as text and then plain payload, whose end is `eof`. Memory is bounded by the window, which
 * opens as the relay empties `in`.
 */
#include "http/parse.h"
#include "router/upstream.h"

#define H2_BACK_WINDOW 65535          /* bytes of a reply that wait for the client */
#define H2_BACK_WIRE_HIGH (32 * 1024) /* frames that wait for the sandbox's socket */

H2Back *h2_back_new(Back *back);
H2Back *h2_back_free(H2Back *h2); /* NULL is fine; returns NULL */

/* Starts the request that `head` describes, as it was rewritten for the sandbox. */
void h2_back_submit(Back *back, const HttpHead *head, bool has_body);
/* Sends what can be sent. done: `out` holds the rest of the request. True when something moved.
 * Failures are left in back->error. */
bool h2_back_flush(Back *back, bool done);
void h2_back_read(Back *back); /* back_read() */
bool h2_back_wants_write(const Back *back);
/* The final head in `in` was all of the reply. */
bool h2_back_head_ended(const Back *back);
/* Trailers of the reply, field lines with the empty line; empty when there are none. */
Str h2_back_trailers(const Back *back);
/* After a complete reply: true when another request may follow. */
bool h2_back_renew(Back *back);
/* Something came while nobody uses it. False: it has to be closed. */
bool h2_back_idle(Back *back);
