/* SPDX-License-Identifier: Apache-2.0 */
/*
 * GET /download/{path}: a regular file, streamed in pieces that fit the client's pace. A file that
 * becomes shorter meanwhile ends the connection: the client must not take a part for the whole.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "base/hash.h"
#include "base/mem.h"
#include "runtime/exec/fds.h"
#include "runtime/serve/range.h"
#include "runtime/serve/reply.h"
#include "runtime/serve/route.h"

#define DOWNLOAD_PIECE (64 * 1024)

typedef struct DownloadJob {
    HttpExchange *x;
    int fd;
    uint64_t at;
    uint64_t left;
    bool done;
} DownloadJob;

/* What identifies the content, and the names and values of the reply's fields. */
typedef struct DownloadHead {
    char etag[40];
    char modified[40];
    char range[80];
    StrBuf disposition;
    HttpField fields[6];
    size_t n;
} DownloadHead;

static void pump(DownloadJob *job)
{
    char bytes[DOWNLOAD_PIECE];

    while (!job->done && job->left > 0) {
        size_t want = job->left < sizeof(bytes) ? (size_t)job->left : sizeof(bytes);
        ssize_t n = pread(job->fd, bytes, want, (off_t)job->at);

        if (n <= 0) {
            job->done = true;
            http_exchange_abort(job->x);
            return;
        }
        job->at += (uint64_t)n;
        job->left -= (uint64_t)n;
        if (!http_exchange_write(job->x, (Str){bytes, (size_t)n})) {
            break;
        }
    }
    if (!job->done && job->left == 0) {
        job->done = true;
        http_exchange_end(job->x);
    }
}

static void on_writable(HttpExchange *x)
{
    pump(http_exchange_user(x));
}

static void on_close(HttpExchange *x, int error)
{
    DownloadJob *job = http_exchange_user(x);

    UNUSED(error);
    fd_close(&job->fd);
    free(job);
}

static bool is_plain(unsigned char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
           (c != 0 && strchr("-._~/", c));
}

/* The name as it is when it is plain ASCII, else percent-encoded; slashes stay. */
static void put_disposition(StrBuf *out, Str path)
{
    bool ascii = true;

    for (size_t i = 0; i < path.len; i++) {
        unsigned char c = (unsigned char)path.ptr[i];

        ascii = ascii && c >= 0x20 && c < 0x7f && c != '"' && c != '\\' && c != '%';
    }
    if (ascii) {
        strbuf_append_cstr(out, "attachment; filename=\"");
        strbuf_append(out, path);
        strbuf_append_char(out, '"');
        return;
    }
    strbuf_append_cstr(out, "attachment; filename*=utf-8''");
    for (size_t i = 0; i < path.len; i++) {
        unsigned char c = (unsigned char)path.ptr[i];

        if (is_plain(c)) {
            strbuf_append_char(out, (char)c);
        } else {
            strbuf_printf(out, "%%%02X", c);
        }
    }
}

static void add_field(DownloadHead *h, Str name, Str value)
{
    h->fields[h->n++] = (HttpField){name, value};
}

static void make_head(DownloadHead *h, Str path, const struct stat *st)
{
    const uint64_t parts[] = {(uint64_t)st->st_size, (uint64_t)st->st_mtim.tv_sec,
                              (uint64_t)st->st_mtim.tv_nsec, (uint64_t)st->st_ino};
    struct tm tm;

    snprintf(h->etag, sizeof(h->etag), "\"%016" PRIx64 "%08" PRIx64 "\"",
             hash_bytes(0, parts, sizeof(parts)), (uint64_t)st->st_size & 0xffffffffu);
    gmtime_r(&st->st_mtim.tv_sec, &tm);
    strftime(h->modified, sizeof(h->modified), "%a, %d %b %Y %H:%M:%S GMT", &tm);
    strbuf_init(&h->disposition, 4 * HTTP_TARGET_MAX);
    put_disposition(&h->disposition, path);
    add_field(h, STR("Content-Type"), STR("application/octet-stream"));
    add_field(h, STR("Content-Disposition"), strbuf_str(&h->disposition));
    add_field(h, STR("Accept-Ranges"), STR("bytes"));
    add_field(h, STR("Last-Modified"), str_from(h->modified));
    add_field(h, STR("ETag"), str_from(h->etag));
}

/* If-Range with another version of the file means: all of it. */
static bool range_applies(const HttpHead *head, const DownloadHead *h)
{
    const HttpHeader *field = http_head_find_name(head, STR("If-Range"));

    return !field || str_eq(field->value, str_from(h->etag)) ||
           str_eq(field->value, str_from(h->modified));
}

static void stream(HttpExchange *x, DownloadHead *h, int fd, uint64_t size)
{
    static const HttpExchangeOps OPS = {NULL, on_writable, on_close};
    Str range = http_head_get(http_exchange_head(x), HTTP_TOKEN_RANGE);
    DownloadJob *job;
    uint64_t first = 0, length = size;
    int status = 200;

    if (range.ptr && range_applies(http_exchange_head(x), h)) {
        switch (range_parse(range, size, &first, &length)) {
        case RANGE_WHOLE:
            break;
        case RANGE_PART:
            status = 206;
            snprintf(h->range, sizeof(h->range), "bytes %" PRIu64 "-%" PRIu64 "/%" PRIu64, first,
                     first + length - 1, size);
            break;
        case RANGE_UNSATISFIABLE:
            snprintf(h->range, sizeof(h->range), "bytes */%" PRIu64, size);
            add_field(h, STR("Content-Range"), str_from(h->range));
            close(fd);
            http_exchange_respond_fields(x, 416, h->fields + 2, h->n - 2, STR(""));
            return;
        }
    }
    if (status == 206) {
        add_field(h, STR("Content-Range"), str_from(h->range));
    }
    job = xcalloc(1, sizeof(*job));
    *job = (DownloadJob){.x = x, .fd = fd, .at = first, .left = length};
    http_exchange_set_ops(x, &OPS, job);
    http_exchange_begin(x, status, h->fields, h->n, length);
    if (http_exchange_head(x)->method_id == HTTP_METHOD_HEAD) {
        job->left = 0;
    }
    pump(job);
}

void download_handle(Serve *serve, HttpExchange *x, Str path)
{
    DownloadHead h = {.n = 0};
    RootPath target;
    struct stat st;
    int fd;
    int r = root_resolve(serve->root, path, true, &target);

    fd = r < 0 ? r : root_open_file(serve->root, &target, &st);
    if (fd < 0) {
        reply_errno(x, fd, "File download", "File not found", path);
        return;
    }
    make_head(&h, path, &st);
    stream(x, &h, fd, (uint64_t)st.st_size);
    strbuf_deinit(&h.disposition);
}
