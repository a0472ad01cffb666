/* SPDX-License-Identifier: Apache-2.0 */
/* Body movement: each framing into each framing, input split at every position, output drained
 * late. */
#include <errno.h>

#include "router/body.h"
#include "test/harness/t.h"

static BufPool pool;

typedef struct Run {
    int r;
    StrBuf out;
} Run;

/* Feeds in[0,cut) and in[cut,end); drains the output after each step. */
static void run(HttpBody kind, uint64_t length, bool chunked, uint64_t max, Str in, size_t cut,
                bool eof, Run *ret)
{
    Body body;
    Buf from = {0}, to = {0};
    Str pieces[2] = {str_take(in, cut), str_drop(in, cut)};

    strbuf_init(&ret->out, 1 << 20);
    body_init(&body, kind, length, chunked, max);
    for (int i = 0; i < 2; i++) {
        T_OK(buf_append(&pool, &from, pieces[i]));
        do {
            ret->r = body_move(&body, &pool, &from, &to);
            strbuf_append(&ret->out, buf_str(&to));
            buf_release(&pool, &to);
        } while (ret->r == BODY_FULL);
        if (ret->r != BODY_MORE) {
            break;
        }
    }
    if (ret->r == BODY_MORE && eof) {
        ret->r = body_end(&body, &pool, STR(""), &to);
        strbuf_append(&ret->out, buf_str(&to));
    }
    buf_release(&pool, &to);
    buf_release(&pool, &from);
    T_EQ_INT(pool.in_use, 0);
}

static Str plain(Str text)
{
    return text;
}

/* Undoes the chunking that body_move writes, so that results compare whatever the pieces were. */
static Str unchunk(Str text, StrBuf *space)
{
    HttpChunkDecoder dec;
    Str data;
    int r;

    http_chunk_init(&dec);
    while ((r = http_chunk_next(&dec, &text, &data)) == HTTP_CHUNK_DATA) {
        strbuf_append(space, data);
    }
    if (r == HTTP_CHUNK_LAST) {
        strbuf_append(space, STR("|"));
        strbuf_append(space, text);
    }
    return strbuf_str(space);
}

static void check(const char *label, HttpBody kind, uint64_t length, bool chunked, uint64_t max,
                  Str in, bool eof, int want, Str out)
{
    t_row(label);
    for (size_t cut = 0; cut <= in.len; cut++) {
        AUTO(strbuf) StrBuf space = STRBUF_INIT(1 << 20);
        Run result;

        run(kind, length, chunked, max, in, cut, eof, &result);
        T_EQ_INT(result.r, want);
        if (want >= 0) {
            Str text = strbuf_str(&result.out);

            T_EQ_STR(chunked ? unchunk(text, &space) : plain(text), out);
        }
        strbuf_deinit(&result.out);
    }
    t_row(NULL);
}

T_TEST(every_framing_into_every_framing)
{
    Str chunks = STR("3\r\nabc\r\n2;x=y\r\nde\r\n0\r\nA: b\r\n\r\nREST");

    check("none", HTTP_BODY_NONE, 0, false, 0, STR("abc"), false, BODY_DONE, STR(""));
    check("length", HTTP_BODY_LENGTH, 3, false, 0, STR("abcd"), false, BODY_DONE, STR("abc"));
    check("length unfinished", HTTP_BODY_LENGTH, 9, false, 0, STR("abcd"), false, BODY_MORE,
          STR("abcd"));
    check("length to chunks", HTTP_BODY_LENGTH, 3, true, 0, STR("abcd"), false, BODY_DONE,
          STR("abc|\r\n"));
    check("chunks to plain", HTTP_BODY_CHUNKED, 0, false, 0, chunks, false, BODY_DONE,
          STR("abcde"));
    check("chunks to chunks", HTTP_BODY_CHUNKED, 0, true, 0, chunks, false, BODY_DONE,
          STR("abcde|A: b\r\n\r\n"));
    check("eof to plain", HTTP_BODY_EOF, 0, false, 0, STR("abc"), true, BODY_DONE, STR("abc"));
    check("eof to chunks", HTTP_BODY_EOF, 0, true, 0, STR("abc"), true, BODY_DONE, STR("abc|\r\n"));
}

T_TEST(truncation_is_an_error)
{
    check("length", HTTP_BODY_LENGTH, 9, false, 0, STR("abcd"), true, -EPIPE, STR(""));
    check("in a chunk", HTTP_BODY_CHUNKED, 0, true, 0, STR("5\r\nab"), true, -EPIPE, STR(""));
    check("between chunks", HTTP_BODY_CHUNKED, 0, true, 0, STR("1\r\na\r\n"), true, -EPIPE,
          STR(""));
    check("in trailers", HTTP_BODY_CHUNKED, 0, true, 0, STR("0\r\nA: b\r\n"), true, -EPIPE,
          STR(""));
}

T_TEST(malformed_chunks_and_trailers)
{
    check("size", HTTP_BODY_CHUNKED, 0, true, 0, STR("x\r\n"), false, -EBADMSG, STR(""));
    check("end of data", HTTP_BODY_CHUNKED, 0, true, 0, STR("1\r\nab"), false, -EBADMSG, STR(""));
    check("framing trailer", HTTP_BODY_CHUNKED, 0, true, 0, STR("0\r\nHost: a\r\n\r\n"), false,
          -EBADMSG, STR(""));
}

T_TEST(a_limit_counts_decoded_bytes)
{
    check("length", HTTP_BODY_LENGTH, 5, false, 4, STR("abcde"), false, -EFBIG, STR(""));
    check("chunks", HTTP_BODY_CHUNKED, 0, true, 4, STR("3\r\nabc\r\n2\r\nde\r\n0\r\n\r\n"), false,
          -EFBIG, STR(""));
    check("exactly", HTTP_BODY_CHUNKED, 0, true, 5, STR("3\r\nabc\r\n2\r\nde\r\n0\r\n\r\n"), false,
          BODY_DONE, STR("abcde|\r\n"));
}

T_TEST(routing_and_hop_fields_are_no_trailers)
{
    check("dropped", HTTP_BODY_CHUNKED, 0, true, 0,
          STR("0\r\nX-Sandbox-UID: u\r\nConnection: x\r\nB: c\r\n\r\n"), false, BODY_DONE,
          STR("|B: c\r\n\r\n"));
}

T_TEST(endless_trailers_are_refused)
{
    AUTO(strbuf) StrBuf text = STRBUF_INIT(1 << 20);
    Body body;
    Buf from = {0}, to = {0};
    int r;

    strbuf_append_cstr(&text, "0\r\nA: ");
    while (text.len < BODY_TRAILERS_MAX + 10) {
        strbuf_append_char(&text, 'x');
    }
    body_init(&body, HTTP_BODY_CHUNKED, 0, true, 0);
    T_OK(buf_append(&pool, &from, strbuf_str(&text)));
    r = body_move(&body, &pool, &from, &to);
    T_EQ_INT(r, -E2BIG);
    buf_release(&pool, &from);
    buf_release(&pool, &to);
}

T_TEST(a_full_output_holds_the_input_back)
{
    AUTO(strbuf) StrBuf text = STRBUF_INIT(1 << 20);
    Body body;
    Buf from = {0}, to = {0};

    while (text.len < 4 * BUF_SIZE) {
        strbuf_append_char(&text, 'x');
    }
    body_init(&body, HTTP_BODY_LENGTH, text.len, true, 0);
    T_OK(buf_append(&pool, &from, strbuf_str(&text)));
    T_EQ_INT(body_move(&body, &pool, &from, &to), BODY_FULL);
    T_CHECK(buf_len(&to) <= BUF_SIZE);
    T_CHECK(buf_len(&from) > 2 * BUF_SIZE);
    body.discard = true;
    T_EQ_INT(body_move(&body, &pool, &from, &to), BODY_DONE);
    T_CHECK(buf_len(&to) <= BUF_SIZE);
    T_EQ_INT(buf_len(&from), 0);
    buf_release(&pool, &from);
    buf_release(&pool, &to);
    T_EQ_INT(pool.in_use, 0);
    buf_pool_deinit(&pool);
}

T_TEST(buffers_grow_for_heads_up_to_their_maximum)
{
    Buf buf = {0};

    T_OK(buf_append(&pool, &buf, STR("head")));
    T_OK(buf_reserve(&pool, &buf, 70000));
    T_EQ_STR(buf_str(&buf), "head");
    buf_consume(&buf, 2);
    T_OK(buf_reserve(&pool, &buf, 100000));
    T_EQ_STR(buf_str(&buf), "ad");
    T_EQ_INT(buf_reserve(&pool, &buf, BUF_MAX), -E2BIG);
    buf_truncate(&buf, 1);
    T_EQ_STR(buf_str(&buf), "a");
    buf_consume(&buf, 1);
    buf_trim(&pool, &buf);
    T_CHECK(buf.ptr == NULL);
    T_EQ_INT(pool.in_use, 0);
    buf_pool_deinit(&pool);
}

static int keep_trailers(void *ctx, const HttpHead *trailers)
{
    StrBuf *kept = ctx;

    for (size_t i = 0; i < trailers->n_headers; i++) {
        strbuf_append(kept, trailers->headers[i].name);
        strbuf_append(kept, STR("="));
        strbuf_append(kept, trailers->headers[i].value);
    }
    return 0;
}

T_TEST(trailers_of_a_chunked_body_that_leaves_plain_are_handed_over)
{
    Body body;
    Buf from = {0}, to = {0};
    StrBuf kept = STRBUF_INIT(100);

    body_init(&body, HTTP_BODY_CHUNKED, 0, false, 0);
    body.on_trailers = keep_trailers;
    body.ctx = &kept;
    T_OK(buf_append(&pool, &from, STR("3\r\nabc\r\n0\r\nA: 1\r\n\r\n")));
    T_EQ_INT(body_move(&body, &pool, &from, &to), BODY_DONE);
    T_EQ_STR(buf_str(&to), "abc");
    T_EQ_STR(strbuf_str(&kept), "A=1");
    buf_release(&pool, &from);
    buf_release(&pool, &to);
    strbuf_deinit(&kept);
}

T_TEST(trailers_that_came_apart_end_a_body)
{
    static const struct {
        const char *trailers;
        int want;
        const char *out;
    } rows[] = {
        {"", BODY_DONE, "0\r\n\r\n"},
        {"a: 1\r\n\r\n", BODY_DONE, "0\r\na: 1\r\n\r\n"},
        {"content-length: 1\r\n\r\n", -EBADMSG, ""},
        {"a: 1\r\n\r\nrest", -EBADMSG, ""},
    };

    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        Body body;
        Buf to = {0};

        t_row(rows[i].trailers);
        body_init(&body, HTTP_BODY_EOF, 0, true, 0);
        T_EQ_INT(body_end(&body, &pool, str_from(rows[i].trailers), &to), rows[i].want);
        T_EQ_STR(buf_str(&to), rows[i].out);
        buf_release(&pool, &to);
    }
}
