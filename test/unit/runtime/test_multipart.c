/* SPDX-License-Identifier: Apache-2.0 */
/* The multipart parser, each body fed whole, byte by byte and in every split in two. */
#include <errno.h>

#include "runtime/serve/multipart.h"
#include "test/harness/t.h"

typedef struct Seen {
    StrBuf text; /* [name|filename|data] for each part */
    StrBuf data;
} Seen;

static void put(StrBuf *out, Str s)
{
    strbuf_append(out, s.ptr ? s : STR("-"));
}

static void on_part(void *ctx, const MultipartPart *part)
{
    Seen *seen = ctx;

    strbuf_append_char(&seen->text, '[');
    put(&seen->text, part->name);
    strbuf_append_char(&seen->text, '|');
    put(&seen->text, part->filename);
    strbuf_append_char(&seen->text, '|');
    strbuf_clear(&seen->data);
}

static void on_data(void *ctx, Str bytes)
{
    Seen *seen = ctx;

    strbuf_append(&seen->data, bytes);
}

static void on_part_end(void *ctx)
{
    Seen *seen = ctx;

    strbuf_append(&seen->text, strbuf_str(&seen->data));
    strbuf_append_char(&seen->text, ']');
}

static const MultipartOps OPS = {on_part, on_data, on_part_end};

static const struct {
    const char *label;
    Str body;
    int result;
    const char *seen;
} ROWS[] = {
    {"one file",
     STR("--B\r\nContent-Disposition: form-data; name=\"file\"; filename=\"a/b.txt\"\r\n\r\n"
         "data\r\n--B--\r\n"),
     0, "[file|a/b.txt|data]"},
    {"raw UTF-8 name, type, LF lines",
     STR("--B\r\ncontent-DISPOSITION: form-data; filename=\"\xc3\xbc \xe6\xbc\xa2.txt\"; "
         "name=file\n"
         "Content-Type: text/plain\n\nx\r\n--B--"),
     0, "[file|\xc3\xbc \xe6\xbc\xa2.txt|x]"},
    {"escapes",
     STR("--B\r\nContent-Disposition: form-data; name=\"file\"; "
         "filename=\"a\\\"b\\\\c\\d%22;e\"\r\n\r\n\r\n--B--"),
     0, "[file|a\"b\\c\\d%22;e|]"},
    {"no filename, no fields, empty filename",
     STR("--B\r\nContent-Disposition: form-data; name=\"x\"\r\n\r\n1\r\n--B\r\n\r\n2\r\n--B\r\n"
         "Content-Disposition: form-data; name=\"file\"; filename=\"\"\r\n\r\n3\r\n--B--"),
     0, "[x|-|1][-|-|2][file||3]"},
    {"data that looks like delimiters",
     STR("--B\r\n\r\n\r\r\n-\r\n--\r\n--A\r\n-B--B\n--B\r\r\n--B--"), 0,
     "[-|-|\r\r\n-\r\n--\r\n--A\r\n-B--B\n--B\r]"},
    {"preamble, padding, epilogue",
     STR("hello --B\r\n--B \t\r\n\r\nx\r\n--B--\r\nbye\r\n--B\r\n\r\ny"), 0, "[-|-|x]"},
    {"empty body", STR(""), -EBADMSG, ""},
    {"no delimiter", STR("nothing here"), -EBADMSG, ""},
    {"cut in data", STR("--B\r\n\r\nx"), -EBADMSG, "[-|-|"},
    {"cut in fields", STR("--B\r\nContent-Disp"), -EBADMSG, ""},
    {"cut before the end", STR("--B\r\n\r\nx\r\n--B"), -EBADMSG, "[-|-|x]"},
    {"one dash", STR("--B\r\n\r\nx\r\n--B-x"), -EBADMSG, "[-|-|x]"},
    {"junk after a delimiter", STR("--Bx\r\n\r\nx\r\n--B--"), -EBADMSG, ""},
    {"field without a colon", STR("--B\r\nbroken\r\n\r\nx\r\n--B--"), -EBADMSG, ""},
};

static void run(size_t row, size_t cut, size_t step)
{
    Multipart *m;
    Seen seen;
    Str body = ROWS[row].body;

    strbuf_init(&seen.text, 4096);
    strbuf_init(&seen.data, 4096);
    m = multipart_new(STR("B"), &OPS, &seen);
    multipart_feed(m, str_take(body, cut));
    body = str_drop(body, cut);
    while (body.len > 0) {
        multipart_feed(m, str_take(body, step));
        body = str_drop(body, step);
    }
    T_EQ_INT(multipart_finish(m), ROWS[row].result);
    T_EQ_STR(strbuf_str(&seen.text), ROWS[row].seen);
    multipart_free(m);
    strbuf_deinit(&seen.text);
    strbuf_deinit(&seen.data);
}

T_TEST(multipart_in_every_split)
{
    for (size_t row = 0; row < ARRAY_LEN(ROWS); row++) {
        t_row(ROWS[row].label);
        for (size_t cut = 0; cut <= ROWS[row].body.len; cut++) {
            run(row, cut, SIZE_MAX);
        }
        run(row, 0, 1);
        run(row, 0, 3);
    }
    t_row(NULL);
}

T_TEST(multipart_bounds_fields_and_parts)
{
    Seen seen;
    Multipart *m;

    strbuf_init(&seen.text, 1 << 20);
    strbuf_init(&seen.data, 4096);
    m = multipart_new(STR("B"), &OPS, &seen);
    multipart_feed(m, STR("--B\r\nX: "));
    for (int i = 0; i < MULTIPART_FIELDS_MAX; i++) {
        multipart_feed(m, STR("a"));
    }
    T_EQ_INT(multipart_feed(m, STR("a")), -E2BIG);
    T_EQ_INT(multipart_finish(m), -E2BIG);
    multipart_free(m);

    m = multipart_new(STR("B"), &OPS, &seen);
    for (int i = 0; i < MULTIPART_PARTS_MAX; i++) {
        T_OK(multipart_feed(m, STR("--B\r\n\r\n\r\n")));
    }
    T_EQ_INT(multipart_feed(m, STR("--B\r\n\r\n\r\n")), -E2BIG);
    multipart_free(m);
    strbuf_deinit(&seen.text);
    strbuf_deinit(&seen.data);
}

T_TEST(multipart_boundary_of_a_content_type)
{
    static const struct {
        const char *in, *out;
    } BOUNDARIES[] = {
        {"multipart/form-data; boundary=abc", "abc"},
        {"Multipart/Form-Data;charset=utf-8; Boundary=\"a b'c\"", "a b'c"},
        {"multipart/form-data;boundary=x;y=z", "x"},
        {"multipart/form-data", NULL},
        {"multipart/form-data; boundary=", NULL},
        {"multipart/form-data; boundary=\"a\\\"b\"", NULL},
        {"multipart/mixed; boundary=abc", NULL},
        {"application/json", NULL},
        {"", NULL},
    };

    for (size_t i = 0; i < ARRAY_LEN(BOUNDARIES); i++) {
        Str got = multipart_boundary(str_from(BOUNDARIES[i].in));

        t_row(BOUNDARIES[i].in);
        T_EQ_INT(got.ptr != NULL, BOUNDARIES[i].out != NULL);
        if (BOUNDARIES[i].out) {
            T_EQ_STR(got, BOUNDARIES[i].out);
        }
    }
    t_row(NULL);
}
