/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>

#include "kube/selector.h"
#include "test/harness/t.h"

/* The object has a=b, n=, x/y=z. */
static Str label(const void *ctx, Str key)
{
    UNUSED(ctx);
    if (str_eq(key, STR("a"))) {
        return STR("b");
    }
    if (str_eq(key, STR("x/y"))) {
        return STR("z");
    }
    return str_eq(key, STR("n")) ? STR("") : STR_NULL;
}

T_TEST(selector_matches)
{
    static const struct {
        const char *text;
        bool want;
    } ROWS[] = {
        {"", true},
        {"a=b", true},
        {"a==b", true},
        {"a=c", false},
        {"a!=b", false},
        {"a!=c", true},
        {"q!=c", true},
        {"q=c", false},
        {"a", true},
        {"q", false},
        {"!a", false},
        {"!q", true},
        {"n", true},
        {"n=", true},
        {"x/y=z", true},
        {"a in (b)", true},
        {"a in (c, b)", true},
        {"a in (c,d)", false},
        {"q in (c)", false},
        {"a notin (c)", true},
        {"a notin (b)", false},
        {"q notin (b)", true},
        {"a=b,x/y=z", true},
        {"a=b, x/y=q", false},
        {"a in (b,c),!q,n=", true},
        {" a = b ", true},
    };

    for (size_t i = 0; i < ARRAY_LEN(ROWS); i++) {
        AUTO(kube_selector) KubeSelector *selector = NULL;

        t_row(ROWS[i].text);
        T_OK(kube_selector_parse(str_from(ROWS[i].text), &selector, NULL));
        T_EQ_INT(kube_selector_matches(selector, label, NULL), ROWS[i].want);
    }
}

T_TEST(selector_refuses)
{
    static const char *const ROWS[] = {",",        "a=b,", "=b",    "a=b=c", "a in", "a in b",
                                       "a on (b)", "a b",  "a=b c", "!",     "a,,b", "-a=b"};
    AUTO(strbuf) StrBuf buf = STRBUF_INIT(1u << 16);
    KubeSelector *selector = NULL;
    Err err;

    for (size_t i = 0; i < ARRAY_LEN(ROWS); i++) {
        t_row(ROWS[i]);
        T_EQ_INT(kube_selector_parse(str_from(ROWS[i]), &selector, &err), -EINVAL);
    }
    t_row("too many");
    for (int i = 0; i <= KUBE_SELECTOR_TERMS_MAX; i++) {
        strbuf_append_cstr(&buf, i ? ",a" : "a");
    }
    T_EQ_INT(kube_selector_parse(strbuf_str(&buf), &selector, &err), -E2BIG);
    strbuf_clear(&buf);
    strbuf_append_cstr(&buf, "a in (b");
    for (int i = 0; i <= KUBE_SELECTOR_VALUES_MAX; i++) {
        strbuf_append_cstr(&buf, ",b");
    }
    strbuf_append_cstr(&buf, ")");
    T_EQ_INT(kube_selector_parse(strbuf_str(&buf), &selector, &err), -E2BIG);
}
