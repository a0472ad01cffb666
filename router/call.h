/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * What an exchange does differently when it is a gRPC call. A call goes to its sandbox over HTTP/2;
 * the port has to be named; grpc-timeout bounds it as a whole; and what goes wrong is said with a
 * gRPC status: in the head when nothing was sent yet (Trailers-Only), else in the trailers.
 */
#include "router/exchange.h"

#define CALL_DETAIL_MAX 400 /* bytes of a refusal's text */

/* True for gRPC over HTTP/2. */
bool call_is(const Client *client, const HttpHead *head);
/* Checks what a call must say. False: it was refused. */
bool call_admit(Exchange *x, const HttpHead *head);
/* A refusal of the router. `status` is the one it would have over HTTP. */
void call_refuse(Exchange *x, int status, const char *detail);
/* The call's time is over, or its sandbox is gone, after the head went out: ends it with trailers.
 */
void call_abort(Exchange *x, int status, const char *detail);
