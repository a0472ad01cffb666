/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * Watch state machine without any I/O: told what arrived, it says what changed and what to request
 * next. Tests, fuzzers and the simulator drive it directly; kube/informer.c connects it to a
 * transport.
 *
 *     EMPTY -> LISTING -> LISTED(rv) -> WATCHING(rv)
 *     EMPTY -> STREAMING -------------> WATCHING(rv)     after kube_watch_stream()
 *
 * A streamed list is a watch that begins with an ADDED event for all that is there and a bookmark
 * with the annotation k8s.io/initial-events-end (Kubernetes API concepts, "Streaming lists"): the
 * server need not hold the list, and the same request goes on as the watch. Objects come in no
 * order of versions, so only that bookmark sets rv. When a stream fails, the next list is paged;
 * when the server does not know streams (400, 403, 404, 405, 422) that comes at once.
 *
 * 410 leads back to EMPTY. The end of a watch leads to LISTED: at once when it lived longer than a
 * second, else after a back-off (0.8 s .. 30 s with jitter). A bookmark only moves rv. An event
 * that cannot be decoded ends this watch, and twice in a row at the same rv leads to a new list.
 * Duplicate and coalesced events are harmless: consumers compare versions.
 *
 * Versions can go back: an etcd restored from a backup. A server then takes a watch from a version
 * that it has not reached and is silent until it has. So between two watches, and after a list that
 * is older than what was seen, the server is asked for its version first (PROBING: a list of one
 * item). Behind twice, KUBE_WATCH_CONFIRM_NS apart - a server that lags has caught up by then -
 * the next list begins with KUBE_WATCH_REWIND: forget versions.
 */
#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "base/rng.h"
#include "base/str.h"
#include "kube/kind.h"
#include "kube/object.h"
#include "kube/reason.h"

#define KUBE_WATCH_LINE_MAX (4u << 20) /* bytes of one event */
#define KUBE_WATCH_RV_MAX 64
#define KUBE_WATCH_CONT_MAX 4096
#define KUBE_WATCH_TIMEOUT_MIN_S 300 /* timeoutSeconds is random between these */
#define KUBE_WATCH_TIMEOUT_MAX_S 600
#define KUBE_WATCH_SHORT_NS 1000000000ull
#define KUBE_WATCH_CONFIRM_NS 5000000000ull
#define KUBE_WATCH_INITIAL_END "k8s.io/initial-events-end" /* annotation of that bookmark */

typedef enum KubeWatchState {
    KUBE_WATCH_EMPTY,
    KUBE_WATCH_LISTING,
    KUBE_WATCH_STREAMING,
    KUBE_WATCH_LISTED,
    KUBE_WATCH_PROBING,
    KUBE_WATCH_WATCHING,
} KubeWatchState;

typedef enum KubeWatchEvent {
    KUBE_WATCH_INIT,       /* a list begins; obj NULL */
    KUBE_WATCH_INIT_APPLY, /* an item of it */
    KUBE_WATCH_INIT_DONE,  /* it is complete; obj NULL; kube_watch_rv() is its version */
    KUBE_WATCH_APPLY,
    KUBE_WATCH_DELETE, /* obj is the last state */
    KUBE_WATCH_REWIND, /* the server's versions went back; obj NULL; a list follows */
} KubeWatchEvent;

typedef enum KubeWatchActionKind {
    KUBE_WATCH_DO_NOTHING, /* a request is running */
    KUBE_WATCH_DO_WAIT,    /* until at_ns, then call kube_watch_next() again */
    KUBE_WATCH_DO_LIST,    /* a page: `cont` is its token ("" = first) */
    KUBE_WATCH_DO_STREAM,  /* a streamed list, then the watch, for timeout_s */
    KUBE_WATCH_DO_PROBE,   /* a list of one item, for its version */
    KUBE_WATCH_DO_WATCH,   /* from `rv`, for timeout_s */
} KubeWatchActionKind;

typedef struct KubeWatchAction {
    KubeWatchActionKind kind;
    uint64_t at_ns;
    unsigned timeout_s;
    Str rv;   /* borrowed from the watch until the next input */
    Str cont; /* likewise */
} KubeWatchAction;

typedef struct KubeWatch KubeWatch;
typedef void (*KubeWatchEventFn)(KubeWatch *watch, KubeWatchEvent event, KubeObj *obj);

struct KubeWatch {
    const KubeKind *kind;
    KubeWatchEventFn fn;
    Rng rng;
    KubeWatchState state;
    bool streams;      /* lists are streamed */
    bool paged_next;   /* but not the next one */
    bool running;      /* a request is in flight */
    bool probe;        /* ask for the version before the next watch */
    bool rewind;       /* the next list begins with KUBE_WATCH_REWIND */
    uint64_t highest;  /* version that the server has told, 0 = unknown */
    uint64_t doubt;    /* what `highest` was when the server was first behind it, 0 = it was not */
    uint32_t failures; /* in a row, for the back-off */
    uint32_t undecodable; /* watches in a row that ended at a bad event */
    uint64_t not_before_ns;
    uint64_t started_ns;
    uint64_t events; /* of the running watch */
    char rv[KUBE_WATCH_RV_MAX];
    StrBuf cont;
    StrBuf line;     /* unfinished event */
    KubeError error; /* last failure, for logs */
};

void kube_watch_init(KubeWatch *watch, const KubeKind *kind, Rng rng, KubeWatchEventFn fn);
void kube_watch_deinit(KubeWatch *watch);
/* Lists are asked for as streams from now on. */
void kube_watch_stream(KubeWatch *watch);

/* What to do now. A LIST or WATCH answer counts as started; its end must be reported. */
void kube_watch_next(KubeWatch *watch, uint64_t now_ns, KubeWatchAction *ret_action);

/* An item of the running page, and the page's end. */
void kube_watch_on_item(KubeWatch *watch, KubeObj *obj);
void kube_watch_on_page(KubeWatch *watch, Str rv, Str cont, uint64_t now_ns);
/* The version that the running probe was answered with; `known`: the highest that was seen besides
 * this watch, as in answers to writes. */
void kube_watch_on_probe(KubeWatch *watch, Str rv, uint64_t known, uint64_t now_ns);
/* From inside KUBE_WATCH_INIT_DONE: the list shows that versions went back; list again. */
void kube_watch_distrust(KubeWatch *watch);
/* Bytes of the running watch or stream, cut anywhere. <0: it is over, report it with on_fail(). */
int kube_watch_on_data(KubeWatch *watch, Str chunk, KubeError *ret_error);
/* The server closed the watch in good order. A stream that has not got to its watch yet has failed
 * instead: the end of its list is part of the list. */
void kube_watch_on_eof(KubeWatch *watch, uint64_t now_ns);
/* True when this end of the running request only says that lists cannot be streamed here. */
bool kube_watch_is_refusal(const KubeWatch *watch, const KubeError *error);
/* The running page, stream or watch failed. */
void kube_watch_on_fail(KubeWatch *watch, const KubeError *error, uint64_t now_ns);

static inline Str kube_watch_rv(const KubeWatch *watch)
{
    return str_from(watch->rv);
}
