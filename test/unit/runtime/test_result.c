/* SPDX-License-Identifier: Apache-2.0 */
/* The whole reply to /execute: valid JSON whatever the streams hold, in bounded pieces. */
#include "test/harness/t.h"
#include "runtime/serve/result.h"
#include "json/doc.h"

static void render(ResultJson *r, StrBuf *out)
{
    bool more = true;

    result_json_ready(r);
    while (more) {
        size_t before = out->len;

        more = result_json_next(r, out);
        T_CHECK(out->len - before <= 7 * RESULT_PIECE);
    }
    T_EQ_INT(out->error, 0);
}

T_TEST(result_of_a_plain_command)
{
    AUTO(strbuf) StrBuf out = STRBUF_INIT(4096);
    AUTO(result_json) ResultJson r;

    result_json_init(&r);
    capture_append(&r.streams[0], STR("hello\n"));
    r.exit_code = -9;
    r.duration_ms = 12;
    render(&r, &out);
    T_EQ_STR(strbuf_str(&out),
             "{\"stdout\":\"hello\\n\",\"stderr\":\"\",\"exit_code\":-9,\"timed_out\":false,"
             "\"stdout_truncated\":false,\"stderr_truncated\":false,\"duration_ms\":12}");
}

T_TEST(result_with_bytes_has_base64_of_that_stream_only)
{
    AUTO(strbuf) StrBuf out = STRBUF_INIT(4096);
    AUTO(result_json) ResultJson r;

    result_json_init(&r);
    capture_append(&r.streams[0], STR("ok"));
    capture_append(&r.streams[1], STR("\xff\xfe\0"));
    strbuf_append_cstr(&r.note, "why");
    render(&r, &out);
    T_CONTAINS(strbuf_str(&out), "\"stderr\":\"\xef\xbf\xbd\xef\xbf\xbd\\u0000\\nwhy\"");
    T_CONTAINS(strbuf_str(&out), ",\"stderr_base64\":\"//4A\"}");
    T_CHECK(!memmem(out.ptr, out.len, "stdout_base64", 13));
}

T_TEST(result_of_a_truncated_stream_is_marked_and_still_utf8)
{
    AUTO(strbuf) StrBuf out = STRBUF_INIT(4096);
    AUTO(result_json) ResultJson r;

    result_json_init(&r);
    /* 40 bytes of two-byte characters into 17: both cuts fall inside of one. */
    capture_deinit(&r.streams[0]);
    capture_init(&r.streams[0], 17, NULL);
    for (int i = 0; i < 20; i++) {
        capture_append(&r.streams[0], STR("\xc3\xbc"));
    }
    capture_append(&r.streams[0], STR("x"));
    render(&r, &out);
    T_CONTAINS(strbuf_str(&out), "\xc3\xbc\\n[24 bytes of output left out]\\n\xc3\xbc");
    T_CONTAINS(strbuf_str(&out), "\"stdout_truncated\":true,\"stdout_bytes\":41,");
    T_CHECK(!memmem(out.ptr, out.len, "base64", 6));
}

T_TEST(result_of_large_streams_comes_in_pieces_and_parses)
{
    AUTO(strbuf) StrBuf out = STRBUF_INIT(16 << 20);
    AUTO(result_json) ResultJson r;
    AUTO(jdoc) JDoc *doc = NULL;
    Err err = ERR_INIT;

    result_json_init(&r);
    capture_deinit(&r.streams[0]);
    capture_init(&r.streams[0], CAPTURE_MAX_DEFAULT, NULL);
    for (int i = 0; i < 100000; i++) {
        capture_append(&r.streams[0], STR("\x01"
                                          "\xf0\x9f\x98\x80"
                                          "abc"));
    }
    capture_append(&r.streams[0], STR("\xff"));
    render(&r, &out);
    T_EQ_INT(jdoc_parse(strbuf_str(&out), NULL, 32 << 20, &doc, &err), 0);
    T_EQ_INT(jnode_str(jnode_get(jdoc_root(doc), STR("stdout"))).len, 800003);
    T_EQ_INT(jnode_str(jnode_get(jdoc_root(doc), STR("stdout_base64"))).len, (800001 + 2) / 3 * 4);
}
