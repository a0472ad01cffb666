/* SPDX-License-Identifier: Apache-2.0 */
#include "runtime/serve/options.h"

#include <errno.h>

#include "base/attr.h"
#include "base/opts.h"
#include "runtime/exec/capture.h"

static const char *const LEVELS[] = {"debug", "info", "warn", "error", NULL};
static const char *const ENCODERS[] = {"json", "console", NULL};

#define AT(member) offsetof(ServeOptions, member)

static const OptSpec SPECS[] = {
    {"listen", OPT_STRING, AT(listen), SERVE_LISTEN_DEFAULT, NULL, NULL,
     "ADDR:PORT to serve on; the default takes IPv4 and IPv6", false},
    {"base-dir", OPT_STRING, AT(base_dir), NULL, NULL, NULL,
     "root of all files ($SANDBOX_BASE_DIR, /workspace)", false},
    {"exec-timeout", OPT_DOUBLE, AT(timeout_s), NULL, NULL, NULL,
     "seconds a command may run unless it asks ($SANDBOX_EXEC_TIMEOUT_SECONDS, 300)", false},
    {"exec-timeout-max", OPT_DOUBLE, AT(timeout_max_s), NULL, NULL, NULL,
     "most seconds a command may ask for ($SANDBOX_EXEC_TIMEOUT_MAX, 3600)", false},
    {"commands-max", OPT_INT, AT(commands_max), "32", NULL, NULL,
     "commands that run at once; more wait in a queue", false},
    {"queue-max", OPT_INT, AT(queue_max), "256", NULL, NULL,
     "commands that wait; more are answered 503", false},
    {"output-max", OPT_INT, AT(output_max), "4194304", NULL, NULL,
     "bytes kept of each output stream", false},
    {"output-total", OPT_INT, AT(output_total), "134217728", NULL, NULL,
     "bytes kept of all streams together; above it less is kept of each", false},
    {"shutdown-timeout", OPT_DURATION, AT(shutdown_ns), "2s", NULL, NULL,
     "time for processes to end after SIGTERM before they are killed", false},
    {"log-level", OPT_CHOICE, AT(log_level), "info", NULL, LEVELS, "debug, info, warn or error",
     false},
    {"log-format", OPT_CHOICE, AT(log_encoder), "json", NULL, ENCODERS, "json or console", false},
};

void serve_options_print(FILE *out)
{
    opts_print(out, SPECS, ARRAY_LEN(SPECS));
}

/* Seconds from a variable; anything but a finite number above 0 gives the default and a warning. */
static double env_seconds(const char *name, const char *text, double def, ServeOptions *options)
{
    double seconds;

    if (!text || str_trim(str_from(text)).len == 0) {
        return def;
    }
    if (str_to_double(str_trim(str_from(text)), &seconds) < 0 || !(seconds > 0)) {
        snprintf(options->timeout_warning, sizeof(options->timeout_warning),
                 "%s is not a number above 0 (\"%.40s\"): using %g", name, text, def);
        return def;
    }
    return seconds;
}

static bool is_blank(const char *s)
{
    return !s || str_trim(str_from(s)).len == 0;
}

typedef struct IntRange {
    const char *flag;
    int64_t value;
    int64_t least;
    int64_t most;
} IntRange;

static int check_ranges(const ServeOptions *o, Err *reterr)
{
    const IntRange ranges[] = {
        {"commands-max", o->commands_max, 1, 1024},
        {"queue-max", o->queue_max, 0, 65536},
        {"output-max", o->output_max, CAPTURE_MAX_LEAST, CAPTURE_MAX_LIMIT},
        {"output-total", o->output_total, 0, (int64_t)1 << 40},
    };

    for (size_t i = 0; i < ARRAY_LEN(ranges); i++) {
        const IntRange *r = &ranges[i];

        if (r->value < r->least || r->value > r->most) {
            return err_set(reterr, EINVAL, "--%s must be from %lld to %lld", r->flag,
                           (long long)r->least, (long long)r->most);
        }
    }
    if (!(o->timeout_s > 0) || !(o->timeout_max_s > 0)) {
        return err_set(reterr, EINVAL, "--exec-timeout and --exec-timeout-max must be above 0");
    }
    return o->shutdown_ns < 0 ? err_set(reterr, EINVAL, "--shutdown-timeout must not be negative")
                              : 0;
}

int serve_options_parse(int argc, char **argv, char *(*getenv_fn)(const char *),
                        ServeOptions *ret_options, Err *reterr)
{
    ServeOptions o = {0};
    OptsResult result;
    int r = opts_parse(SPECS, ARRAY_LEN(SPECS), argc, argv, &o, &result, reterr);

    if (r < 0) {
        return r;
    }
    if (!result.help && result.rest < argc) {
        return err_set(reterr, EINVAL, "unexpected argument \"%s\"", argv[result.rest]);
    }
    o.help = result.help;
    if (!opts_was_set(SPECS, ARRAY_LEN(SPECS), &result, "exec-timeout")) {
        o.timeout_s =
            env_seconds("SANDBOX_EXEC_TIMEOUT_SECONDS", getenv_fn("SANDBOX_EXEC_TIMEOUT_SECONDS"),
                        SERVE_TIMEOUT_DEFAULT_S, &o);
    }
    if (!opts_was_set(SPECS, ARRAY_LEN(SPECS), &result, "exec-timeout-max")) {
        o.timeout_max_s =
            env_seconds("SANDBOX_EXEC_TIMEOUT_MAX", getenv_fn("SANDBOX_EXEC_TIMEOUT_MAX"),
                        SERVE_TIMEOUT_MAX_S, &o);
    }
    if (is_blank(o.base_dir)) {
        const char *env = getenv_fn("SANDBOX_BASE_DIR");

        o.base_dir = is_blank(env) ? SERVE_BASE_DEFAULT : env;
    }
    r = check_ranges(&o, reterr);
    if (r < 0) {
        return r;
    }
    /* Whoever makes the default longer than the maximum wants commands to run that long. */
    o.timeout_max_s = o.timeout_max_s < o.timeout_s ? o.timeout_s : o.timeout_max_s;
    *ret_options = o;
    return 0;
}
