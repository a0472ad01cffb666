/* SPDX-License-Identifier: Apache-2.0 */
/* The chunk decoder: every input split at each pair of positions gives the same body and end. */
#include <errno.h>

#include "http/chunk.h"
#include "test/harness/t.h"

typedef struct Outcome {
    int r; /* HTTP_CHUNK_MORE, HTTP_CHUNK_LAST or -errno */
    size_t rest;
    StrBuf body;
} Outcome;

static void feed(HttpChunkDecoder *dec, Str in, Outcome *outcome)
{
    Str data;

    while ((outcome->r = http_chunk_next(dec, &in, &data)) == HTTP_CHUNK_DATA) {
        strbuf_append(&outcome->body, data);
    }
    outcome->rest = in.len;
}

/* Feeds [0,a), [a,b), [b,end) and compares with what is expected. */
static void check_split(Str in, size_t a, size_t b, int want, const char *body, size_t rest)
{
    HttpChunkDecoder dec;
    Outcome outcome = {.body = STRBUF_INIT(4096)};
    Str pieces[3] = {str_take(in, a), str_take(str_drop(in, a), b - a), str_drop(in, b)};
    size_t after = 0;

    http_chunk_init(&dec);
    for (int i = 0; i < 3; i++) {
        if (i > 0 && outcome.r != HTTP_CHUNK_MORE) {
            after += pieces[i].len;
            continue;
        }
        feed(&dec, pieces[i], &outcome);
    }
    T_EQ_INT(outcome.r, want);
    T_EQ_STR(strbuf_str(&outcome.body), body);
    if (want == HTTP_CHUNK_LAST) {
        T_EQ_INT(outcome.rest + after, rest);
        T_EQ_INT(dec.total, strlen(body));
    }
    strbuf_deinit(&outcome.body);
}

static void check_all_splits(const char *label, Str in, int want, const char *body, size_t rest)
{
    t_row(label);
    for (size_t a = 0; a <= in.len; a++) {
        for (size_t b = a; b <= in.len; b++) {
            check_split(in, a, b, want, body, rest);
        }
    }
    t_row(NULL);
}

T_TEST(good_chunks)
{
    check_all_splits("empty", STR("0\r\n\r\n"), HTTP_CHUNK_LAST, "", 2);
    check_all_splits("one", STR("3\r\nabc\r\n0\r\n\r\n"), HTTP_CHUNK_LAST, "abc", 2);
    check_all_splits("hex", STR("A\r\n0123456789\r\n00b\r\n0123456789a\r\n000\r\nX: y\r\n\r\n"),
                     HTTP_CHUNK_LAST, "01234567890123456789a", 8);
    check_all_splits("extension", STR("2;a=\"b\"\r\nhi\r\n0;x\r\n\r\n"), HTTP_CHUNK_LAST, "hi", 2);
    check_all_splits("CRLF in data", STR("4\r\n\r\n\r\n\r\n0\r\n"), HTTP_CHUNK_LAST, "\r\n\r\n", 0);
    check_all_splits("unfinished", STR("5\r\nab"), HTTP_CHUNK_MORE, "ab", 0);
}

T_TEST(bad_chunks)
{
    check_all_splits("no size", STR("\r\nabc"), -EBADMSG, "", 0);
    check_all_splits("not hex", STR("g\r\n"), -EBADMSG, "", 0);
    check_all_splits("0x", STR("0x3\r\nabc"), -EBADMSG, "", 0);
    check_all_splits("sign", STR("+3\r\nabc"), -EBADMSG, "", 0);
    check_all_splits("minus", STR("-1\r\nabc"), -EBADMSG, "", 0);
    check_all_splits("space before", STR(" 3\r\nabc"), -EBADMSG, "", 0);
    check_all_splits("space after", STR("3 \r\nabc"), -EBADMSG, "", 0);
    check_all_splits("bare LF", STR("3\nabc"), -EBADMSG, "", 0);
    check_all_splits("bare CR", STR("3\rabc"), -EBADMSG, "", 0);
    check_all_splits("LF in extension", STR("3;a\nabc"), -EBADMSG, "", 0);
    check_all_splits("NUL in extension", STR("3;\0\r\nabc"), -EBADMSG, "", 0);
    check_all_splits("data too long", STR("3\r\nabcd\r\n"), -EBADMSG, "abc", 0);
    check_all_splits("bare LF after data", STR("3\r\nabc\n0\r\n"), -EBADMSG, "abc", 0);
    check_all_splits("17 digits", STR("00000000000000001\r\na"), -E2BIG, "", 0);
    check_all_splits("above INT64_MAX", STR("8000000000000000\r\na"), -E2BIG, "", 0);
}

T_TEST(an_endless_extension_is_refused)
{
    HttpChunkDecoder dec;
    Str data;
    int r = 0;

    http_chunk_init(&dec);
    for (int i = 0; i < 3 + HTTP_CHUNK_EXT_MAX && r == 0; i++) {
        Str in = {i == 0 ? "3" : i == 1 ? ";" : "x", 1};

        r = http_chunk_next(&dec, &in, &data);
    }
    T_EQ_INT(r, -E2BIG);
}

T_TEST(the_largest_size_is_taken)
{
    HttpChunkDecoder dec;
    Str in = STR("7fffffffffffffff\r\nab");
    Str data;

    http_chunk_init(&dec);
    T_EQ_INT(http_chunk_next(&dec, &in, &data), HTTP_CHUNK_DATA);
    T_EQ_STR(data, "ab");
    T_EQ_INT(dec.left, INT64_MAX - 2);
}

T_TEST(chunk_heads)
{
    char head[HTTP_CHUNK_HEAD_MAX];

    T_EQ_STR(((Str){head, http_chunk_head(1, head)}), "1\r\n");
    T_EQ_STR(((Str){head, http_chunk_head(0x4000, head)}), "4000\r\n");
    T_EQ_STR(((Str){head, http_chunk_head(UINT64_MAX, head)}), "ffffffffffffffff\r\n");
}
