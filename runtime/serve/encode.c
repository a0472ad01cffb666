/* SPDX-License-Identifier: Apache-2.0 */
#include "runtime/serve/encode.h"

#include "json/utf8.h"

static void put_escape(StrBuf *out, unsigned char c)
{
    static const char NAMES[] = "btn\0fr"; /* 8 to 13; 11 has no name */
    static const char HEX[] = "0123456789abcdef";
    char text[] = {'\\', (char)c, '0', '0', HEX[c >> 4], HEX[c & 15]};

    if (c == '"' || c == '\\') {
        strbuf_append(out, (Str){text, 2});
    } else if (c >= 8 && c <= 13 && c != 11) {
        text[1] = NAMES[c - 8];
        strbuf_append(out, (Str){text, 2});
    } else {
        text[1] = 'u';
        strbuf_append(out, (Str){text, sizeof(text)});
    }
}

/* Length of the run at the beginning that needs no change. */
static size_t plain_run(Str s)
{
    const char *p = s.ptr, *end = s.ptr + s.len;

    while (p < end) {
        unsigned char c = (unsigned char)*p;
        unsigned n = c < 0x80 ? 1 : utf8_sequence_len(p, end);

        if (c < 0x20 || c == '"' || c == '\\' || n == 0) {
            break;
        }
        p += n;
    }
    return (size_t)(p - s.ptr);
}

void encode_text(StrBuf *out, Str text, bool *ret_invalid)
{
    while (text.len > 0) {
        size_t n = plain_run(text);

        strbuf_append(out, str_take(text, n));
        text = str_drop(text, n);
        if (text.len == 0) {
            return;
        }
        if ((unsigned char)text.ptr[0] >= 0x80) {
            strbuf_append_cstr(out, UTF8_REPLACEMENT);
            *ret_invalid = true;
        } else {
            put_escape(out, (unsigned char)text.ptr[0]);
        }
        text = str_drop(text, 1);
    }
}

/* Bytes at the end that begin a character without completing it. */
static size_t incomplete_end(Str text)
{
    for (size_t back = 1; back <= 3 && back <= text.len; back++) {
        unsigned char c = (unsigned char)text.ptr[text.len - back];
        size_t want = c >= 0xf0 ? 4 : c >= 0xe0 ? 3 : c >= 0xc0 ? 2 : 1;

        if ((c & 0xc0) != 0x80) {
            return want > back ? back : 0;
        }
    }
    return 0;
}

size_t encode_text_cut(Str text, size_t max)
{
    if (text.len <= max) {
        return text.len;
    }
    return max - incomplete_end(str_take(text, max));
}

Str encode_trim_end(Str text)
{
    return str_take(text, text.len - incomplete_end(text));
}

Str encode_trim_start(Str text)
{
    size_t n = 0;

    while (n < 3 && n < text.len && utf8_is_cont(text.ptr[n])) {
        n++;
    }
    return str_drop(text, n);
}

static const char ALPHABET[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

static void put_group(const unsigned char *in, char *ret_out)
{
    ret_out[0] = ALPHABET[in[0] >> 2];
    ret_out[1] = ALPHABET[(in[0] & 3) << 4 | in[1] >> 4];
    ret_out[2] = ALPHABET[(in[1] & 15) << 2 | in[2] >> 6];
    ret_out[3] = ALPHABET[in[2] & 63];
}

void base64_append(Base64 *state, StrBuf *out, Str bytes)
{
    if (strbuf_reserve(out, (bytes.len + 2) / 3 * 4 + 4) < 0) {
        return;
    }
    for (size_t i = 0; i < bytes.len; i++) {
        state->held[state->n++] = (unsigned char)bytes.ptr[i];
        if (state->n == 3) {
            put_group(state->held, out->ptr + out->len);
            out->len += 4;
            state->n = 0;
        }
    }
    out->ptr[out->len] = '\0';
}

void base64_finish(Base64 *state, StrBuf *out)
{
    unsigned n = state->n;
    char group[4];

    if (n > 0) {
        memset(state->held + n, 0, sizeof(state->held) - n);
        put_group(state->held, group);
        memset(group + n + 1, '=', 3 - n);
        strbuf_append(out, (Str){group, 4});
    }
    state->n = 0;
}
