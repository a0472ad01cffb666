/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * The server inside a sandbox: what every handler may use. One thread, one loop; whatever may take
 * long runs in another process (commands under their supervisors, file work as tasks), so that the
 * health answer never waits.
 */
#include "base/list.h"
#include "base/log.h"
#include "base/loop.h"
#include "http/server.h"
#include "runtime/exec/command.h"
#include "runtime/exec/reap.h"
#include "runtime/files/root.h"
#include "runtime/serve/options.h"

typedef struct Serve {
    const ServeOptions *options;
    Loop *loop;
    Logger *log;
    Reaper *reaper;
    Executor *executor;
    Root *root;
    HttpServer *server;
    List queue; /* ExecuteJob: commands that wait for a place */
    size_t queued;
    bool stopping;
} Serve;

/* Runs until SIGTERM or SIGINT. Exit code of the program. */
int serve_run(const ServeOptions *options, Logger *log, const Clock *clock);
