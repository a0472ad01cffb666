/* SPDX-License-Identifier: Apache-2.0 */
/*
 * See lease.h. One request at a time: read the Lease, decide, write it with the version that was
 * read. A leader renews without reading; any surprise makes it read again.
 */
#include "kube/lease.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/check.h"
#include "base/mem.h"
#include "base/timefmt.h"
#include "json/write.h"

#define RECORD_RV_MAX 64
#define RECORD_DURATION_MAX_S 3600 /* a record that claims more is taken for our own duration */
#define BODY_MAX 4096
#define CANDIDATE_JITTER 0.2 /* of the retry period: renewals are seen soon after they are made */
#define TAKE_JITTER_NS (100 * NS_PER_MS) /* candidates do not all come at the moment of expiry */

typedef struct Record {
    bool known; /* rv is good for a write */
    char holder[KUBE_LEASE_IDENTITY_MAX];
    char rv[RECORD_RV_MAX];
    uint64_t duration_ns;
    int64_t transitions;
    uint64_t observed_ns; /* when we saw it change last */
} Record;

struct KubeLease {
    KubeLeaseConfig config;
    Loop *loop;
    Rng rng;
    KubeCall *call;
    uint64_t sent_ns;    /* start of the running write */
    uint64_t renewed_ns; /* start of the last write that succeeded */
    uint64_t checked_ns; /* last kube_lease_check() that read */
    bool running;
    bool leader;
    bool releasing;
    LoopTimer tick;
    LoopTimer deadline; /* of leadership, then of the release */
    LoopDefer finish;
    void (*done)(KubeLease *lease, void *ctx);
    Record record;
};

static void lease_read(KubeLease *lease);
static void lease_release(KubeLease *lease);

static Str lease_identity(const KubeLease *lease)
{
    return str_from(lease->config.identity);
}

static KubeKey lease_key(const KubeLease *lease)
{
    return (KubeKey){str_from(lease->config.ns), str_from(lease->config.name)};
}

static bool lease_is_ours(const KubeLease *lease)
{
    return str_eq(str_from(lease->record.holder), lease_identity(lease));
}

/* When a candidate looks again: after the retry period, but no later than when the Lease is free.
 */
static uint64_t candidate_at(KubeLease *lease)
{
    uint64_t now = loop_now(lease->loop);
    double jitter = rng_unit(&lease->rng);
    uint64_t retry = lease->config.retry_ns;
    uint64_t at = now + retry + (uint64_t)((double)retry * CANDIDATE_JITTER * jitter);
    uint64_t free = lease->record.observed_ns + lease->record.duration_ns +
                    (uint64_t)((double)TAKE_JITTER_NS * jitter);

    return lease->record.known && free > now && free < at ? free : at;
}

static void lease_arm(KubeLease *lease)
{
    uint64_t at =
        lease->leader ? loop_now(lease->loop) + lease->config.retry_ns : candidate_at(lease);

    loop_timer_arm(lease->loop, &lease->tick, at);
}

/* ---- leadership ---- */

static void lease_lose(KubeLease *lease, const char *why)
{
    if (!lease->leader) {
        return;
    }
    lease->leader = false;
    loop_timer_disarm(&lease->deadline);
    lease->config.on_lost(lease, why, lease->config.ctx);
}

static void lease_renewed(KubeLease *lease)
{
    bool began = !lease->leader;

    lease->renewed_ns = lease->sent_ns;
    if (loop_now(lease->loop) >= lease->renewed_ns + lease->config.renew_ns) {
        /* The answer came so late that the time we may lead is over. */
        lease_lose(lease, "the renewal took too long");
        return;
    }
    lease->leader = true;
    loop_timer_arm(lease->loop, &lease->deadline, lease->renewed_ns + lease->config.renew_ns);
    if (began) {
        lease->config.on_started(lease, lease->config.ctx);
    }
}

static void lease_on_deadline(LoopTimer *timer)
{
    KubeLease *lease = container_of(timer, KubeLease, deadline);

    if (lease->releasing) {
        loop_defer_post(lease->loop, &lease->finish);
        return;
    }
    lease->record.known = false;
    lease_lose(lease, "the lease could not be renewed in time");
}

/* ---- the record ---- */

static void record_note(KubeLease *lease, const KubeObj *obj)
{
    Record *record = &lease->record;
    JNode spec = kube_obj_spec(obj);
    Str holder = jnode_str(jnode_at(spec, "holderIdentity"));
    int64_t seconds = jnode_i64(jnode_at(spec, "leaseDurationSeconds"), 0);

    if (!str_eq(str_from(record->rv), obj->rv_text) || record->observed_ns == 0) {
        record->observed_ns = loop_now(lease->loop);
    }
    snprintf(record->holder, sizeof(record->holder), STR_FMT,
             STR_ARG(str_take(holder.ptr ? holder : STR(""), KUBE_LEASE_IDENTITY_MAX - 1)));
    snprintf(record->rv, sizeof(record->rv), STR_FMT,
             STR_ARG(str_take(obj->rv_text, RECORD_RV_MAX - 1)));
    record->transitions = jnode_i64(jnode_at(spec, "leaseTransitions"), 0);
    record->duration_ns = seconds > 0 && seconds <= RECORD_DURATION_MAX_S
                              ? (uint64_t)seconds * NS_PER_S
                              : lease->config.duration_ns;
    record->known = obj->rv_text.len > 0 && obj->rv_text.len < RECORD_RV_MAX;
}

static bool record_is_free(const KubeLease *lease)
{
    const Record *record = &lease->record;

    return record->holder[0] == '\0' || lease_is_ours(lease) ||
           loop_now(lease->loop) >= record->observed_ns + record->duration_ns;
}

static void record_spec(const KubeLease *lease, JWriter *w, Str holder, int64_t seconds,
                        bool acquire)
{
    int64_t transitions = lease->record.transitions;
    char now[TIMEFMT_SIZE];

    timefmt_micros(loop_wall_now(lease->loop), now);
    jw_key(w, STR("spec"));
    jw_object(w);
    jw_member_str(w, "holderIdentity", holder);
    jw_member_i64(w, "leaseDurationSeconds", seconds);
    jw_member_cstr(w, "renewTime", now);
    if (acquire) {
        jw_member_cstr(w, "acquireTime", now);
        jw_member_i64(w, "leaseTransitions",
                      holder.len > 0 && transitions < INT32_MAX ? transitions + 1 : transitions);
    }
    jw_object_end(w);
}

static int64_t lease_seconds(const KubeLease *lease)
{
    return (int64_t)((lease->config.duration_ns + NS_PER_S - 1) / NS_PER_S);
}

/* ---- requests ---- */

static const KubeCallOptions *lease_options(const KubeLease *lease, KubeCallOptions *options)
{
    *options =
        (KubeCallOptions){.priority = KUBE_PRIO_HIGH, .timeout_ns = lease->config.renew_ns / 2};
    return options;
}

static void lease_complain(KubeLease *lease, const KubeError *error)
{
    if (lease->config.on_error) {
        lease->config.on_error(lease, error, lease->config.ctx);
    }
}

static void lease_on_written(void *ctx, const KubeError *error, KubeObj *obj)
{
    KubeLease *lease = ctx;

    lease->call = NULL;
    if (obj) {
        record_note(lease, obj);
        if (lease_is_ours(lease)) {
            lease_renewed(lease);
        }
    } else {
        lease->record.known = false;
        lease_complain(lease, error);
    }
    if (lease->releasing) {
        lease_release(lease);
    } else if (!obj &&
               (error->reason == KUBE_REASON_CONFLICT || error->reason == KUBE_REASON_NOT_FOUND ||
                error->reason == KUBE_REASON_ALREADY_EXISTS)) {
        lease_read(lease); /* somebody else was there: find out at once who leads */
    } else {
        lease_arm(lease);
    }
}

static void lease_write(KubeLease *lease)
{
    AUTO(strbuf) StrBuf body = STRBUF_INIT(BODY_MAX);
    KubeCallOptions options;
    JWriter w;

    lease->sent_ns = loop_now(lease->loop);
    jw_init(&w, &body);
    jw_object(&w);
    jw_key(&w, STR("metadata"));
    jw_object(&w);
    jw_member_cstr(&w, "resourceVersion", lease->record.rv);
    jw_object_end(&w);
    record_spec(lease, &w, lease_identity(lease), lease_seconds(lease), !lease_is_ours(lease));
    jw_object_end(&w);
    lease->call =
        kube_api_patch(lease->config.api, kube_kind(KUBE_LEASE), lease_key(lease), NULL,
                       strbuf_str(&body), lease_options(lease, &options), lease_on_written, lease);
}

static void lease_create(KubeLease *lease)
{
    AUTO(strbuf) StrBuf body = STRBUF_INIT(BODY_MAX);
    const KubeKind *kind = kube_kind(KUBE_LEASE);
    KubeCallOptions options;
    JWriter w;

    lease->sent_ns = loop_now(lease->loop);
    lease->record = (Record){.known = false};
    jw_init(&w, &body);
    jw_object(&w);
    jw_member_cstr(&w, "apiVersion", kind->api_version);
    jw_member_cstr(&w, "kind", kind->kind);
    jw_key(&w, STR("metadata"));
    jw_object(&w);
    jw_member_cstr(&w, "namespace", lease->config.ns);
    jw_member_cstr(&w, "name", lease->config.name);
    jw_object_end(&w);
    record_spec(lease, &w, lease_identity(lease), lease_seconds(lease), true);
    jw_object_end(&w);
    lease->call =
        kube_api_create(lease->config.api, kind, str_from(lease->config.ns), strbuf_str(&body),
                        lease_options(lease, &options), lease_on_written, lease);
}

static void lease_on_read(void *ctx, const KubeError *error, KubeObj *obj)
{
    KubeLease *lease = ctx;

    lease->call = NULL;
    if (obj) {
        record_note(lease, obj);
        if (!lease_is_ours(lease)) {
            lease_lose(lease, "the lease has another holder");
        }
    } else if (error->reason != KUBE_REASON_NOT_FOUND) {
        lease_complain(lease, error);
    }
    if (lease->releasing) {
        lease_release(lease);
    } else if (obj && lease->record.known && record_is_free(lease)) {
        lease_write(lease);
    } else if (!obj && error->reason == KUBE_REASON_NOT_FOUND) {
        lease_create(lease);
    } else {
        lease_arm(lease);
    }
}

static void lease_read(KubeLease *lease)
{
    KubeCallOptions options;

    lease->call = kube_api_get(lease->config.api, kube_kind(KUBE_LEASE), lease_key(lease),
                               lease_options(lease, &options), lease_on_read, lease);
}

static void lease_on_tick(LoopTimer *timer)
{
    KubeLease *lease = container_of(timer, KubeLease, tick);

    CHECK(!lease->call);
    if (lease->leader && lease->record.known) {
        lease_write(lease);
    } else {
        lease_read(lease);
    }
}

void kube_lease_check(KubeLease *lease)
{
    uint64_t now = loop_now(lease->loop);

    if (!lease->leader || lease->call || now < lease->checked_ns + KUBE_LEASE_CHECK_NS) {
        return;
    }
    lease->checked_ns = now;
    loop_timer_disarm(&lease->tick);
    lease_read(lease);
}

/* ---- release ---- */

static void lease_on_released(void *ctx, const KubeError *error, KubeObj *obj)
{
    KubeLease *lease = ctx;

    UNUSED(obj);
    lease->call = NULL;
    if (error) {
        lease_complain(lease, error);
    }
    loop_defer_post(lease->loop, &lease->finish);
}

/* As client-go: no holder, one second. A lease that is not ours, or not known, stays as it is. */
static void lease_release(KubeLease *lease)
{
    AUTO(strbuf) StrBuf body = STRBUF_INIT(BODY_MAX);
    KubeCallOptions options;
    JWriter w;

    if (lease->call) {
        return; /* stopped from inside on_started: the release runs already */
    }
    if (!lease->record.known || !lease_is_ours(lease)) {
        loop_defer_post(lease->loop, &lease->finish);
        return;
    }
    jw_init(&w, &body);
    jw_object(&w);
    jw_key(&w, STR("metadata"));
    jw_object(&w);
    jw_member_cstr(&w, "resourceVersion", lease->record.rv);
    jw_object_end(&w);
    record_spec(lease, &w, STR(""), 1, true);
    jw_object_end(&w);
    lease->call =
        kube_api_patch(lease->config.api, kube_kind(KUBE_LEASE), lease_key(lease), NULL,
                       strbuf_str(&body), lease_options(lease, &options), lease_on_released, lease);
}

static void lease_on_finish(LoopDefer *defer)
{
    KubeLease *lease = container_of(defer, KubeLease, finish);
    void (*done)(KubeLease *, void *) = TAKE(lease->done);

    loop_timer_disarm(&lease->deadline);
    kube_call_cancel(TAKE(lease->call));
    lease->releasing = false;
    lease->running = false;
    if (done) {
        done(lease, lease->config.ctx);
    }
}

void kube_lease_stop(KubeLease *lease, void (*done)(KubeLease *lease, void *ctx))
{
    lease->done = done;
    if (!lease->running || lease->releasing) {
        loop_defer_post(lease->loop, &lease->finish);
        return;
    }
    lease_lose(lease, "stopped");
    lease->releasing = true;
    loop_timer_disarm(&lease->tick);
    loop_timer_arm(lease->loop, &lease->deadline, loop_now(lease->loop) + lease->config.retry_ns);
    if (!lease->call) { /* else when it ends, with what it tells */
        lease_release(lease);
    }
}

/* ---- life ---- */

int kube_lease_new(const KubeLeaseConfig *config, KubeLease **ret_lease, Err *reterr)
{
    KubeLeaseConfig c = *config;
    KubeLease *lease;

    c.duration_ns = c.duration_ns ? c.duration_ns : KUBE_LEASE_DURATION_NS;
    c.renew_ns = c.renew_ns ? c.renew_ns : KUBE_LEASE_RENEW_NS;
    c.retry_ns = c.retry_ns ? c.retry_ns : KUBE_LEASE_RETRY_NS;
    if (c.duration_ns <= c.renew_ns || c.renew_ns <= c.retry_ns ||
        c.duration_ns > RECORD_DURATION_MAX_S * NS_PER_S) {
        return err_set(reterr, EINVAL,
                       "lease times: duration must exceed renew, and renew must exceed retry");
    }
    if (!c.identity || !c.identity[0] || strlen(c.identity) >= KUBE_LEASE_IDENTITY_MAX) {
        return err_set(reterr, EINVAL, "a lease needs an identity of less than %d bytes",
                       KUBE_LEASE_IDENTITY_MAX);
    }
    lease = xcalloc(1, sizeof(*lease));
    lease->config = c;
    lease->loop = kube_api_loop(c.api);
    rng_init(&lease->rng, c.seed);
    loop_timer_init(&lease->tick, lease_on_tick);
    loop_timer_init(&lease->deadline, lease_on_deadline);
    loop_defer_init(&lease->finish, lease_on_finish);
    *ret_lease = lease;
    return 0;
}

KubeLease *kube_lease_free(KubeLease *lease)
{
    if (lease) {
        kube_call_cancel(lease->call);
        loop_timer_disarm(&lease->tick);
        loop_timer_disarm(&lease->deadline);
        loop_defer_cancel(&lease->finish);
        free(lease);
    }
    return NULL;
}

void kube_lease_start(KubeLease *lease)
{
    if (!lease->running) {
        lease->running = true;
        lease_read(lease);
    }
}

bool kube_lease_is_leader(const KubeLease *lease)
{
    return lease->leader && loop_now(lease->loop) < lease->renewed_ns + lease->config.renew_ns;
}

Str kube_lease_holder(const KubeLease *lease)
{
    return str_from(lease->record.holder);
}

void kube_lease_identity_from(const char *hostname, Rng *rng, char *ret_identity)
{
    uint64_t a = rng_u64(rng);
    uint64_t b = rng_u64(rng);

    /* A version 4 UUID. */
    snprintf(ret_identity, KUBE_LEASE_IDENTITY_MAX, "%.253s_%08x-%04x-4%03x-%04x-%012llx", hostname,
             (unsigned)(a >> 32), (unsigned)(a >> 16) & 0xffff, (unsigned)a & 0xfff,
             ((unsigned)(b >> 48) & 0x3fff) | 0x8000, (unsigned long long)(b & 0xffffffffffffull));
}

void kube_lease_identity(char *ret_identity)
{
    char hostname[256] = "unknown";
    Rng rng;

    rng_init_os(&rng);
    if (gethostname(hostname, sizeof(hostname) - 1) < 0) {
        snprintf(hostname, sizeof(hostname), "unknown");
    }
    kube_lease_identity_from(hostname, &rng, ret_identity);
}
