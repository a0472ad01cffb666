/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * A worker of the router without its thread and its listener: a connection is one end of a socket
 * pair. What the worker holds after the last connection is gone is checked.
 */
#include "router/front.h"

typedef struct RouterWorld {
    Metrics *metrics;
    Observe observe;
    RouteBoard board;
    TuningBoard tuning;
    RouterShared shared;
    Worker worker;
} RouterWorld;

/* trust: sandboxes are where X-Sandbox-Pod-IP says. */
void router_world_init(RouterWorld *world, bool trust);
void router_world_deinit(RouterWorld *world); /* aborts when something was left behind */
int router_world_connect(RouterWorld *world); /* the client's end, non-blocking */
/* Runs what can be run now. */
void router_world_step(RouterWorld *world);
/* Closes the client's end and waits until the worker has noticed. */
void router_world_hang_up(RouterWorld *world, int fd);
