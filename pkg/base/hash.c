/* SPDX-License-Identifier: Apache-2.0 */
/* See hash.h. */
#include "base/hash.h"

#include <stdio.h>

#define FNV1A32_OFFSET 0x811c9dc5u
#define FNV1A32_PRIME 0x01000193u

static uint64_t rotl(uint64_t x, int b)
{
    return (x << b) | (x >> (64 - b));
}

static void sip_round(uint64_t v[4])
{
    v[0] += v[1];
    v[1] = rotl(v[1], 13) ^ v[0];
    v[0] = rotl(v[0], 32);
    v[2] += v[3];
    v[3] = rotl(v[3], 16) ^ v[2];
    v[0] += v[3];
    v[3] = rotl(v[3], 21) ^ v[0];
    v[2] += v[1];
    v[1] = rotl(v[1], 17) ^ v[2];
    v[2] = rotl(v[2], 32);
}

/* SipHash's 128-bit key is (seed, bitwise complement of seed). */
uint64_t hash_bytes(uint64_t seed, const void *p, size_t len)
{
    const unsigned char *bytes = p;
    uint64_t v[4] = {seed ^ 0x736f6d6570736575ull, ~seed ^ 0x646f72616e646f6dull,
                     seed ^ 0x6c7967656e657261ull, ~seed ^ 0x7465646279746573ull};
    uint64_t tail = (uint64_t)len << 56;
    size_t whole = len / 8 * 8;

    for (size_t i = 0; i < whole; i += 8) {
        uint64_t m;

        memcpy(&m, bytes + i, 8);
        v[3] ^= m;
        sip_round(v);
        v[0] ^= m;
    }
    for (size_t i = whole; i < len; i++) {
        tail |= (uint64_t)bytes[i] << (8 * (i - whole));
    }
    v[3] ^= tail;
    sip_round(v);
    v[0] ^= tail;
    v[2] ^= 0xff;
    sip_round(v);
    sip_round(v);
    sip_round(v);
    return v[0] ^ v[1] ^ v[2] ^ v[3];
}

uint64_t hash_str(uint64_t seed, Str s)
{
    return hash_bytes(seed, s.ptr, s.len);
}

uint32_t hash_fnv1a32(Str s)
{
    uint32_t h = FNV1A32_OFFSET;

    for (size_t i = 0; i < s.len; i++) {
        h = (h ^ (unsigned char)s.ptr[i]) * FNV1A32_PRIME;
    }
    return h;
}

void hash_name(Str s, char ret_hex[HASH_HEX_SIZE])
{
    snprintf(ret_hex, HASH_HEX_SIZE, "%08x", hash_fnv1a32(s));
}
