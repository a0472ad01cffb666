/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/* The Range field of a download: one range of bytes. Several ranges, and units other than bytes,
 * are answered with the whole file, as RFC 9110 allows. Pure. */
#include <stdint.h>

#include "base/str.h"

typedef enum RangeResult {
    RANGE_WHOLE,         /* no usable range: 200 */
    RANGE_PART,          /* 206 */
    RANGE_UNSATISFIABLE, /* 416 */
} RangeResult;

/* *ret_first and *ret_length are set for RANGE_PART only. */
RangeResult range_parse(Str range, uint64_t size, uint64_t *ret_first, uint64_t *ret_length);
