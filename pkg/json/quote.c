/* SPDX-License-Identifier: Apache-2.0 */
/* json_quote of write.h: any bytes to one valid JSON string. */
#include <stdint.h>

#include "json/utf8.h"
#include "json/write.h"

static void append_escape(StrBuf *out, unsigned char c)
{
    static const char NAMES[] = "btn\0fr"; /* 8..13, 11 has no name */

    if (c == '"' || c == '\\') {
        strbuf_append_char(out, '\\');
        strbuf_append_char(out, (char)c);
    } else if (c >= 8 && c <= 13 && c != 11) {
        strbuf_append_char(out, '\\');
        strbuf_append_char(out, NAMES[c - 8]);
    } else {
        strbuf_printf(out, "\\u%04x", c);
    }
}

/* Length of the run at p that goes out as it is. */
static size_t plain_run(const char *p, const char *end)
{
    const char *q = p;

    while (q < end) {
        unsigned char c = (unsigned char)*q;
        unsigned n = 1;
        if (c < 0x20 || c == '"' || c == '\\') {
            break;
        }
        if (c >= 0x80) {
            n = utf8_sequence_len(q, end);
            if (n == 0) {
                break;
            }
        }
        q += n;
    }
    return (size_t)(q - p);
}

int json_quote(StrBuf *out, Str s)
{
    const char *p = s.ptr ? s.ptr : "", *end = p + s.len;

    strbuf_append_char(out, '"');
    while (p < end) {
        size_t run = plain_run(p, end);
        strbuf_append(out, (Str){p, run});
        p += run;
        if (p == end) {
            break;
        }
        if ((unsigned char)*p >= 0x80) {
            strbuf_append(out, STR(UTF8_REPLACEMENT));
        } else {
            append_escape(out, (unsigned char)*p);
        }
        p++;
    }
    return strbuf_append_char(out, '"');
}
