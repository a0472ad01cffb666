/* SPDX-License-Identifier: Apache-2.0 */
/*
 * See events.h. Equal Events are recognised by two independent 64-bit hashes of what they say, so
 * an entry does not keep the texts.
 */
#include "kube/events.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/check.h"
#include "base/clock.h"
#include "base/hash.h"
#include "base/hmap.h"
#include "base/list.h"
#include "base/mem.h"
#include "base/rng.h"
#include "base/timefmt.h"
#include "kube/meta.h"
#include "json/write.h"

#define BODY_MAX (16u << 10)
#define NAME_SUFFIX 17 /* "." and 16 hex digits */

typedef struct Series {
    HMapNode by_hash;
    ListNode fifo;  /* oldest first */
    ListNode dirty; /* waits for a patch */
    uint64_t check; /* second hash */
    int64_t count;
    uint64_t last_ns;
    int64_t last_wall_ns;
    uint64_t written_ns;
    char *ns;
    char name[KUBE_SUBDOMAIN_MAX + 1];
} Series;

typedef struct Pending {
    ListNode node;
    KubeEvents *events;
    KubeCall *call;
} Pending;

struct KubeEvents {
    KubeApi *api;
    Loop *loop;
    const char *instance;
    Rng rng;
    uint64_t seeds[2];
    HMap by_hash;
    List fifo;
    List dirty;
    List pending;
    size_t n_pending;
    LoopTimer flush;
    KubeEventsStats stats;
};

static const KubeCallOptions OPTIONS = {.priority = KUBE_PRIO_LOW};

/* ---- requests ---- */

static void pending_end(Pending *pending)
{
    list_remove(&pending->node);
    pending->events->n_pending--;
    free(pending);
}

static void events_on_done(void *ctx, const KubeError *error, KubeObj *obj)
{
    Pending *pending = ctx;

    UNUSED(obj);
    pending->events->stats.failed += error != NULL;
    pending_end(pending);
}

/* NULL when too many are under way. */
static Pending *pending_new(KubeEvents *events)
{
    Pending *pending;

    if (events->n_pending >= KUBE_EVENTS_PENDING_MAX) {
        events->stats.dropped++;
        return NULL;
    }
    pending = xcalloc(1, sizeof(*pending));
    pending->events = events;
    list_push_back(&events->pending, &pending->node);
    events->n_pending++;
    return pending;
}

/* ---- bodies ---- */

static Str note_cut(Str note, size_t max)
{
    size_t n = max;

    if (!note.ptr || note.len <= max) {
        return note.ptr ? note : STR("");
    }
    while (n > 0 && ((unsigned char)note.ptr[n] & 0xc0) == 0x80) {
        n--;
    }
    return str_take(note, n);
}

static void event_regarding(JWriter *w, const KubeObj *obj)
{
    jw_key(w, STR("regarding"));
    jw_object(w);
    jw_member_cstr(w, "apiVersion", obj->kind->api_version);
    jw_member_cstr(w, "kind", obj->kind->kind);
    jw_member_str(w, "namespace", obj->ns);
    jw_member_str(w, "name", obj->name);
    jw_member_str(w, "uid", obj->uid);
    jw_member_str(w, "resourceVersion", obj->rv_text);
    jw_object_end(w);
}

static void event_body(const KubeEvents *events, const Series *series, const KubeEventArgs *args,
                       StrBuf *out)
{
    const KubeKind *kind = kube_kind(KUBE_EVENT);
    char now[TIMEFMT_SIZE];
    JWriter w;

    timefmt_micros(loop_wall_now(events->loop), now);
    jw_init(&w, out);
    jw_object(&w);
    jw_member_cstr(&w, "apiVersion", kind->api_version);
    jw_member_cstr(&w, "kind", kind->kind);
    jw_key(&w, STR("metadata"));
    jw_object(&w);
    jw_member_cstr(&w, "namespace", series->ns);
    jw_member_cstr(&w, "name", series->name);
    jw_object_end(&w);
    jw_member_cstr(&w, "eventTime", now);
    jw_member_cstr(&w, "reportingController", args->controller);
    jw_member_cstr(&w, "reportingInstance", events->instance);
    jw_member_str(&w, "action", note_cut(str_from(args->action), KUBE_EVENT_ACTION_MAX));
    jw_member_str(&w, "reason", note_cut(str_from(args->reason), KUBE_EVENT_REASON_MAX));
    jw_member_cstr(&w, "type", args->warning ? "Warning" : "Normal");
    jw_member_str(&w, "note", note_cut(args->note, KUBE_EVENT_NOTE_MAX));
    event_regarding(&w, args->regarding);
    jw_object_end(&w);
}

static void series_patch(KubeEvents *events, Series *series)
{
    AUTO(strbuf) StrBuf body = STRBUF_INIT(BODY_MAX);
    KubeKey key = {str_from(series->ns), str_from(series->name)};
    Pending *pending = pending_new(events);
    char last[TIMEFMT_SIZE];
    JWriter w;

    list_remove(&series->dirty);
    series->written_ns = loop_now(events->loop);
    if (!pending) {
        return;
    }
    timefmt_micros(series->last_wall_ns, last);
    jw_init(&w, &body);
    jw_object(&w);
    jw_key(&w, STR("series"));
    jw_object(&w);
    jw_member_i64(&w, "count", series->count);
    jw_member_cstr(&w, "lastObservedTime", last);
    jw_object_end(&w);
    jw_object_end(&w);
    pending->call = kube_api_patch(events->api, kube_kind(KUBE_EVENT), key, NULL, strbuf_str(&body),
                                   &OPTIONS, events_on_done, pending);
}

/* ---- series ---- */

static void series_free(KubeEvents *events, Series *series)
{
    hmap_remove(&events->by_hash, &series->by_hash);
    list_remove(&series->fifo);
    list_remove(&series->dirty);
    free(series->ns);
    free(series);
}

static uint64_t args_hash(uint64_t seed, const KubeEventArgs *args)
{
    const Str parts[] = {
        args->regarding->uid,
        args->regarding->name,
        args->regarding->ns,
        str_from(args->controller),
        str_from(args->reason),
        str_from(args->action),
        args->note.ptr ? args->note : STR(""),
    };

    for (size_t i = 0; i < ARRAY_LEN(parts); i++) {
        seed = hash_str(seed, parts[i]);
    }
    return seed ^ args->warning;
}

static Series *series_find(const KubeEvents *events, uint64_t hash, uint64_t check)
{
    for (HMapNode *n = hmap_first(&events->by_hash, hash); n; n = hmap_next(n)) {
        Series *series = container_of(n, Series, by_hash);

        if (series->check == check) {
            return series;
        }
    }
    return NULL;
}

static Series *series_new(KubeEvents *events, uint64_t hash, uint64_t check, const KubeObj *obj)
{
    Series *series = xcalloc(1, sizeof(*series));
    Str stem = str_take(obj->name, KUBE_SUBDOMAIN_MAX - NAME_SUFFIX);

    while (stem.len > 0 && (stem.ptr[stem.len - 1] == '.' || stem.ptr[stem.len - 1] == '-')) {
        stem.len--;
    }
    if (events->by_hash.len >= KUBE_EVENTS_CACHE_MAX) {
        series_free(events, list_entry(list_first(&events->fifo), Series, fifo));
    }
    series->check = check;
    series->count = 1;
    series->ns = xstrndup(obj->ns.ptr, obj->ns.len);
    series->written_ns = loop_now(events->loop);
    snprintf(series->name, sizeof(series->name), STR_FMT ".%016llx", STR_ARG(stem),
             (unsigned long long)rng_u64(&events->rng));
    hmap_insert(&events->by_hash, &series->by_hash, hash);
    list_push_back(&events->fifo, &series->fifo);
    return series;
}

static void events_on_flush(LoopTimer *timer)
{
    KubeEvents *events = container_of(timer, KubeEvents, flush);
    uint64_t now = loop_now(events->loop);
    uint64_t next = LOOP_NEVER;

    list_foreach (&events->dirty, n) {
        Series *series = list_entry(n, Series, dirty);
        uint64_t due = series->written_ns + KUBE_EVENTS_PATCH_NS;

        if (due <= now) {
            series_patch(events, series);
        } else if (due < next) {
            next = due;
        }
    }
    if (next != LOOP_NEVER) {
        loop_timer_arm(events->loop, &events->flush, next);
    }
}

static void series_fold(KubeEvents *events, Series *series)
{
    uint64_t due = series->written_ns + KUBE_EVENTS_PATCH_NS;

    series->count++;
    events->stats.folded++;
    if (!list_node_is_linked(&series->dirty)) {
        list_push_back(&events->dirty, &series->dirty);
    }
    if (!loop_timer_is_armed(&events->flush) || events->flush.node.key > due) {
        loop_timer_arm(events->loop, &events->flush, due);
    }
}

void kube_events_emit(KubeEvents *events, const KubeEventArgs *args)
{
    AUTO(strbuf) StrBuf body = STRBUF_INIT(BODY_MAX);
    uint64_t hash = args_hash(events->seeds[0], args);
    uint64_t check = args_hash(events->seeds[1], args);
    Series *series = series_find(events, hash, check);
    uint64_t now = loop_now(events->loop);
    Pending *pending;

    if (series && now - series->last_ns > KUBE_EVENTS_SERIES_NS) {
        series_free(events, series);
        series = NULL;
    }
    if (series) {
        series->last_ns = now;
        series->last_wall_ns = loop_wall_now(events->loop);
        series_fold(events, series);
        return;
    }
    pending = pending_new(events);
    if (!pending) {
        return;
    }
    series = series_new(events, hash, check, args->regarding);
    series->last_ns = now;
    series->last_wall_ns = loop_wall_now(events->loop);
    event_body(events, series, args, &body);
    events->stats.emitted++;
    pending->call = kube_api_create(events->api, kube_kind(KUBE_EVENT), str_from(series->ns),
                                    strbuf_str(&body), &OPTIONS, events_on_done, pending);
}

/* ---- life ---- */

KubeEvents *kube_events_new(KubeApi *api, const char *instance, uint64_t seed)
{
    KubeEvents *events = xcalloc(1, sizeof(*events));

    events->api = api;
    events->loop = kube_api_loop(api);
    events->instance = instance;
    rng_init(&events->rng, seed);
    events->seeds[0] = rng_u64(&events->rng);
    events->seeds[1] = rng_u64(&events->rng);
    hmap_init(&events->by_hash);
    list_init(&events->fifo);
    list_init(&events->dirty);
    list_init(&events->pending);
    loop_timer_init(&events->flush, events_on_flush);
    return events;
}

KubeEvents *kube_events_free(KubeEvents *events)
{
    if (!events) {
        return NULL;
    }
    loop_timer_disarm(&events->flush);
    list_foreach (&events->pending, n) {
        Pending *pending = list_entry(n, Pending, node);

        kube_call_cancel(pending->call);
        pending_end(pending);
    }
    list_foreach (&events->fifo, n) {
        series_free(events, list_entry(n, Series, fifo));
    }
    hmap_deinit(&events->by_hash);
    free(events);
    return NULL;
}

void kube_events_stats(const KubeEvents *events, KubeEventsStats *ret_stats)
{
    *ret_stats = events->stats;
}
