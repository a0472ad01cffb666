/* SPDX-License-Identifier: Apache-2.0 */
/* See opts.h. */
#include "base/opts.h"

#include <errno.h>
#include <stdlib.h>

#include "base/check.h"
#include "base/timefmt.h"

static int parse_bool(Str value, bool *ret)
{
    /* The spellings of Go's strconv.ParseBool. */
    static const char *const yes[] = {"1", "t", "T", "true", "TRUE", "True"};
    static const char *const no[] = {"0", "f", "F", "false", "FALSE", "False"};

    for (size_t i = 0; i < ARRAY_LEN(yes); i++) {
        if (str_eq(value, str_from(yes[i]))) {
            *ret = true;
            return 0;
        }
        if (str_eq(value, str_from(no[i]))) {
            *ret = false;
            return 0;
        }
    }
    return -EINVAL;
}

static int parse_choice(const OptSpec *spec, Str value, int *ret)
{
    for (int i = 0; spec->choices[i]; i++) {
        if (str_eq(value, str_from(spec->choices[i]))) {
            *ret = i;
            return 0;
        }
    }
    return -EINVAL;
}

static const char *kind_text(OptKind kind)
{
    static const char *const texts[] = {
        [OPT_BOOL] = "true or false",
        [OPT_INT] = "a whole number",
        [OPT_DOUBLE] = "a finite number",
        [OPT_DURATION] = "a duration such as 300ms, 1m30s or 5m",
        [OPT_STRING] = "text",
        [OPT_CHOICE] = "one of the listed words",
    };

    return texts[kind];
}

static int bad_value(const OptSpec *spec, Str value, Err *reterr)
{
    char list[ERR_MSG_MAX / 2] = "";

    if (spec->kind == OPT_CHOICE) {
        size_t at = 0;

        for (size_t i = 0; spec->choices[i] && at < sizeof(list); i++) {
            at += (size_t)snprintf(list + at, sizeof(list) - at, "%s%s", i ? ", " : "one of ",
                                   spec->choices[i]);
        }
    }
    return err_set(reterr, EINVAL, "invalid value \"" STR_FMT "\" for flag --%s: want %s",
                   STR_ARG(str_take(value, 80)), spec->name, *list ? list : kind_text(spec->kind));
}

/* `value` must be NUL-terminated: OPT_STRING keeps the pointer. */
static int set_value(const OptSpec *spec, const char *value, void *target, Err *reterr)
{
    void *at = (char *)target + spec->offset;
    Str text = str_from(value);
    int r = 0;

    switch (spec->kind) {
    case OPT_BOOL:
        r = parse_bool(text, at);
        break;
    case OPT_INT:
        r = str_to_i64(text, at);
        break;
    case OPT_DOUBLE:
        r = str_to_double(text, at);
        break;
    case OPT_DURATION:
        r = timefmt_parse_duration(text, at);
        break;
    case OPT_STRING:
        *(const char **)at = value;
        break;
    case OPT_CHOICE:
        r = parse_choice(spec, text, at);
        break;
    }
    return r < 0 ? bad_value(spec, text, reterr) : 0;
}

static const OptSpec *find(const OptSpec *specs, size_t n, Str name)
{
    for (size_t i = 0; i < n; i++) {
        if (str_eq(name, str_from(specs[i].name))) {
            return &specs[i];
        }
    }
    return NULL;
}

static int apply_defaults(const OptSpec *specs, size_t n, void *target, OptsResult *result,
                          Err *reterr)
{
    for (size_t i = 0; i < n; i++) {
        const char *env = specs[i].env ? getenv(specs[i].env) : NULL;
        int r = specs[i].def ? set_value(&specs[i], specs[i].def, target, reterr) : 0;

        CHECK(r == 0); /* a default in the table must parse */
        if (env && *env) {
            r = set_value(&specs[i], env, target, reterr);
            if (r < 0) {
                return err_wrap(reterr, "environment variable %s: ", specs[i].env);
            }
            result->env_set[i / 64] |= 1ull << (i % 64);
        }
    }
    return 0;
}

/* One argument that starts with a dash; *at moves past it and past a separate value. */
static int apply_flag(const OptSpec *specs, size_t n, char **argv, int *at, void *target,
                      OptsResult *result, Err *reterr)
{
    const char *text = argv[*at] + (argv[*at][1] == '-' ? 2 : 1);
    const char *equals = strchr(text, '=');
    Str name = equals ? (Str){text, (size_t)(equals - text)} : str_from(text);
    const OptSpec *spec = find(specs, n, name);
    const char *value = equals ? equals + 1 : NULL;
    size_t i;

    if (!spec && (str_eq(name, STR("h")) || str_eq(name, STR("help")))) {
        result->help = true;
        (*at)++;
        return 0;
    }
    if (!spec) {
        return err_set(reterr, EINVAL, "unknown flag --" STR_FMT, STR_ARG(str_take(name, 80)));
    }
    i = (size_t)(spec - specs);
    (*at)++;
    if (!value && spec->kind == OPT_BOOL) {
        value = "true";
    } else if (!value) {
        value = argv[*at];
        if (!value) {
            return err_set(reterr, EINVAL, "flag --%s needs %s", spec->name, kind_text(spec->kind));
        }
        (*at)++;
    }
    result->set[i / 64] |= 1ull << (i % 64);
    return set_value(spec, value, target, reterr);
}

int opts_parse(const OptSpec *specs, size_t n, int argc, char **argv, void *target,
               OptsResult *ret_result, Err *reterr)
{
    OptsResult result = {0};
    int at = 1;
    int r;

    CHECK(n <= OPTS_SET_MAX);
    r = apply_defaults(specs, n, target, &result, reterr);
    while (r == 0 && at < argc && argv[at][0] == '-' && argv[at][1] != '\0') {
        if (strcmp(argv[at], "--") == 0) {
            at++;
            break;
        }
        r = apply_flag(specs, n, argv, &at, target, &result, reterr);
    }
    if (r < 0) {
        return r;
    }
    result.rest = at;
    *ret_result = result;
    return 0;
}

int opts_set(const OptSpec *specs, size_t n, Str name, Str value, void *target, Err *reterr)
{
    const OptSpec *spec = find(specs, n, name);

    if (!spec) {
        return err_set(reterr, ENOENT, "unknown key \"" STR_FMT "\"", STR_ARG(str_take(name, 80)));
    }
    CHECK(value.ptr && value.ptr[value.len] == '\0');
    return set_value(spec, value.ptr, target, reterr);
}

bool opts_was_set(const OptSpec *specs, size_t n, const OptsResult *result, const char *name)
{
    const OptSpec *spec = find(specs, n, str_from(name));
    size_t i = spec ? (size_t)(spec - specs) : 0;

    return spec && (result->set[i / 64] >> (i % 64) & 1);
}

void opts_print(FILE *out, const OptSpec *specs, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        const OptSpec *s = &specs[i];

        fprintf(out, "  --%s", s->name);
        if (s->kind == OPT_CHOICE) {
            for (size_t c = 0; s->choices[c]; c++) {
                fprintf(out, "%s%s", c ? "|" : " ", s->choices[c]);
            }
        }
        fprintf(out, "\n        %s", s->help);
        if (s->def && *s->def) {
            fprintf(out, " (default %s)", s->def);
        }
        if (s->env) {
            fprintf(out, " [env %s]", s->env);
        }
        fputs(s->inert ? " [accepted, without effect]\n" : "\n", out);
    }
}
