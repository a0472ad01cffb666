/* SPDX-License-Identifier: Apache-2.0 */
/*
 * jx_dump_compact(): a Jansson tree as text, members in the order of insertion. Jansson's own
 * writer goes through a callback for every piece and looks at each byte of a string as a code
 * point; bodies of requests are most of what a controller writes.
 */
#include "json/jx.h"
#include "json/write.h"

#include "base/check.h"

static void dump_value(StrBuf *out, const json_t *value);

static void dump_object(StrBuf *out, const json_t *object)
{
    /* Jansson's iterators do not change what they walk. */
    json_t *walked = (json_t *)(uintptr_t)object;
    char before = '{';

    for (void *it = json_object_iter(walked); it; it = json_object_iter_next(walked, it)) {
        strbuf_append_char(out, before);
        json_quote(out, (Str){json_object_iter_key(it), json_object_iter_key_len(it)});
        strbuf_append_char(out, ':');
        dump_value(out, json_object_iter_value(it));
        before = ',';
    }
    strbuf_append(out, before == '{' ? STR("{}") : STR("}"));
}

static void dump_array(StrBuf *out, const json_t *array)
{
    size_t n = json_array_size(array);

    strbuf_append_char(out, '[');
    for (size_t i = 0; i < n; i++) {
        if (i > 0) {
            strbuf_append_char(out, ',');
        }
        dump_value(out, json_array_get(array, i));
    }
    strbuf_append_char(out, ']');
}

static void dump_value(StrBuf *out, const json_t *value)
{
    char number[JSON_DOUBLE_MAX];

    switch (json_typeof(value)) {
    case JSON_OBJECT:
        dump_object(out, value);
        break;
    case JSON_ARRAY:
        dump_array(out, value);
        break;
    case JSON_STRING:
        json_quote(out, (Str){json_string_value(value), json_string_length(value)});
        break;
    case JSON_INTEGER:
        strbuf_printf(out, "%" JSON_INTEGER_FORMAT, json_integer_value(value));
        break;
    case JSON_REAL: /* Jansson holds finite ones only */
        strbuf_append(out, (Str){number, json_format_double(json_real_value(value), number)});
        break;
    case JSON_TRUE:
        strbuf_append(out, STR("true"));
        break;
    case JSON_FALSE:
        strbuf_append(out, STR("false"));
        break;
    default:
        strbuf_append(out, STR("null"));
    }
}

char *jx_dump_compact(const json_t *value)
{
    StrBuf out = STRBUF_INIT(SIZE_MAX / 2);

    dump_value(&out, value);
    CHECK(out.error == 0);
    return strbuf_take(&out);
}
