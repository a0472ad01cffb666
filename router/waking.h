/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * What becomes of a request whose sandbox has no route: it waits, or it is told why there is none.
 * Who only looks whether something is alive never wakes a sandbox.
 */
#include "router/exchange.h"

/* False for HEAD and OPTIONS, probes of kubelets and load balancers, health paths, and
 * "X-Sandbox-Wake: false". Pure. */
bool waking_is_meant(const HttpHead *head);
/* In state RESOLVE, without a route: asks once, then answers or lets it wait. True: answered. */
bool waking_resolve(Exchange *x);
/* The wait for a route is over. */
void waking_give_up(Exchange *x);
void waking_leave(Exchange *x);
