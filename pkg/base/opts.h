/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * Command line flags as a table. Syntax is that of Go's flag package, which the manifests and tools
 * of the programs we replace use: -name and --name are the same; --name=value and --name value;
 * booleans take =true/=false/=1/=0/=t/=f only and never a separate argument; parsing stops at the
 * first non-flag or after "--". Precedence: command line, then environment, then default.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "base/err.h"
#include "base/str.h"

typedef enum OptKind {
    OPT_BOOL,     /* bool */
    OPT_INT,      /* int64_t */
    OPT_DOUBLE,   /* double */
    OPT_DURATION, /* int64_t, nanoseconds, Go syntax */
    OPT_STRING,   /* const char *, borrowed from argv, the environment or the table */
    OPT_CHOICE,   /* int, index into choices */
} OptKind;

typedef struct OptSpec {
    const char *name; /* without dashes */
    OptKind kind;
    size_t offset;              /* of the member in the target struct */
    const char *def;            /* default as text, NULL = zero value */
    const char *env;            /* environment variable, or NULL */
    const char *const *choices; /* OPT_CHOICE: NULL-terminated */
    const char *help;           /* one line */
    bool inert;                 /* accepted for compatibility, without effect here */
} OptSpec;

#define OPTS_SET_MAX 128 /* most specs in one table */

typedef struct OptsResult {
    uint64_t set[OPTS_SET_MAX / 64];     /* bit i: specs[i] was given on the command line */
    uint64_t env_set[OPTS_SET_MAX / 64]; /* bit i: specs[i] came from the environment */
    int rest;                            /* index in argv of the first non-flag */
    bool help;                           /* -h or --help was given */
} OptsResult;

/* Fills target with defaults, environment and argv. -EINVAL with a text that names the flag. */
int opts_parse(const OptSpec *specs, size_t n, int argc, char **argv, void *target,
               OptsResult *ret_result, Err *reterr);
/* Sets one flag by name from text, as a configuration file does. -ENOENT unknown, -EINVAL bad
 * value. */
int opts_set(const OptSpec *specs, size_t n, Str name, Str value, void *target, Err *reterr);
bool opts_was_set(const OptSpec *specs, size_t n, const OptsResult *result, const char *name);
void opts_print(FILE *out, const OptSpec *specs, size_t n);
