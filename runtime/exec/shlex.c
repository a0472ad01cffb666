/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One pass over bytes: every special character is ASCII, so UTF-8 needs no attention.
 */
#include "runtime/exec/shlex.h"

#include <errno.h>

#include "base/check.h"

typedef enum State {
    STATE_BETWEEN, /* no word has begun */
    STATE_WORD,
    STATE_SINGLE,
    STATE_DOUBLE,
    STATE_ESCAPED,        /* after a backslash in a word */
    STATE_DOUBLE_ESCAPED, /* after a backslash in double quotes */
} State;

typedef struct Splitter {
    State state;
    char *word; /* room for the whole text: a word is never longer */
    size_t len;
} Splitter;

static bool is_separator(char c)
{
    return c == ' ' || c == '\t' || c == '\r' || c == '\n';
}

static void put(Splitter *s, char c)
{
    s->word[s->len++] = c;
}

/* Between words and in a word the same characters are special. */
static void step_plain(Splitter *s, char c)
{
    switch (c) {
    case '\\':
        s->state = STATE_ESCAPED;
        break;
    case '\'':
        s->state = STATE_SINGLE;
        break;
    case '"':
        s->state = STATE_DOUBLE;
        break;
    default:
        s->state = STATE_WORD;
        put(s, c);
    }
}

static void step_double(Splitter *s, char c)
{
    if (c == '"') {
        s->state = STATE_WORD;
    } else if (c == '\\') {
        s->state = STATE_DOUBLE_ESCAPED;
    } else {
        put(s, c);
    }
}

static void step(Splitter *s, char c)
{
    switch (s->state) {
    case STATE_BETWEEN:
    case STATE_WORD:
        step_plain(s, c);
        break;
    case STATE_SINGLE:
        if (c == '\'') {
            s->state = STATE_WORD;
        } else {
            put(s, c);
        }
        break;
    case STATE_DOUBLE:
        step_double(s, c);
        break;
    case STATE_ESCAPED:
        put(s, c);
        s->state = STATE_WORD;
        break;
    case STATE_DOUBLE_ESCAPED:
        if (c != '"' && c != '\\') {
            put(s, '\\');
        }
        put(s, c);
        s->state = STATE_DOUBLE;
        break;
    }
}

static int flush(Splitter *s, Argv *argv)
{
    int r = argv_push(argv, (Str){s->word, s->len});

    s->len = 0;
    s->state = STATE_BETWEEN;
    return r;
}

static ShlexResult finish(Splitter *s, Argv *argv)
{
    switch (s->state) {
    case STATE_BETWEEN:
        return SHLEX_OK;
    case STATE_WORD:
        return flush(s, argv) < 0 ? SHLEX_TOO_MANY : SHLEX_OK;
    case STATE_SINGLE:
    case STATE_DOUBLE:
        return SHLEX_NO_CLOSING;
    case STATE_ESCAPED:
    case STATE_DOUBLE_ESCAPED:
        return SHLEX_NO_ESCAPED;
    }
    CHECK_UNREACHABLE();
}

ShlexResult shlex_split(Str text, Argv *argv)
{
    /* An escaped character in double quotes may keep its backslash: never more than the input. */
    AUTO(mem) char *word = xmalloc(text.len + 1);
    Splitter s = {.state = STATE_BETWEEN, .word = word};

    for (size_t i = 0; i < text.len; i++) {
        char c = text.ptr[i];

        if (s.state <= STATE_WORD && is_separator(c)) {
            if (s.state == STATE_WORD && flush(&s, argv) < 0) {
                return SHLEX_TOO_MANY;
            }
            continue;
        }
        step(&s, c);
    }
    return finish(&s, argv);
}

int argv_push(Argv *argv, Str word)
{
    if (argv->v.len >= ARGV_MAX) {
        return -E2BIG;
    }
    vec_push(&argv->v, xstrndup(word.len ? word.ptr : "", word.len));
    return 0;
}

size_t argv_len(const Argv *argv)
{
    return argv->v.len;
}

char *const *argv_exec(Argv *argv)
{
    vec_reserve(&argv->v, argv->v.len + 1);
    argv->v.ptr[argv->v.len] = NULL;
    return argv->v.ptr;
}

void argv_deinit(Argv *argv)
{
    vec_foreach (&argv->v, it) {
        free(*it);
    }
    vec_free(&argv->v);
}
