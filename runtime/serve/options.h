/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * Settings of `sandbox-runtime serve`: flags, and the environment variables that images and
 * templates already set. A wrong flag stops the program; a wrong value of a time variable is warned
 * about and its default used, as the Python runtime does.
 */
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "base/err.h"
#include "base/log.h"

#define SERVE_LISTEN_DEFAULT "0.0.0.0:8888"
#define SERVE_BASE_DEFAULT "/workspace"
#define SERVE_TIMEOUT_DEFAULT_S 300.0
#define SERVE_TIMEOUT_MAX_S 3600.0
#define SERVE_COMMANDS_MAX 32
#define SERVE_QUEUE_MAX 256

typedef struct ServeOptions {
    const char *listen; /* NULL or the default: IPv4 and IPv6 */
    const char *base_dir;
    double timeout_s;     /* when a request names none */
    double timeout_max_s; /* most that a request may name */
    int64_t commands_max;
    int64_t queue_max;
    int64_t output_max;
    int64_t output_total;
    int64_t shutdown_ns;
    int log_level;
    int log_encoder;
    bool help;
    char timeout_warning[160]; /* "" or what was wrong in the environment */
} ServeOptions;

/* Takes the environment from `getenv_fn`, so that tests can give their own. */
int serve_options_parse(int argc, char **argv, char *(*getenv_fn)(const char *),
                        ServeOptions *ret_options, Err *reterr);
void serve_options_print(FILE *out);
