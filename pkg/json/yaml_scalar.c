/* SPDX-License-Identifier: Apache-2.0 */
#include "json/yaml_scalar.h"

#include <errno.h>
#include <yaml.h>

#include "base/check.h"

static bool is_one_of(Str text, const char *const *words)
{
    for (; *words; words++) {
        if (str_eq(text, str_from(*words))) {
            return true;
        }
    }
    return false;
}

static bool is_null(Str text)
{
    static const char *const WORDS[] = {"", "~", "null", "Null", "NULL", NULL};

    return is_one_of(text, WORDS);
}

static int to_bool(Str text, bool *ret)
{
    static const char *const TRUES[] = {"true", "True", "TRUE", NULL};
    static const char *const FALSES[] = {"false", "False", "FALSE", NULL};

    if (is_one_of(text, TRUES)) {
        *ret = true;
        return 0;
    }
    if (is_one_of(text, FALSES)) {
        *ret = false;
        return 0;
    }
    return -EINVAL;
}

static bool only(Str text, const char *set)
{
    for (size_t i = 0; i < text.len; i++) {
        if (!text.ptr[i] || !strchr(set, text.ptr[i])) {
            return false;
        }
    }
    return text.len > 0;
}

/* Digits of a base to a number; -EINVAL also when it does not fit. */
static int from_base(Str digits, int64_t base, const char *set, int64_t *ret)
{
    int64_t v = 0;

    if (!only(digits, set)) {
        return -EINVAL;
    }
    for (size_t i = 0; i < digits.len; i++) {
        char c = (char)(digits.ptr[i] | 0x20);
        int64_t d = c >= 'a' ? c - 'a' + 10 : digits.ptr[i] - '0';
        if (v > (INT64_MAX - d) / base) {
            return -EINVAL;
        }
        v = v * base + d;
    }
    *ret = v;
    return 0;
}

static int to_int(Str text, int64_t *ret)
{
    bool minus = str_starts(text, STR("-"));
    Str body = minus || str_starts(text, STR("+")) ? str_drop(text, 1) : text;
    int r;

    if (str_starts(body, STR("0x"))) {
        r = from_base(str_drop(body, 2), 16, "0123456789abcdefABCDEF", ret);
    } else if (str_starts(body, STR("0o"))) {
        r = from_base(str_drop(body, 2), 8, "01234567", ret);
    } else if (body.len > 1 && body.ptr[0] == '0') {
        r = from_base(str_drop(body, 1), 8, "01234567", ret);
    } else if (only(body, "0123456789")) {
        return str_to_i64(str_starts(text, STR("+")) ? body : text, ret);
    } else {
        return -EINVAL;
    }
    if (r == 0 && minus) {
        *ret = -*ret;
    }
    return r;
}

/* [sign] digits with a point or an exponent; no inf, nan or hex. */
static int to_real(Str text, bool need_point, double *ret)
{
    Str body = str_starts(text, STR("-")) || str_starts(text, STR("+")) ? str_drop(text, 1) : text;
    bool digit_first =
        body.len > 0 &&
        ((body.ptr[0] >= '0' && body.ptr[0] <= '9') ||
         (body.len > 1 && body.ptr[0] == '.' && body.ptr[1] >= '0' && body.ptr[1] <= '9'));

    if (!digit_first || (need_point && only(body, "0123456789")) ||
        !only(body, "0123456789.eE+-")) {
        return -EINVAL;
    }
    return str_to_double(text, ret);
}

static json_t *checked(json_t *value)
{
    CHECK(value);
    return value;
}

/* What a plain scalar, or one with this tag, stands for; NULL when it is not of the tag's kind. */
static json_t *resolve_as(Str text, const char *tag)
{
    bool flag;
    int64_t integer;
    double real;

    if (is_null(text) && (!tag || strcmp(tag, YAML_NULL_TAG) == 0)) {
        return json_null();
    }
    if ((!tag || strcmp(tag, YAML_BOOL_TAG) == 0) && to_bool(text, &flag) == 0) {
        return json_boolean(flag);
    }
    if ((!tag || strcmp(tag, YAML_INT_TAG) == 0) && to_int(text, &integer) == 0) {
        return checked(json_integer(integer));
    }
    if ((!tag || strcmp(tag, YAML_FLOAT_TAG) == 0) && to_real(text, !tag, &real) == 0) {
        return checked(json_real(real));
    }
    return NULL;
}

int yaml_scalar_resolve(Str text, const char *tag, bool plain, json_t **ret, const char **ret_why)
{
    bool str_tag = tag && (strcmp(tag, YAML_STR_TAG) == 0 || strcmp(tag, "!") == 0);
    json_t *value = NULL;

    if (plain || (tag && !str_tag)) {
        value = resolve_as(text, tag);
    }
    if (!value && tag && !str_tag) {
        *ret_why = "scalar does not fit its tag, or the tag is not supported";
        return -EINVAL;
    }
    *ret = value ? value : jx_string_new(text);
    return 0;
}
