/* SPDX-License-Identifier: Apache-2.0 */
/* See identity.h. */
#include "router/identity.h"

#include <errno.h>
#include <string.h>

static int parse_net(Str text, ProxyNet *ret)
{
    ptrdiff_t slash = str_find(text, '/');
    Str host = slash >= 0 ? str_take(text, (size_t)slash) : text;
    uint64_t bits;

    if (address_parse(host, &ret->address) < 0) {
        return -EINVAL;
    }
    bits = ret->address.v6 ? 128 : 32;
    if (slash >= 0) {
        uint64_t most = bits;

        if (str_to_u64(str_drop(text, (size_t)slash + 1), &bits) < 0 || bits > most) {
            return -EINVAL;
        }
    }
    ret->bits = (uint8_t)bits;
    return 0;
}

int proxy_nets_parse(Str text, ProxyNets *ret, Err *reterr)
{
    ProxyNets nets = {.n = 0};

    while (text.len > 0) {
        ptrdiff_t comma = str_find(text, ',');
        Str one = str_trim(comma >= 0 ? str_take(text, (size_t)comma) : text);

        text = comma >= 0 ? str_drop(text, (size_t)comma + 1) : STR("");
        if (one.len == 0) {
            continue;
        }
        if (nets.n >= PROXY_NETS_MAX) {
            return err_set(reterr, EINVAL, "--trusted-proxy-cidrs: more than %d networks",
                           PROXY_NETS_MAX);
        }
        if (parse_net(one, &nets.nets[nets.n]) < 0) {
            return err_set(reterr, EINVAL, "--trusted-proxy-cidrs: \"" STR_FMT "\" is no network",
                           STR_ARG(str_take(one, 64)));
        }
        nets.n++;
    }
    *ret = nets;
    return 0;
}

static bool net_contains(const ProxyNet *net, const Address *address)
{
    size_t whole = net->bits / 8;
    unsigned rest = net->bits % 8;

    if (net->address.v6 != address->v6 || memcmp(net->address.bytes, address->bytes, whole) != 0) {
        return false;
    }
    return rest == 0 || (net->address.bytes[whole] ^ address->bytes[whole]) >> (8 - rest) == 0;
}

bool proxy_nets_contain(const ProxyNets *nets, const Address *address)
{
    for (size_t i = 0; i < nets->n; i++) {
        if (net_contains(&nets->nets[i], address)) {
            return true;
        }
    }
    return false;
}

/* Goes back through one field as long as the addresses are proxies'. False: stop here. */
static bool walk_back(Str value, const ProxyNets *nets, Address *address, int *hops)
{
    while (value.len > 0) {
        size_t from = value.len;
        Address before;

        while (from > 0 && value.ptr[from - 1] != ',') {
            from--;
        }
        if (++*hops > IDENTITY_HOPS_MAX ||
            address_parse(str_trim(str_drop(value, from)), &before)) {
            return false; /* what cannot be read is not believed, nor what stands before it */
        }
        *address = before;
        if (!proxy_nets_contain(nets, address)) {
            return false;
        }
        value = str_take(value, from > 0 ? from - 1 : 0);
    }
    return true;
}

void identity_of_client(const HttpHead *head, Str peer, const ProxyNets *nets,
                        char buf[IDENTITY_KEY_MAX], Str *ret_key)
{
    Address address = {0};
    int hops = 0;

    if (address_parse(peer, &address) == 0 && head && proxy_nets_contain(nets, &address)) {
        for (size_t i = head->n_headers; i-- > 0;) {
            const HttpHeader *field = &head->headers[i];

            if (field->id == HTTP_TOKEN_X_FORWARDED_FOR &&
                !walk_back(field->value, nets, &address, &hops)) {
                break;
            }
        }
    }
    buf[0] = address.v6 ? '6' : '4';
    memcpy(buf + 1, address.bytes, 16);
    *ret_key = (Str){buf, address.v6 ? 9 : 5};
}
