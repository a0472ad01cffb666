/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * Recorder of events.k8s.io/v1 Events. Fire and forget at low priority: an Event is never worth a
 * reconcile. Equal Events (object, type, reason, action, note) within six minutes become one Event
 * whose series is patched, at most once a minute; a bounded number may wait, the rest are counted
 * as dropped.
 */
#include <stdint.h>

#include "base/attr.h"
#include "base/str.h"
#include "kube/api.h"

#define KUBE_EVENT_NOTE_MAX 1024 /* limits of the API */
#define KUBE_EVENT_REASON_MAX 128
#define KUBE_EVENT_ACTION_MAX 128
#define KUBE_EVENTS_PENDING_MAX 1024 /* requests in flight or waiting */
#define KUBE_EVENTS_CACHE_MAX 4096   /* remembered Events */
#define KUBE_EVENTS_SERIES_NS (6ull * 60 * 1000000000ull)
#define KUBE_EVENTS_PATCH_NS (60ull * 1000000000ull)

typedef struct KubeEvents KubeEvents;

typedef struct KubeEventsStats {
    uint64_t emitted;
    uint64_t folded;  /* into an Event there already */
    uint64_t dropped; /* limit reached */
    uint64_t failed;
} KubeEventsStats;

/* instance: of this process ("<controller>-<hostname>"), borrowed. seed: of Event names. */
KubeEvents *kube_events_new(KubeApi *api, const char *instance, uint64_t seed);
KubeEvents *kube_events_free(KubeEvents *events);

typedef struct KubeEventArgs {
    const char *controller; /* reportingController, "sandbox-controller" */
    const KubeObj *regarding;
    bool warning;
    const char *reason;
    const char *action;
    Str note; /* cut at KUBE_EVENT_NOTE_MAX, at a character boundary */
} KubeEventArgs;

void kube_events_emit(KubeEvents *events, const KubeEventArgs *args);
void kube_events_stats(const KubeEvents *events, KubeEventsStats *ret_stats);

DEFINE_AUTO_PTR(kube_events, KubeEvents, kube_events_free)
