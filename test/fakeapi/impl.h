/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/* Insides of fakeapi, shared by its files only. */
#include "base/rng.h"
#include "base/vec.h"
#include "kube/selector.h"
#include "test/fakeapi/fakeapi.h"

/* A parsed request. Strings point into `text`. */
typedef struct FakeUrl {
    char *text;
    const KubeKind *kind;
    Str ns;
    Str name;
    Str subresource;
    Str label_selector;
    Str field_selector;
    Str cont;
    Str rv;
    Str match;   /* resourceVersionMatch */
    Str initial; /* sendInitialEvents */
    uint64_t limit;
    uint64_t timeout_s;
    bool watch;
    bool bookmarks;
} FakeUrl;

/* What will be answered. */
typedef struct FakeAnswer {
    int http;
    char *body; /* owned */
    unsigned retry_after_s;
} FakeAnswer;

typedef struct FakeEvent {
    uint64_t rv;
    const KubeKind *kind;
    json_t *before; /* NULL = added */
    json_t *after;  /* NULL = deleted */
    json_t *last;   /* deleted: the last state with the version of the deletion */
} FakeEvent;

/* Objects a selector picks. */
typedef struct FakeFilter {
    const KubeKind *kind;
    char *ns; /* NULL = all */
    KubeSelector *labels;
    char *fields;
} FakeFilter;

typedef struct FakeWatch {
    ListNode node;
    FakeFilter filter;
    size_t next;    /* index into events of what to look at next */
    uint64_t after; /* nothing up to this version is told */
    bool bookmarks;
    uint64_t ends_ns;
} FakeWatch;

typedef struct FakeExchange {
    ListNode node;
    FakeApi *api;
    KubeRequest *req;
    FakeUrl url;
    FakeVerdict verdict;
    FakeAnswer answer;
    FakeWatch *watch;
    bool committed;
    int cut; /* errno of a cut watch */
    bool ended;
    LoopTimer timer;
    LoopTimer bookmark;
} FakeExchange;

typedef struct FakeSnapshot {
    uint64_t id;
    json_t *items; /* what is still to be listed */
    uint64_t rv;
} FakeSnapshot;

struct FakeApi {
    KubeTransport transport;
    Loop *loop;
    Rng rng;
    FakeHook hook;
    void *hook_ctx;
    FakeObserver observer;
    void *observer_ctx;
    const KubeRequest *author; /* of the change being made */
    bool trace_off;
    bool streams_off;
    size_t page_max; /* 0 = as asked for */
    uint64_t latency_ns;
    uint64_t pod_grace_ns;
    uint64_t rv;
    uint64_t seq;
    uint64_t compacted_rv;
    VEC(json_t *) objects[KUBE_KIND_MAX_]; /* sorted by (namespace, name) */
    VEC(FakeEvent) events;
    VEC(FakeSnapshot) snapshots;
    List exchanges;
    LoopTimer gc;
    List late_pods; /* deleted, in their grace period */
    StrBuf trace;
    size_t requests;
    size_t writes;
};

/* url.c */
int fake_url_parse(const char *path, FakeUrl *ret_url); /* 0 or an HTTP code */
void fake_url_deinit(FakeUrl *url);

/* objects.c: 0 or an HTTP code with *ret_reason and message in *answer */
const json_t *fake_find(const FakeApi *api, const KubeKind *kind, Str ns, Str name);
void fake_answer_object(FakeAnswer *answer, int http, const json_t *object);
int fake_answer_status(FakeAnswer *answer, int http, const char *reason, const char *fmt, ...)
    PRINTF_LIKE(4, 5);
int fake_object_create(FakeApi *api, const KubeKind *kind, Str ns, const json_t *object,
                       FakeAnswer *answer);
/* whole: status and everything else at once, for the world's own writes */
int fake_object_write(FakeApi *api, const json_t *live, const KubeKind *kind, const json_t *wanted,
                      Str subresource, bool whole, FakeAnswer *answer);
int fake_object_delete(FakeApi *api, const json_t *live, const KubeKind *kind,
                       const json_t *options, FakeAnswer *answer);
void fake_gc(LoopTimer *timer);
void fake_late_clear(FakeApi *api);
/* A Pod goes when its grace period is over. */
void fake_late_add(FakeApi *api, const json_t *live);
Str fake_meta(const json_t *object, const char *member);

/* read.c */
int fake_filter_init(FakeFilter *filter, const FakeUrl *url);
void fake_filter_deinit(FakeFilter *filter);
/* lag: so many versions ago. */
int fake_list(FakeApi *api, const FakeUrl *url, uint64_t lag, FakeAnswer *answer);
/* lag: of the state that a streamed list begins with. */
int fake_watch_start(FakeExchange *x, uint64_t lag, FakeAnswer *answer);
/* Appends lines of events not yet sent. */
void fake_watch_lines(FakeApi *api, FakeWatch *watch, StrBuf *out);
void fake_watch_bookmark(FakeApi *api, const FakeWatch *watch, StrBuf *out);

/* fakeapi.c */
void fake_history_clear(FakeApi *api);
void fake_event(FakeApi *api, const KubeKind *kind, const json_t *before, const json_t *after,
                const json_t *last);
