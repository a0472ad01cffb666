/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Bodies through the router: the first byte chooses framing in, framing out and where the input is
 * split. Split or whole, the same bytes come out and the same verdict; what leaves chunked can be
 * read back by the decoder and gives the bytes that went in.
 */
#include <errno.h>

#include "router/body.h"
#include "test/fuzz/fuzz.h"

#define OUT_MAX (8 * FUZZ_INPUT_MAX)

static int move(Body *body, BufPool *pool, Str piece, Buf *in, StrBuf *out)
{
    int r = BODY_MORE;

    do {
        Buf to = {0};
        Str part = str_take(piece, BUF_SIZE / 2);

        piece = str_drop(piece, part.len);
        CHECK(buf_append(pool, in, part) == 0);
        do {
            r = body_move(body, pool, in, &to);
            strbuf_append(out, buf_str(&to));
            CHECK(buf_len(&to) <= 2 * BUF_SIZE);
            buf_release(pool, &to);
        } while (r == BODY_FULL);
    } while (r == BODY_MORE && piece.len > 0);
    return r;
}

static int run(const Body *start, Str text, size_t cut, StrBuf *out)
{
    BufPool pool = {0};
    Buf in = {0};
    Body body = *start;
    int r = move(&body, &pool, str_take(text, cut), &in, out);

    if (r == BODY_MORE) {
        r = move(&body, &pool, str_drop(text, cut), &in, out);
    }
    buf_release(&pool, &in);
    CHECK(pool.in_use == 0);
    buf_pool_deinit(&pool);
    return r;
}

/* The payload of what left chunked; chunk boundaries may differ between two runs. */
static void payload(const Body *start, const StrBuf *out, StrBuf *ret)
{
    HttpChunkDecoder dec;
    Str text = strbuf_str(out);
    Str data;
    int r;

    if (!start->chunked) {
        strbuf_append(ret, text);
        return;
    }
    http_chunk_init(&dec);
    while ((r = http_chunk_next(&dec, &text, &data)) == HTTP_CHUNK_DATA) {
        strbuf_append(ret, data);
    }
    CHECK(r >= 0);
    if (r == HTTP_CHUNK_LAST) {
        strbuf_append(ret, text);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const HttpBody kinds[] = {HTTP_BODY_CHUNKED, HTTP_BODY_CHUNKED, HTTP_BODY_LENGTH,
                                     HTTP_BODY_EOF};
    AUTO(strbuf) StrBuf whole = STRBUF_INIT(OUT_MAX), split = STRBUF_INIT(OUT_MAX);
    AUTO(strbuf) StrBuf a = STRBUF_INIT(OUT_MAX), b = STRBUF_INIT(OUT_MAX);
    Str text = size > 0 ? fuzz_str(data + 1, size - 1) : STR("");
    unsigned choice = size > 0 ? data[0] : 0;
    Body start;
    int want;

    body_init(&start, kinds[choice % 4], text.len / 2 + 1, choice & 4, choice & 8 ? 1000 : 0);
    want = run(&start, text, text.len, &whole);
    CHECK(run(&start, text, choice * text.len / 256, &split) == want);
    if (want >= 0) {
        payload(&start, &whole, &a);
        payload(&start, &split, &b);
        CHECK(str_eq(strbuf_str(&a), strbuf_str(&b)));
    }
    return 0;
}
