/* SPDX-License-Identifier: Apache-2.0 */
#include "kube/watch.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/check.h"
#include "base/clock.h"
#include "kube/backoff.h"

static const KubeBackoffConfig BACKOFF = {800 * NS_PER_MS, 30 * NS_PER_S, 0.5};

#define RETRY_AFTER_MAX_NS (300 * NS_PER_S)
#define LINE_KEPT (64u << 10) /* bytes of buffer an idle watch may hold */
#define UNDECODABLE_MAX 2 /* watches in a row that end at the same bad event before a new list */

void kube_watch_init(KubeWatch *watch, const KubeKind *kind, Rng rng, KubeWatchEventFn fn)
{
    *watch = (KubeWatch){.kind = kind, .rng = rng, .fn = fn};
    strbuf_init(&watch->line, KUBE_WATCH_LINE_MAX);
    strbuf_init(&watch->cont, KUBE_WATCH_CONT_MAX);
}

void kube_watch_deinit(KubeWatch *watch)
{
    strbuf_deinit(&watch->line);
    strbuf_deinit(&watch->cont);
}

void kube_watch_stream(KubeWatch *watch)
{
    watch->streams = true;
}

/* One giant event must not cost its memory for ever. */
static void line_reset(KubeWatch *watch)
{
    if (watch->line.cap > LINE_KEPT) {
        strbuf_deinit(&watch->line);
        strbuf_init(&watch->line, KUBE_WATCH_LINE_MAX);
    }
    strbuf_clear(&watch->line);
}

static void watch_start_list(KubeWatch *watch)
{
    watch->state = watch->streams && !watch->paged_next ? KUBE_WATCH_STREAMING : KUBE_WATCH_LISTING;
    watch->paged_next = false;
    watch->rv[0] = '\0';
    strbuf_clear(&watch->cont);
    watch->probe = false;
    watch->doubt = 0;
    if (watch->rewind) {
        watch->rewind = false;
        watch->highest = 0;
        watch->fn(watch, KUBE_WATCH_REWIND, NULL);
    }
    watch->fn(watch, KUBE_WATCH_INIT, NULL);
}

void kube_watch_next(KubeWatch *watch, uint64_t now_ns, KubeWatchAction *ret_action)
{
    *ret_action = (KubeWatchAction){.kind = KUBE_WATCH_DO_NOTHING};
    if (watch->running) {
        return;
    }
    if (now_ns < watch->not_before_ns) {
        ret_action->kind = KUBE_WATCH_DO_WAIT;
        ret_action->at_ns = watch->not_before_ns;
        return;
    }
    watch->running = true;
    watch->started_ns = now_ns;
    watch->events = 0;
    line_reset(watch);
    if (watch->state == KUBE_WATCH_EMPTY) {
        watch_start_list(watch);
    }
    if (watch->state == KUBE_WATCH_LISTING) {
        ret_action->kind = KUBE_WATCH_DO_LIST;
        ret_action->cont = strbuf_str(&watch->cont);
        return;
    }
    if (watch->state == KUBE_WATCH_LISTED && watch->probe) {
        watch->state = KUBE_WATCH_PROBING;
        ret_action->kind = KUBE_WATCH_DO_PROBE;
        return;
    }
    ret_action->timeout_s =
        KUBE_WATCH_TIMEOUT_MIN_S +
        (unsigned)rng_below(&watch->rng, KUBE_WATCH_TIMEOUT_MAX_S - KUBE_WATCH_TIMEOUT_MIN_S + 1);
    if (watch->state == KUBE_WATCH_STREAMING) {
        ret_action->kind = KUBE_WATCH_DO_STREAM;
        return;
    }
    watch->state = KUBE_WATCH_WATCHING;
    ret_action->kind = KUBE_WATCH_DO_WATCH;
    ret_action->rv = kube_watch_rv(watch);
}

static bool watch_set_rv(KubeWatch *watch, Str rv)
{
    if (rv.len == 0 || rv.len >= sizeof(watch->rv)) {
        return false;
    }
    memcpy(watch->rv, rv.ptr, rv.len);
    watch->rv[rv.len] = '\0';
    return true;
}

static void watch_note_version(KubeWatch *watch)
{
    uint64_t rv = kube_rv_parse(kube_watch_rv(watch));

    watch->highest = rv > watch->highest ? rv : watch->highest;
}

/* A list is complete. */
static void watch_listed(KubeWatch *watch)
{
    uint64_t rv = kube_rv_parse(kube_watch_rv(watch));

    watch->probe = watch->probe || (rv != 0 && rv < watch->highest);
    watch_note_version(watch);
    watch->fn(watch, KUBE_WATCH_INIT_DONE, NULL);
}

void kube_watch_on_item(KubeWatch *watch, KubeObj *obj)
{
    CHECK(watch->state == KUBE_WATCH_LISTING && watch->running);
    watch->fn(watch, KUBE_WATCH_INIT_APPLY, obj);
}

void kube_watch_on_page(KubeWatch *watch, Str rv, Str cont, uint64_t now_ns)
{
    KubeError error;

    CHECK(watch->state == KUBE_WATCH_LISTING && watch->running);
    /* The first page's version counts: what changed while later pages came is watched again. */
    if (watch->rv[0] == '\0' && !watch_set_rv(watch, rv)) {
        kube_error_set(&error, KUBE_REASON_BAD_ANSWER, "a list without a usable resourceVersion");
        kube_watch_on_fail(watch, &error, now_ns);
        return;
    }
    strbuf_clear(&watch->cont);
    if (strbuf_append(&watch->cont, cont) < 0) {
        strbuf_clear(&watch->cont);
        kube_error_set(&error, KUBE_REASON_GONE, "a continue token of %zu bytes", cont.len);
        kube_watch_on_fail(watch, &error, now_ns);
        return;
    }
    watch->running = false;
    if (cont.len == 0) {
        watch->state = KUBE_WATCH_LISTED;
        watch_listed(watch);
        watch->state = watch->rewind ? KUBE_WATCH_EMPTY : KUBE_WATCH_LISTED;
    }
}

void kube_watch_distrust(KubeWatch *watch)
{
    watch->rewind = true;
}

void kube_watch_on_probe(KubeWatch *watch, Str rv, uint64_t known, uint64_t now_ns)
{
    uint64_t server = kube_rv_parse(rv);

    CHECK(watch->state == KUBE_WATCH_PROBING && watch->running);
    watch->running = false;
    watch->state = KUBE_WATCH_LISTED;
    watch->highest = known > watch->highest ? known : watch->highest;
    if (server != 0 && server < watch->highest && watch->doubt == 0) {
        watch->doubt = watch->highest;
        watch->not_before_ns = now_ns + KUBE_WATCH_CONFIRM_NS;
        return;
    }
    watch->rewind = server != 0 && server < watch->doubt;
    watch->probe = false;
    watch->doubt = 0;
    if (watch->rewind) {
        watch->state = KUBE_WATCH_EMPTY;
    }
}

/* ---- events ---- */

static int event_bad(KubeError *ret_error, const char *what)
{
    kube_error_set(ret_error, KUBE_REASON_BAD_ANSWER, "bad watch event: %s", what);
    return -EBADMSG;
}

static int event_error(Str line, KubeError *ret_error)
{
    static const JProj STATUS[] = {JPROJ_KEEP("object"), JPROJ_END};
    AUTO(jdoc) JDoc *doc = NULL;
    JNode object;

    if (jdoc_parse(line, STATUS, KUBE_WATCH_LINE_MAX, &doc, NULL) < 0) {
        return event_bad(ret_error, "unreadable error object");
    }
    object = jnode_at(jdoc_root(doc), "object");
    kube_error_from_node((int)jnode_i64(jnode_at(object, "code"), 500), object, ret_error);
    return -EREMOTEIO;
}

static int event_object(KubeWatch *watch, KubeWatchEvent event, JDoc *doc, KubeError *ret_error)
{
    AUTO(kube_obj) KubeObj *obj = NULL;
    Err err = ERR_INIT;

    if (kube_obj_from_doc(watch->kind, doc, jnode_at(jdoc_root(doc), "object"), &obj, &err) < 0) {
        return event_bad(ret_error, err.msg);
    }
    if (watch->state == KUBE_WATCH_STREAMING) {
        watch->events++;
        watch->fn(watch, event == KUBE_WATCH_APPLY ? KUBE_WATCH_INIT_APPLY : event, obj);
        return 0;
    }
    if (!watch_set_rv(watch, obj->rv_text)) {
        return event_bad(ret_error, "an object without a usable resourceVersion");
    }
    watch_note_version(watch);
    watch->events++;
    watch->fn(watch, event, obj);
    return 0;
}

static int event_bookmark(KubeWatch *watch, JDoc *doc, KubeError *ret_error)
{
    JNode meta = jnode_at(jdoc_root(doc), "object", "metadata");
    Str rv = jnode_str(jnode_at(meta, "resourceVersion"));
    bool streaming = watch->state == KUBE_WATCH_STREAMING;

    if (streaming &&
        !str_eq(jnode_str(jnode_at(meta, "annotations", KUBE_WATCH_INITIAL_END)), STR("true"))) {
        return 0;
    }
    if (!watch_set_rv(watch, rv)) {
        return event_bad(ret_error, "a bookmark without a usable resourceVersion");
    }
    watch->events++;
    if (streaming) {
        watch->state = KUBE_WATCH_WATCHING;
        watch_listed(watch);
        if (watch->rewind || watch->probe) {
            kube_error_set(ret_error, watch->rewind ? KUBE_REASON_GONE : KUBE_REASON_NETWORK,
                           "a list from the past");
            return -ESTALE;
        }
    }
    watch_note_version(watch);
    return 0;
}

static int watch_line(KubeWatch *watch, Str line, KubeError *ret_error)
{
    AUTO(jdoc) JDoc *doc = NULL;
    Err err = ERR_INIT;
    Str type;

    line = str_trim(line);
    if (line.len == 0) {
        return 0;
    }
    if (jdoc_parse(line, watch->kind->event_proj, KUBE_WATCH_LINE_MAX, &doc, &err) < 0) {
        return event_bad(ret_error, err.msg);
    }
    type = jnode_str(jnode_at(jdoc_root(doc), "type"));
    if (str_eq(type, STR("ADDED")) || str_eq(type, STR("MODIFIED"))) {
        return event_object(watch, KUBE_WATCH_APPLY, doc, ret_error);
    }
    if (str_eq(type, STR("DELETED"))) {
        return event_object(watch, KUBE_WATCH_DELETE, doc, ret_error);
    }
    if (str_eq(type, STR("BOOKMARK"))) {
        return event_bookmark(watch, doc, ret_error);
    }
    if (str_eq(type, STR("ERROR"))) {
        return event_error(line, ret_error);
    }
    return event_bad(ret_error, "unknown type");
}

int kube_watch_on_data(KubeWatch *watch, Str chunk, KubeError *ret_error)
{
    CHECK(watch->running &&
          (watch->state == KUBE_WATCH_WATCHING || watch->state == KUBE_WATCH_STREAMING));
    while (chunk.len > 0) {
        ptrdiff_t end = str_find(chunk, '\n');
        int r;

        if (end < 0) {
            return strbuf_append(&watch->line, chunk) < 0
                       ? event_bad(ret_error, "longer than the limit")
                       : 0;
        }
        if (watch->line.len == 0) { /* whole in this chunk: parsed in place */
            r = watch_line(watch, str_take(chunk, (size_t)end), ret_error);
        } else {
            if (strbuf_append(&watch->line, str_take(chunk, (size_t)end)) < 0) {
                return event_bad(ret_error, "longer than the limit");
            }
            r = watch_line(watch, strbuf_str(&watch->line), ret_error);
            line_reset(watch);
        }
        if (r < 0) {
            return r;
        }
        chunk = str_drop(chunk, (size_t)end + 1);
    }
    return 0;
}

/* ---- ends ---- */

static void watch_delay(KubeWatch *watch, uint64_t now_ns, uint64_t retry_after_ns)
{
    uint64_t delay = kube_backoff_ns(&BACKOFF, watch->failures, &watch->rng);

    if (retry_after_ns > RETRY_AFTER_MAX_NS) {
        retry_after_ns = RETRY_AFTER_MAX_NS;
    }
    watch->failures += watch->failures < UINT32_MAX;
    watch->not_before_ns = now_ns + (delay > retry_after_ns ? delay : retry_after_ns);
}

/* Ends the running watch; true when it lived long enough to count as healthy. */
static bool watch_end(KubeWatch *watch, uint64_t now_ns)
{
    bool lived =
        watch->state == KUBE_WATCH_WATCHING && now_ns - watch->started_ns >= KUBE_WATCH_SHORT_NS;

    CHECK(watch->running);
    watch->running = false;
    if (lived) {
        watch->failures = 0;
    }
    return lived;
}

void kube_watch_on_eof(KubeWatch *watch, uint64_t now_ns)
{
    KubeError error;

    if (watch->state == KUBE_WATCH_STREAMING) {
        kube_error_set(&error, KUBE_REASON_BAD_ANSWER, "a streamed list that does not end");
        kube_watch_on_fail(watch, &error, now_ns);
        return;
    }
    CHECK(watch->state == KUBE_WATCH_WATCHING);
    watch->undecodable = 0;
    watch->probe = true; /* a server that is shut down in good order ends its watches like that */
    if (!watch_end(watch, now_ns)) {
        watch_delay(watch, now_ns, 0);
    }
    watch->state = KUBE_WATCH_LISTED;
}

bool kube_watch_is_refusal(const KubeWatch *watch, const KubeError *error)
{
    return watch->state == KUBE_WATCH_STREAMING && watch->events == 0 &&
           (error->reason == KUBE_REASON_INVALID || error->reason == KUBE_REASON_FORBIDDEN ||
            error->reason == KUBE_REASON_NOT_FOUND || error->reason == KUBE_REASON_REJECTED);
}

/* Where a stream that failed goes on: with a paged list, in which the same trouble shows itself for
 * what it is. */
static void stream_failed(KubeWatch *watch, const KubeError *error, uint64_t now_ns)
{
    bool refused = kube_watch_is_refusal(watch, error);

    watch->error = *error;
    watch_end(watch, now_ns);
    watch->state = KUBE_WATCH_EMPTY;
    watch->paged_next = true;
    if (!refused) {
        watch_delay(watch, now_ns, error->retry_after_ns);
    }
}

/* A page or a watch. */
static void request_failed(KubeWatch *watch, const KubeError *error, uint64_t now_ns)
{
    bool watching = watch->state == KUBE_WATCH_WATCHING;
    bool lived = watch_end(watch, now_ns);
    bool relist = error->reason == KUBE_REASON_GONE || error->reason == KUBE_REASON_INVALID;

    watch->error = *error;
    if (watching || watch->state == KUBE_WATCH_PROBING) {
        watch->state = KUBE_WATCH_LISTED;
        /* A damaged event came from a server that is still the same. */
        watch->probe = watch->probe || error->reason != KUBE_REASON_BAD_ANSWER;
    }
    if (error->reason == KUBE_REASON_BAD_ANSWER && watching) {
        /* Perhaps the event was damaged on its way; perhaps it always looks like that. */
        watch->undecodable = watch->events > 0 ? 1 : watch->undecodable + 1;
        relist = watch->undecodable >= UNDECODABLE_MAX;
    }
    if (error->reason == KUBE_REASON_BAD_ANSWER && !watching) {
        relist = true;
    }
    if (relist) {
        watch->state = KUBE_WATCH_EMPTY;
        watch->undecodable = 0;
    }
    if (!(lived && error->reason == KUBE_REASON_GONE)) {
        watch_delay(watch, now_ns, error->retry_after_ns);
    }
}

void kube_watch_on_fail(KubeWatch *watch, const KubeError *error, uint64_t now_ns)
{
    if (watch->state == KUBE_WATCH_STREAMING) {
        stream_failed(watch, error, now_ns);
        return;
    }
    request_failed(watch, error, now_ns);
}
