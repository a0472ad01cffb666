/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * Deterministic random numbers (xoshiro256**, Blackman and Vigna 2018). Not for secrets: those come
 * from rng_os_fill(). Every component gets its own stream by rng_fork(), so that a new consumer
 * does not shift the numbers of the others.
 */
#include <stddef.h>
#include <stdint.h>

typedef struct Rng {
    uint64_t s[4];
} Rng;

void rng_init(Rng *rng, uint64_t seed);
void rng_init_os(Rng *rng); /* seeded by the kernel */
Rng rng_fork(Rng *rng);
uint64_t rng_u64(Rng *rng);
uint64_t rng_below(Rng *rng, uint64_t bound); /* [0, bound), bound > 0 */
double rng_unit(Rng *rng);                    /* [0, 1) */

/* Kernel randomness; aborts if the kernel gives none. */
void rng_os_fill(void *p, size_t len);
