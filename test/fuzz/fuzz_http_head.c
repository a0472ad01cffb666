/* SPDX-License-Identifier: Apache-2.0 */
/*
 * HTTP heads: the first byte says how (request, response or trailers, and where to split). Whatever
 * the bytes, a head fed in two pieces or byte by byte gives the result of the whole, all slices lie
 * inside of the head, and a head that was taken obeys the rules that smuggling would break.
 */
#include "http/parse.h"
#include "test/fuzz/fuzz.h"

#define BYTEWISE_MAX 2048 /* longer inputs are split once only: this is quadratic */

static int parse(unsigned kind, HttpHead *head, Str text)
{
    switch (kind) {
    case 0:
        return http_request_parse(head, text.ptr, text.len);
    case 1:
        return http_response_parse(head, HTTP_METHOD_GET, text.ptr, text.len);
    default:
        return http_trailers_parse(head, text.ptr, text.len);
    }
}

static void check_inside(Str all, Str part)
{
    CHECK(part.len == 0 || (part.ptr >= all.ptr && part.ptr + part.len <= all.ptr + all.len));
}

static void check_field(const HttpHeader *field, Str all)
{
    check_inside(all, field->name);
    check_inside(all, field->value);
    CHECK(http_is_token(field->name));
    CHECK(http_is_field_value(field->value));
    CHECK(!memchr(field->value.ptr, '\n', field->value.len));
    CHECK(!memchr(field->value.ptr, '\r', field->value.len));
    CHECK(!memchr(field->value.ptr, '\0', field->value.len));
}

static void check_head(unsigned kind, const HttpHead *head, Str all)
{
    CHECK(head->n_headers <= HTTP_HEADERS_MAX);
    for (size_t i = 0; i < head->n_headers; i++) {
        check_field(&head->headers[i], all);
    }
    CHECK(http_head_count(head, HTTP_TOKEN_CONTENT_LENGTH) <= 1);
    CHECK(http_head_count(head, HTTP_TOKEN_TRANSFER_ENCODING) <= 1);
    CHECK(!http_head_find(head, HTTP_TOKEN_CONTENT_LENGTH) ||
          !http_head_find(head, HTTP_TOKEN_TRANSFER_ENCODING));
    if (kind == 0) {
        check_inside(all, head->method);
        check_inside(all, head->target);
        check_inside(all, head->query);
        CHECK(http_is_token(head->method));
        CHECK(head->path.len > 0);
        CHECK(!memchr(head->target.ptr, ' ', head->target.len));
        CHECK(head->minor == 0 || http_head_count(head, HTTP_TOKEN_HOST) == 1);
    } else if (kind == 1) {
        CHECK(head->status >= 100 && head->status <= 999);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static HttpHead whole, again;
    Str text = size > 0 ? fuzz_str(data + 1, size - 1) : STR("");
    unsigned kind = size > 0 ? data[0] % 3 : 0;
    size_t cut = size > 0 ? data[0] * text.len / 256 : 0;
    int want, r;

    http_head_init(&whole);
    want = parse(kind, &whole, text);
    CHECK(want <= (int)text.len);
    if (want > 0) {
        check_head(kind, &whole, str_take(text, (size_t)want));
    }
    http_head_init(&again);
    r = parse(kind, &again, str_take(text, cut));
    CHECK((r == 0 ? parse(kind, &again, text) : r) == want);
    http_head_init(&again);
    r = 0;
    for (size_t n = 0; n <= text.len && text.len <= BYTEWISE_MAX && r == 0; n++) {
        r = parse(kind, &again, str_take(text, n));
    }
    CHECK(text.len > BYTEWISE_MAX || r == want);
    return 0;
}
