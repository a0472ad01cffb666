/* SPDX-License-Identifier: Apache-2.0 */
/*
 * GET /list/{path} (one JSON array, written as the directory is read), GET /exists/{path} and
 * DELETE /files/{path}.
 */
#include <errno.h>
#include <stdlib.h>

#include "base/mem.h"
#include "http/url.h"
#include "runtime/exec/task.h"
#include "runtime/files/list.h"
#include "runtime/files/remove.h"
#include "runtime/serve/problem.h"
#include "runtime/serve/reply.h"
#include "runtime/serve/route.h"
#include "json/write.h"

#define LISTING_PIECE (32 * 1024)
#define LISTING_ENTRIES_MAX 512 /* read at once: links cost several system calls each */
#define LISTING_ENTRY_MAX (8 * 1024)

/* ---- /list ---- */

typedef struct ListingJob {
    HttpExchange *x;
    Lister *lister;
    LoopDefer again;
    bool begun; /* an entry was written */
    bool done;
} ListingJob;

static void put_entry(StrBuf *out, const ListEntry *entry)
{
    JWriter w;

    jw_init(&w, out);
    jw_object(&w);
    jw_member_str(&w, "name", entry->name);
    jw_key(&w, STR("size"));
    jw_u64(&w, entry->size);
    jw_member_cstr(&w, "type", entry->directory ? "directory" : "file");
    jw_key(&w, STR("mod_time"));
    jw_f64(&w, (double)entry->mtime_s + (double)entry->mtime_ns / 1e9);
    jw_object_end(&w);
}

/* False at the end of the directory. */
static bool put_entries(ListingJob *job, StrBuf *out)
{
    for (int i = 0; i < LISTING_ENTRIES_MAX && out->len < LISTING_PIECE; i++) {
        ListEntry entry;

        if (lister_next(job->lister, &entry) <= 0) {
            strbuf_append_cstr(out, job->begun ? "]" : "[]");
            return false;
        }
        strbuf_append_char(out, job->begun ? ',' : '[');
        put_entry(out, &entry);
        job->begun = true;
    }
    return true;
}

static void listing_pump(ListingJob *job)
{
    AUTO(strbuf) StrBuf piece = STRBUF_INIT(LISTING_PIECE + LISTING_ENTRY_MAX);
    bool room;

    if (job->done) {
        return;
    }
    job->done = !put_entries(job, &piece);
    room = http_exchange_write(job->x, strbuf_str(&piece));
    if (job->done) {
        http_exchange_end(job->x);
    } else if (room) {
        loop_defer_post(http_exchange_loop(job->x), &job->again);
    }
}

static void on_again(LoopDefer *defer)
{
    listing_pump(container_of(defer, ListingJob, again));
}

static void listing_on_writable(HttpExchange *x)
{
    listing_pump(http_exchange_user(x));
}

static void listing_on_close(HttpExchange *x, int error)
{
    ListingJob *job = http_exchange_user(x);

    UNUSED(error);
    loop_defer_cancel(&job->again);
    lister_free(job->lister);
    free(job);
}

void listing_handle(Serve *serve, HttpExchange *x, Str path)
{
    static const HttpExchangeOps OPS = {NULL, listing_on_writable, listing_on_close};
    static const HttpField FIELDS[] = {{STR("Content-Type"), STR(REPLY_JSON)}};
    ListingJob *job;
    Lister *lister;
    RootPath target;
    int r = root_resolve(serve->root, path, true, &target);

    if (r == 0) {
        r = lister_open(serve->root, &target, &lister);
    }
    if (r < 0) {
        reply_errno(x, r, "List files", "Path is not a directory", path);
        return;
    }
    job = xcalloc(1, sizeof(*job));
    *job = (ListingJob){.x = x, .lister = lister};
    loop_defer_init(&job->again, on_again);
    http_exchange_set_ops(x, &OPS, job);
    http_exchange_begin(x, 200, FIELDS, ARRAY_LEN(FIELDS), HTTP_LENGTH_UNKNOWN);
    listing_pump(job);
}

/* ---- /exists ---- */

void exists_handle(Serve *serve, HttpExchange *x, Str path)
{
    AUTO(strbuf) StrBuf body = STRBUF_INIT(REPLY_BODY_MAX);
    RootPath target;
    struct stat st;
    JWriter w;
    int r = root_resolve(serve->root, path, true, &target);

    if (r == -EXDEV) {
        reply_denied(x);
        return;
    }
    jw_init(&w, &body);
    jw_object(&w);
    jw_member_str(&w, "path", path.len ? path : STR(""));
    jw_member_bool(&w, "exists", r == 0 && root_stat(serve->root, &target, &st) == 0);
    jw_object_end(&w);
    reply_json(x, 200, &body);
}

/* ---- DELETE /files ---- */

typedef struct DeleteJob {
    HttpExchange *x;
    RemoveTarget target;
    char *path;
    size_t path_len;
    Task task;
} DeleteJob;

static void reply_removed(HttpExchange *x, int r, Str path)
{
    AUTO(strbuf) StrBuf text = STRBUF_INIT(REPLY_BODY_MAX);

    if (r == -ENOTEMPTY) {
        reply_message(x, 409, STR("Directory is not empty"));
    } else if (r < 0) {
        reply_errno(x, r, "File deletion", "File not found", path);
    } else {
        strbuf_append_cstr(&text, "File '");
        strbuf_append(&text, path);
        strbuf_append_cstr(&text, "' deleted successfully.");
        reply_message(x, 200, strbuf_str(&text));
    }
}

static void on_removed(Task *task, int r)
{
    DeleteJob *job = container_of(task, DeleteJob, task);

    reply_removed(job->x, r, (Str){job->path, job->path_len});
}

static void delete_on_close(HttpExchange *x, int error)
{
    DeleteJob *job = http_exchange_user(x);

    UNUSED(error);
    task_cancel(&job->task);
    remove_close(&job->target);
    free(job->path);
    free(job);
}

static void delete_tree(Serve *serve, HttpExchange *x, Str path, const RemoveTarget *target)
{
    static const HttpExchangeOps OPS = {NULL, NULL, delete_on_close};
    DeleteJob *job = xcalloc(1, sizeof(*job));
    int r;

    *job = (DeleteJob){.x = x, .target = *target, .path_len = path.len};
    job->path = xstrndup(path.ptr, path.len);
    http_exchange_set_ops(x, &OPS, job);
    r = task_start(&job->task, serve->reaper, remove_tree, &job->target, &job->target.parent_fd, 1,
                   on_removed);
    if (r < 0) {
        reply_removed(x, r, path);
    }
}

/* Go's strconv.ParseBool, which clients of the newer runtime follow. False when it is no boolean.
 */
static bool parse_bool(Str s, bool *ret)
{
    static const char *const TRUE_FORMS[] = {"1", "t", "T", "TRUE", "true", "True"};
    static const char *const FALSE_FORMS[] = {"0", "f", "F", "FALSE", "false", "False"};

    for (size_t i = 0; i < ARRAY_LEN(TRUE_FORMS); i++) {
        if (str_eq(s, str_from(TRUE_FORMS[i])) || str_eq(s, str_from(FALSE_FORMS[i]))) {
            *ret = str_eq(s, str_from(TRUE_FORMS[i]));
            return true;
        }
    }
    return false;
}

static void reply_bad_bool(HttpExchange *x)
{
    AUTO(strbuf) StrBuf body = STRBUF_INIT(1024);
    const ProblemLoc loc = {.name = STR("recursive")};

    problem_schema(&body, "bool_parsing", "query", &loc, 1,
                   "Input should be a valid boolean, unable to interpret input");
    reply_json(x, 422, &body);
}

void delete_handle(Serve *serve, HttpExchange *x, Str path)
{
    Str value = http_query_get(http_exchange_head(x)->query, STR("recursive"));
    bool recursive = false;
    RemoveTarget target;
    int r;

    if (value.ptr && !parse_bool(value, &recursive)) {
        reply_bad_bool(x);
        return;
    }
    r = remove_open(serve->root, path, &target);
    if (r == -EPERM) {
        reply_message(x, 403, STR("Access denied: the root directory cannot be deleted"));
        return;
    }
    if (r < 0) {
        reply_removed(x, r, path);
        return;
    }
    r = remove_one(&target);
    if (r == -ENOTEMPTY && recursive) {
        delete_tree(serve, x, path, &target);
        return;
    }
    remove_close(&target);
    reply_removed(x, r, path);
}
