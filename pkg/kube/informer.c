/* SPDX-License-Identifier: Apache-2.0 */
#include "kube/informer.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/check.h"
#include "base/clock.h"
#include "base/mem.h"

#define WATCH_SLACK_NS (30 * NS_PER_S) /* silence beyond timeoutSeconds before we give up */
/* Silence in a streamed list. A server that took the request for a plain watch is silent for ever.
 */
#define DOUBT_NS (10 * NS_PER_S) /* for events to explain what a list and we disagree about */
#define STREAM_STALL_NS (30 * NS_PER_S)

struct KubeInformer {
    KubeInformerConfig config;
    Loop *loop;
    KubeStore *store;
    KubeWatch watch;
    Rng rng;
    KubeCall *page;  /* running LIST */
    KubeRequest req; /* running WATCH */
    StrBuf url;
    KubeError error; /* why on_data ended the watch */
    bool failed;
    bool started;
    bool synced;
    bool told;     /* of a rewind, by kube_informer_rewind() */
    bool troubled; /* on_state was told of a failure */
    LoopTimer wait;
    LoopTimer stall;
    LoopTimer resync;
    LoopTimer doubt;
    KubeInformerStats stats;
};

static void informer_step(KubeInformer *informer);

static void informer_report(KubeInformer *informer, const KubeError *error)
{
    informer->troubled = error != NULL;
    if (informer->config.on_state) {
        informer->config.on_state(informer, error, informer->config.ctx);
    }
}

/* A list is complete or its watch brings something: what was wrong is over. */
static void informer_is_fine(KubeInformer *informer)
{
    if (!informer->synced || informer->troubled) {
        informer->synced = true;
        informer_report(informer, NULL);
    }
}

static void informer_fail(KubeInformer *informer, const KubeError *error)
{
    loop_timer_disarm(&informer->stall);
    if (kube_watch_is_refusal(&informer->watch, error)) {
        kube_watch_on_fail(&informer->watch, error, loop_now(informer->loop));
        return;
    }
    informer->stats.failures++;
    kube_watch_on_fail(&informer->watch, error, loop_now(informer->loop));
    informer_report(informer, error);
}

/* ---- what the machine says ---- */

static void informer_on_event(KubeWatch *watch, KubeWatchEvent event, KubeObj *obj)
{
    KubeInformer *informer = container_of(watch, KubeInformer, watch);

    informer->stats.events += obj != NULL;
    informer->stats.last_event_ns = loop_now(informer->loop);
    switch (event) {
    case KUBE_WATCH_REWIND:
        informer->stats.rewinds++;
        kube_store_rewind(informer->store);
        if (informer->config.on_rewind && !informer->told) {
            informer->config.on_rewind(informer, informer->config.ctx);
        }
        informer->told = false;
        break;
    case KUBE_WATCH_INIT:
        kube_store_relist_begin(informer->store);
        break;
    case KUBE_WATCH_INIT_APPLY:
        kube_store_upsert(informer->store, obj, KUBE_CHANGE_LIST);
        break;
    case KUBE_WATCH_INIT_DONE:
        if (kube_store_relist_end(informer->store, kube_rv_parse(kube_watch_rv(watch))) ==
            KUBE_STORE_WENT_BACK) {
            kube_watch_distrust(watch);
        } else if (kube_store_doubts(informer->store)) {
            loop_timer_arm(informer->loop, &informer->doubt, loop_now(informer->loop) + DOUBT_NS);
        }
        informer->stats.lists++;
        break;
    case KUBE_WATCH_APPLY:
        kube_store_upsert(informer->store, obj, KUBE_CHANGE_LIVE);
        break;
    case KUBE_WATCH_DELETE:
        kube_store_deleted(informer->store, obj);
        break;
    }
}

/* ---- LIST ---- */

static void informer_on_item(void *ctx, KubeObj *obj)
{
    KubeInformer *informer = ctx;

    kube_watch_on_item(&informer->watch, obj);
}

static void informer_on_page(void *ctx, const KubeError *error, const KubeListMeta *meta)
{
    KubeInformer *informer = ctx;

    informer->page = NULL;
    if (error) {
        informer_fail(informer, error);
    } else {
        kube_watch_on_page(&informer->watch, meta->rv, meta->cont, loop_now(informer->loop));
        if (informer->watch.state == KUBE_WATCH_EMPTY) { /* not a usable list after all */
            informer->stats.failures++;
            informer_report(informer, &informer->watch.error);
        }
        if (informer->watch.state == KUBE_WATCH_LISTED) {
            informer_is_fine(informer);
        }
    }
    informer_step(informer);
}

static void informer_list(KubeInformer *informer, Str cont)
{
    const KubeInformerConfig *config = &informer->config;
    const KubeListOptions list = {
        .ns = str_from(config->ns),
        .label_selector = config->label_selector,
        .field_selector = config->field_selector,
        .cont = cont,
        .limit = config->limit,
    };

    informer->page = kube_api_list_page(config->api, config->kind, &list, KUBE_CALL_NORMAL,
                                        informer_on_item, informer_on_page, informer);
}

/* ---- PROBE ---- */

static void informer_on_probe_item(void *ctx, KubeObj *obj)
{
    UNUSED(ctx);
    UNUSED(obj);
}

static void informer_on_probe(void *ctx, const KubeError *error, const KubeListMeta *meta)
{
    KubeInformer *informer = ctx;

    informer->page = NULL;
    if (error) {
        informer_fail(informer, error);
    } else {
        kube_watch_on_probe(&informer->watch, meta->rv, kube_store_highest(informer->store),
                            loop_now(informer->loop));
    }
    informer_step(informer);
}

/* Without selectors: only the version is wanted, and one item is found the sooner. */
static void informer_probe(KubeInformer *informer)
{
    const KubeInformerConfig *config = &informer->config;
    const KubeListOptions list = {.ns = str_from(config->ns), .limit = 1};

    informer->page = kube_api_list_page(config->api, config->kind, &list, KUBE_CALL_NORMAL,
                                        informer_on_probe_item, informer_on_probe, informer);
}

/* ---- WATCH, and lists as streams ---- */

static void informer_arm_stall(KubeInformer *informer)
{
    loop_timer_arm(informer->loop, &informer->stall, loop_now(informer->loop) + STREAM_STALL_NS);
}

static void informer_on_stall(LoopTimer *timer)
{
    KubeInformer *informer = container_of(timer, KubeInformer, stall);
    KubeError error;

    kube_cancel(kube_api_transport(informer->config.api), &informer->req);
    kube_error_set(&error, KUBE_REASON_NETWORK, "a streamed list stands still");
    informer_fail(informer, &error);
    informer_step(informer);
}

static int informer_on_data(KubeRequest *req, Str chunk)
{
    KubeInformer *informer = container_of(req, KubeInformer, req);
    bool streaming = informer->watch.state == KUBE_WATCH_STREAMING;
    int r = kube_watch_on_data(&informer->watch, chunk, &informer->error);

    if (r < 0) {
        informer->failed = true;
        return r;
    }
    if (informer->watch.state == KUBE_WATCH_STREAMING) {
        informer_arm_stall(informer);
        return 0;
    }
    loop_timer_disarm(&informer->stall);
    informer->stats.streams += streaming;
    informer_is_fine(informer);
    return 0;
}

static void informer_on_done(KubeRequest *req, const KubeResult *result)
{
    KubeInformer *informer = container_of(req, KubeInformer, req);
    KubeError error;

    if (informer->failed) {
        informer->failed = false;
        informer_fail(informer, &informer->error);
    } else if (kube_error_from_result(result, KUBE_GET, &error) != KUBE_REASON_NONE) {
        informer_fail(informer, &error);
    } else if (informer->watch.state == KUBE_WATCH_STREAMING) {
        kube_watch_on_eof(&informer->watch, loop_now(informer->loop));
        loop_timer_disarm(&informer->stall);
        informer->stats.failures++;
        informer_report(informer, &informer->watch.error);
    } else {
        kube_watch_on_eof(&informer->watch, loop_now(informer->loop));
    }
    informer_step(informer);
}

/* Without resourceVersion a stream begins with what is newest, as a list does. */
static void url_version(StrBuf *url, const KubeWatchAction *action)
{
    if (action->kind == KUBE_WATCH_DO_STREAM) {
        kube_url_query(url, "sendInitialEvents", STR("true"));
        kube_url_query(url, "resourceVersionMatch", STR("NotOlderThan"));
    } else {
        kube_url_query(url, "resourceVersion", action->rv);
    }
}

static void informer_watch(KubeInformer *informer, const KubeWatchAction *action)
{
    const KubeInformerConfig *config = &informer->config;
    StrBuf *url = &informer->url;
    char timeout[16];

    strbuf_clear(url);
    if (kube_kind_url(config->kind, str_from(config->ns), STR_NULL, NULL, url, NULL) < 0) {
        /* The paged list that follows says what is wrong with the namespace, again and again. */
        kube_error_set(&informer->error, KUBE_REASON_INVALID, "not a URL");
        informer_fail(informer, &informer->error);
        informer_step(informer);
        return;
    }
    snprintf(timeout, sizeof(timeout), "%u", action->timeout_s);
    kube_url_query(url, "watch", STR("true"));
    kube_url_query(url, "allowWatchBookmarks", STR("true"));
    url_version(url, action);
    kube_url_query(url, "timeoutSeconds", str_from(timeout));
    if (config->label_selector) {
        kube_url_query(url, "labelSelector", str_from(config->label_selector));
    }
    if (config->field_selector) {
        kube_url_query(url, "fieldSelector", str_from(config->field_selector));
    }
    informer->stats.watches++;
    informer->req = (KubeRequest){
        .method = KUBE_GET,
        .priority = KUBE_PRIO_HIGH,
        .stream = true,
        .path = url->ptr,
        .idle_ns = action->timeout_s * NS_PER_S + WATCH_SLACK_NS,
        .on_data = informer_on_data,
        .on_done = informer_on_done,
    };
    kube_submit(kube_api_transport(config->api), &informer->req);
}

/* ---- steps ---- */

static void informer_step(KubeInformer *informer)
{
    KubeWatchAction action;

    if (!informer->started) {
        return;
    }
    kube_watch_next(&informer->watch, loop_now(informer->loop), &action);
    switch (action.kind) {
    case KUBE_WATCH_DO_NOTHING:
        break;
    case KUBE_WATCH_DO_WAIT:
        loop_timer_arm(informer->loop, &informer->wait, action.at_ns);
        break;
    case KUBE_WATCH_DO_LIST:
        informer_list(informer, action.cont);
        break;
    case KUBE_WATCH_DO_PROBE:
        informer_probe(informer);
        break;
    case KUBE_WATCH_DO_STREAM:
        informer_arm_stall(informer);
        informer_watch(informer, &action);
        break;
    case KUBE_WATCH_DO_WATCH:
        informer_watch(informer, &action);
        break;
    }
}

static void informer_on_wait(LoopTimer *timer)
{
    informer_step(container_of(timer, KubeInformer, wait));
}

static void informer_arm_resync(KubeInformer *informer)
{
    uint64_t base = informer->config.resync_ns;

    if (base > 0) {
        uint64_t delay = (uint64_t)((double)base * (0.9 + 0.2 * rng_unit(&informer->rng)));

        loop_timer_arm(informer->loop, &informer->resync, loop_now(informer->loop) + delay);
    }
}

static void informer_on_resync(LoopTimer *timer)
{
    KubeInformer *informer = container_of(timer, KubeInformer, resync);

    kube_store_resync(informer->store);
    informer_arm_resync(informer);
}

static void informer_on_doubt(LoopTimer *timer)
{
    KubeInformer *informer = container_of(timer, KubeInformer, doubt);

    if (kube_store_doubts(informer->store)) {
        kube_informer_stop(informer);
        kube_informer_start(informer);
    }
}

/* ---- life ---- */

KubeInformer *kube_informer_new(const KubeInformerConfig *config)
{
    KubeInformer *informer = xcalloc(1, sizeof(*informer));

    informer->config = *config;
    informer->loop = kube_api_loop(config->api);
    rng_init(&informer->rng, config->seed);
    informer->store =
        kube_store_new(config->kind, config->indexes, config->n_indexes, rng_u64(&informer->rng));
    kube_watch_init(&informer->watch, config->kind, rng_fork(&informer->rng), informer_on_event);
    strbuf_init(&informer->url, KUBE_URL_MAX);
    if (config->stream) {
        kube_watch_stream(&informer->watch);
    }
    loop_timer_init(&informer->wait, informer_on_wait);
    loop_timer_init(&informer->stall, informer_on_stall);
    loop_timer_init(&informer->resync, informer_on_resync);
    loop_timer_init(&informer->doubt, informer_on_doubt);
    return informer;
}

void kube_informer_start(KubeInformer *informer)
{
    if (!informer->started) {
        informer->started = true;
        informer_arm_resync(informer);
        informer_step(informer);
    }
}

void kube_informer_stop(KubeInformer *informer)
{
    KubeWatch *watch = &informer->watch;

    if (!informer->started) {
        return;
    }
    informer->started = false;
    loop_timer_disarm(&informer->wait);
    loop_timer_disarm(&informer->stall);
    loop_timer_disarm(&informer->resync);
    loop_timer_disarm(&informer->doubt);
    kube_call_cancel(TAKE(informer->page));
    kube_cancel(kube_api_transport(informer->config.api), &informer->req);
    /* What was running never ends now: a later start begins with a list. */
    watch->running = false;
    watch->not_before_ns = 0;
    watch->state = KUBE_WATCH_EMPTY;
}

void kube_informer_rewind(KubeInformer *informer)
{
    if (!informer->started || informer->watch.rewind) {
        return;
    }
    kube_informer_stop(informer);
    kube_watch_distrust(&informer->watch);
    informer->told = true;
    kube_informer_start(informer);
}

KubeInformer *kube_informer_free(KubeInformer *informer)
{
    if (informer) {
        kube_informer_stop(informer);
        kube_watch_deinit(&informer->watch);
        kube_store_free(informer->store);
        strbuf_deinit(&informer->url);
        free(informer);
    }
    return NULL;
}

KubeStore *kube_informer_store(KubeInformer *informer)
{
    return informer->store;
}

bool kube_informer_synced(const KubeInformer *informer)
{
    return informer->synced;
}

void kube_informer_stats(const KubeInformer *informer, KubeInformerStats *ret_stats)
{
    *ret_stats = informer->stats;
}
