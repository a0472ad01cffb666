/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * Kubernetes resource quantities ("500m", "1Gi", "1e3", "0.5"), exact to the nano unit. As in the
 * original: digits below nano round up (away from zero), values beyond int64 are capped.
 */
#include <stdint.h>

#include "base/str.h"

typedef struct Quantity {
    int64_t units; /* truncated toward zero */
    int32_t nanos; /* -999999999..999999999, same sign as units */
} Quantity;

#define QUANTITY_TEXT_MAX 32

int quantity_parse(Str text, Quantity *ret); /* 0 or -EINVAL */
int quantity_cmp(Quantity a, Quantity b);    /* <0, 0, >0 */
/* Canonical plain decimal ("1073741824", "0.5", "-2"); returns the length. */
size_t quantity_format(Quantity q, char dst[QUANTITY_TEXT_MAX]);
