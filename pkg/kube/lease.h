/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * Leader election over a coordination.k8s.io/v1 Lease, wire-compatible with client-go.
 *
 * The holder renews every retry_ns and stops being leader, by its own monotonic clock, renew_ns
 * after the *start* of its last successful renewal. A candidate takes over only duration_ns after
 * it *saw* the record change for the last time, so nobody's wall clock matters; wall time is only
 * written for people. Every write carries the resourceVersion it was decided on. renew_ns <
 * duration_ns leaves the gap in which nobody leads.
 */
#include <stdbool.h>
#include <stdint.h>

#include "base/attr.h"
#include "base/loop.h"
#include "base/rng.h"
#include "kube/api.h"

#define KUBE_LEASE_DURATION_NS (15ull * 1000000000ull)
#define KUBE_LEASE_RENEW_NS (10ull * 1000000000ull)
#define KUBE_LEASE_RETRY_NS (2ull * 1000000000ull)
#define KUBE_LEASE_CHECK_NS 200000000ull /* between two checks that somebody asked for */
#define KUBE_LEASE_IDENTITY_MAX 320

typedef struct KubeLease KubeLease;

typedef struct KubeLeaseConfig {
    KubeApi *api;         /* borrowed */
    const char *ns;       /* borrowed */
    const char *name;     /* borrowed */
    const char *identity; /* borrowed; kube_lease_identity() makes one */
    uint64_t duration_ns; /* 0 = the default, likewise below; duration > renew > retry */
    uint64_t renew_ns;
    uint64_t retry_ns;
    uint64_t seed;                                   /* of the jitter */
    void (*on_started)(KubeLease *lease, void *ctx); /* we lead */
    /* We lead no more: lost, or released by kube_lease_stop(). Work must stop inside this call. */
    void (*on_lost)(KubeLease *lease, const char *why, void *ctx);
    void (*on_error)(KubeLease *lease, const KubeError *error, void *ctx); /* may be NULL */
    void *ctx;
} KubeLeaseConfig;

/* -EINVAL when the durations make no sense. */
int kube_lease_new(const KubeLeaseConfig *config, KubeLease **ret_lease, Err *reterr);
KubeLease *kube_lease_free(KubeLease *lease); /* cancels; releases nothing */
void kube_lease_start(KubeLease *lease);
/*
 * Ends candidacy: on_lost when leading, then the Lease is released (holder emptied) so that another
 * may lead at once. done is called when that is settled, or after retry_ns; NULL = do not tell.
 */
void kube_lease_stop(KubeLease *lease, void (*done)(KubeLease *lease, void *ctx));
/* True only while a write may be sent: a process that was paused leads no more when it wakes up
 * behind its renew deadline, before any timer of it has run. */
bool kube_lease_is_leader(const KubeLease *lease);
/* There are signs of another leader: reads the Lease now instead of at the next renewal. At most
 * every KUBE_LEASE_CHECK_NS; nothing to do for who does not lead. */
void kube_lease_check(KubeLease *lease);
Str kube_lease_holder(const KubeLease *lease); /* last one seen, "" when none */

/* "<hostname>_<uuid>" into a buffer of KUBE_LEASE_IDENTITY_MAX. */
void kube_lease_identity(char *ret_identity);
/* The same with given parts, for tests. */
void kube_lease_identity_from(const char *hostname, Rng *rng, char *ret_identity);

DEFINE_AUTO_PTR(kube_lease, KubeLease, kube_lease_free)
