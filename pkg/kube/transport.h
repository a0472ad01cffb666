/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * How requests reach an API server. kube/curl.c speaks HTTP/2 over libcurl; test/fakeapi answers in
 * process. A KubeRequest is embedded in and owned by the caller.
 *
 * Rules for every implementation:
 *  - on_data and on_done are never called from inside submit(); on_done is called exactly once,
 *    unless the request is cancelled first; after cancel() no callback comes.
 *  - Inside on_done the request may be freed or submitted again; inside on_data it may be
 * cancelled.
 *  - Strings handed in (path, content_type, accept, body) stay valid until on_done or cancel.
 *  - err == 0 means a complete response: its framing was checked, not only its status.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "base/list.h"
#include "base/str.h"

typedef enum KubeMethod {
    KUBE_GET,
    KUBE_POST,
    KUBE_PUT,
    KUBE_PATCH,
    KUBE_DELETE,
    KUBE_METHOD_MAX_,
} KubeMethod;

/* Requests wait in one queue per priority when too many are in flight. */
typedef enum KubePriority {
    KUBE_PRIO_HIGH,   /* a claim waits for it; leases */
    KUBE_PRIO_NORMAL, /* level-triggered work */
    KUBE_PRIO_LOW,    /* events, refill, pool status */
    KUBE_PRIO_MAX_,
} KubePriority;

#define KUBE_BODY_MAX_DEFAULT (8u << 20) /* bytes of a buffered response */
#define KUBE_ERROR_BODY_MAX (64u << 10)  /* bytes kept of an error answer to a streaming request */
#define KUBE_TIMEOUT_DEFAULT_NS (30ull * 1000000000ull)

typedef struct KubeRequest KubeRequest;
typedef struct KubeTransport KubeTransport;

typedef struct KubeResult {
    int err;         /* 0, or -errno when there is no complete response */
    int http_status; /* 0 when no status line came */
    Str body;        /* borrowed for the callback; for on_data requests only error answers */
    uint64_t retry_after_ns; /* 0 = not given */
    bool sent;               /* bytes of the request may have reached the server */
    char msg[ERR_MSG_MAX];   /* text for err != 0 */
} KubeResult;

struct KubeRequest {
    KubeMethod method;
    KubePriority priority;
    bool stream;              /* a watch: own connection, no total timeout, EOF is a normal end */
    const char *path;         /* path and query, encoded */
    const char *content_type; /* NULL without a body */
    const char *accept;       /* NULL = application/json */
    Str body;
    size_t body_max; /* 0 = KUBE_BODY_MAX_DEFAULT */
    uint64_t
        timeout_ns;   /* 0 = KUBE_TIMEOUT_DEFAULT_NS; whole request, time in the queue included */
    uint64_t idle_ns; /* stream: longest silence, 0 = none */

    /* Set: the body of a 2xx answer comes in pieces as it arrives. <0 ends the request with it. */
    int (*on_data)(KubeRequest *req, Str chunk);
    void (*on_done)(KubeRequest *req, const KubeResult *result);

    ListNode node; /* of the transport */
    void *impl;    /* of the transport; NULL when it does not have the request */
};

struct KubeTransport {
    void (*submit)(KubeTransport *transport, KubeRequest *req);
    void (*cancel)(KubeTransport *transport,
                   KubeRequest *req); /* does nothing when not submitted */
};

static inline void kube_submit(KubeTransport *transport, KubeRequest *req)
{
    transport->submit(transport, req);
}

static inline void kube_cancel(KubeTransport *transport, KubeRequest *req)
{
    transport->cancel(transport, req);
}

const char *kube_method_name(KubeMethod method);
