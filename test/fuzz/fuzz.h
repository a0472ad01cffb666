/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * What a fuzz target is: one function that takes any bytes, returns 0, and aborts (CHECK) when a
 * property does not hold. It keeps nothing between calls. How to add one: test/fuzz/README.md.
 */
#include <stddef.h>
#include <stdint.h>

#include "base/check.h"
#include "base/str.h"

#define FUZZ_INPUT_MAX (1 << 20) /* the replayer reads no more of a file */

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static inline Str fuzz_str(const uint8_t *data, size_t size)
{
    return (Str){(const char *)data, size};
}
