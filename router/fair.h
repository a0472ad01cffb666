/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * Limits of clients and sandboxes (limits.h) where connections and exchanges meet them. A client's
 * share is taken when the head is read, before anybody is asked who it is; a sandbox's when the
 * name is known, so that made-up names take no room. What was taken is given back by fair_leave().
 */
#include "router/exchange.h"

/* False: answered 429. */
bool fair_admit(Exchange *x, const HttpHead *head);
/* False: answered 429 or 503. */
bool fair_enter_sandbox(Exchange *x);
void fair_leave(Exchange *x);
/* A new connection. False: too many of this client. hold: for limits_leave(). */
bool fair_accept(Worker *worker, const char *peer, LimitHold *hold);
