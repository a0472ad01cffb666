/* SPDX-License-Identifier: Apache-2.0 */
#include "json/write.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/check.h"
#include "json/scan.h"

void jw_init(JWriter *w, StrBuf *out)
{
    *w = (JWriter){.out = out};
}

static bool in_object(const JWriter *w)
{
    return w->depth > 0 && (w->objects >> (w->depth - 1) & 1) != 0;
}

/* Before every value: checks that one is due and writes the comma of an array. */
static void begin_value(JWriter *w)
{
    CHECK(w->value || !in_object(w));
    if (w->comma && !w->value) {
        strbuf_append_char(w->out, ',');
    }
    w->value = false;
    w->comma = w->depth > 0;
}

static void open_container(JWriter *w, bool object)
{
    begin_value(w);
    CHECK(w->depth < JSON_DEPTH_MAX);
    uint64_t bit = 1ull << w->depth;
    w->objects = object ? w->objects | bit : w->objects & ~bit;
    w->depth++;
    w->comma = false;
    strbuf_append_char(w->out, object ? '{' : '[');
}

static void close_container(JWriter *w, bool object)
{
    CHECK(w->depth > 0 && in_object(w) == object && !w->value);
    w->depth--;
    w->comma = w->depth > 0;
    strbuf_append_char(w->out, object ? '}' : ']');
}

void jw_object(JWriter *w)
{
    open_container(w, true);
}

void jw_object_end(JWriter *w)
{
    close_container(w, true);
}

void jw_array(JWriter *w)
{
    open_container(w, false);
}

void jw_array_end(JWriter *w)
{
    close_container(w, false);
}

void jw_key(JWriter *w, Str key)
{
    CHECK(in_object(w) && !w->value);
    if (w->comma) {
        strbuf_append_char(w->out, ',');
    }
    json_quote(w->out, key);
    strbuf_append_char(w->out, ':');
    w->value = true;
}

void jw_raw(JWriter *w, Str json)
{
    begin_value(w);
    strbuf_append(w->out, json);
}

void jw_null(JWriter *w)
{
    jw_raw(w, STR("null"));
}

void jw_bool(JWriter *w, bool v)
{
    jw_raw(w, v ? STR("true") : STR("false"));
}

void jw_i64(JWriter *w, int64_t v)
{
    begin_value(w);
    strbuf_printf(w->out, "%lld", (long long)v);
}

void jw_u64(JWriter *w, uint64_t v)
{
    begin_value(w);
    strbuf_printf(w->out, "%llu", (unsigned long long)v);
}

void jw_f64(JWriter *w, double v)
{
    char text[JSON_DOUBLE_MAX];

    if (!isfinite(v)) {
        jw_null(w);
        return;
    }
    jw_raw(w, (Str){text, json_format_double(v, text)});
}

void jw_str(JWriter *w, Str s)
{
    if (!s.ptr) {
        jw_null(w);
        return;
    }
    begin_value(w);
    json_quote(w->out, s);
}

void jw_cstr(JWriter *w, const char *s)
{
    jw_str(w, str_from(s));
}

void jw_node(JWriter *w, JNode node)
{
    JIter it = jnode_iter(node);
    JNode child;
    Str key;

    switch (jnode_type(node)) {
    case JTYPE_OBJECT:
        jw_object(w);
        while (jiter_next(&it, &key, &child)) {
            jw_key(w, key);
            jw_node(w, child);
        }
        jw_object_end(w);
        break;
    case JTYPE_ARRAY:
        jw_array(w);
        while (jiter_next(&it, NULL, &child)) {
            jw_node(w, child);
        }
        jw_array_end(w);
        break;
    case JTYPE_STRING:
        jw_str(w, jnode_str(node));
        break;
    case JTYPE_INT:
        jw_i64(w, jnode_i64(node, 0));
        break;
    case JTYPE_REAL:
        jw_f64(w, jnode_f64(node, 0));
        break;
    case JTYPE_BOOL:
        jw_bool(w, jnode_bool(node, false));
        break;
    default:
        jw_null(w);
    }
}

void jw_member_str(JWriter *w, const char *key, Str v)
{
    jw_key(w, str_from(key));
    jw_str(w, v);
}

void jw_member_cstr(JWriter *w, const char *key, const char *v)
{
    jw_key(w, str_from(key));
    jw_cstr(w, v);
}

void jw_member_i64(JWriter *w, const char *key, int64_t v)
{
    jw_key(w, str_from(key));
    jw_i64(w, v);
}

void jw_member_bool(JWriter *w, const char *key, bool v)
{
    jw_key(w, str_from(key));
    jw_bool(w, v);
}

size_t json_format_double(double v, char dst[JSON_DOUBLE_MAX])
{
    int n = 0;

    for (int digits = 15; digits <= 17; digits++) {
        n = snprintf(dst, JSON_DOUBLE_MAX - 2, "%.*g", digits, v);
        if (strtod(dst, NULL) == v) {
            break;
        }
    }
    /* keep it a real for readers that tell 1 from 1.0 */
    if (!strpbrk(dst, ".e")) {
        memcpy(dst + n, ".0", 3);
        n += 2;
    }
    return (size_t)n;
}
