/* SPDX-License-Identifier: Apache-2.0 */
#include "kube/selector.h"

#include <errno.h>
#include <stdlib.h>

#include "base/mem.h"
#include "kube/meta.h"

typedef enum TermOp {
    TERM_EXISTS,
    TERM_ABSENT,
    TERM_IN,
    TERM_NOT_IN, /* also matches objects without the label */
} TermOp;

typedef struct Term {
    TermOp op;
    Str key;
    unsigned first; /* of values */
    unsigned count;
} Term;

struct KubeSelector {
    char *text;
    unsigned n_terms;
    unsigned n_values;
    Term terms[KUBE_SELECTOR_TERMS_MAX];
    Str values[KUBE_SELECTOR_VALUES_MAX];
};

static int selector_bad(Err *reterr, Str term)
{
    return err_set(reterr, EINVAL, "bad label selector at \"" STR_FMT "\"",
                   STR_ARG(str_take(term, 100)));
}

static int term_value(KubeSelector *selector, Term *term, Str value, Err *reterr)
{
    value = str_trim(value);
    if (!kube_label_value_is_valid(value)) {
        return selector_bad(reterr, value);
    }
    if (selector->n_values >= KUBE_SELECTOR_VALUES_MAX) {
        return err_set(reterr, E2BIG, "a label selector with more than %d values",
                       KUBE_SELECTOR_VALUES_MAX);
    }
    selector->values[selector->n_values++] = value;
    term->count++;
    return 0;
}

/* "in (a,b)" or "notin (a,b)" after the key. */
static int term_set(KubeSelector *selector, Term *term, Str rest, Err *reterr)
{
    Str list = str_trim(rest);
    int r = 0;

    if (str_starts(list, STR("notin"))) {
        term->op = TERM_NOT_IN;
        list = str_trim(str_drop(list, 5));
    } else if (str_starts(list, STR("in"))) {
        term->op = TERM_IN;
        list = str_trim(str_drop(list, 2));
    } else {
        return selector_bad(reterr, rest);
    }
    if (list.len < 2 || list.ptr[0] != '(' || list.ptr[list.len - 1] != ')') {
        return selector_bad(reterr, rest);
    }
    list = (Str){list.ptr + 1, list.len - 2};
    while (r == 0 && list.ptr) {
        r = term_value(selector, term, str_cut(list, ',', &list), reterr);
    }
    return r;
}

static int term_parse(KubeSelector *selector, Term *term, Str text, Err *reterr)
{
    ptrdiff_t eq = str_find(text, '=');
    ptrdiff_t space = str_find(text, ' ');
    int r = 0;

    term->first = selector->n_values;
    if (eq > 0 && str_find(text, '(') < 0) {
        bool negative = text.ptr[eq - 1] == '!';
        Str value = str_drop(text, (size_t)eq + 1);

        term->op = negative ? TERM_NOT_IN : TERM_IN;
        term->key = str_trim(str_take(text, (size_t)eq - negative));
        if (!negative && value.len > 0 && value.ptr[0] == '=') {
            value = str_drop(value, 1);
        }
        r = term_value(selector, term, value, reterr);
    } else if (text.len > 0 && text.ptr[0] == '!') {
        term->op = TERM_ABSENT;
        term->key = str_trim(str_drop(text, 1));
    } else if (space > 0) {
        term->key = str_take(text, (size_t)space);
        r = term_set(selector, term, str_drop(text, (size_t)space), reterr);
    } else {
        term->op = TERM_EXISTS;
        term->key = text;
    }
    if (r == 0 && !kube_name_is_qualified(term->key)) {
        r = selector_bad(reterr, text);
    }
    return r;
}

/* Length of the first term: up to a comma outside parentheses. */
static size_t term_len(Str text)
{
    bool inside = false;
    size_t i;

    for (i = 0; i < text.len; i++) {
        if (text.ptr[i] == ',' && !inside) {
            break;
        }
        inside = text.ptr[i] == '(' || (inside && text.ptr[i] != ')');
    }
    return i;
}

int kube_selector_parse(Str text, KubeSelector **ret_selector, Err *reterr)
{
    AUTO(kube_selector) KubeSelector *selector = xcalloc(1, sizeof(*selector));
    Str rest;

    selector->text = xstrndup(text.ptr ? text.ptr : "", text.len);
    rest = str_trim((Str){selector->text, text.len});
    while (rest.len > 0) {
        size_t n = term_len(rest);
        int r;

        if (selector->n_terms >= KUBE_SELECTOR_TERMS_MAX) {
            return err_set(reterr, E2BIG, "a label selector with more than %d terms",
                           KUBE_SELECTOR_TERMS_MAX);
        }
        r = term_parse(selector, &selector->terms[selector->n_terms++], str_trim(str_take(rest, n)),
                       reterr);
        if (r < 0) {
            return r;
        }
        if (n + 1 == rest.len) {
            return selector_bad(reterr, rest); /* a comma at the end */
        }
        rest = str_drop(rest, n + 1);
    }
    *ret_selector = TAKE(selector);
    return 0;
}

KubeSelector *kube_selector_free(KubeSelector *selector)
{
    if (selector) {
        free(selector->text);
        free(selector);
    }
    return NULL;
}

static bool term_matches(const KubeSelector *selector, const Term *term, Str value)
{
    bool in = false;

    for (unsigned i = 0; i < term->count && value.ptr; i++) {
        in = in || str_eq(selector->values[term->first + i], value);
    }
    switch (term->op) {
    case TERM_EXISTS:
        return value.ptr != NULL;
    case TERM_ABSENT:
        return value.ptr == NULL;
    case TERM_IN:
        return in;
    case TERM_NOT_IN:
        return !in;
    }
    return false;
}

bool kube_selector_matches(const KubeSelector *selector, KubeLabelFn label, const void *ctx)
{
    for (unsigned i = 0; i < selector->n_terms; i++) {
        if (!term_matches(selector, &selector->terms[i], label(ctx, selector->terms[i].key))) {
            return false;
        }
    }
    return true;
}
