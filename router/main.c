/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sandbox-router: forwards requests to sandboxes. Exit codes: 0 after a signal, 1 when it cannot
 * run, 2 when the configuration is wrong.
 */
#include <stdio.h>

#include "base/version.h"
#include "router/app.h"

static int run(const RouterOptions *options)
{
    Err err = ERR_INIT;
    App app;
    int code = 1;

    if (app_init(&app, options, &err) < 0) {
        fprintf(stderr, "sandbox-router: %s\n", err.msg);
    } else {
        code = app_run(&app);
    }
    app_free(&app);
    return code;
}

int main(int argc, char **argv)
{
    RouterOptions options;
    Err err = ERR_INIT;
    int code = 0;

    if (options_load(argc, argv, NULL, &options, &err) < 0) {
        fprintf(stderr, "sandbox-router: %s\n", err.msg);
        return 2;
    }
    if (options.help) {
        options_usage(stdout);
    } else if (options.version) {
        version_print(stdout, "sandbox-router");
    } else {
        code = run(&options);
    }
    options_free(&options);
    return code;
}
