/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Stages of a router's life:
 *
 *   SYNC     the first list of Pods is awaited; /readyz says 503
 *   SERVE    workers run; /readyz says 200
 *   LEAVE    SIGTERM came: /readyz says 503, requests are still taken while others learn about it
 *   DRAIN    nothing new is accepted, what runs may finish
 *   FINISH   the time is over: WebSockets get their close frame, everything else is cut
 *   STOP     everything is cut
 *   FLUSH    workers are done, the last activity of sandboxes is being written
 */
#include "router/lifecycle.h"

#include <errno.h>

#include "http/listen.h"

enum {
    STAGE_SYNC,
    STAGE_SERVE,
    STAGE_LEAVE,
    STAGE_DRAIN,
    STAGE_FINISH,
    STAGE_STOP,
    STAGE_FLUSH,
};

/* How long clients have to take the close frame. */
#define FINISH_NS NS_PER_S
/* How long the API server has to take the last writes. */
#define FLUSH_NS (2 * NS_PER_S)

static void command_all(App *app, int command)
{
    for (size_t i = 0; i < app->n_started; i++) {
        worker_command(app->workers[i], command);
    }
}

static void finish(App *app, int exit_code)
{
    app->exit_code = exit_code;
    loop_stop(app->loop, 0);
}

/* ---- towards serving ---- */

static void serve(App *app)
{
    Err err = ERR_INIT;
    WorkerSockets first = app->listeners[0];
    uint16_t port = first.plain >= 0 ? http_listen_port(first.plain) : 0;
    uint16_t tls_port = first.tls >= 0 ? http_listen_port(first.tls) : 0;

    loop_timer_disarm(&app->timer);
    for (size_t i = 0; i < app->n_workers; i++) {
        WorkerSockets sockets = app->listeners[i];

        app->listeners[i] = (WorkerSockets){.plain = -1, .tls = -1};
        if (worker_start(&app->shared, &sockets, &app->done, &app->workers[i], &err) < 0) {
            LOG_ERROR(app->log, "cannot start", F_ERR(&err));
            app->stage = STAGE_STOP;
            command_all(app, WORKER_STOP);
            finish(app, 1);
            return;
        }
        app->n_started++;
    }
    app->stage = STAGE_SERVE;
    app->probes.not_ready = NULL;
    LOG_INFO(app->log, "serving", F_CSTR("address", app->options->http_bind_address),
             F_I64("port", port), F_I64("tls_port", tls_port), F_I64("workers", app->n_workers),
             F_I64("routes", atomic_load(&app->observe.routes)));
}

void lifecycle_on_publish(void *ctx, size_t routes)
{
    App *app = ctx;

    atomic_store(&app->observe.routes, routes);
    for (size_t i = 0; i < app->n_started; i++) {
        worker_wake(app->workers[i]);
    }
}

void lifecycle_on_synced(void *ctx)
{
    App *app = ctx;

    if (app->stage == STAGE_SYNC) {
        serve(app);
    }
}

void lifecycle_on_trouble(void *ctx, const KubeError *error)
{
    App *app = ctx;

    LOG_WARN(app->log, "cannot follow pods, trying again", F_CSTR("error", error->msg),
             F_I64("http", error->http));
}

void lifecycle_on_reload(void *ctx, const RouterOptions *options)
{
    App *app = ctx;

    app->shutdown_timeout_ns = (uint64_t)options->shutdown_timeout_ns;
    app->shutdown_delay_ns = (uint64_t)options->shutdown_delay_ns;
    logger_set_level(app->log, (LogLevel)options->log_level);
    if (app->access) {
        logger_set_level(app->access, (LogLevel)options->log_level);
    }
    for (size_t i = 0; i < app->n_started; i++) {
        worker_wake(app->workers[i]);
    }
}

/* ---- towards the end ---- */

static void drain(App *app)
{
    app->stage = STAGE_DRAIN;
    command_all(app, WORKER_DRAIN);
    loop_timer_arm(app->loop, &app->timer, app->drain_end_ns);
}

static void finish_up(App *app)
{
    app->stage = STAGE_FINISH;
    LOG_WARN(app->log, "closing what still runs");
    command_all(app, WORKER_FINISH);
    loop_timer_arm(app->loop, &app->timer, loop_now(app->loop) + FINISH_NS);
}

static void stop(App *app)
{
    app->stage = STAGE_STOP;
    LOG_WARN(app->log, "cutting what still runs");
    command_all(app, WORKER_STOP);
}

static void leave(App *app, bool at_once)
{
    uint64_t now = loop_now(app->loop);
    uint64_t delay = at_once ? 0 : app->shutdown_delay_ns;
    uint64_t limit = app->shutdown_timeout_ns;

    app->probes.not_ready = "draining";
    if (app->activity) {
        activity_flush(app->activity); /* what was noted since the last time would be lost */
    }
    app->drain_end_ns = now + limit;
    app->stage = STAGE_LEAVE;
    command_all(app, WORKER_CLOSE_IDLE);
    if (delay == 0) {
        drain(app);
    } else {
        loop_timer_arm(app->loop, &app->timer, now + (delay < limit ? delay : limit));
    }
}

void lifecycle_on_signal(Signals *signals, int signo)
{
    App *app = container_of(signals, App, signals);

    if (signo == SIGHUP) {
        reload_now(&app->reload);
        return;
    }
    LOG_INFO(app->log, "shutting down", F_CSTR("signal", signo == SIGTERM ? "TERM" : "INT"));
    if (app->n_started == 0) {
        finish(app, 0);
    } else if (app->stage == STAGE_SERVE) {
        leave(app, signo == SIGINT);
    } else if (app->stage == STAGE_FLUSH) {
        finish(app, app->exit_code);
    } else {
        stop(app); /* asked twice */
    }
}

void lifecycle_on_timer(LoopTimer *timer)
{
    App *app = container_of(timer, App, timer);

    switch (app->stage) {
    case STAGE_SYNC:
        LOG_ERROR(app->log, "the API server did not list the pods in time");
        finish(app, 1);
        break;
    case STAGE_LEAVE:
        drain(app);
        break;
    case STAGE_DRAIN:
        finish_up(app);
        break;
    case STAGE_FINISH:
        stop(app);
        break;
    case STAGE_FLUSH:
        finish(app, app->exit_code);
        break;
    default:
        break;
    }
}

void lifecycle_on_done(LoopWake *wake)
{
    App *app = container_of(wake, App, done);
    size_t running = 0;

    for (size_t i = 0; i < app->n_started; i++) {
        running += !atomic_load(&app->workers[i]->drained);
    }
    if (running == 0) {
        app->stage = STAGE_FLUSH;
        loop_timer_arm(app->loop, &app->timer, loop_now(app->loop) + FLUSH_NS);
        lifecycle_on_written(app);
    }
}

void lifecycle_on_written(void *ctx)
{
    App *app = ctx;

    if (app->stage == STAGE_FLUSH && (!app->activity || activity_is_idle(app->activity))) {
        finish(app, app->exit_code);
    }
}

/* ---- the run ---- */

static void warn_once(App *app)
{
    if (app->options->inert_asked) {
        LOG_WARN(app->log, "flags were given that have no effect here");
    }
    if (app->options->trust_pod_ip) {
        LOG_WARN(app->log, "clients choose their target: X-Sandbox-Pod-IP and DNS are trusted",
                 F_BOOL("table", app->options->cache_enabled));
    }
}

int app_run(App *app)
{
    warn_once(app);
    if (app->feed) {
        loop_timer_arm(app->loop, &app->timer, loop_now(app->loop) + APP_SYNC_NS);
        feed_start(app->feed);
    } else {
        serve(app);
    }
    if (loop_run(app->loop) < 0) {
        app->exit_code = 1;
    }
    for (size_t i = 0; i < app->n_started; i++) {
        worker_join(app->workers[i]);
    }
    app->n_started = 0; /* what the loop still runs finds no worker */
    if (app->tracer) {
        tracer_flush(app->tracer, APP_FLUSH_NS);
    }
    return app->exit_code;
}
