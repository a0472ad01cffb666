/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * Pull tokenizer over a complete byte range. It allocates nothing, validates everything it passes
 * over (grammar, UTF-8, escapes, surrogate pairs, number syntax, depth) and never looks past the
 * range.
 *
 *     JScan scan;
 *     jscan_init(&scan, text, JSON_DEPTH_MAX);
 *     while ((r = jscan_next(&scan, &token)) == 0 && token.kind != JTOK_END) { ... }
 *
 * Stricter than Go where Go guesses: bytes that are not UTF-8 and lone surrogates are errors, not
 * U+FFFD. \u0000 is allowed. After an error the scanner stays at the byte it disliked.
 */
#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "base/str.h"

#define JSON_DEPTH_MAX 64 /* most arrays and objects inside each other; also the hard limit */

typedef enum JTokKind {
    JTOK_END, /* the whole text was one value */
    JTOK_OBJECT,
    JTOK_OBJECT_END,
    JTOK_ARRAY,
    JTOK_ARRAY_END,
    JTOK_KEY,    /* text = bytes between the quotes, still escaped */
    JTOK_STRING, /* as JTOK_KEY */
    JTOK_INT,    /* text = the digits; no fraction, no exponent; any length */
    JTOK_REAL,   /* text = a number with fraction or exponent */
    JTOK_TRUE,
    JTOK_FALSE,
    JTOK_NULL,
} JTokKind;

typedef struct JToken {
    JTokKind kind;
    bool escaped; /* strings and keys: text contains a backslash, so jscan_unescape is needed */
    Str text;
} JToken;

typedef struct JScan {
    const char *begin;
    const char *at;
    const char *end;
    const char *why;  /* static text, set with the first error */
    uint64_t objects; /* bit d: the container at depth d + 1 is an object */
    unsigned depth;
    unsigned depth_max;
    unsigned state; /* private */
} JScan;

/* depth_max is 1..JSON_DEPTH_MAX. The text must outlive the scan. */
void jscan_init(JScan *scan, Str text, unsigned depth_max);

/* 0, or -EINVAL (not JSON, why and offset are set), or -E2BIG (too deep). */
int jscan_next(JScan *scan, JToken *ret);

/*
 * Where a value is due (start, after a key, in an array): passes over one whole value, validating
 * it. *ret_raw (may be NULL) is its text. 0, -EINVAL or -E2BIG; 1 = no value here but the end of
 * the array.
 */
int jscan_skip(JScan *scan, Str *ret_raw);

/* Bytes consumed, or the place of the error. */
size_t jscan_offset(const JScan *scan);

/* Fills reterr with "why at byte N" and returns -code. */
int jscan_err(const JScan *scan, int code, Err *reterr);

/*
 * Decodes an already validated string body. dst needs text.len bytes (decoding never grows).
 * Returns the decoded length.
 */
size_t jscan_unescape(Str text, char *dst);
