/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * A command line becomes an argument vector the way POSIX-minded word splitting does it, without a
 * shell: no expansion, no operators, no comments. Separators are space, tab, CR and LF only; inside
 * double quotes a backslash escapes only `"` and `\`; a backslash before a newline gives a newline.
 *
 * Argv owns its strings. ARGV_MAX bounds how many there are; the kernel bounds their bytes.
 */
#include <stddef.h>

#include "base/str.h"
#include "base/vec.h"

#define ARGV_MAX 65536

typedef struct Argv {
    VEC(char *) v; /* the vector handed to exec ends with NULL, see argv_exec */
} Argv;

typedef enum ShlexResult {
    SHLEX_OK,
    SHLEX_NO_CLOSING, /* a quotation is not closed */
    SHLEX_NO_ESCAPED, /* the text ends with a backslash */
    SHLEX_TOO_MANY,   /* more than ARGV_MAX words */
    SHLEX_RESULT_MAX_,
} ShlexResult;

/* Appends the words of `text`. On a result other than SHLEX_OK the words found so far stay. */
ShlexResult shlex_split(Str text, Argv *argv);

/* Appends one word as it is; -E2BIG beyond ARGV_MAX. */
int argv_push(Argv *argv, Str word);
size_t argv_len(const Argv *argv);
/* The vector with its NULL, valid until the next change. */
char *const *argv_exec(Argv *argv);
void argv_deinit(Argv *argv);

DEFINE_AUTO(argv, Argv, argv_deinit)
