/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * Routing headers of a request: which sandbox, which port, how long to wait. Texts and order of the
 * refusals are part of the contract with clients. Pure: a head in, a value or a text out.
 */
#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
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

/*
 * The path form: <prefix>/<namespace>/<id>/<port>/<rest>. When the head's path has the prefix,
 * head->path becomes /<rest>, byte for byte, and *ret_form says where it goes; headers that name
 * something else do not count then. prefix "" or another path: nothing happens, ret_form->set is
 * false. 0, or -EINVAL with the `detail` of a 400.
 */
typedef struct RoutingForm {
    bool set;
    Str ns;
    Str id;
    Str port;
} RoutingForm;

int routing_take_prefix(Str prefix, HttpHead *head, RoutingForm *ret_form, const char **ret_detail);
/* 0, or -EINVAL with the `detail` of a 400. form NULL: headers alone. */
int routing_parse(const HttpHead *head, const RoutingForm *form, bool allow_loopback, Routing *ret,
                  const char **ret_detail);
/* Ports a client may name: "8888,9000-9010"; "" = all. */
#define ROUTING_PORTS_MAX 64
typedef struct RoutingPorts {
    struct {
        uint16_t from;
        uint16_t to;
    } ranges[ROUTING_PORTS_MAX];
    size_t n; /* 0 = all */
} RoutingPorts;

int routing_ports_parse(Str text, RoutingPorts *ret, Err *reterr); /* -EINVAL */
bool routing_port_allowed(const RoutingPorts *ports, uint16_t port);
bool routing_is_label(Str s); /* DNS-1123 label */

static inline Str routing_id(const Routing *routing)
{
    return (Str){routing->id, routing->id_len};
}

static inline Str routing_ns(const Routing *routing)
{
    return (Str){routing->ns, routing->ns_len};
}
