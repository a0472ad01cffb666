/* SPDX-License-Identifier: Apache-2.0 */
#include "runtime/serve/execreq.h"

#include <stdio.h>

#include "runtime/exec/environ.h"
#include "runtime/serve/problem.h"
#include "json/doc.h"
#include "json/scan.h"

typedef struct Checker {
    ExecRequest *request;
    StrBuf *problem;
    double timeout_max_s;
} Checker;

static int wrong(Checker *c, const char *type, const char *member, const ProblemLoc *inner,
                 const char *msg)
{
    ProblemLoc loc[2] = {{.name = str_from(member)}};

    if (inner) {
        loc[1] = *inner;
    }
    problem_schema(c->problem, type, "body", loc, inner ? 2 : 1, msg);
    return 1;
}

static bool is_absent(JNode node)
{
    return jnode_type(node) == JTYPE_ABSENT || jnode_type(node) == JTYPE_NULL;
}

static void refuse(ExecRequest *request, const char *why)
{
    if (!request->refuse) {
        request->refuse = why;
    }
}

static int push_word(Checker *c, Str word)
{
    if (str_find(word, '\0') >= 0) {
        refuse(c->request, "embedded null byte");
    }
    if (argv_push(&c->request->argv, word) < 0) {
        refuse(c->request, "[Errno 7] Argument list too long");
    }
    return 0;
}

static int check_words(Checker *c, JNode command)
{
    JIter it = jnode_iter(command);
    JNode word;

    for (size_t i = 0; jiter_next(&it, NULL, &word); i++) {
        if (jnode_type(word) != JTYPE_STRING) {
            return wrong(c, "string_type", "command", &(ProblemLoc){.index = i},
                         "Input should be a valid string");
        }
        push_word(c, jnode_str(word));
    }
    return 0;
}

static int check_command(Checker *c, JNode command)
{
    static const char *const REFUSED[SHLEX_RESULT_MAX_] = {
        [SHLEX_NO_CLOSING] = "No closing quotation",
        [SHLEX_NO_ESCAPED] = "No escaped character",
        [SHLEX_TOO_MANY] = "[Errno 7] Argument list too long",
    };
    Str text = jnode_str(command);
    int r = 0;

    switch (jnode_type(command)) {
    case JTYPE_ABSENT:
        return wrong(c, "missing", "command", NULL, "Field required");
    case JTYPE_ARRAY:
        r = check_words(c, command);
        break;
    case JTYPE_STRING:
        refuse(c->request, REFUSED[shlex_split(text, &c->request->argv)]);
        if (str_find(text, '\0') >= 0) {
            refuse(c->request, "embedded null byte");
        }
        break;
    default:
        return wrong(c, "string_type", "command", NULL, "Input should be a valid string");
    }
    if (argv_len(&c->request->argv) == 0) {
        refuse(c->request, "list index out of range");
    }
    return r;
}

static int check_timeout(Checker *c, JNode timeout)
{
    double seconds = jnode_f64(timeout, 0);
    char msg[80];

    if (is_absent(timeout)) {
        return 0;
    }
    if (jnode_type(timeout) != JTYPE_INT && jnode_type(timeout) != JTYPE_REAL) {
        return wrong(c, "float_type", "timeout_seconds", NULL, "Input should be a valid number");
    }
    if (!(seconds > 0)) {
        return wrong(c, "greater_than", "timeout_seconds", NULL, "Input should be greater than 0");
    }
    if (seconds > c->timeout_max_s) {
        snprintf(msg, sizeof(msg), "Input should be less than or equal to %.15g", c->timeout_max_s);
        return wrong(c, "less_than_equal", "timeout_seconds", NULL, msg);
    }
    c->request->has_timeout = true;
    c->request->timeout_s = seconds;
    return 0;
}

static int check_env(Checker *c, JNode env)
{
    JIter it = jnode_iter(env);
    Str name;
    JNode value;

    if (is_absent(env)) {
        return 0;
    }
    if (jnode_type(env) != JTYPE_OBJECT) {
        return wrong(c, "dict_type", "env", NULL, "Input should be a valid dictionary");
    }
    if (jnode_len(env) > EXECREQ_ENV_MAX) {
        return wrong(c, "too_long", "env", NULL, "Dictionary should have at most 1024 items");
    }
    while (jiter_next(&it, &name, &value)) {
        const ProblemLoc loc = {.name = name};

        if (!environ_name_ok(name)) {
            return wrong(c, "value_error", "env", &loc,
                         "A name must not be empty nor contain '=' or NUL");
        }
        if (jnode_type(value) != JTYPE_STRING) {
            return wrong(c, "string_type", "env", &loc, "Input should be a valid string");
        }
        if (str_find(jnode_str(value), '\0') >= 0) {
            return wrong(c, "value_error", "env", &loc, "A value must not contain NUL");
        }
        argv_push(&c->request->env, name);
        argv_push(&c->request->env, jnode_str(value));
    }
    return 0;
}

static int check_cwd(Checker *c, JNode cwd)
{
    if (is_absent(cwd)) {
        return 0;
    }
    if (jnode_type(cwd) != JTYPE_STRING) {
        return wrong(c, "string_type", "cwd", NULL, "Input should be a valid string");
    }
    if (str_find(jnode_str(cwd), '\0') >= 0) {
        return wrong(c, "value_error", "cwd", NULL, "A path must not contain NUL");
    }
    c->request->has_cwd = true;
    argv_push(&c->request->cwd, jnode_str(cwd));
    return 0;
}

/* Finds the place of a syntax error; a duplicate member has none and counts as the end. */
static void not_json(Str body, StrBuf *problem)
{
    JScan scan;
    JToken token = {.kind = JTOK_NULL};
    ProblemLoc loc = {.index = 0};

    jscan_init(&scan, body, JSON_DEPTH_MAX);
    while (jscan_next(&scan, &token) == 0 && token.kind != JTOK_END) {
    }
    loc.index = jscan_offset(&scan);
    problem_schema(problem, "json_invalid", "body", &loc, 1, "JSON decode error");
}

int exec_request_parse(Str body, double timeout_max_s, ExecRequest *request, StrBuf *problem)
{
    Checker c = {request, problem, timeout_max_s};
    AUTO(jdoc) JDoc *doc = NULL;
    Err err = ERR_INIT;
    JNode root;

    if (body.len == 0) {
        problem_schema(problem, "missing", "body", NULL, 0, "Field required");
        return 1;
    }
    if (jdoc_parse(body, NULL, EXECREQ_BODY_MAX, &doc, &err) < 0) {
        not_json(body, problem);
        return 1;
    }
    root = jdoc_root(doc);
    if (jnode_type(root) != JTYPE_OBJECT) {
        problem_schema(problem, "model_attributes_type", "body", NULL, 0,
                       "Input should be a valid dictionary or object to extract fields from");
        return 1;
    }
    if (check_command(&c, jnode_get(root, STR("command"))) ||
        check_timeout(&c, jnode_get(root, STR("timeout_seconds"))) ||
        check_env(&c, jnode_get(root, STR("env"))) || check_cwd(&c, jnode_get(root, STR("cwd")))) {
        return 1;
    }
    return 0;
}

void exec_request_deinit(ExecRequest *request)
{
    argv_deinit(&request->argv);
    argv_deinit(&request->env);
    argv_deinit(&request->cwd);
}
