/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * From Pods to routes, on the main thread. For each sandbox name the best of its pods is chosen
 * anew whenever one of them changes; the table is published once per turn of the loop.
 *
 * Routable is a pod that is Ready, has an address, is not going away, is controlled by a Sandbox of
 * group agents.x-k8s.io and does not carry the warm pool's label: nobody may reach a member that
 * nobody has claimed.
 */
#include "kube/api.h"
#include "kube/informer.h"
#include "router/table.h"

typedef struct Feed Feed;

typedef struct FeedConfig {
    KubeApi *api;
    const char *ns; /* NULL = all */
    uint64_t seed;
    RouteBoard *board;
    void (*on_publish)(void *ctx, size_t routes);          /* after a table went to the board */
    void (*on_synced)(void *ctx);                          /* once, after the first list */
    void (*on_trouble)(void *ctx, const KubeError *error); /* the API server cannot be followed */
    void *ctx;
} FeedConfig;

Feed *feed_new(const FeedConfig *config);
Feed *feed_free(Feed *feed); /* NULL is fine */
void feed_start(Feed *feed);

/* Pure parts, for tests. */
bool feed_pod_is_routable(const KubeObj *pod);
Str feed_pod_sandbox(const KubeObj *pod); /* name of the Sandbox that controls it, or STR_NULL */
/* True when a is a better target than b, both routable and of one sandbox. */
bool feed_pod_is_better(const KubeObj *a, const KubeObj *b);
