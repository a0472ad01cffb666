/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * A token bucket: `burst` requests at once, then `rate` a second. Starts full. Pure: the caller
 * brings the time, which must not go back.
 */
#include <stdint.h>

typedef struct KubeBucket {
    double rate; /* tokens a second; 0 or less = no limit */
    double burst;
    double tokens;
    uint64_t at_ns; /* when `tokens` was true */
} KubeBucket;

void kube_bucket_init(KubeBucket *bucket, double rate, double burst, uint64_t now_ns);
/* 0: a token was taken. Otherwise nothing was, and this many nanoseconds later there is one. */
uint64_t kube_bucket_take(KubeBucket *bucket, uint64_t now_ns);
