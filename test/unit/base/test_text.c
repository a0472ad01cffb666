/* SPDX-License-Identifier: Apache-2.0 */
/* Log lines, error texts and command line flags: what people read and type. */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/err.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/opts.h"
#include "base/version.h"
#include "test/harness/t.h"

T_TEST(error_texts_are_cut_visibly_and_wrapped_in_front)
{
    Err err = ERR_INIT;
    char big[ERR_MSG_MAX * 2];

    T_EQ_INT(err_set(&err, ENOENT, "no %s", "pod"), -ENOENT);
    T_EQ_INT(err_wrap(&err, "sandbox %s: ", "a"), -ENOENT);
    T_EQ_STR(err.msg, "sandbox a: no pod");
    T_EQ_INT(err_set_errno(&err, EACCES, "open %s", "x"), -EACCES);
    T_EQ_STR(err.msg, "open x: Permission denied");
    memset(big, 'y', sizeof(big) - 1);
    big[sizeof(big) - 1] = '\0';
    err_set(&err, EIO, "%s", big);
    T_EQ_STR(err.msg + ERR_MSG_MAX - 5, "y...");
    T_EQ_INT(err_set(NULL, EIO, "nobody listens"), -EIO);
    T_EQ_INT(err_wrap(NULL, "x"), -EIO);
}

typedef struct LogProbe {
    int fd;
    Logger *log;
    char path[PATH_MAX];
    FakeClock clock;
} LogProbe;

static void probe_open(LogProbe *p, const char *name)
{
    snprintf(p->path, sizeof(p->path), "%s/log", t_tmpdir());
    p->fd = open(p->path, O_CREAT | O_TRUNC | O_RDWR | O_CLOEXEC, 0600);
    T_CHECK(p->fd >= 0);
    fake_clock_init(&p->clock, 0, 1500000000);
    p->log = logger_new(p->fd, name, &p->clock.clock);
}

static Str probe_close(LogProbe *p)
{
    p->log = logger_free(p->log);
    close(p->fd);
    return t_read_file(p->path);
}

T_TEST(log_lines_are_json_and_cannot_be_forged)
{
    LogProbe p;

    probe_open(&p, "sandbox-router");
    LOG_INFO(p.log, "request", F_STR("path", STR("/a\"\n{\\")), F_I64("status", -1),
             F_F64("ratio", 0.5), F_BOOL("ok", true), F_STR("raw", STR("\xff\x01")));
    LOG_DEBUG(p.log, "not shown");
    T_EQ_STR(probe_close(&p),
             "{\"level\":\"info\",\"ts\":\"1970-01-01T00:00:01Z\",\"logger\":\"sandbox-router\","
             "\"msg\":\"request\",\"path\":\"/a\\\"\\n{\\\\\",\"status\":-1,\"ratio\":0.5,"
             "\"ok\":true,\"raw\":\"\\u00ff\\u0001\"}\n");
}

T_TEST(console_lines_and_other_clocks)
{
    LogProbe p;

    probe_open(&p, NULL);
    logger_set_encoder(p.log, LOG_ENCODER_CONSOLE);
    logger_set_time(p.log, LOG_TIME_MILLIS);
    logger_set_level(p.log, LOG_LEVEL_DEBUG);
    LOG_DEBUG(p.log, "hello", F_I64("n", 1), F_CSTR("s", "x"));
    T_EQ_STR(probe_close(&p), "1500.000\tdebug\thello\t{\"n\": 1, \"s\": \"x\"}\n");
}

T_TEST(every_time_of_a_log)
{
    static const struct {
        LogTime time;
        const char *text;
    } rows[] = {
        {LOG_TIME_EPOCH, "1.500000"},
        {LOG_TIME_MILLIS, "1500.000"},
        {LOG_TIME_NANO, "1500000000"},
        {LOG_TIME_RFC3339, "\"1970-01-01T00:00:01Z\""},
        {LOG_TIME_RFC3339NANO, "\"1970-01-01T00:00:01.500000000Z\""},
        {LOG_TIME_ISO8601, "\"1970-01-01T00:00:01.500Z\""},
    };

    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        AUTO(strbuf) StrBuf want = STRBUF_INIT(200);
        LogProbe p;

        t_row(rows[i].text);
        probe_open(&p, NULL);
        logger_set_time(p.log, rows[i].time);
        LOG_ERROR(p.log, "m");
        strbuf_printf(&want, "{\"level\":\"error\",\"ts\":%s,\"msg\":\"m\"}\n", rows[i].text);
        T_EQ_STR(probe_close(&p), strbuf_str(&want));
    }
}

T_TEST(carriage_returns_and_tabs_cannot_forge_a_line_either)
{
    LogProbe p;

    probe_open(&p, "r");
    logger_set_encoder(p.log, LOG_ENCODER_CONSOLE);
    LOG_INFO(p.log, "m", F_STR("s", STR("a\rb\tc\nd\x7f")), F_F64("nan", 0.0 / 0.0));
    T_EQ_STR(
        probe_close(&p),
        "1970-01-01T00:00:01Z\tinfo\tr\tm\t{\"s\": \"a\\rb\\tc\\nd\\u007f\", \"nan\": null}\n");
}

T_TEST(a_log_that_nobody_reads_is_not_waited_for)
{
    int ends[2];
    Logger *log;

    T_OK(pipe2(ends, O_CLOEXEC | O_NONBLOCK));
    log = logger_new(ends[1], NULL, clock_system());
    for (int i = 0; i < 2000; i++) { /* more than a pipe holds */
        LOG_INFO(log, "m", F_I64("i", i));
    }
    close(ends[0]);
    logger_free(log);
    close(ends[1]);
}

T_TEST(a_line_that_is_too_long_loses_fields_and_says_so)
{
    LogProbe p;
    AUTO(mem) char *big = xmalloc(LOG_LINE_MAX);

    memset(big, 'z', LOG_LINE_MAX);
    probe_open(&p, NULL);
    LOG_WARN(p.log, "m", F_I64("kept", 1), F_STR("big", ((Str){big, LOG_LINE_MAX})), F_I64("n", 2));
    T_EQ_STR(probe_close(&p), "{\"level\":\"warn\",\"ts\":\"1970-01-01T00:00:01Z\",\"msg\":\"m\","
                              "\"kept\":1,\"truncated\":true}\n");
    T_CHECK(!logger_enabled(NULL, LOG_LEVEL_ERROR));
}

typedef struct Target {
    bool flag;
    int64_t count;
    double rate;
    int64_t wait;
    const char *text;
    int mode;
} Target;

static const char *const modes[] = {"off", "optional", "required", NULL};
static const OptSpec specs[] = {
    {"flag", OPT_BOOL, offsetof(Target, flag), "true", NULL, NULL, "a switch", false},
    {"count", OPT_INT, offsetof(Target, count), "3", NULL, NULL, "a number", false},
    {"rate", OPT_DOUBLE, offsetof(Target, rate), "-1", NULL, NULL, "a rate", true},
    {"wait", OPT_DURATION, offsetof(Target, wait), "5m", "COFFERDAM_TEST_WAIT", NULL, "w", false},
    {"text", OPT_STRING, offsetof(Target, text), "", NULL, NULL, "some text", false},
    {"mode", OPT_CHOICE, offsetof(Target, mode), "off", NULL, modes, "mtls", false},
};
#define N_SPECS ARRAY_LEN(specs)

/* main() gets writable strings, tests write literals; opts_parse changes neither. */
static int parse(Target *t, OptsResult *result, Err *err, const char *const *argv)
{
    int argc = 0;

    while (argv[argc]) {
        argc++;
    }
    return opts_parse(specs, N_SPECS, argc, (char **)(uintptr_t)argv, t, result, err);
}

T_TEST(flags_follow_the_syntax_of_go)
{
    Target t = {0};
    OptsResult result;
    Err err = ERR_INIT;
    const char *argv[] = {"p",      "-flag=false", "--count",    "7",      "--rate=-1.000000",
                          "--wait", "300ms",       "--text=a=b", "--mode", "required",
                          "rest",   "--count",     NULL};

    T_OK(parse(&t, &result, &err, argv));
    T_CHECK(!t.flag);
    T_EQ_INT(t.count, 7);
    T_CHECK(t.rate == -1.0);
    T_EQ_INT(t.wait, 300000000);
    T_EQ_STR(t.text, "a=b");
    T_EQ_INT(t.mode, 2);
    T_EQ_INT(result.rest, 10);
    T_CHECK(opts_was_set(specs, N_SPECS, &result, "wait"));
    T_CHECK(!opts_was_set(specs, N_SPECS, &result, "nothing"));
}

T_TEST(bad_flags_name_themselves_and_what_they_want)
{
    static const struct {
        const char *arg;
        const char *msg;
    } rows[] = {
        {"--nope", "unknown flag --nope"},
        {"--count=x", "invalid value \"x\" for flag --count: want a whole number"},
        {"--flag=maybe", "invalid value \"maybe\" for flag --flag: want true or false"},
        {"--mode=on", "invalid value \"on\" for flag --mode: want one of off, optional, required"},
        {"--wait=5", "invalid value \"5\" for flag --wait: want a duration such as 300ms, 1m30s or "
                     "5m"},
        {"--text", "flag --text needs text"},
    };

    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        Target t = {0};
        OptsResult result;
        Err err = ERR_INIT;
        const char *argv[] = {"p", rows[i].arg, NULL};

        t_row(rows[i].arg);
        T_EQ_INT(parse(&t, &result, &err, argv), -EINVAL);
        T_EQ_STR(err.msg, rows[i].msg);
    }
}

T_TEST(environment_lies_between_default_and_command_line)
{
    Target t = {0};
    OptsResult result;
    Err err = ERR_INIT;

    setenv("COFFERDAM_TEST_WAIT", "2s", 1);
    T_OK(parse(&t, &result, &err, (const char *[]){"p", NULL}));
    T_EQ_INT(t.wait, 2000000000);
    T_EQ_INT(result.env_set[0], 1 << 3);
    T_OK(parse(&t, &result, &err, (const char *[]){"p", "--wait=1s", "--", "--count", NULL}));
    T_EQ_INT(t.wait, 1000000000);
    T_EQ_INT(result.rest, 3);
    setenv("COFFERDAM_TEST_WAIT", "soon", 1);
    T_EQ_INT(parse(&t, &result, &err, (const char *[]){"p", NULL}), -EINVAL);
    T_CONTAINS(err.msg, "environment variable COFFERDAM_TEST_WAIT: invalid value \"soon\"");
    unsetenv("COFFERDAM_TEST_WAIT");
    T_OK(parse(&t, &result, &err, (const char *[]){"p", "--help", NULL}));
    T_CHECK(result.help);
}

T_TEST(a_configuration_file_sets_flags_by_name)
{
    Target t = {0};
    Err err = ERR_INIT;

    T_OK(opts_set(specs, N_SPECS, STR("count"), STR("9"), &t, &err));
    T_EQ_INT(t.count, 9);
    T_EQ_INT(opts_set(specs, N_SPECS, STR("cuont"), STR("9"), &t, &err), -ENOENT);
    T_EQ_STR(err.msg, "unknown key \"cuont\"");
    T_EQ_INT(opts_set(specs, N_SPECS, STR("count"), STR(""), &t, &err), -EINVAL);
}

T_TEST(help_lists_every_flag_with_its_default)
{
    char *text = NULL;
    size_t len = 0;
    FILE *f = open_memstream(&text, &len);

    opts_print(f, specs, N_SPECS);
    version_print(f, "sandbox-test");
    fclose(f);
    T_CONTAINS(text, "--wait\n        w (default 5m) [env COFFERDAM_TEST_WAIT]\n");
    T_CONTAINS(text, "--mode off|optional|required\n");
    T_CONTAINS(text, "a rate (default -1) [accepted, without effect]\n");
    T_CONTAINS(text, "sandbox-test (Cofferdam)\n");
    free(text);
}
