/* SPDX-License-Identifier: Apache-2.0 */
/*
 * POST /upload: the part named `file` goes to the path in its file name, straight to the disk. The
 * whole body is always read, so that a client that only writes first and reads later gets its
 * answer. Of several such parts the last one wins. There is no limit but the disk and no total time
 * limit.
 */
#include <errno.h>
#include <stdlib.h>

#include "base/mem.h"
#include "runtime/exec/task.h"
#include "runtime/files/stage.h"
#include "runtime/serve/multipart.h"
#include "runtime/serve/problem.h"
#include "runtime/serve/reply.h"
#include "runtime/serve/route.h"

typedef struct UploadJob {
    Serve *serve;
    HttpExchange *x;
    Multipart *multipart; /* NULL: the body is something else */
    char *filename;       /* of the last `file` part, NULL before one came */
    size_t filename_len;
    Stage *stage;
    int error;   /* first failure of the last `file` part, -errno */
    bool inside; /* its data is coming */
    bool committed;
    Task task;
} UploadJob;

static Str filename_of(const UploadJob *job)
{
    return (Str){job->filename, job->filename_len};
}

static void on_part(void *ctx, const MultipartPart *part)
{
    UploadJob *job = ctx;

    job->inside = str_eq(part->name, STR("file")) && part->filename.ptr;
    if (!job->inside) {
        return;
    }
    job->stage = stage_free(job->stage, false);
    free(job->filename);
    job->filename = xstrndup(part->filename.ptr, part->filename.len);
    job->filename_len = part->filename.len;
    job->error = stage_open(job->serve->root, filename_of(job), &job->stage);
}

static void on_part_data(void *ctx, Str bytes)
{
    UploadJob *job = ctx;

    if (job->inside && job->error == 0) {
        job->error = stage_write(job->stage, bytes);
    }
    if (job->error < 0) {
        job->stage = stage_free(job->stage, false); /* a full disk gets its space back at once */
    }
}

static void on_part_end(void *ctx)
{
    UploadJob *job = ctx;

    job->inside = false;
}

static void reply_missing(HttpExchange *x)
{
    AUTO(strbuf) StrBuf body = STRBUF_INIT(1024);
    const ProblemLoc loc = {.name = STR("file")};

    problem_schema(&body, "missing", "body", &loc, 1, "Field required");
    reply_json(x, 422, &body);
}

static void finish(UploadJob *job, int r)
{
    AUTO(strbuf) StrBuf text = STRBUF_INIT(2 * MULTIPART_FIELDS_MAX);

    if (r < 0) {
        job->stage = stage_free(job->stage, false);
        reply_errno(job->x, r, "File upload", NULL, filename_of(job));
        return;
    }
    strbuf_append_cstr(&text, "File '");
    strbuf_append(&text, filename_of(job));
    strbuf_append_cstr(&text, "' uploaded successfully.");
    reply_message(job->x, 200, strbuf_str(&text));
}

static void on_committed(Task *task, int r)
{
    UploadJob *job = container_of(task, UploadJob, task);

    job->committed = r == 0;
    finish(job, r);
}

static void on_body_end(UploadJob *job)
{
    int fds[2];
    int r;

    if (!job->multipart) {
        reply_missing(job->x);
        return;
    }
    if (multipart_finish(job->multipart) < 0) {
        reply_detail(job->x, 400, "There was an error parsing the body");
        return;
    }
    if (!job->filename) {
        reply_missing(job->x);
        return;
    }
    r = job->error;
    if (r == 0) {
        stage_fds(job->stage, fds);
        r = task_start(&job->task, job->serve->reaper, stage_commit, job->stage, fds,
                       ARRAY_LEN(fds), on_committed);
    }
    if (r < 0) {
        finish(job, r);
    }
}

static void on_data(HttpExchange *x, Str piece, bool end)
{
    UploadJob *job = http_exchange_user(x);

    if (job->multipart) {
        multipart_feed(job->multipart, piece); /* an error shows at the end */
    }
    if (end) {
        on_body_end(job);
    }
}

static void on_close(HttpExchange *x, int error)
{
    UploadJob *job = http_exchange_user(x);

    UNUSED(error);
    task_cancel(&job->task);
    stage_free(job->stage, job->committed);
    multipart_free(job->multipart);
    free(job->filename);
    free(job);
}

void upload_handle(Serve *serve, HttpExchange *x, Str path)
{
    static const HttpExchangeOps OPS = {on_data, NULL, on_close};
    static const MultipartOps PARTS = {on_part, on_part_data, on_part_end};
    Str boundary =
        multipart_boundary(http_head_get(http_exchange_head(x), HTTP_TOKEN_CONTENT_TYPE));
    UploadJob *job = xcalloc(1, sizeof(*job));

    UNUSED(path);
    job->serve = serve;
    job->x = x;
    if (boundary.ptr) {
        job->multipart = multipart_new(boundary, &PARTS, job);
    }
    http_exchange_set_ops(x, &OPS, job);
}
