/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * Character classes of HTTP, one table lookup a byte. Bytes from 0x80 on are allowed in field
 * values and targets (obs-text and raw UTF-8 are passed through untouched), control bytes nowhere.
 */
#include <stdbool.h>
#include <stdint.h>

#include "base/str.h"

enum {
    HTTP_CHAR_TOKEN = 1,  /* tchar */
    HTTP_CHAR_VALUE = 2,  /* field value: HTAB, SP, VCHAR, obs-text */
    HTTP_CHAR_TARGET = 4, /* VCHAR without '#', and obs-text */
    HTTP_CHAR_HOST = 8,   /* uri-host and port */
};

extern const uint8_t http_char_class[256];

static inline bool http_chars_all(Str s, uint8_t class_bit)
{
    for (size_t i = 0; i < s.len; i++) {
        if (!(http_char_class[(uint8_t)s.ptr[i]] & class_bit)) {
            return false;
        }
    }
    return true;
}
