/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * Two hashes: SipHash-1-3 (Aumasson, Bernstein, "SipHash: a fast short-input PRF", 2012) keyed by a
 * seed, for tables whose keys a peer chooses; and FNV-1a, 32 bits, which is part of the wire
 * contract (the name hash in labels) and must never change.
 */
#include <stdint.h>

#include "base/str.h"

#define HASH_HEX_SIZE 9 /* 8 lowercase hex digits and NUL */

uint64_t hash_bytes(uint64_t seed, const void *p, size_t len);
uint64_t hash_str(uint64_t seed, Str s);

uint32_t hash_fnv1a32(Str s);
/* FNV-1a of `s` as exactly 8 lowercase hex digits. */
void hash_name(Str s, char ret_hex[HASH_HEX_SIZE]);
