/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * RFC 3339 timestamps as Kubernetes writes them (metav1.Time: seconds; metav1.MicroTime: six
 * digits; annotations: RFC3339Nano) and Go durations ("1m30s", "200ms").
 */
#include <stdint.h>

#include "base/str.h"

#define TIMEFMT_SIZE 40

void timefmt_seconds(int64_t wall_ns, char ret[TIMEFMT_SIZE]); /* 2026-11-30T21:18:12Z */
void timefmt_micros(int64_t wall_ns, char ret[TIMEFMT_SIZE]);  /* ….000001Z, always six digits */
void timefmt_nanos(int64_t wall_ns,
                   char ret[TIMEFMT_SIZE]); /* nine digits, never a zero fraction */
/* RFC 3339 with any fraction and offset. 0 or -EINVAL. */
int timefmt_parse(Str s, int64_t *ret_wall_ns);

/* Go's time.ParseDuration. 0, -EINVAL or -ERANGE. */
int timefmt_parse_duration(Str s, int64_t *ret_ns);
void timefmt_duration(int64_t ns, char ret[TIMEFMT_SIZE]);
