/* SPDX-License-Identifier: Apache-2.0 */
#include "json/scan.h"

#include <endian.h>
#include <errno.h>

#include "base/check.h"
#include "json/utf8.h"

/* What may come next. */
enum {
    STATE_VALUE,      /* a value: at the start, after a colon, after a comma in an array */
    STATE_ARRAY_NEW,  /* after [ : a value or ] */
    STATE_KEY,        /* after a comma in an object: a key */
    STATE_OBJECT_NEW, /* after { : a key or } */
    STATE_NEXT,       /* after a value inside a container: comma or its end */
    STATE_DONE,       /* after the root value: the end of the text */
};

#define SWAR_ONES 0x0101010101010101ull
#define SWAR_HIGHS 0x8080808080808080ull

void jscan_init(JScan *scan, Str text, unsigned depth_max)
{
    CHECK(depth_max > 0 && depth_max <= JSON_DEPTH_MAX);
    const char *begin = text.ptr ? text.ptr : "";
    *scan = (JScan){
        .begin = begin,
        .at = begin,
        .end = begin + text.len,
        .depth_max = depth_max,
        .state = STATE_VALUE,
    };
}

size_t jscan_offset(const JScan *scan)
{
    return (size_t)(scan->at - scan->begin);
}

int jscan_err(const JScan *scan, int code, Err *reterr)
{
    return err_set(reterr, code < 0 ? -code : code, "bad JSON: %s at byte %zu",
                   scan->why ? scan->why : "unexpected data", jscan_offset(scan));
}

static int bad(JScan *scan, const char *at, const char *why)
{
    scan->at = at;
    scan->why = at >= scan->end ? "unexpected end" : why;
    return -EINVAL;
}

/*
 * Sets the high bit of each byte that ends a run of plain string bytes: quote, backslash, control,
 * not ASCII. Borrows make bits after the first one unreliable, so only the lowest may be used.
 */
static inline uint64_t special_bytes(uint64_t w)
{
    uint64_t quote = w ^ (SWAR_ONES * '"');
    uint64_t slash = w ^ (SWAR_ONES * '\\');
    uint64_t found = ((quote - SWAR_ONES) & ~quote) | ((slash - SWAR_ONES) & ~slash) |
                     ((w - SWAR_ONES * 0x20) & ~w) | w;

    return found & SWAR_HIGHS;
}

/* First byte at or after p that is not plain, or end. */
static inline const char *skip_plain(const char *p, const char *end)
{
    while (end - p >= 8) {
        uint64_t w;
        memcpy(&w, p, 8);
        uint64_t found = special_bytes(le64toh(w));
        if (found) {
            return p + (__builtin_ctzll(found) >> 3);
        }
        p += 8;
    }
    for (; p < end; p++) {
        unsigned char c = (unsigned char)*p;
        if (c == '"' || c == '\\' || c < 0x20 || c >= 0x80) {
            break;
        }
    }
    return p;
}

static int hex_digit(char c)
{
    if (c >= '0' && c <= '9') {
        return c - '0';
    }
    char lower = (char)(c | 0x20);
    return lower >= 'a' && lower <= 'f' ? lower - 'a' + 10 : -1;
}

/* The four hex digits at p, or -1. */
static int hex4(const char *p, const char *end)
{
    int v = 0;

    if (end - p < 4) {
        return -1;
    }
    for (int i = 0; i < 4; i++) {
        int d = hex_digit(p[i]);
        if (d < 0) {
            return -1;
        }
        v = v << 4 | d;
    }
    return v;
}

/* Length of the valid escape at p (a backslash), 0 when it is not one. */
static unsigned escape_len(const char *p, const char *end)
{
    static const char SHORT[] = {'"', '\\', '/', 'b', 'f', 'n', 'r', 't'};

    if (end - p < 2) {
        return 0;
    }
    if (p[1] != 'u') {
        return memchr(SHORT, p[1], sizeof(SHORT)) ? 2 : 0;
    }
    int unit = hex4(p + 2, end);
    if (unit < 0 || (unit >= 0xdc00 && unit <= 0xdfff)) {
        return 0;
    }
    if (unit < 0xd800 || unit > 0xdbff) {
        return 6;
    }
    if (end - p < 12 || p[6] != '\\' || p[7] != 'u') {
        return 0;
    }
    int low = hex4(p + 8, end);
    return low >= 0xdc00 && low <= 0xdfff ? 12 : 0;
}

/* scan->at is at the opening quote; leaves it after the closing one. */
static inline int scan_string(JScan *scan, JToken *ret)
{
    const char *from = scan->at + 1;
    const char *p = from;
    bool escaped = false;

    for (;;) {
        p = skip_plain(p, scan->end);
        if (p == scan->end) {
            return bad(scan, p, "");
        }
        unsigned char c = (unsigned char)*p;
        if (c == '"') {
            break;
        }
        unsigned n = 0;
        if (c == '\\') {
            n = escape_len(p, scan->end);
            escaped = true;
        } else if (c >= 0x80) {
            n = utf8_sequence_len(p, scan->end);
        }
        if (n == 0) {
            return bad(scan, p,
                       c < 0x20    ? "control character in string"
                       : c == '\\' ? "bad escape"
                                   : "string is not UTF-8");
        }
        p += n;
    }
    ret->text = (Str){from, (size_t)(p - from)};
    ret->escaped = escaped;
    scan->at = p + 1;
    return 0;
}

static const char *skip_digits(const char *p, const char *end)
{
    while (p < end && *p >= '0' && *p <= '9') {
        p++;
    }
    return p;
}

static int scan_number(JScan *scan, JToken *ret)
{
    const char *from = scan->at, *end = scan->end;
    const char *p = from + (*from == '-');
    const char *q = skip_digits(p, end);

    if (q == p || (*p == '0' && q - p > 1)) {
        return bad(scan, q == p ? p : p + 1, "bad number");
    }
    ret->kind = JTOK_INT;
    if (q < end && *q == '.') {
        p = q + 1;
        q = skip_digits(p, end);
        if (q == p) {
            return bad(scan, q, "bad number");
        }
        ret->kind = JTOK_REAL;
    }
    if (q < end && (*q == 'e' || *q == 'E')) {
        p = q + 1;
        if (p < end && (*p == '+' || *p == '-')) {
            p++;
        }
        q = skip_digits(p, end);
        if (q == p) {
            return bad(scan, q, "bad number");
        }
        ret->kind = JTOK_REAL;
    }
    ret->text = (Str){from, (size_t)(q - from)};
    scan->at = q;
    return 0;
}

static int scan_literal(JScan *scan, JToken *ret)
{
    static const struct {
        Str text;
        JTokKind kind;
    } LITERALS[] = {
        {{"true", 4}, JTOK_TRUE},
        {{"false", 5}, JTOK_FALSE},
        {{"null", 4}, JTOK_NULL},
    };
    Str rest = {scan->at, (size_t)(scan->end - scan->at)};

    for (size_t i = 0; i < ARRAY_LEN(LITERALS); i++) {
        if (rest.len >= LITERALS[i].text.len &&
            memcmp(rest.ptr, LITERALS[i].text.ptr, LITERALS[i].text.len) == 0) {
            ret->kind = LITERALS[i].kind;
            ret->text = str_take(rest, LITERALS[i].text.len);
            scan->at += LITERALS[i].text.len;
            return 0;
        }
    }
    return bad(scan, scan->at, "not a value");
}

static inline const char *skip_space(const char *p, const char *end)
{
    while (p < end && (*p == ' ' || *p == '\n' || *p == '\t' || *p == '\r')) {
        p++;
    }
    return p;
}

static inline bool in_object(const JScan *scan)
{
    return scan->depth > 0 && (scan->objects >> (scan->depth - 1) & 1) != 0;
}

static int open_container(JScan *scan, bool object, JToken *ret)
{
    if (scan->depth == scan->depth_max) {
        scan->why = "nested too deeply";
        return -E2BIG;
    }
    uint64_t bit = 1ull << scan->depth;
    scan->objects = object ? scan->objects | bit : scan->objects & ~bit;
    scan->depth++;
    ret->kind = object ? JTOK_OBJECT : JTOK_ARRAY;
    ret->text = (Str){scan->at, 1};
    scan->at++;
    scan->state = object ? STATE_OBJECT_NEW : STATE_ARRAY_NEW;
    return 0;
}

static int close_container(JScan *scan, JToken *ret)
{
    ret->kind = in_object(scan) ? JTOK_OBJECT_END : JTOK_ARRAY_END;
    ret->text = (Str){scan->at, 1};
    scan->at++;
    scan->depth--;
    scan->state = scan->depth ? STATE_NEXT : STATE_DONE;
    return 0;
}

static inline int scan_value(JScan *scan, JToken *ret)
{
    int r;
    char c = *scan->at;

    if (c == '"') {
        ret->kind = JTOK_STRING;
        r = scan_string(scan, ret);
    } else if (c == '{' || c == '[') {
        return open_container(scan, c == '{', ret);
    } else if (c == '-' || (c >= '0' && c <= '9')) {
        r = scan_number(scan, ret);
    } else {
        r = scan_literal(scan, ret);
    }
    if (r == 0) {
        scan->state = scan->depth ? STATE_NEXT : STATE_DONE;
    }
    return r;
}

static inline int scan_key(JScan *scan, JToken *ret)
{
    if (*scan->at != '"') {
        return bad(scan, scan->at, "a key is due");
    }
    ret->kind = JTOK_KEY;
    int r = scan_string(scan, ret);
    if (r < 0) {
        return r;
    }
    const char *p = skip_space(scan->at, scan->end);
    if (p == scan->end || *p != ':') {
        return bad(scan, p, "a colon is due");
    }
    scan->at = p + 1;
    scan->state = STATE_VALUE;
    return 0;
}

int jscan_next(JScan *scan, JToken *ret)
{
    scan->at = skip_space(scan->at, scan->end);
    ret->escaped = false;
    if (scan->at == scan->end) {
        if (scan->state != STATE_DONE) {
            return bad(scan, scan->at, "");
        }
        *ret = (JToken){.kind = JTOK_END, .text = {scan->at, 0}};
        return 0;
    }
    if (scan->state == STATE_NEXT) {
        char c = *scan->at;
        bool object = in_object(scan);
        if (c == (object ? '}' : ']')) {
            return close_container(scan, ret);
        }
        if (c != ',') {
            return bad(scan, scan->at, "a comma or the end of the container is due");
        }
        scan->at = skip_space(scan->at + 1, scan->end);
        scan->state = object ? STATE_KEY : STATE_VALUE;
        if (scan->at == scan->end) {
            return bad(scan, scan->at, "");
        }
    }
    switch (scan->state) {
    case STATE_ARRAY_NEW:
        return *scan->at == ']' ? close_container(scan, ret) : scan_value(scan, ret);
    case STATE_VALUE:
        return scan_value(scan, ret);
    case STATE_OBJECT_NEW:
        return *scan->at == '}' ? close_container(scan, ret) : scan_key(scan, ret);
    case STATE_KEY:
        return scan_key(scan, ret);
    default:
        return bad(scan, scan->at, "data after the value");
    }
}

int jscan_skip(JScan *scan, Str *ret_raw)
{
    unsigned depth = scan->depth;
    JToken token = {.kind = JTOK_END};
    int r = jscan_next(scan, &token);

    if (r < 0) {
        return r;
    }
    CHECK(token.kind != JTOK_KEY && token.kind != JTOK_OBJECT_END && token.kind != JTOK_END);
    if (token.kind == JTOK_ARRAY_END) {
        return 1;
    }
    const char *from = token.text.ptr - (token.kind == JTOK_STRING);
    while (scan->depth > depth) {
        r = jscan_next(scan, &token);
        if (r < 0) {
            return r;
        }
    }
    if (ret_raw) {
        *ret_raw = (Str){from, (size_t)(scan->at - from)};
    }
    return 0;
}

static char *utf8_put(char *dst, unsigned c)
{
    if (c < 0x80) {
        *dst++ = (char)c;
    } else if (c < 0x800) {
        *dst++ = (char)(0xc0 | c >> 6);
        *dst++ = (char)(0x80 | (c & 0x3f));
    } else if (c < 0x10000) {
        *dst++ = (char)(0xe0 | c >> 12);
        *dst++ = (char)(0x80 | (c >> 6 & 0x3f));
        *dst++ = (char)(0x80 | (c & 0x3f));
    } else {
        *dst++ = (char)(0xf0 | c >> 18);
        *dst++ = (char)(0x80 | (c >> 12 & 0x3f));
        *dst++ = (char)(0x80 | (c >> 6 & 0x3f));
        *dst++ = (char)(0x80 | (c & 0x3f));
    }
    return dst;
}

/* Decodes the escape at p (validated before); returns what follows it. */
static const char *unescape_one(const char *p, const char *end, char **dst)
{
    static const char NAMES[] = {'b', 'f', 'n', 'r', 't'};
    static const char VALUES[] = {'\b', '\f', '\n', '\r', '\t'};

    if (p[1] != 'u') {
        const char *named = memchr(NAMES, p[1], sizeof(NAMES));
        *(*dst)++ = named ? VALUES[named - NAMES] : p[1];
        return p + 2;
    }
    int unit = hex4(p + 2, end);
    CHECK(unit >= 0);
    if (unit < 0xd800 || unit > 0xdbff) {
        *dst = utf8_put(*dst, (unsigned)unit);
        return p + 6;
    }
    int low = hex4(p + 8, end);
    CHECK(low >= 0);
    *dst = utf8_put(*dst, 0x10000 + (((unsigned)unit & 0x3ff) << 10 | ((unsigned)low & 0x3ff)));
    return p + 12;
}

size_t jscan_unescape(Str text, char *dst)
{
    const char *p = text.ptr, *end = text.ptr + text.len;
    char *to = dst;

    while (p < end) {
        const char *slash = memchr(p, '\\', (size_t)(end - p));
        size_t run = (size_t)((slash ? slash : end) - p);
        memcpy(to, p, run);
        to += run;
        p += run;
        if (slash) {
            p = unescape_one(p, end, &to);
        }
    }
    return (size_t)(to - dst);
}
