/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Wiring, signals and the end. As PID 1 (or as a subreaper elsewhere) this process inherits every
 * orphan of the sandbox: it collects them, forwards SIGTERM to all of them and kills what is left.
 */
#include "runtime/serve/serve.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "base/signal.h"
#include "base/version.h"
#include "runtime/exec/tree.h"
#include "runtime/serve/route.h"

#define SERVE_STOP_POLL_NS (20 * NS_PER_MS)

typedef struct Main {
    Serve serve;
    Signals signals;
    LoopTimer stop_poll;
    uint64_t stop_deadline_ns;
    bool drained;
} Main;

/* Living processes below this one; `signo` 0 only counts them. */
static size_t signal_all(int signo)
{
    AUTO(tree) Tree tree = {0};

    if (tree_scan(&tree, getpid()) < 0) {
        return 0;
    }
    return tree_signal(&tree, signo, NULL, 0);
}

static void on_stop_poll(LoopTimer *timer)
{
    Main *m = container_of(timer, Main, stop_poll);
    uint64_t now = loop_now(m->serve.loop);

    if ((m->drained && signal_all(0) == 0) || now >= m->stop_deadline_ns) {
        loop_stop(m->serve.loop, 0);
        return;
    }
    loop_timer_arm(m->serve.loop, timer, now + SERVE_STOP_POLL_NS);
}

static void on_drained(HttpServer *server, void *ctx)
{
    Main *m = ctx;

    UNUSED(server);
    m->drained = true;
}

static void begin_stop(Main *m, int signo)
{
    Serve *serve = &m->serve;

    if (serve->stopping) {
        loop_stop(serve->loop, 0); /* asked twice: no more patience */
        return;
    }
    LOG_INFO(serve->log, "stopping", F_CSTR("signal", strsignal(signo)),
             F_I64("commands", executor_running(serve->executor)));
    serve->stopping = true;
    m->stop_deadline_ns = loop_now(serve->loop) + (uint64_t)serve->options->shutdown_ns;
    signal_all(SIGTERM);
    execute_drop_waiting(serve);
    http_server_drain(serve->server, on_drained, m);
    loop_timer_arm(serve->loop, &m->stop_poll, loop_now(serve->loop));
}

static void on_signal(Signals *signals, int signo)
{
    Main *m = container_of(signals, Main, signals);

    if (signo == SIGCHLD) {
        reaper_collect(m->serve.reaper);
    } else {
        begin_stop(m, signo);
    }
}

/* "0.0.0.0:8888" as the default means every address: IPv6 too where the kernel has it. */
static int listen_all(Serve *serve, Err *reterr)
{
    Str address = str_from(serve->options->listen);

    if (str_eq(address, STR(SERVE_LISTEN_DEFAULT)) &&
        http_server_listen(serve->server, STR(":8888"), NULL) == 0) {
        return 0;
    }
    return http_server_listen(serve->server, address, reterr);
}

static int serve_init(Main *m, Err *reterr)
{
    static const int SIGNALS[] = {SIGCHLD, SIGTERM, SIGINT, 0};
    Serve *serve = &m->serve;
    int r = root_open(serve->options->base_dir, &serve->root, reterr);

    if (r < 0) {
        return r;
    }
    if (prctl(PR_SET_CHILD_SUBREAPER, 1) < 0) {
        return err_set_errno(reterr, errno, "becoming a subreaper");
    }
    r = signals_init(&m->signals, serve->loop, SIGNALS, on_signal);
    if (r < 0) {
        return err_set_errno(reterr, -r, "signals");
    }
    signal(SIGXFSZ, SIG_IGN); /* a file size limit fails one upload, not the sandbox */
    /* Other processes of this user must not read this one's memory and environment. */
    prctl(PR_SET_DUMPABLE, 0);
    serve->reaper = reaper_new();
    serve->executor = executor_new(serve->loop, (size_t)serve->options->output_total);
    serve->server = http_server_new(
        &(HttpServerConfig){.loop = serve->loop, .handler = route_request, .ctx = serve});
    return listen_all(serve, reterr);
}

static void serve_deinit(Main *m)
{
    int status;
    bool seen;
    size_t left;

    loop_timer_disarm(&m->stop_poll);
    http_server_free(m->serve.server);
    executor_free(m->serve.executor);
    left = m->serve.reaper ? tree_kill_own(0, &status, &seen) : 0;
    if (left > 0) {
        LOG_WARN(m->serve.log, "processes could not be killed", F_I64("count", left));
    }
    reaper_free(m->serve.reaper);
    signals_deinit(&m->signals);
    root_free(m->serve.root);
    loop_free(m->serve.loop);
    prctl(PR_SET_DUMPABLE, 1); /* leak checkers of test builds look at the end */
}

static int serve_loop(Main *m, const Clock *clock)
{
    Serve *serve = &m->serve;
    Err err = ERR_INIT;
    int r = loop_new(clock, &serve->loop);

    if (r < 0) {
        LOG_ERROR(serve->log, "no event loop", F_CSTR("error", strerror(-r)));
        return 1;
    }
    r = serve_init(m, &err);
    if (r < 0) {
        LOG_ERROR(serve->log, "cannot start", F_ERR(&err));
        return 1;
    }
    LOG_INFO(serve->log, "serving", F_I64("port", http_server_port(serve->server)),
             F_CSTR("root", root_base(serve->root)), F_CSTR("version", version_string()),
             F_I64("pid", getpid()));
    r = loop_run(serve->loop);
    return r < 0 ? 1 : r;
}

int serve_run(const ServeOptions *options, Logger *log, const Clock *clock)
{
    Main m = {.serve = {.options = options, .log = log}};
    int r;

    list_init(&m.serve.queue);
    loop_timer_init(&m.stop_poll, on_stop_poll);
    if (options->timeout_warning[0]) {
        LOG_WARN(log, options->timeout_warning);
    }
    r = serve_loop(&m, clock);
    serve_deinit(&m);
    LOG_INFO(log, "stopped", F_I64("code", r));
    return r;
}
