/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * Routing headers of a request: which sandbox, which port, how long to wait. Texts and order of the
 * refusals are part of the contract with clients. Pure: a head in, a value or a text out.
 */
#include <stdbool.h>
#include <stdint.h>

#include "http/parse.h"
#include "router/address.h"

#define ROUTING_LABEL_MAX 63
#define ROUTING_PORT_DEFAULT 8888

typedef struct Routing {
    char id[ROUTING_LABEL_MAX + 1];
    char ns[ROUTING_LABEL_MAX + 1];
    uint8_t id_len;
    uint8_t ns_len;
    uint16_t port;
    bool port_named;     /* not the default */
    Address pod_ip;      /* hint; .set when the header was there */
    uint64_t timeout_ns; /* X-Sandbox-Timeout, 0 = none or not usable */
} Routing;

/* 0, or -EINVAL with the `detail` of a 400. */
int routing_parse(const HttpHead *head, bool allow_loopback, Routing *ret, const char **ret_detail);
bool routing_is_label(Str s); /* DNS-1123 label */

static inline Str routing_id(const Routing *routing)
{
    return (Str){routing->id, routing->id_len};
}

static inline Str routing_ns(const Routing *routing)
{
    return (Str){routing->ns, routing->ns_len};
}
