/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/* Slices of output as JSON text and as base64, for replies that are written piece by piece. */
#include <stdbool.h>

#include "base/str.h"

/*
 * Appends `text` as the inside of a JSON string. Bytes that are not UTF-8 become U+FFFD and set
 * *ret_invalid, which is otherwise left alone.
 */
void encode_text(StrBuf *out, Str text, bool *ret_invalid);
/* How much of the first `max` bytes may be written without cutting a character in two. */
size_t encode_text_cut(Str text, size_t max);
/* The text without a character that was cut at its end, or at its beginning. */
Str encode_trim_end(Str text);
Str encode_trim_start(Str text);

/* Base64 of bytes that come in slices of any size. */
typedef struct Base64 {
    unsigned char held[3];
    unsigned n;
} Base64;

void base64_append(Base64 *state, StrBuf *out, Str bytes);
void base64_finish(Base64 *state, StrBuf *out); /* padding; ready for the next value */
