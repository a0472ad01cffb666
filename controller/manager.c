/* SPDX-License-Identifier: Apache-2.0 */
/* See manager.h. */
#include "controller/manager.h"

#include <stdlib.h>

#include "base/check.h"
#include "base/mem.h"
#include "controller/engine/exec.h"
#include "controller/inventory.h"
#include "controller/warmpool/pools.h"
#include "kube/informer.h"
#include "kube/lease.h"

/* Adding a reconciler is one line here and one in engine/reconciler.h. */
static const Reconciler *(*const reconcilers[])(void) = {
    sandbox_reconciler,
    template_reconciler,
    warmpool_reconciler,
    claim_reconciler,
};

struct Manager {
    ManagerConfig config;
    KubeApi *api;
    KubeEvents *events;
    Meters *meters;
    KubeInformer *informers[KUBE_KIND_MAX_]; /* NULL = not watched */
    Pools *pools;                            /* NULL without the extensions */
    Exec *exec;
    KubeLease *lease; /* NULL without election */
    LoopDefer rewind;
    const KubeInformer *rewound; /* who noticed it */
    bool synced;
    bool stopping;
    void (*stopped)(void *ctx);
    void *stopped_ctx;
};

/* ---- leading ---- */

static void lead(Manager *manager)
{
    if (!manager->stopping && !exec_is_started(manager->exec)) {
        LOG_INFO(manager->config.log, "reconcilers started");
        exec_start(manager->exec);
    }
}

static void on_started(KubeLease *lease, void *ctx)
{
    Manager *manager = ctx;

    UNUSED(lease);
    LOG_INFO(manager->config.log, "lease acquired", F_CSTR("identity", manager->config.identity));
    lead(manager);
}

static void on_lost(KubeLease *lease, const char *why, void *ctx)
{
    Manager *manager = ctx;

    UNUSED(lease);
    exec_stop(manager->exec);
    if (!manager->stopping) {
        LOG_ERROR(manager->config.log, "lease lost", F_CSTR("why", why));
        manager->config.on_lost(manager->config.ctx);
    }
}

static bool may_write(void *ctx)
{
    const Manager *manager = ctx;

    return !manager->lease || kube_lease_is_leader(manager->lease);
}

static void on_rival(void *ctx)
{
    Manager *manager = ctx;

    if (manager->lease) {
        kube_lease_check(manager->lease);
    }
}

static void on_lease_error(KubeLease *lease, const KubeError *error, void *ctx)
{
    Manager *manager = ctx;

    UNUSED(lease);
    LOG_WARN(manager->config.log, "lease request failed",
             F_CSTR("reason", kube_reason_name(error->reason)), F_CSTR("error", error->msg));
}

/* ---- caches ---- */

static bool all_synced(const Manager *manager)
{
    for (size_t i = 0; i < KUBE_KIND_MAX_; i++) {
        if (manager->informers[i] && !kube_informer_synced(manager->informers[i])) {
            return false;
        }
    }
    return true;
}

static void on_informer_state(KubeInformer *informer, const KubeError *error, void *ctx)
{
    Manager *manager = ctx;
    const KubeKind *kind = kube_store_kind(kube_informer_store(informer));

    if (error) {
        LOG_WARN(manager->config.log, "watch failed", F_CSTR("kind", kind->kind),
                 F_CSTR("reason", kube_reason_name(error->reason)), F_CSTR("error", error->msg));
        return;
    }
    LOG_DEBUG(manager->config.log, "cache synced", F_CSTR("kind", kind->kind),
              F_I64("objects", kube_store_len(kube_informer_store(informer))));
    if (manager->synced || manager->stopping || !all_synced(manager)) {
        return;
    }
    manager->synced = true;
    LOG_INFO(manager->config.log, "caches synced");
    if (manager->lease) {
        kube_lease_start(manager->lease);
    } else {
        lead(manager);
    }
}

/* One storage behind all kinds: what one informer has noticed holds for all. */
static void on_rewind_all(LoopDefer *defer)
{
    Manager *manager = container_of(defer, Manager, rewind);

    for (size_t i = 0; i < KUBE_KIND_MAX_; i++) {
        if (manager->informers[i] && manager->informers[i] != manager->rewound) {
            kube_informer_rewind(manager->informers[i]);
        }
    }
}

static void on_went_back(void *ctx)
{
    Manager *manager = ctx;

    LOG_WARN(manager->config.log, "the server's resourceVersions went back: all is listed anew");
    manager->rewound = NULL;
    loop_defer_post(manager->config.loop, &manager->rewind);
}

static void on_rewind(KubeInformer *informer, void *ctx)
{
    Manager *manager = ctx;

    LOG_WARN(manager->config.log, "the server's resourceVersions went back: all is listed anew",
             F_CSTR("kind", kube_store_kind(kube_informer_store(informer))->kind));
    manager->rewound = informer;
    loop_defer_post(manager->config.loop, &manager->rewind);
}

static bool is_wanted(const Manager *manager, const Reconciler *reconciler)
{
    return manager->config.options->extensions || !reconciler->extension;
}

static void informer_new(Manager *manager, KubeKindId kind)
{
    KubeInformerConfig config = {
        .api = manager->api,
        .kind = kube_kind(kind),
        .stream = true,
        .label_selector = view_store_selector(kind),
        .seed = manager->config.seed + (uint64_t)kind,
        .resync_ns = 10ull * 3600 * NS_PER_S,
        .on_state = on_informer_state,
        .on_rewind = on_rewind,
        .ctx = manager,
    };

    if (!manager->informers[kind]) {
        config.indexes = view_store_indexes(kind, &config.n_indexes);
        manager->informers[kind] = kube_informer_new(&config);
    }
}

static void informers_new(Manager *manager)
{
    for (size_t i = 0; i < ARRAY_LEN(reconcilers); i++) {
        const Reconciler *reconciler = reconcilers[i]();

        if (!is_wanted(manager, reconciler)) {
            continue;
        }
        informer_new(manager, reconciler->kind);
        for (size_t w = 0; w < reconciler->n_watches; w++) {
            informer_new(manager, reconciler->watches[w].kind);
        }
    }
}

static void exec_setup(Manager *manager)
{
    ExecConfig config = {
        .loop = manager->config.loop,
        .api = manager->api,
        .log = manager->config.log,
        .metrics = manager->config.metrics,
        .tracer = manager->config.tracer,
        .meters = manager->meters,
        .events = manager->events,
        .options = manager->config.options,
        .seed = manager->config.seed,
        .may_write = may_write,
        .on_rival = on_rival,
        .on_went_back = on_went_back,
        .ctx = manager,
    };

    for (size_t i = 0; i < KUBE_KIND_MAX_; i++) {
        if (manager->informers[i]) {
            config.stores[i] = kube_informer_store(manager->informers[i]);
        }
    }
    /* Before the executor, so that plans see a change when they are woken by it. */
    if (manager->config.options->extensions) {
        manager->pools = pools_new(manager->config.seed);
        pools_attach(manager->pools, config.stores[KUBE_SANDBOX], config.stores[KUBE_WARMPOOL]);
    }
    config.pools = manager->pools;
    manager->exec = exec_new(&config);
    for (size_t i = 0; i < ARRAY_LEN(reconcilers); i++) {
        if (is_wanted(manager, reconcilers[i]())) {
            exec_add(manager->exec, reconcilers[i]());
        }
    }
    if (manager->config.metrics) {
        inventory_register(manager->config.metrics, config.stores[KUBE_SANDBOX]);
    }
}

/* ---- metrics ---- */

static void collect_master(MetricSink *sink, void *ctx)
{
    const Str labels[] = {STR(MANAGER_LEASE_NAME)};

    metric_emit(sink, labels, manager_is_leading(ctx) ? 1 : 0);
}

static void metrics_setup(Manager *manager)
{
    static const char *const by_name[] = {"name", NULL};
    static const MetricSpec master = {
        .name = "leader_election_master_status",
        .help = "1 on the replica that leads",
        .labels = by_name,
    };

    if (manager->config.metrics) {
        manager->meters = meters_new(manager->config.metrics);
        metrics_collect(manager->config.metrics, METRIC_GAUGE, &master, collect_master, manager);
    }
}

/* ---- life ---- */

static int lease_setup(Manager *manager, Err *reterr)
{
    const KubeLeaseConfig config = {
        .api = manager->api,
        .ns = manager->config.lease_ns,
        .name = MANAGER_LEASE_NAME,
        .identity = manager->config.identity,
        .seed = manager->config.seed,
        .on_started = on_started,
        .on_lost = on_lost,
        .on_error = on_lease_error,
        .ctx = manager,
    };

    if (!manager->config.options->leader_elect) {
        return 0;
    }
    return kube_lease_new(&config, &manager->lease, reterr);
}

int manager_new(const ManagerConfig *config, Manager **ret_manager, Err *reterr)
{
    AUTO(manager) Manager *manager = xcalloc(1, sizeof(*manager));
    int r;

    manager->config = *config;
    loop_defer_init(&manager->rewind, on_rewind_all);
    manager->api = kube_api_new(config->loop, config->transport, MANAGER_FIELD_MANAGER);
    r = lease_setup(manager, reterr);
    if (r < 0) {
        return r;
    }
    manager->events = kube_events_new(manager->api, config->identity, config->seed);
    metrics_setup(manager);
    informers_new(manager);
    exec_setup(manager);
    *ret_manager = TAKE(manager);
    return 0;
}

Manager *manager_free(Manager *manager)
{
    if (!manager) {
        return NULL;
    }
    loop_defer_cancel(&manager->rewind);
    exec_free(manager->exec);
    pools_free(manager->pools);
    kube_lease_free(manager->lease);
    for (size_t i = 0; i < KUBE_KIND_MAX_; i++) {
        kube_informer_free(manager->informers[i]);
    }
    kube_events_free(manager->events);
    meters_free(manager->meters);
    kube_api_free(manager->api);
    free(manager);
    return NULL;
}

void manager_start(Manager *manager)
{
    for (size_t i = 0; i < KUBE_KIND_MAX_; i++) {
        if (manager->informers[i]) {
            kube_informer_start(manager->informers[i]);
        }
    }
}

static void on_released(KubeLease *lease, void *ctx)
{
    Manager *manager = ctx;

    UNUSED(lease);
    manager->stopped(manager->stopped_ctx);
}

void manager_stop(Manager *manager, void (*done)(void *ctx), void *ctx)
{
    manager->stopping = true;
    manager->stopped = done;
    manager->stopped_ctx = ctx;
    exec_stop(manager->exec);
    if (manager->lease && manager->synced) {
        kube_lease_stop(manager->lease, on_released);
    } else {
        done(ctx);
    }
}

bool manager_is_synced(const Manager *manager)
{
    return manager->synced;
}

bool manager_is_leading(const Manager *manager)
{
    return exec_is_started(manager->exec);
}

bool manager_is_idle(const Manager *manager)
{
    return exec_is_idle(manager->exec);
}
