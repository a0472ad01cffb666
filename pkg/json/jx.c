/* SPDX-License-Identifier: Apache-2.0 */
#include "json/jx.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/check.h"
#include "json/scan.h"
#include "json/utf8.h"

#define JX_DUMP_FLAGS (JSON_COMPACT | JSON_ENCODE_ANY)

int jx_parse(Str text, size_t text_max, json_t **ret, Err *reterr)
{
    json_error_t error;
    JScan scan;
    JToken end;

    if (text.len > text_max) {
        return err_set(reterr, E2BIG, "JSON text of %zu bytes is longer than %zu", text.len,
                       text_max);
    }
    jscan_init(&scan, text, JSON_DEPTH_MAX);
    int r = jscan_skip(&scan, NULL);
    if (r == 0) {
        r = jscan_next(&scan, &end);
    }
    if (r < 0) {
        return jscan_err(&scan, r, reterr);
    }
    json_t *value = json_loadb(text.ptr, text.len,
                               JSON_REJECT_DUPLICATES | JSON_DECODE_ANY | JSON_ALLOW_NUL, &error);
    if (!value) {
        int code = json_error_code(&error) == json_error_out_of_memory ? ENOMEM : EINVAL;
        return err_set(reterr, code, "bad JSON: %s at line %d column %d", error.text, error.line,
                       error.column);
    }
    *ret = value;
    return 0;
}

char *jx_dump_sorted(const json_t *value)
{
    char *text = json_dumps(value, JX_DUMP_FLAGS | JSON_SORT_KEYS);

    CHECK(text);
    return text;
}

static int append_piece(const char *piece, size_t len, void *ctx)
{
    return strbuf_append(ctx, (Str){piece, len});
}

int jx_dump_into(const json_t *value, StrBuf *out)
{
    int r = json_dump_callback(value, append_piece, out, JX_DUMP_FLAGS);

    CHECK(r == 0 || out->error);
    return out->error;
}

json_t *jx_dup(const json_t *value)
{
    json_t *copy = json_deep_copy(value);

    CHECK(copy || !value);
    return copy;
}

void jx_hash(const json_t *value, char ret_hex[HASH_HEX_SIZE])
{
    AUTO(mem) char *text = jx_dump_sorted(value);

    hash_name(str_from(text), ret_hex);
}

/* ---- reading ---- */

json_t *jx_get_(const json_t *root, ...)
{
    const json_t *at = root;
    va_list ap;

    va_start(ap, root);
    const char *key = va_arg(ap, const char *);
    while (at && key) {
        at = json_object_get(at, key);
        key = va_arg(ap, const char *);
    }
    va_end(ap);
    return (json_t *)at;
}

Str jx_str(const json_t *value)
{
    if (!json_is_string(value)) {
        return STR_NULL;
    }
    return (Str){json_string_value(value), json_string_length(value)};
}

int64_t jx_i64(const json_t *value, int64_t otherwise)
{
    return json_is_integer(value) ? (int64_t)json_integer_value(value) : otherwise;
}

bool jx_bool(const json_t *value, bool otherwise)
{
    return json_is_boolean(value) ? json_is_true(value) : otherwise;
}

/* ---- building ---- */

static json_t *checked(json_t *value)
{
    CHECK(value);
    return value;
}

json_t *jx_object_new(void)
{
    return checked(json_object());
}

json_t *jx_array_new(void)
{
    return checked(json_array());
}

/* A copy of `s` with U+FFFD for each byte that is not part of UTF-8. */
static json_t *replaced_string_new(Str s)
{
    AUTO(strbuf) StrBuf buf = STRBUF_INIT(s.len * (sizeof(UTF8_REPLACEMENT) - 1));
    const char *end = s.ptr + s.len;

    for (const char *p = s.ptr; p < end;) {
        unsigned n = (unsigned char)*p < 0x80 ? 1 : utf8_sequence_len(p, end);
        strbuf_append(&buf, n ? (Str){p, n} : STR(UTF8_REPLACEMENT));
        p += n ? n : 1;
    }
    CHECK(!buf.error);
    return checked(json_stringn_nocheck(buf.ptr, buf.len));
}

json_t *jx_string_new(Str s)
{
    if (!str_is_utf8(s)) {
        return replaced_string_new(s);
    }
    return checked(json_stringn_nocheck(s.ptr ? s.ptr : "", s.len));
}

json_t *jx_stringf_new(const char *fmt, ...)
{
    char *text = NULL;
    va_list ap;

    va_start(ap, fmt);
    int n = vasprintf(&text, fmt, ap);
    va_end(ap);
    CHECK(n >= 0);
    json_t *value = jx_string_new((Str){text, (size_t)n});
    free(text);
    return value;
}

/* The member `key` of `object` if it has the type, else a fresh one put in its place. */
static json_t *member_of_type(json_t *object, const char *key, json_type type)
{
    json_t *member = json_object_get(object, key);

    if (!member || json_typeof(member) != type) {
        member = type == JSON_OBJECT ? jx_object_new() : jx_array_new();
        jx_set(object, key, member);
    }
    return member;
}

json_t *jx_obj_(json_t *root, ...)
{
    json_t *at = root;
    const char *key;
    va_list ap;

    va_start(ap, root);
    while ((key = va_arg(ap, const char *))) {
        at = member_of_type(at, key, JSON_OBJECT);
    }
    va_end(ap);
    return at;
}

json_t *jx_arr_(json_t *root, ...)
{
    json_t *at = root;
    va_list ap;

    va_start(ap, root);
    const char *key = va_arg(ap, const char *);
    while (key) {
        const char *next = va_arg(ap, const char *);
        at = member_of_type(at, key, next ? JSON_OBJECT : JSON_ARRAY);
        key = next;
    }
    va_end(ap);
    return at;
}

void jx_set(json_t *object, const char *key, json_t *stolen)
{
    CHECK(json_is_object(object));
    if (!stolen) {
        json_object_del(object, key);
        return;
    }
    int r = json_object_set_new(object, key, stolen);
    CHECK(r == 0);
}

void jx_set_str(json_t *object, const char *key, Str value)
{
    jx_set(object, key, jx_string_new(value));
}

void jx_set_i64(json_t *object, const char *key, int64_t value)
{
    jx_set(object, key, checked(json_integer(value)));
}

void jx_set_bool(json_t *object, const char *key, bool value)
{
    jx_set(object, key, json_boolean(value));
}

void jx_set_path_(json_t *root, json_t *stolen, ...)
{
    json_t *at = root;
    va_list ap;

    va_start(ap, stolen);
    const char *key = va_arg(ap, const char *);
    const char *next = va_arg(ap, const char *);
    while (next) {
        at = member_of_type(at, key, JSON_OBJECT);
        key = next;
        next = va_arg(ap, const char *);
    }
    va_end(ap);
    jx_set(at, key, stolen);
}

void jx_append(json_t *array, json_t *stolen)
{
    int r = json_array_append_new(array, checked(stolen));

    CHECK(r == 0);
}
