/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The reply to /execute: any output becomes valid JSON; text comes back byte for byte, and bytes
 * that are no text come with base64. The first byte is the size of what is kept (times 16), the
 * second says how the stream arrives.
 */
#include "runtime/serve/result.h"
#include "test/fuzz/fuzz.h"
#include "json/doc.h"

#define OUT_MAX (16 * FUZZ_INPUT_MAX)

static void check_text(JNode root, Str stream, bool truncated)
{
    Str text = jnode_str(jnode_get(root, STR("stdout")));
    Str bytes = jnode_str(jnode_get(root, STR("stdout_base64")));

    CHECK(text.ptr != NULL);
    CHECK(jnode_bool(jnode_get(root, STR("stdout_truncated")), !truncated) == truncated);
    if (!truncated && str_is_utf8(stream)) {
        CHECK(str_eq(text, stream));
        CHECK(bytes.ptr == NULL);
    } else if (!truncated) {
        CHECK(bytes.len == (stream.len + 2) / 3 * 4);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    AUTO(result_json) ResultJson result;
    AUTO(strbuf) StrBuf out = STRBUF_INIT(OUT_MAX);
    AUTO(jdoc) JDoc *doc = NULL;
    Str stream = fuzz_str(data, size);

    result_json_init(&result);
    if (size < 2) {
        return 0;
    }
    stream = str_drop(stream, 2);
    capture_deinit(&result.streams[0]);
    capture_init(&result.streams[0], CAPTURE_MAX_LEAST + 16 * (size_t)data[0], NULL);
    for (Str rest = stream; rest.len > 0; rest = str_drop(rest, 1 + data[1] % 64u)) {
        capture_append(&result.streams[0], str_take(rest, 1 + data[1] % 64u));
    }
    bool truncated = capture_is_truncated(&result.streams[0]);

    result_json_ready(&result);
    while (result_json_next(&result, &out)) {
    }
    CHECK(out.error == 0);
    CHECK(jdoc_parse(strbuf_str(&out), NULL, OUT_MAX, &doc, NULL) == 0);
    check_text(jdoc_root(doc), stream, truncated);
    return 0;
}
