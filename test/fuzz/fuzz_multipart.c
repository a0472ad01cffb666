/* SPDX-License-Identifier: Apache-2.0 */
/*
 * multipart/form-data: how the bytes are split changes nothing, and no more data comes out than
 * went in. The first byte says where to cut, the second how long the boundary is; boundary and body
 * follow.
 */
#include "runtime/serve/multipart.h"
#include "test/fuzz/fuzz.h"

typedef struct Seen {
    StrBuf text;
    size_t data;
    bool inside;
} Seen;

static void on_part(void *ctx, const MultipartPart *part)
{
    Seen *seen = ctx;

    CHECK(!seen->inside);
    seen->inside = true;
    strbuf_append_cstr(&seen->text, "\n[");
    strbuf_append(&seen->text, part->name.ptr ? part->name : STR("-"));
    strbuf_append_char(&seen->text, '|');
    strbuf_append(&seen->text, part->filename.ptr ? part->filename : STR("-"));
    strbuf_append_char(&seen->text, '|');
}

static void on_data(void *ctx, Str bytes)
{
    Seen *seen = ctx;

    CHECK(seen->inside && bytes.len > 0);
    seen->data += bytes.len;
    strbuf_append(&seen->text, bytes);
}

static void on_part_end(void *ctx)
{
    Seen *seen = ctx;

    CHECK(seen->inside);
    seen->inside = false;
    strbuf_append_char(&seen->text, ']');
}

static int run(Str boundary, Str body, size_t step, Seen *seen)
{
    static const MultipartOps OPS = {on_part, on_data, on_part_end};
    Multipart *m = multipart_new(boundary, &OPS, seen);
    int r;

    while (body.len > 0) {
        multipart_feed(m, str_take(body, step));
        body = str_drop(body, step);
    }
    r = multipart_finish(m);
    multipart_free(m);
    return r;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    Str input = fuzz_str(data, size);
    Seen whole = {.data = 0}, cut = {.data = 0};
    char type[300] = "multipart/form-data; boundary=";
    size_t step, length, at = strlen(type);

    if (size < 3) {
        return 0;
    }
    step = 1 + data[0] % 32;
    length = 1 + data[1] % 16;
    input = str_drop(input, 2);
    memcpy(type + at, input.ptr, length < input.len ? length : input.len);
    at += length < input.len ? length : input.len;
    input = str_drop(input, length);
    Str boundary = multipart_boundary((Str){type, at});

    if (!boundary.ptr) {
        return 0;
    }
    strbuf_init(&whole.text, 8 * FUZZ_INPUT_MAX);
    strbuf_init(&cut.text, 8 * FUZZ_INPUT_MAX);
    CHECK(run(boundary, input, SIZE_MAX, &whole) == run(boundary, input, step, &cut));
    CHECK(str_eq(strbuf_str(&whole.text), strbuf_str(&cut.text)));
    CHECK(whole.data <= input.len);
    strbuf_deinit(&whole.text);
    strbuf_deinit(&cut.text);
    return 0;
}
