/* SPDX-License-Identifier: Apache-2.0 */
/* See rng.h. */
#include "base/rng.h"

#include <errno.h>
#include <sys/random.h>

#include "base/check.h"

static uint64_t rotl(uint64_t x, int k)
{
    return (x << k) | (x >> (64 - k));
}

/* splitmix64 spreads a small seed over the whole state. */
static uint64_t splitmix(uint64_t *state)
{
    uint64_t z = (*state += 0x9e3779b97f4a7c15ull);

    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ull;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebull;
    return z ^ (z >> 31);
}

void rng_init(Rng *rng, uint64_t seed)
{
    for (size_t i = 0; i < 4; i++) {
        rng->s[i] = splitmix(&seed);
    }
}

void rng_init_os(Rng *rng)
{
    uint64_t seed;

    rng_os_fill(&seed, sizeof(seed));
    rng_init(rng, seed);
}

Rng rng_fork(Rng *rng)
{
    Rng child;

    rng_init(&child, rng_u64(rng));
    return child;
}

uint64_t rng_u64(Rng *rng)
{
    uint64_t *s = rng->s;
    uint64_t result = rotl(s[1] * 5, 7) * 9;
    uint64_t t = s[1] << 17;

    s[2] ^= s[0];
    s[3] ^= s[1];
    s[1] ^= s[2];
    s[0] ^= s[3];
    s[2] ^= t;
    s[3] = rotl(s[3], 45);
    return result;
}

uint64_t rng_below(Rng *rng, uint64_t bound)
{
    CHECK(bound > 0);
    return (uint64_t)(((unsigned __int128)rng_u64(rng) * bound) >> 64);
}

double rng_unit(Rng *rng)
{
    return (double)(rng_u64(rng) >> 11) * 0x1.0p-53;
}

void rng_os_fill(void *p, size_t len)
{
    char *at = p;

    while (len > 0) {
        ssize_t n = getrandom(at, len, 0);

        if (n < 0) {
            CHECK(errno == EINTR);
            continue;
        }
        at += n;
        len -= (size_t)n;
    }
}
