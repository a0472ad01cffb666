/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * What a failed call means, as a table: HTTP status and the Status object of the answer (or its
 * absence) become one KubeReason, and each reason has one policy. Callers switch on the reason or
 * look at the policy; nobody interprets HTTP codes elsewhere.
 */
#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "base/str.h"
#include "kube/transport.h"
#include "json/doc.h"

typedef enum KubeReason {
    KUBE_REASON_NONE,            /* no error */
    KUBE_REASON_NOT_FOUND,       /* 404 */
    KUBE_REASON_ALREADY_EXISTS,  /* 409 AlreadyExists */
    KUBE_REASON_CONFLICT,        /* 409 Conflict: resourceVersion or UID precondition */
    KUBE_REASON_GONE,            /* 410 Gone, Expired */
    KUBE_REASON_INVALID,         /* 422; also 400 */
    KUBE_REASON_FORBIDDEN,       /* 403: quota, policy, RBAC */
    KUBE_REASON_TERMINATING,     /* 403 because the namespace is being deleted */
    KUBE_REASON_UNAUTHORIZED,    /* 401 */
    KUBE_REASON_TOO_LARGE,       /* 413 */
    KUBE_REASON_TOO_MANY,        /* 429 */
    KUBE_REASON_UNAVAILABLE,     /* 503, 502, 504 without an outcome */
    KUBE_REASON_SERVER,          /* 500 and other 5xx */
    KUBE_REASON_REJECTED,        /* other 4xx */
    KUBE_REASON_NETWORK,         /* nothing of a write was sent, or a read failed */
    KUBE_REASON_UNKNOWN_OUTCOME, /* a write was sent and no complete answer came */
    KUBE_REASON_BAD_ANSWER,      /* 2xx that is not what was asked for */
    KUBE_REASON_BAD_REQUEST,     /* refused here: bad name, body too large */
    KUBE_REASON_MAX_,
} KubeReason;

typedef enum KubePolicy {
    KUBE_POLICY_DONE,     /* nothing to do */
    KUBE_POLICY_RETRY,    /* with back-off; retry_after_ns first when given */
    KUBE_POLICY_REREAD,   /* look at the object again, then decide anew */
    KUBE_POLICY_TERMINAL, /* the same request cannot succeed: tell the user */
} KubePolicy;

typedef struct KubeError {
    int http; /* 0 when there was no answer */
    KubeReason reason;
    uint64_t retry_after_ns;
    char msg[ERR_MSG_MAX]; /* the server's message, or ours */
} KubeError;

const char *kube_reason_name(KubeReason reason); /* "NotFound" */
KubePolicy kube_reason_policy(KubeReason reason);
/* The outcome of a write is unknown, or the write happened and its answer was lost. */
bool kube_reason_is_unknown_outcome(KubeReason reason);

/* Fills *ret_error and returns its reason; KUBE_REASON_NONE for a complete 2xx answer. */
KubeReason kube_error_from_result(const KubeResult *result, KubeMethod method,
                                  KubeError *ret_error);
/* From a Status object as it comes inside a watch; absent: http alone decides. */
KubeReason kube_error_from_node(int http, JNode status, KubeError *ret_error);
void kube_error_set(KubeError *ret_error, KubeReason reason, const char *fmt, ...)
    PRINTF_LIKE(3, 4);
