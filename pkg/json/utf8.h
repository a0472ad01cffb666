/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/* One UTF-8 sequence at a time, for the scanner and the writers; inline because it is in hot loops.
 */
#include <stdbool.h>
#include <stddef.h>

#define UTF8_REPLACEMENT "\xef\xbf\xbd" /* U+FFFD */

static inline bool utf8_is_cont(char c)
{
    return ((unsigned char)c & 0xc0) == 0x80;
}

/*
 * Length (2..4) of the well-formed sequence of more than one byte at p < end, after table 3-7 of
 * the Unicode standard: no overlong forms, no surrogates, nothing above U+10FFFF. 0 when there is
 * none.
 */
static inline unsigned utf8_sequence_len(const char *p, const char *end)
{
    unsigned char c = (unsigned char)p[0];
    size_t left = (size_t)(end - p);

    if (c < 0xc2 || c > 0xf4 || left < 2 || !utf8_is_cont(p[1])) {
        return 0;
    }
    if (c < 0xe0) {
        return 2;
    }
    unsigned char d = (unsigned char)p[1];
    if (left < 3 || !utf8_is_cont(p[2])) {
        return 0;
    }
    if (c < 0xf0) {
        return (c == 0xe0 && d < 0xa0) || (c == 0xed && d > 0x9f) ? 0 : 3;
    }
    if (left < 4 || !utf8_is_cont(p[3]) || (c == 0xf0 && d < 0x90) || (c == 0xf4 && d > 0x8f)) {
        return 0;
    }
    return 4;
}
