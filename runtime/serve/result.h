/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * The reply to /execute, made piece by piece: two streams of 4 MiB can become 50 MB of JSON, and
 * none of it is held.
 *
 * Bytes that are not UTF-8 become U+FFFD in `stdout` and `stderr`; the member `stdout_base64` then
 * carries the kept bytes whole. Where the middle of a stream was dropped the text has a line that
 * says how much, and base64 has the two halves joined.
 */
#include <stdbool.h>
#include <stdint.h>

#include "base/attr.h"
#include "base/str.h"
#include "runtime/exec/capture.h"
#include "runtime/serve/encode.h"

#define RESULT_PIECE (24 * 1024) /* source bytes of one piece; a multiple of 3 */
#define RESULT_NOTE_MAX (1024 * 1024)
#define RESULT_SEGMENTS_MAX 24

typedef enum ResultKind {
    RESULT_RAW,
    RESULT_TEXT,
    RESULT_BASE64_RAW, /* as RAW, but only when the stream was not UTF-8 */
    RESULT_BASE64,
} ResultKind;

typedef struct ResultSegment {
    ResultKind kind;
    int stream;
    Str data;
} ResultSegment;

typedef struct ResultJson {
    Capture streams[2]; /* stdout, stderr */
    StrBuf note;        /* added to stderr: why the command did not run or was killed */
    int64_t exit_code;
    bool timed_out;
    uint64_t duration_ms;
    /* below: private */
    bool invalid[2]; /* found while the text was written */
    char marker[2][64];
    StrBuf members;
    Base64 base64;
    size_t at;
    size_t n;
    ResultSegment segments[RESULT_SEGMENTS_MAX];
} ResultJson;

/* Both streams empty. The caller may then replace them and set note, exit_code, ... */
void result_json_init(ResultJson *r);
void result_json_deinit(ResultJson *r);
/* Must precede the first result_json_next; nothing may be changed afterwards. */
void result_json_ready(ResultJson *r);
/* Appends the next piece to `out`; false when that was the last one. */
bool result_json_next(ResultJson *r, StrBuf *out);
/* Source bytes, to tell small results from large ones. */
size_t result_json_size(const ResultJson *r);

DEFINE_AUTO(result_json, ResultJson, result_json_deinit)
