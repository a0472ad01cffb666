/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/* What happens between start and end, as callbacks of the main loop. See lifecycle.c. */
#include "router/app.h"

void lifecycle_on_signal(Signals *signals, int signo);
void lifecycle_on_done(LoopWake *wake);
void lifecycle_on_timer(LoopTimer *timer);
void lifecycle_on_publish(void *ctx, size_t routes);
void lifecycle_on_synced(void *ctx);
void lifecycle_on_written(void *ctx); /* the activity of sandboxes */
void lifecycle_on_reload(void *ctx, const RouterOptions *options);
void lifecycle_on_trouble(void *ctx, const KubeError *error);
