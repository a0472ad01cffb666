/* SPDX-License-Identifier: Apache-2.0 */
#include "runtime/exec/pyrepr.h"

#include <stdio.h>
#include <stdlib.h>

static void put_byte(StrBuf *out, unsigned char c, char quote)
{
    switch (c) {
    case '\n':
        strbuf_append_cstr(out, "\\n");
        return;
    case '\r':
        strbuf_append_cstr(out, "\\r");
        return;
    case '\t':
        strbuf_append_cstr(out, "\\t");
        return;
    case '\\':
        strbuf_append_cstr(out, "\\\\");
        return;
    default:
        break;
    }
    if (c < 0x20 || c == 0x7f) {
        strbuf_printf(out, "\\x%02x", c);
        return;
    }
    if (c == (unsigned char)quote) {
        strbuf_append_char(out, '\\');
    }
    strbuf_append_char(out, (char)c);
}

void pyrepr_str(StrBuf *out, Str s)
{
    bool single = str_find(s, '\'') >= 0;
    char quote = single && str_find(s, '"') < 0 ? '"' : '\'';

    strbuf_append_char(out, quote);
    for (size_t i = 0; i < s.len; i++) {
        put_byte(out, (unsigned char)s.ptr[i], quote);
    }
    strbuf_append_char(out, quote);
}

void pyrepr_argv(StrBuf *out, char *const *argv)
{
    strbuf_append_char(out, '[');
    for (size_t i = 0; argv[i]; i++) {
        if (i > 0) {
            strbuf_append_cstr(out, ", ");
        }
        pyrepr_str(out, str_from(argv[i]));
    }
    strbuf_append_char(out, ']');
}

void pyrepr_float(StrBuf *out, double value)
{
    char text[40];

    /* The shortest form that reads back as the same number. */
    for (int digits = 1; digits <= 17; digits++) {
        snprintf(text, sizeof(text), "%.*g", digits, value);
        if (strtod(text, NULL) == value) {
            break;
        }
    }
    if (strchr(text, 'e') && value >= 1e-4 && value < 1e16) {
        snprintf(text, sizeof(text), "%.0f", value);
    }
    strbuf_append_cstr(out, text);
    if (!strpbrk(text, ".en")) {
        strbuf_append_cstr(out, ".0");
    }
}

void pyrepr_oserror(StrBuf *out, int code, Str subject)
{
    const char *text = strerrordesc_np(code);

    strbuf_printf(out, "[Errno %d] %s: ", code, text ? text : "Unknown error");
    pyrepr_str(out, subject);
}
