/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * KubeTransport over libcurl (HTTP/2 when the server speaks it). One CURLM per connection shard for
 * requests and one for watches, so that a flood of LISTs cannot starve a watch. At most
 * inflight_max requests are on the wire per shard; the rest wait here by priority.
 * Call kube_curl_global_init() once before threads start.
 */
#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "base/log.h"
#include "base/loop.h"
#include "kube/config.h"
#include "kube/transport.h"

#define KUBE_CURL_INFLIGHT_MAX 90 /* below the 100 streams an API server allows */
#define KUBE_CURL_WATCHES_MAX 64
#define KUBE_CURL_SHARDS_MAX 16
#define KUBE_CURL_QUEUE_MAX 65536 /* waiting requests; beyond it they fail with -ENOBUFS */

typedef struct KubeCurl KubeCurl;

typedef struct KubeCurlOptions {
    unsigned shards;        /* 0 = 1 */
    unsigned inflight_max;  /* 0 = KUBE_CURL_INFLIGHT_MAX */
    const char *user_agent; /* NULL = "cofferdam/VERSION" */
    Logger *log;            /* borrowed, NULL = silent; debug level traces, secrets removed */
    double qps;             /* requests a second, watches not counted; 0 or less = no limit */
    unsigned burst;         /* that may go at once; 0 = 1 */
    /* Called for every request that ended; http_status 0 = no answer. NULL = nobody counts. */
    void (*on_result)(void *ctx, KubeMethod method, int http_status);
    void *ctx;
} KubeCurlOptions;

typedef struct KubeCurlStats {
    uint64_t requests; /* handed to libcurl */
    uint64_t connections;
    uint64_t failures; /* ended without a complete response */
    size_t inflight;   /* watches not counted */
    size_t watches;
    size_t queued;
} KubeCurlStats;

int kube_curl_global_init(void);
void kube_curl_global_deinit(void);

/* config and loop are borrowed and must live longer. */
int kube_curl_new(Loop *loop, const KubeConfig *config, const KubeCurlOptions *options,
                  KubeCurl **ret_curl, Err *reterr);
/* All requests must be done or cancelled. Not from inside a callback. */
KubeCurl *kube_curl_free(KubeCurl *curl);
KubeTransport *kube_curl_transport(KubeCurl *curl);
void kube_curl_stats(const KubeCurl *curl, KubeCurlStats *ret_stats);

DEFINE_AUTO_PTR(kube_curl, KubeCurl, kube_curl_free)
