/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * Who a client is, for limits: the socket's peer, or, when that is one of the trusted proxies, the
 * last address of X-Forwarded-For that is not one itself. An IPv6 client is its /64: one host may
 * choose any address in there. Pure.
 */
#include "base/err.h"
#include "http/parse.h"
#include "router/address.h"

#define PROXY_NETS_MAX 64
#define IDENTITY_KEY_MAX 17
#define IDENTITY_HOPS_MAX 32 /* addresses of X-Forwarded-For looked at, from the end */

typedef struct ProxyNet {
    Address address;
    uint8_t bits;
} ProxyNet;

typedef struct ProxyNets {
    ProxyNet nets[PROXY_NETS_MAX];
    size_t n;
} ProxyNets;

/* "10.0.0.0/8, fd00::/8, 192.0.2.1". -EINVAL names what is wrong. */
int proxy_nets_parse(Str text, ProxyNets *ret, Err *reterr);
bool proxy_nets_contain(const ProxyNets *nets, const Address *address);
/* head NULL: the connection itself. peer: numeric. ret_key lives in buf. */
void identity_of_client(const HttpHead *head, Str peer, const ProxyNets *nets,
                        char buf[IDENTITY_KEY_MAX], Str *ret_key);
