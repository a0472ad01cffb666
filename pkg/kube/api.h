/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * Typed calls over a transport. Each call returns a handle at once and ends with exactly one
 * callback from the loop (never from inside the call itself), also when the arguments were bad. The
 * handle is dead when the callback returns; kube_call_cancel() before that means no callback.
 * Bodies and names are copied.
 *
 *     KubeCall *c = kube_api_patch(api, kube_kind(KUBE_SANDBOX), key, "status", body, NULL, fn,
 * ctx); static void fn(void *ctx, const KubeError *error, KubeObj *obj)
 *
 * error is NULL on success. obj is the object of the answer, borrowed for the callback (ref it to
 * keep it); NULL on failure, and for a DELETE whose object is gone at once. A DELETE that only
 * marks the object (grace period, finalizers) answers with the object.
 */
#include "base/loop.h"
#include "base/str.h"
#include "kube/kind.h"
#include "kube/object.h"
#include "kube/reason.h"
#include "kube/transport.h"

#define KUBE_REQUEST_BODY_MAX (1u << 20)
#define KUBE_LIST_LIMIT 500

typedef struct KubeApi KubeApi;
typedef struct KubeCall KubeCall;

typedef void (*KubeCallFn)(void *ctx, const KubeError *error, KubeObj *obj);

typedef struct KubeCallOptions {
    KubePriority priority;
    uint64_t timeout_ns;       /* 0 = KUBE_TIMEOUT_DEFAULT_NS */
    const char *field_manager; /* NULL = that of the api; borrowed static string */
} KubeCallOptions;

#define KUBE_CALL_NORMAL ((const KubeCallOptions *)NULL) /* normal priority, defaults */

typedef enum KubePropagation {
    KUBE_PROPAGATION_DEFAULT,
    KUBE_PROPAGATION_BACKGROUND,
    KUBE_PROPAGATION_FOREGROUND,
    KUBE_PROPAGATION_ORPHAN,
} KubePropagation;

typedef struct KubeDeleteOptions {
    Str uid; /* precondition; STR_NULL = none */
    Str rv;  /* precondition; STR_NULL = none */
    KubePropagation propagation;
    int64_t grace_s; /* < 0 = the object's own */
} KubeDeleteOptions;

typedef struct KubeListOptions {
    Str ns;                     /* STR_NULL = all */
    const char *label_selector; /* NULL = none */
    const char *field_selector; /* NULL = none */
    Str cont;                   /* continue token, STR_NULL = first page */
    unsigned limit;             /* 0 = KUBE_LIST_LIMIT */
} KubeListOptions;

typedef struct KubeListMeta {
    Str rv;   /* resourceVersion of the list */
    Str cont; /* "" = last page */
} KubeListMeta;

/* Each item as it arrives; the page may still fail afterwards. */
typedef void (*KubeItemFn)(void *ctx, KubeObj *obj);
typedef void (*KubePageFn)(void *ctx, const KubeError *error, const KubeListMeta *meta);

/* field_manager: static string, NULL = "cofferdam". Borrows loop and transport. */
KubeApi *kube_api_new(Loop *loop, KubeTransport *transport, const char *field_manager);
/* Cancels what is still running. Not from inside a callback of a call. */
KubeApi *kube_api_free(KubeApi *api);
Loop *kube_api_loop(const KubeApi *api);
KubeTransport *kube_api_transport(const KubeApi *api);

KubeCall *kube_api_get(KubeApi *api, const KubeKind *kind, KubeKey key,
                       const KubeCallOptions *options, KubeCallFn fn, void *ctx);
KubeCall *kube_api_create(KubeApi *api, const KubeKind *kind, Str ns, Str body,
                          const KubeCallOptions *options, KubeCallFn fn, void *ctx);
/* application/merge-patch+json; subresource NULL or "status". */
KubeCall *kube_api_patch(KubeApi *api, const KubeKind *kind, KubeKey key, const char *subresource,
                         Str patch, const KubeCallOptions *options, KubeCallFn fn, void *ctx);
/* PUT of the whole object. */
KubeCall *kube_api_replace(KubeApi *api, const KubeKind *kind, KubeKey key, const char *subresource,
                           Str body, const KubeCallOptions *options, KubeCallFn fn, void *ctx);
/* del NULL = no preconditions, default propagation. */
KubeCall *kube_api_delete(KubeApi *api, const KubeKind *kind, KubeKey key,
                          const KubeDeleteOptions *del, const KubeCallOptions *options,
                          KubeCallFn fn, void *ctx);
/* One page, decoded item by item while it arrives. Items of a wrong kind fail the page. */
KubeCall *kube_api_list_page(KubeApi *api, const KubeKind *kind, const KubeListOptions *list,
                             const KubeCallOptions *options, KubeItemFn item_fn, KubePageFn fn,
                             void *ctx);

void kube_call_cancel(KubeCall *call); /* NULL is fine */

DEFINE_AUTO_PTR(kube_api, KubeApi, kube_api_free)
