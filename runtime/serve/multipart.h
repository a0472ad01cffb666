/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * multipart/form-data as a push parser: bytes go in as they arrive, in pieces of any size, and come
 * out as parts. Nothing but the fields of one part is ever held.
 *
 * Delimiters are exact (CRLF before them); the fields of a part may end with CRLF or LF, and need
 * no Content-Type. File names are raw bytes in a quoted string, where a backslash escapes only `"`
 * and itself. Preamble and epilogue are ignored.
 */
#include <stdbool.h>

#include "base/attr.h"
#include "base/str.h"

#define MULTIPART_BOUNDARY_MAX 200 /* RFC 2046 allows 70; some clients use more */
#define MULTIPART_FIELDS_MAX 16384 /* bytes of the fields of one part */
#define MULTIPART_PARTS_MAX 1000

typedef struct Multipart Multipart;

typedef struct MultipartPart {
    Str name;     /* STR_NULL when missing */
    Str filename; /* STR_NULL when missing */
} MultipartPart;

typedef struct MultipartOps {
    void (*on_part)(void *ctx, const MultipartPart *part); /* borrowed for the call */
    void (*on_data)(void *ctx, Str bytes);
    void (*on_part_end)(void *ctx);
} MultipartOps;

/* The boundary of a Content-Type value, or STR_NULL when it is not usable multipart/form-data. */
Str multipart_boundary(Str content_type);

Multipart *multipart_new(Str boundary, const MultipartOps *ops, void *ctx);
Multipart *multipart_free(Multipart *m); /* NULL is fine; returns NULL */
/* 0, -EBADMSG (malformed), -E2BIG (fields or parts beyond their maximum). Errors are sticky. */
int multipart_feed(Multipart *m, Str bytes);
/* At the end of the body: -EBADMSG when the closing delimiter has not come. */
int multipart_finish(const Multipart *m);

DEFINE_AUTO_PTR(multipart, Multipart, multipart_free)
