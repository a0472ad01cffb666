/* SPDX-License-Identifier: Apache-2.0 */
/* sandbox-runtime: the program inside a sandbox. Subcommands share nothing but this file. */
#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/log.h"
#include "base/version.h"
#include "runtime/serve/serve.h"

#define EXIT_USAGE 2

typedef struct Subcommand {
    const char *name;
    const char *help;
    int (*fn)(int argc, char **argv); /* argv[0] is the subcommand */
} Subcommand;

static int main_serve(int argc, char **argv)
{
    ServeOptions options;
    Err err = ERR_INIT;
    Logger *log;
    int r;

    if (serve_options_parse(argc, argv, getenv, &options, &err) < 0) {
        fprintf(stderr, "sandbox-runtime serve: %s\n", err.msg);
        return EXIT_USAGE;
    }
    if (options.help) {
        puts("Usage: sandbox-runtime serve [flags]\n\n"
             "Runs commands and moves files for the sandbox it is in, over HTTP.\n");
        serve_options_print(stdout);
        return 0;
    }
    /* Large buffers go back to the system as soon as a reply is out. */
    mallopt(M_MMAP_THRESHOLD, 64 * 1024);
    mallopt(M_TRIM_THRESHOLD, 128 * 1024);
    log = logger_new(STDERR_FILENO, "sandbox-runtime", clock_system());
    logger_set_level(log, (LogLevel)options.log_level);
    logger_set_encoder(log, (LogEncoder)options.log_encoder);
    r = serve_run(&options, log, clock_system());
    logger_free(log);
    return r;
}

static const Subcommand SUBCOMMANDS[] = {
    {"serve", "run commands and move files for the sandbox it is in", main_serve},
};

static void usage(FILE *out)
{
    fputs("Usage: sandbox-runtime SUBCOMMAND [flags]\n\nSubcommands:\n", out);
    for (size_t i = 0; i < ARRAY_LEN(SUBCOMMANDS); i++) {
        fprintf(out, "  %-10s %s\n", SUBCOMMANDS[i].name, SUBCOMMANDS[i].help);
    }
    fputs("\n`sandbox-runtime SUBCOMMAND --help` lists its flags; --version tells the version.\n",
          out);
}

int main(int argc, char **argv)
{
    const char *name = argc > 1 ? argv[1] : "";

    for (size_t i = 0; i < ARRAY_LEN(SUBCOMMANDS); i++) {
        if (strcmp(name, SUBCOMMANDS[i].name) == 0) {
            return SUBCOMMANDS[i].fn(argc - 1, argv + 1);
        }
    }
    if (strcmp(name, "--version") == 0 || strcmp(name, "-version") == 0) {
        version_print(stdout, "sandbox-runtime");
        return 0;
    }
    if (strcmp(name, "--help") == 0 || strcmp(name, "-h") == 0 || strcmp(name, "-help") == 0) {
        usage(stdout);
        return 0;
    }
    if (*name) {
        fprintf(stderr, "sandbox-runtime: unknown subcommand \"%s\"\n", name);
    }
    usage(stderr);
    return EXIT_USAGE;
}
