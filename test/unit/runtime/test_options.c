/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>

#include "runtime/exec/capture.h"
#include "runtime/serve/options.h"
#include "test/harness/t.h"

static char *no_env(const char *name)
{
    UNUSED(name);
    return NULL;
}

static char *some_env(const char *name)
{
    static char base[] = "/data", timeout[] = "7.5", max[] = "60";

    return strcmp(name, "SANDBOX_BASE_DIR") == 0               ? base
           : strcmp(name, "SANDBOX_EXEC_TIMEOUT_SECONDS") == 0 ? timeout
                                                               : max;
}

static char *bad_env(const char *name)
{
    static char blank[] = "  ", bad[] = "inf";

    return strcmp(name, "SANDBOX_BASE_DIR") == 0 ? blank : bad;
}

static int parse(const char *flag, char *(*env)(const char *), ServeOptions *o, Err *err)
{
    char name[] = "serve", text[64];
    char *argv[] = {name, text, NULL};

    snprintf(text, sizeof(text), "%s", flag ? flag : "");
    return serve_options_parse(flag ? 2 : 1, argv, env, o, err);
}

T_TEST(options_defaults)
{
    ServeOptions o;
    Err err = ERR_INIT;

    T_OK(parse(NULL, no_env, &o, &err));
    T_EQ_STR(o.base_dir, "/workspace");
    T_CHECK(o.timeout_s == 300 && o.timeout_max_s == 3600);
    T_EQ_INT(o.commands_max, SERVE_COMMANDS_MAX);
    T_EQ_INT(o.queue_max, SERVE_QUEUE_MAX);
    T_EQ_INT(o.output_max, CAPTURE_MAX_DEFAULT);
    T_EQ_STR(o.timeout_warning, "");
}

T_TEST(options_from_the_environment_yield_to_flags)
{
    ServeOptions o;
    Err err = ERR_INIT;

    T_OK(parse("--exec-timeout=90", some_env, &o, &err));
    T_EQ_STR(o.base_dir, "/data");
    T_CHECK(o.timeout_s == 90);
    T_CHECK(o.timeout_max_s == 90); /* a longer default lifts the maximum */
    T_OK(parse(NULL, some_env, &o, &err));
    T_CHECK(o.timeout_s == 7.5 && o.timeout_max_s == 60);
}

T_TEST(options_warn_about_a_bad_environment)
{
    ServeOptions o;
    Err err = ERR_INIT;

    T_OK(parse(NULL, bad_env, &o, &err));
    T_EQ_STR(o.base_dir, "/workspace");
    T_CHECK(o.timeout_s == 300 && o.timeout_max_s == 3600);
    T_CONTAINS(o.timeout_warning, "is not a number above 0");
}

T_TEST(options_refuse_bad_flags)
{
    static const char *const FLAGS[] = {
        "--commands-max=0", "--queue-max=-1",         "--output-total=-1",
        "--output-max=1",   "--output-max=999999999", "--exec-timeout=0",
        "--nonsense=1",     "--shutdown-timeout=-1s", "stray",
    };

    for (size_t i = 0; i < ARRAY_LEN(FLAGS); i++) {
        ServeOptions o;
        Err err = ERR_INIT;

        t_row(FLAGS[i]);
        T_EQ_INT(parse(FLAGS[i], no_env, &o, &err), -EINVAL);
        T_CHECK(err.msg[0]);
    }
    t_row(NULL);
}
