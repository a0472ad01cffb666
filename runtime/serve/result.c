/* SPDX-License-Identifier: Apache-2.0 */
#include "runtime/serve/result.h"

#include <inttypes.h>
#include <stdio.h>

#include "base/check.h"

static const char *const NAMES[] = {"stdout", "stderr"};

void result_json_init(ResultJson *r)
{
    *r = (ResultJson){0};
    capture_init(&r->streams[0], CAPTURE_MAX_LEAST, NULL);
    capture_init(&r->streams[1], CAPTURE_MAX_LEAST, NULL);
    strbuf_init(&r->note, RESULT_NOTE_MAX);
    strbuf_init(&r->members, 1024);
}

void result_json_deinit(ResultJson *r)
{
    capture_deinit(&r->streams[0]);
    capture_deinit(&r->streams[1]);
    strbuf_deinit(&r->note);
    strbuf_deinit(&r->members);
}

size_t result_json_size(const ResultJson *r)
{
    return r->streams[0].len + r->streams[1].len + r->note.len;
}

static void add(ResultJson *r, ResultKind kind, int stream, Str data)
{
    CHECK(r->n < RESULT_SEGMENTS_MAX);
    if (data.len > 0) {
        r->segments[r->n++] = (ResultSegment){kind, stream, data};
    }
}

static void add_stream(ResultJson *r, int i)
{
    Str head, tail;

    capture_content(&r->streams[i], &head, &tail);
    if (!capture_is_truncated(&r->streams[i])) {
        add(r, RESULT_TEXT, i, head);
        return;
    }
    /* Either half may have been cut inside of a character: its rest is left out. */
    snprintf(r->marker[i], sizeof(r->marker[i]), "\n[%" PRIu64 " bytes of output left out]\n",
             r->streams[i].total - r->streams[i].len);
    add(r, RESULT_TEXT, i, encode_trim_end(head));
    add(r, RESULT_TEXT, i, str_from(r->marker[i]));
    add(r, RESULT_TEXT, i, encode_trim_start(tail));
}

static void add_base64(ResultJson *r, int i)
{
    static const Str OPEN[] = {STR(",\"stdout_base64\":\""), STR(",\"stderr_base64\":\"")};
    Str head, tail;

    capture_content(&r->streams[i], &head, &tail);
    add(r, RESULT_BASE64_RAW, i, OPEN[i]);
    add(r, RESULT_BASE64, i, head);
    add(r, RESULT_BASE64, i, tail);
    add(r, RESULT_BASE64_RAW, i, STR("\""));
}

static void put_members(ResultJson *r)
{
    strbuf_printf(&r->members, "\",\"exit_code\":%" PRId64 ",\"timed_out\":%s", r->exit_code,
                  r->timed_out ? "true" : "false");
    for (int i = 0; i < 2; i++) {
        bool truncated = capture_is_truncated(&r->streams[i]);

        strbuf_printf(&r->members, ",\"%s_truncated\":%s", NAMES[i], truncated ? "true" : "false");
        if (truncated) {
            strbuf_printf(&r->members, ",\"%s_bytes\":%" PRIu64, NAMES[i], r->streams[i].total);
        }
    }
    strbuf_printf(&r->members, ",\"duration_ms\":%" PRIu64, r->duration_ms);
}

void result_json_ready(ResultJson *r)
{
    const Capture *err = &r->streams[1];
    bool newline = err->len == 0 || err->mem[err->len - 1] == '\n';

    put_members(r);
    add(r, RESULT_RAW, 0, STR("{\"stdout\":\""));
    add_stream(r, 0);
    add(r, RESULT_RAW, 0, STR("\",\"stderr\":\""));
    add_stream(r, 1);
    if (r->note.len > 0) {
        add(r, RESULT_TEXT, 1, newline ? STR("") : STR("\n"));
        add(r, RESULT_TEXT, 1, strbuf_str(&r->note));
    }
    add(r, RESULT_RAW, 0, strbuf_str(&r->members));
    add_base64(r, 0);
    add_base64(r, 1);
    add(r, RESULT_RAW, 0, STR("}"));
}

/* Writes at most RESULT_PIECE bytes of the segment and returns how many. */
static size_t write_segment(ResultJson *r, const ResultSegment *segment, StrBuf *out)
{
    size_t n = segment->data.len;

    switch (segment->kind) {
    case RESULT_RAW:
        strbuf_append(out, segment->data);
        break;
    case RESULT_TEXT:
        n = encode_text_cut(segment->data, RESULT_PIECE);
        encode_text(out, str_take(segment->data, n), &r->invalid[segment->stream]);
        break;
    case RESULT_BASE64_RAW:
        if (r->invalid[segment->stream]) {
            base64_finish(&r->base64, out);
            strbuf_append(out, segment->data);
        }
        break;
    case RESULT_BASE64:
        if (r->invalid[segment->stream]) {
            n = n < RESULT_PIECE ? n : RESULT_PIECE;
            base64_append(&r->base64, out, str_take(segment->data, n));
        }
        break;
    }
    return n;
}

bool result_json_next(ResultJson *r, StrBuf *out)
{
    size_t begin = out->len;

    /* Small segments share a piece. */
    while (r->at < r->n && out->len - begin < RESULT_PIECE) {
        ResultSegment *segment = &r->segments[r->at];

        segment->data = str_drop(segment->data, write_segment(r, segment, out));
        if (segment->data.len == 0) {
            r->at++;
        }
    }
    return r->at < r->n;
}
