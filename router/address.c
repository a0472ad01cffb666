/* SPDX-License-Identifier: Apache-2.0 */
/* See address.h. */
#include "router/address.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>

#include "base/hash.h"

int address_parse(Str text, Address *ret)
{
    char buf[INET6_ADDRSTRLEN];
    Address a = {.set = true};

    if (text.len == 0 || text.len >= sizeof(buf) || memchr(text.ptr, '\0', text.len)) {
        return -EINVAL;
    }
    memcpy(buf, text.ptr, text.len);
    buf[text.len] = '\0';
    if (inet_pton(AF_INET, buf, a.bytes) != 1) {
        struct in6_addr in6;

        if (inet_pton(AF_INET6, buf, &in6) != 1) {
            return -EINVAL;
        }
        a.v6 = !IN6_IS_ADDR_V4MAPPED(&in6);
        if (a.v6) {
            memcpy(a.bytes, &in6, 16);
        } else {
            memcpy(a.bytes, (const uint8_t *)&in6 + 12, 4);
        }
    }
    *ret = a;
    return 0;
}

static size_t address_len(const Address *a)
{
    return a->v6 ? 16 : 4;
}

bool address_same_host(const Address *a, const Address *b)
{
    return a->set && b->set && a->v6 == b->v6 && memcmp(a->bytes, b->bytes, address_len(a)) == 0;
}

bool address_equal(const Address *a, const Address *b)
{
    return a->port == b->port && address_same_host(a, b);
}

uint64_t address_hash(uint64_t seed, const Address *a)
{
    uint8_t key[18];

    memcpy(key, a->bytes, 16);
    memcpy(key + 16, &a->port, 2);
    return hash_bytes(seed, key, sizeof(key));
}

/* Networks that a client may not name: "this" network, link-local (and with it most metadata
 * services), multicast, reserved and broadcast, and metadata services elsewhere. */
static const struct {
    uint8_t net[4];
    uint8_t bits;
} forbidden_nets[] = {
    {{0, 0, 0, 0}, 8},   {{169, 254, 0, 0}, 16},     {{224, 0, 0, 0}, 4},
    {{240, 0, 0, 0}, 4}, {{100, 100, 100, 200}, 32}, {{192, 0, 0, 192}, 32},
};

static uint32_t word(const uint8_t *b)
{
    return (uint32_t)b[0] << 24 | (uint32_t)b[1] << 16 | (uint32_t)b[2] << 8 | b[3];
}

static bool forbidden_v4(const uint8_t *b, bool allow_loopback)
{
    for (size_t i = 0; i < ARRAY_LEN(forbidden_nets); i++) {
        if ((word(b) ^ word(forbidden_nets[i].net)) >> (32 - forbidden_nets[i].bits) == 0) {
            return true;
        }
    }
    return b[0] == 127 && !allow_loopback;
}

/* The IPv4 address that a gateway or a stack would make of an IPv6 one: NAT64 (RFC 6052, and the
 * local use of RFC 8215), 6to4 (RFC 3056), IPv4-compatible (RFC 4291). NULL when there is none. */
static const uint8_t *embedded_v4(const uint8_t *b)
{
    static const uint8_t nat64[12] = {0, 0x64, 0xff, 0x9b};
    static const uint8_t compatible[12] = {0};
    bool local = memcmp(b, nat64, 4) == 0 && b[4] == 0 && b[5] == 1;

    if (b[0] == 0x20 && b[1] == 0x02) {
        return b + 2;
    }
    return local || memcmp(b, nat64, 12) == 0 || memcmp(b, compatible, 12) == 0 ? b + 12 : NULL;
}

bool address_is_forbidden(const Address *a, bool allow_loopback)
{
    static const uint8_t metadata[16] = {0xfd, 0, 0x0e, 0xc2, [14] = 0x02, [15] = 0x54};
    const uint8_t *embedded;
    struct in6_addr in6;

    if (!a->v6) {
        return forbidden_v4(a->bytes, allow_loopback);
    }
    memcpy(&in6, a->bytes, sizeof(in6));
    if (IN6_IS_ADDR_LOOPBACK(&in6)) {
        return !allow_loopback;
    }
    embedded = embedded_v4(a->bytes);
    return IN6_IS_ADDR_UNSPECIFIED(&in6) || IN6_IS_ADDR_LINKLOCAL(&in6) ||
           IN6_IS_ADDR_MULTICAST(&in6) || memcmp(a->bytes, metadata, 16) == 0 ||
           (embedded && forbidden_v4(embedded, false));
}

size_t address_format(const Address *a, char ret[ADDRESS_TEXT_MAX])
{
    char host[INET6_ADDRSTRLEN];

    if (a->v6) {
        inet_ntop(AF_INET6, a->bytes, host, sizeof(host));
        return (size_t)snprintf(ret, ADDRESS_TEXT_MAX, "[%s]:%u", host, a->port);
    }
    return (size_t)snprintf(ret, ADDRESS_TEXT_MAX, "%u.%u.%u.%u:%u", a->bytes[0], a->bytes[1],
                            a->bytes[2], a->bytes[3], a->port);
}

socklen_t address_to_sockaddr(const Address *a, struct sockaddr_storage *ret)
{
    memset(ret, 0, sizeof(*ret));
    if (a->v6) {
        struct sockaddr_in6 *in6 = (struct sockaddr_in6 *)ret;

        in6->sin6_family = AF_INET6;
        in6->sin6_port = htons(a->port);
        memcpy(&in6->sin6_addr, a->bytes, 16);
        return sizeof(*in6);
    }
    struct sockaddr_in *in = (struct sockaddr_in *)ret;

    in->sin_family = AF_INET;
    in->sin_port = htons(a->port);
    memcpy(&in->sin_addr, a->bytes, 4);
    return sizeof(*in);
}
