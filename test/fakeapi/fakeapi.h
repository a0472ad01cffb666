/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * An API server in process: a KubeTransport on a virtual loop, for unit tests of pkg/kube and of
 * the controllers. See README.md in this folder.
 *
 * It has what controllers rely on: resourceVersion, uid, generation, generateName, merge patches,
 * the status subresource, optimistic concurrency, delete preconditions, finalizers, foreground
 * deletion, owner-reference garbage collection, label and field selectors, paged lists from a
 * snapshot, streamed lists, watches with history, bookmarks, 410 after compaction. Objects are
 * immutable trees: a change makes a new one.
 *
 * Requests commit latency/2 after submit and are answered latency/2 later, in order of submission.
 */
#include <stdbool.h>
#include <stdint.h>

#include "base/loop.h"
#include "kube/kind.h"
#include "kube/object.h"
#include "kube/transport.h"
#include "json/jx.h"

#define FAKE_LATENCY_NS (1000 * 1000ull)
#define FAKE_GC_DELAY_NS (5 * 1000 * 1000ull)
#define FAKE_BOOKMARK_NS (60ull * 1000000000ull)

typedef struct FakeApi FakeApi;

/* What a hook sees; strings are borrowed for the call. */
typedef struct FakeCall {
    uint64_t seq; /* 1 for the first request */
    KubeMethod method;
    const KubeKind *kind;
    Str ns;
    Str name;        /* of the URL; of the body for a create that has one */
    Str subresource; /* "" or "status" */
    Str body;
    bool watch;
    bool cont;    /* not the first page of a list */
    bool streams; /* a watch that begins with a streamed list */
} FakeCall;

typedef enum FakeVerdictKind {
    FAKE_PASS,
    FAKE_STATUS,      /* answer http with a Status of `reason`; nothing happens */
    FAKE_LOST_BEFORE, /* -ECONNRESET and nothing happens, but the request counts as sent */
    FAKE_LOST_AFTER,  /* it happens, then -ECONNRESET */
    FAKE_NOT_SENT,    /* -ECONNREFUSED */
    FAKE_TRUNCATED,   /* it happens, then half of the body as if it were all */
    FAKE_STALE, /* a list, also a streamed one, as it was `lag` versions ago, at most back to the
                   last compaction */
    FAKE_BODY,  /* answer `http` with exactly `body` */
} FakeVerdictKind;

typedef struct FakeVerdict {
    FakeVerdictKind kind;
    int http;
    const char *reason;  /* of the Status, NULL = derived from http */
    const char *message; /* of the Status */
    const char *body;
    unsigned retry_after_s;
    uint64_t lag;
    uint64_t delay_ns; /* more latency before the answer */
} FakeVerdict;

typedef FakeVerdict (*FakeHook)(void *ctx, const FakeCall *call);

/* One committed change, told when it has happened and before anybody else hears of it. */
typedef struct FakeChange {
    const KubeRequest *req; /* whose request did it; NULL = the world or the garbage collector */
    const KubeKind *kind;
    const json_t *before; /* NULL = created */
    const json_t *after;  /* NULL = removed */
    uint64_t rv;
} FakeChange;

typedef void (*FakeObserver)(void *ctx, const FakeChange *change);

FakeApi *fakeapi_new(Loop *loop, uint64_t seed);
/* All requests must be done or cancelled. */
FakeApi *fakeapi_free(FakeApi *api);
KubeTransport *fakeapi_transport(FakeApi *api);
void fakeapi_set_hook(FakeApi *api, FakeHook hook, void *ctx); /* NULL = none */
/* fn may look at objects but not change any. NULL = none. */
void fakeapi_set_observer(FakeApi *api, FakeObserver fn, void *ctx);
void fakeapi_set_latency(FakeApi *api, uint64_t ns);
/* Off: streamed lists are refused as by a server without the feature. On by default. */
void fakeapi_set_streams(FakeApi *api, bool on);
/* > 0: pages of a list have at most so many items, whatever was asked for. */
void fakeapi_set_page_max(FakeApi *api, size_t items);
/* > 0: a deleted Pod stays, with a deletionTimestamp, for this long. Default 0. */
void fakeapi_set_pod_grace(FakeApi *api, uint64_t ns);

/*
 * The world behind the API: what kubelets, users and other controllers do. These take effect at
 * once and make watch events. They return 0 or the HTTP code of the refusal.
 */
int fakeapi_create(FakeApi *api, const char *text);    /* JSON or YAML */
int fakeapi_create_json(FakeApi *api, json_t *object); /* borrowed */
int fakeapi_patch(FakeApi *api, KubeKindId kind, const char *ns, const char *name,
                  const char *patch); /* merge patch as JSON or YAML; status included */
int fakeapi_delete(FakeApi *api, KubeKindId kind, const char *ns, const char *name);

/* Borrowed until the next change, NULL = absent. */
const json_t *fakeapi_get(const FakeApi *api, KubeKindId kind, const char *ns, const char *name);
size_t fakeapi_count(const FakeApi *api, KubeKindId kind);
/* All objects of a kind in the order of (namespace, name): calls fn for each. */
void fakeapi_each(const FakeApi *api, KubeKindId kind, void (*fn)(void *ctx, const json_t *object),
                  void *ctx);
uint64_t fakeapi_rv(const FakeApi *api);

/* Forgets history: watches that resume and lists that continue get 410. */
void fakeapi_compact(FakeApi *api);
/* The storage as it is now, and its return: versions go back. backup.c */
typedef struct FakeBackup FakeBackup;
FakeBackup *fakeapi_backup(FakeApi *api);
FakeBackup *fakeapi_backup_free(FakeBackup *backup); /* returns NULL */
/* So many versions went to kinds that are not in this world. */
void fakeapi_skip_versions(FakeApi *api, uint64_t n);
void fakeapi_restore(FakeApi *api, const FakeBackup *backup);
/* Writes every request down for fakeapi_trace(); on by default. */
void fakeapi_set_trace(FakeApi *api, bool on);
/* Ends all watches: err 0 = EOF, else that errno. */
void fakeapi_cut_watches(FakeApi *api, int err);
void fakeapi_bookmark(FakeApi *api); /* sends one to every watch now */

/* Requests since the start or the last reset: "PATCH sandboxes/status ns/name\n" per line. */
Str fakeapi_trace(const FakeApi *api);
void fakeapi_trace_reset(FakeApi *api);
size_t fakeapi_requests(const FakeApi *api); /* all but watches and lists, since the reset */
size_t fakeapi_writes(const FakeApi *api);   /* POST, PUT, PATCH, DELETE, since the reset */
size_t fakeapi_watches(const FakeApi *api);  /* open now */

DEFINE_AUTO_PTR(fakeapi, FakeApi, fakeapi_free)
