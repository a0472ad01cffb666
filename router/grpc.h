/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * What gRPC adds to HTTP/2, as far as a proxy has to know it: which requests are gRPC, their time
 * limit, and how a refusal looks ("PROTOCOL-HTTP2" of the gRPC project). Pure.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/str.h"

#define GRPC_MESSAGE_MAX 1200 /* bytes of an encoded grpc-message: three for each of a detail */

/* application/grpc, +proto and the like; not application/grpc-web, which is ordinary HTTP. */
bool grpc_is_content_type(Str value);
/* "grpc-timeout": 1 to 8 digits and one of H M S m u n. -EINVAL for anything else. */
int grpc_timeout_parse(Str value, uint64_t *ret_ns);
/* The code a client sees for what the router would answer over HTTP. */
int grpc_status_from_http(int status);
/* Percent-encodes what is not printable ASCII. At most `max` bytes, cut between characters. */
size_t grpc_message_encode(Str text, char *out, size_t max);
