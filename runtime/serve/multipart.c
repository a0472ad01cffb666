/* SPDX-License-Identifier: Apache-2.0 */
#include "runtime/serve/multipart.h"

#include <errno.h>
#include <stdlib.h>

#include "base/check.h"
#include "base/mem.h"

typedef enum MultipartState {
    MULTIPART_PREAMBLE,
    MULTIPART_DELIMITED, /* right after a delimiter */
    MULTIPART_DASH,      /* after a delimiter and one '-' */
    MULTIPART_PADDING,   /* white space up to the end of the delimiter's line */
    MULTIPART_FIELDS,
    MULTIPART_DATA,
    MULTIPART_END,
} MultipartState;

struct Multipart {
    const MultipartOps *ops;
    void *ctx;
    MultipartState state;
    int error;
    size_t parts;
    size_t matched; /* bytes of the delimiter seen so far */
    size_t delimiter_len;
    char delimiter[MULTIPART_BOUNDARY_MAX + 4]; /* CR LF - - boundary */
    StrBuf fields;
};

/* ---- Content-Type and Content-Disposition ---- */

/*
 * Next `; name=value` of a field; a quoted value is unescaped in `buf`, which holds the whole
 * field. False at the end.
 */
static bool next_param(Str *rest, char *buf, Str *ret_name, Str *ret_value)
{
    size_t i = 0, n = 0;
    ptrdiff_t semicolon = str_find(*rest, ';');
    Str after;

    if (semicolon < 0) {
        return false;
    }
    *ret_name = str_trim(str_cut(str_drop(*rest, (size_t)semicolon + 1), '=', &after));
    after = str_trim(after);
    if (after.len == 0 || after.ptr[0] != '"') {
        *rest = after;
        *ret_value = str_trim(str_cut(after, ';', &after));
        return true;
    }
    for (i = 1; i < after.len && after.ptr[i] != '"'; i++) {
        bool escape = after.ptr[i] == '\\' && i + 1 < after.len &&
                      (after.ptr[i + 1] == '"' || after.ptr[i + 1] == '\\');

        i += escape;
        buf[n++] = after.ptr[i];
    }
    *ret_value = (Str){buf, n};
    *rest = str_drop(after, i + 1);
    return true;
}

static bool is_boundary(Str s)
{
    for (size_t i = 0; i < s.len; i++) {
        if (s.ptr[i] < ' ' || s.ptr[i] == 0x7f || s.ptr[i] == '"') {
            return false;
        }
    }
    return s.len > 0 && s.len <= MULTIPART_BOUNDARY_MAX;
}

Str multipart_boundary(Str content_type)
{
    Str rest = content_type, name, value;
    char buf[512];

    if (content_type.len > sizeof(buf) ||
        !str_eq_nocase(str_trim(str_cut(content_type, ';', &name)), STR("multipart/form-data"))) {
        return STR_NULL;
    }
    while (next_param(&rest, buf, &name, &value)) {
        if (str_eq_nocase(name, STR("boundary"))) {
            /* A boundary has nothing to unescape: give it back from the caller's memory. */
            const char *at = is_boundary(value)
                                 ? memmem(content_type.ptr, content_type.len, value.ptr, value.len)
                                 : NULL;

            return at ? (Str){at, value.len} : STR_NULL;
        }
    }
    return STR_NULL;
}

static Str next_line(Str *text)
{
    Str after;
    Str line = str_cut(*text, '\n', &after);

    *text = after;
    return str_ends(line, STR("\r")) ? str_take(line, line.len - 1) : line;
}

/* Fills *ret_part from the part's fields; strings point into `buf` or the fields. */
static void parse_disposition(Str disposition, char *buf, MultipartPart *ret_part)
{
    Str rest = disposition, name, value;

    while (next_param(&rest, buf, &name, &value)) {
        if (str_eq_nocase(name, STR("name"))) {
            ret_part->name = value.len ? value : STR("");
        } else if (str_eq_nocase(name, STR("filename"))) {
            ret_part->filename = value.len ? value : STR("");
        }
        if (value.ptr == buf) {
            buf += value.len;
        }
    }
}

static int begin_part(Multipart *m)
{
    char buf[MULTIPART_FIELDS_MAX];
    Str text = strbuf_str(&m->fields);
    MultipartPart part = {.name = STR_NULL, .filename = STR_NULL};

    if (++m->parts > MULTIPART_PARTS_MAX) {
        return -E2BIG;
    }
    while (text.len > 0) {
        Str value;
        Str line = next_line(&text);
        Str name = str_cut(line, ':', &value);

        if (line.len > 0 && !value.ptr) {
            return -EBADMSG;
        }
        if (str_eq_nocase(str_trim(name), STR("content-disposition"))) {
            parse_disposition(value, buf, &part);
        }
    }
    m->state = MULTIPART_DATA;
    m->ops->on_part(m->ctx, &part);
    strbuf_clear(&m->fields);
    return 0;
}

/* ---- delimiters and data ---- */

static void emit(Multipart *m, Str bytes)
{
    if (m->state == MULTIPART_DATA && bytes.len > 0) {
        m->ops->on_data(m->ctx, bytes);
    }
}

static void end_data(Multipart *m)
{
    m->matched = 0;
    if (m->state == MULTIPART_DATA) {
        m->ops->on_part_end(m->ctx);
    }
    m->state = MULTIPART_DELIMITED;
}

/*
 * Data (or preamble) up to the next delimiter. A CR stands only at the delimiter's beginning, so a
 * failed match never hides the beginning of another one. Returns how many bytes were taken.
 */
static size_t take_data(Multipart *m, Str bytes)
{
    size_t i = 0;

    while (i < bytes.len) {
        if (m->matched == 0) {
            Str rest = str_drop(bytes, i);
            ptrdiff_t cr = str_find(rest, '\r');

            emit(m, cr < 0 ? rest : str_take(rest, (size_t)cr));
            if (cr < 0) {
                return bytes.len;
            }
            i += (size_t)cr;
        }
        if (bytes.ptr[i] == m->delimiter[m->matched]) {
            i++;
            if (++m->matched == m->delimiter_len) {
                end_data(m);
                return i;
            }
        } else {
            emit(m, (Str){m->delimiter, m->matched});
            m->matched = 0;
        }
    }
    return i;
}

/* True when the fields collected so far end with an empty line. */
static bool fields_complete(Str fields)
{
    return str_eq(fields, STR("\n")) || str_eq(fields, STR("\r\n")) ||
           str_ends(fields, STR("\n\n")) || str_ends(fields, STR("\n\r\n"));
}

static size_t take_fields(Multipart *m, Str bytes)
{
    for (size_t i = 0; i < bytes.len;) {
        ptrdiff_t lf = str_find(str_drop(bytes, i), '\n');
        size_t n = lf < 0 ? bytes.len - i : (size_t)lf + 1;

        if (strbuf_append(&m->fields, (Str){bytes.ptr + i, n}) < 0) {
            m->error = -E2BIG;
            return bytes.len;
        }
        i += n;
        if (lf >= 0 && fields_complete(strbuf_str(&m->fields))) {
            m->error = begin_part(m);
            return i;
        }
    }
    return bytes.len;
}

/* One byte after a delimiter: "--" ends the body, white space and a line end begin a part. */
static void take_tail(Multipart *m, char c)
{
    bool blank = c == ' ' || c == '\t' || c == '\r';

    if (m->state == MULTIPART_DASH) {
        m->state = MULTIPART_END;
        m->error = c == '-' ? 0 : -EBADMSG;
    } else if (c == '-' && m->state == MULTIPART_DELIMITED) {
        m->state = MULTIPART_DASH;
    } else if (c == '\n') {
        m->state = MULTIPART_FIELDS;
    } else if (blank) {
        m->state = MULTIPART_PADDING;
    } else {
        m->error = -EBADMSG;
    }
}

int multipart_feed(Multipart *m, Str bytes)
{
    while (bytes.len > 0 && m->error == 0 && m->state != MULTIPART_END) {
        size_t taken = 1;

        switch (m->state) {
        case MULTIPART_PREAMBLE:
        case MULTIPART_DATA:
            taken = take_data(m, bytes);
            break;
        case MULTIPART_DELIMITED:
        case MULTIPART_DASH:
        case MULTIPART_PADDING:
            take_tail(m, bytes.ptr[0]);
            break;
        case MULTIPART_FIELDS:
            taken = take_fields(m, bytes);
            break;
        case MULTIPART_END:
            break;
        }
        bytes = str_drop(bytes, taken);
    }
    return m->error;
}

int multipart_finish(const Multipart *m)
{
    return m->error == 0 && m->state != MULTIPART_END ? -EBADMSG : m->error;
}

Multipart *multipart_new(Str boundary, const MultipartOps *ops, void *ctx)
{
    Multipart *m = xcalloc(1, sizeof(*m));

    CHECK(is_boundary(boundary));
    m->ops = ops;
    m->ctx = ctx;
    memcpy(m->delimiter, "\r\n--", 4);
    memcpy(m->delimiter + 4, boundary.ptr, boundary.len);
    m->delimiter_len = boundary.len + 4;
    m->matched = 2; /* the first delimiter may open the body, without a line end before it */
    strbuf_init(&m->fields, MULTIPART_FIELDS_MAX);
    return m;
}

Multipart *multipart_free(Multipart *m)
{
    if (m) {
        strbuf_deinit(&m->fields);
        free(m);
    }
    return NULL;
}
