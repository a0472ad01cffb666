/* SPDX-License-Identifier: Apache-2.0 */
/*
 * POST /execute. The job belongs to its exchange and dies in on_close; a client that goes away
 * before its reply takes its command with it, whether that runs or still waits.
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/mem.h"
#include "runtime/exec/environ.h"
#include "runtime/exec/fds.h"
#include "runtime/exec/pyrepr.h"
#include "runtime/serve/execreq.h"
#include "runtime/serve/reply.h"
#include "runtime/serve/result.h"
#include "runtime/serve/route.h"

#define EXECUTE_INLINE_MAX (32 * 1024) /* larger results are streamed */
#define EXECUTE_EXIT_TIMEOUT 124
#define EXECUTE_EXIT_FAILED 1

extern char **environ;

typedef struct ExecuteJob {
    Serve *serve;
    HttpExchange *x;
    StrBuf body;
    ExecRequest request;
    double timeout_s;
    ListNode waiting; /* in serve->queue */
    Command *command; /* while it runs */
    ResultJson result;
    bool streaming;
} ExecuteJob;

static void job_leave_queue(ExecuteJob *job)
{
    if (list_node_is_linked(&job->waiting)) {
        list_remove(&job->waiting);
        job->serve->queued--;
    }
}

/* The command that has waited longest, taken from the queue; NULL when none waits. */
static ExecuteJob *next_waiting(Serve *serve)
{
    ListNode *node = list_pop_front(&serve->queue);

    if (!node) {
        return NULL;
    }
    serve->queued--;
    return list_entry(node, ExecuteJob, waiting);
}

static void on_close(HttpExchange *x, int error)
{
    ExecuteJob *job = http_exchange_user(x);
    Serve *serve = job->serve;

    if (job->command) {
        LOG_INFO(serve->log, "client left, its command is killed", F_I64("error", error));
        command_cancel(job->command);
    }
    job_leave_queue(job);
    strbuf_deinit(&job->body);
    exec_request_deinit(&job->request);
    result_json_deinit(&job->result);
    free(job);
    execute_start_waiting(serve);
}

/* ---- the reply ---- */

static void pump(ExecuteJob *job)
{
    bool more = job->streaming, room = true;

    while (more && room) {
        AUTO(strbuf) StrBuf piece = STRBUF_INIT(16 * RESULT_PIECE);

        more = result_json_next(&job->result, &piece);
        room = http_exchange_write(job->x, strbuf_str(&piece));
    }
    if (job->streaming && !more) {
        job->streaming = false;
        http_exchange_end(job->x);
    }
}

static void on_writable(HttpExchange *x)
{
    pump(http_exchange_user(x));
}

static void send_result(ExecuteJob *job)
{
    static const HttpField FIELDS[] = {{STR("Content-Type"), STR(REPLY_JSON)}};

    result_json_ready(&job->result);
    if (result_json_size(&job->result) <= EXECUTE_INLINE_MAX) {
        AUTO(strbuf) StrBuf body = STRBUF_INIT(16 * EXECUTE_INLINE_MAX);

        while (result_json_next(&job->result, &body)) {
        }
        reply_json(job->x, 200, &body);
        return;
    }
    job->streaming = true;
    http_exchange_begin(job->x, 200, FIELDS, ARRAY_LEN(FIELDS), HTTP_LENGTH_UNKNOWN);
    pump(job);
}

/* The command could not run: a result all the same, with the sentence that clients know. */
static void send_failed(ExecuteJob *job, int code, Str subject)
{
    job->result.exit_code = EXECUTE_EXIT_FAILED;
    strbuf_append_cstr(&job->result.note, "Failed to execute command: ");
    if (job->request.refuse) {
        strbuf_append_cstr(&job->result.note, job->request.refuse);
    } else {
        pyrepr_oserror(&job->result.note, code, subject);
    }
    send_result(job);
}

static void note_timeout(ExecuteJob *job, bool survivors)
{
    StrBuf *note = &job->result.note;

    strbuf_append_cstr(note, "Failed to execute command: Command '");
    pyrepr_argv(note, argv_exec(&job->request.argv));
    strbuf_append_cstr(note, "' timed out after ");
    pyrepr_float(note, job->timeout_s);
    strbuf_append_cstr(note, " seconds");
    if (survivors) {
        strbuf_append_cstr(note, " (some of its processes could not be killed)");
    }
}

static void set_exit_code(ExecuteJob *job, const CommandResult *r)
{
    if (r->timed_out) {
        job->result.exit_code = EXECUTE_EXIT_TIMEOUT;
        note_timeout(job, r->survivors);
    } else if (r->lost) {
        job->result.exit_code = -SIGKILL;
        strbuf_append_cstr(&job->result.note,
                           "The command's supervisor was killed; its exit code is not known.");
    } else if (WIFSIGNALED(r->status)) {
        job->result.exit_code = -WTERMSIG(r->status);
    } else {
        job->result.exit_code = WEXITSTATUS(r->status);
    }
}

static void on_result(const CommandResult *r, void *ctx)
{
    ExecuteJob *job = ctx;
    Serve *serve = job->serve;

    job->command = NULL;
    if (r->spawn_errno) {
        send_failed(job, r->spawn_errno, str_from(job->request.argv.v.ptr[0]));
    } else {
        job->result.streams[0] = capture_take(r->out);
        job->result.streams[1] = capture_take(r->err);
        job->result.timed_out = r->timed_out;
        job->result.duration_ms = r->duration_ns / NS_PER_MS;
        set_exit_code(job, r);
        LOG_DEBUG(serve->log, "command ended", F_I64("exit_code", job->result.exit_code),
                  F_BOOL("timed_out", r->timed_out), F_I64("ms", job->result.duration_ms));
        send_result(job);
    }
    execute_start_waiting(serve);
}

/* ---- the start ---- */

static int make_environ(ExecuteJob *job, Argv *env)
{
    const Argv *given = &job->request.env;
    int r = environ_inherit(env, environ);

    for (size_t i = 0; r == 0 && i + 1 < given->v.len; i += 2) {
        r = environ_set(env, str_from(given->v.ptr[i]), str_from(given->v.ptr[i + 1]));
    }
    return r;
}

/* A descriptor of the working directory, or -errno. */
static int open_cwd(const ExecuteJob *job)
{
    Str cwd = job->request.has_cwd ? str_from(job->request.cwd.v.ptr[0]) : STR("");
    RootPath path;
    int r = root_resolve_absolute(job->serve->root, cwd, &path);

    return r < 0 ? r : root_openat(job->serve->root, &path, O_PATH | O_DIRECTORY);
}

static void start(ExecuteJob *job)
{
    const ServeOptions *options = job->serve->options;
    AUTO(argv) Argv env = {0};
    AUTO(fd) int cwd = -1;
    CommandSpec spec = {.timeout_ns = (uint64_t)(job->timeout_s * (double)NS_PER_S),
                        .output_max = (size_t)options->output_max};
    int r;

    if (job->request.refuse) {
        send_failed(job, 0, STR_NULL);
        return;
    }
    cwd = open_cwd(job);
    if (cwd == -EXDEV) {
        reply_denied(job->x);
        return;
    }
    if (cwd < 0) {
        send_failed(job, -cwd,
                    str_from(job->request.has_cwd ? job->request.cwd.v.ptr[0]
                                                  : root_base(job->serve->root)));
        return;
    }
    r = make_environ(job, &env);
    spec.argv = argv_exec(&job->request.argv);
    spec.envp = argv_exec(&env);
    spec.path = environ_get(&env, STR("PATH"));
    spec.cwd_fd = cwd;
    if (r == 0) {
        r = command_start(job->serve->executor, &spec, on_result, job, &job->command);
    }
    if (r < 0) {
        send_failed(job, -r, str_from(spec.argv[0]));
    }
}

void execute_start_waiting(Serve *serve)
{
    while (!serve->stopping &&
           executor_running(serve->executor) < (size_t)serve->options->commands_max) {
        ExecuteJob *job = next_waiting(serve);

        if (!job) {
            return;
        }
        start(job);
    }
}

static void reply_busy(ExecuteJob *job)
{
    AUTO(strbuf) StrBuf text = STRBUF_INIT(256), body = STRBUF_INIT(1024);
    static const HttpField FIELDS[] = {{STR("Content-Type"), STR(REPLY_JSON)},
                                       {STR("Retry-After"), STR("1")}};
    Serve *serve = job->serve;

    if (serve->stopping) {
        strbuf_append_cstr(&text, "The sandbox is shutting down.");
    } else {
        strbuf_printf(&text, "Too many commands: %zu are running and %zu are waiting.",
                      executor_running(serve->executor), serve->queued);
    }
    strbuf_append_cstr(&body, "{\"message\":\"");
    strbuf_append(&body, strbuf_str(&text));
    strbuf_append_cstr(&body, "\"}");
    http_exchange_respond_fields(job->x, 503, FIELDS, ARRAY_LEN(FIELDS), strbuf_str(&body));
}

void execute_drop_waiting(Serve *serve)
{
    for (ExecuteJob *job; (job = next_waiting(serve));) {
        reply_busy(job);
    }
}

static void accept_job(ExecuteJob *job)
{
    Serve *serve = job->serve;
    AUTO(strbuf) StrBuf problem = STRBUF_INIT(REPLY_BODY_MAX);

    if (exec_request_parse(strbuf_str(&job->body), serve->options->timeout_max_s, &job->request,
                           &problem)) {
        reply_json(job->x, 422, &problem);
        return;
    }
    strbuf_deinit(&job->body);
    job->timeout_s = job->request.has_timeout ? job->request.timeout_s : serve->options->timeout_s;
    if (serve->stopping ||
        (serve->queued >= (size_t)serve->options->queue_max &&
         executor_running(serve->executor) >= (size_t)serve->options->commands_max)) {
        reply_busy(job);
        return;
    }
    list_push_back(&serve->queue, &job->waiting);
    serve->queued++;
    execute_start_waiting(serve);
}

static void on_data(HttpExchange *x, Str piece, bool end)
{
    ExecuteJob *job = http_exchange_user(x);

    if (http_exchange_begun(x)) {
        return;
    }
    if (strbuf_append(&job->body, piece) < 0) {
        reply_detail(x, 413, "The body is larger than 1 MiB");
    } else if (end) {
        accept_job(job);
    }
}

static bool is_json(Str content_type)
{
    Str rest;
    Str type = str_trim(str_cut(content_type, ';', &rest));

    return !content_type.ptr || str_eq_nocase(type, STR("application/json")) ||
           (type.len > 5 && str_eq_nocase(str_drop(type, type.len - 5), STR("+json")));
}

void execute_handle(Serve *serve, HttpExchange *x, Str path)
{
    static const HttpExchangeOps OPS = {on_data, on_writable, on_close};
    ExecuteJob *job;

    UNUSED(path);
    if (!is_json(http_head_get(http_exchange_head(x), HTTP_TOKEN_CONTENT_TYPE))) {
        http_exchange_respond(
            x, 422, REPLY_JSON,
            STR("{\"detail\":[{\"type\":\"model_attributes_type\",\"loc\":[\"body\"],\"msg\":"
                "\"The body must be sent as application/json\"}]}"));
        return;
    }
    job = xcalloc(1, sizeof(*job));
    job->serve = serve;
    job->x = x;
    strbuf_init(&job->body, EXECREQ_BODY_MAX);
    result_json_init(&job->result);
    http_exchange_set_ops(x, &OPS, job);
}
