/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Queues and listeners of the executor, and its start and stop. See exec.h.
 */
#include "controller/engine/exec.h"

#include <stdlib.h>

#include "base/mem.h"
#include "controller/engine/exec_internal.h"

/* ---- from changes to keys ---- */

typedef struct QueueSink {
    KeySink sink;
    ExecController *controller;
    KubePriority priority;
    uint64_t gather_ns;
} QueueSink;

static void queue_sink_add(KeySink *sink, Str ns, Str name)
{
    QueueSink *self = container_of(sink, QueueSink, sink);

    /* A full queue loses nothing for good: the next resync names the key again. */
    (void)kube_queue_add_after(self->controller->queue, (KubeKey){ns, name}, self->priority,
                               self->gather_ns);
}

static void on_change(KubeListener *listener, const KubeStore *store, const KubeChange *change)
{
    ExecWatch *watch = container_of(listener, ExecWatch, listener);
    Exec *exec = watch->controller->exec;
    QueueSink sink = {
        .sink = {queue_sink_add},
        .controller = watch->controller,
        .priority = change->origin == KUBE_CHANGE_LIVE ? KUBE_PRIO_NORMAL : KUBE_PRIO_LOW,
        .gather_ns = watch->rule->gather_ns,
    };
    View view = exec->view;

    UNUSED(store);
    if (!exec->started) {
        return;
    }
    view.now_wall_ns = loop_wall_now(exec->config.loop);
    watch->rule->map(&view, change->before, change->after, &sink.sink);
}

/* ---- from keys to passes ---- */

static void pump(ExecController *controller)
{
    KubeQueueItem *item;

    for (unsigned n = 0; controller->exec->started && controller->running < controller->workers;
         n++) {
        if (n == EXEC_TICK_RUNS_MAX) {
            loop_defer_post(controller->exec->config.loop, &controller->resume);
            return;
        }
        if (kube_queue_pop(controller->queue, &item) != 0) {
            return;
        }
        exec_run_start(controller, item);
    }
}

static void on_ready(KubeQueue *queue, void *ctx)
{
    UNUSED(queue);
    pump(ctx);
}

static void on_resume(LoopDefer *defer)
{
    pump(container_of(defer, ExecController, resume));
}

static void on_bury(LoopDefer *defer)
{
    Exec *exec = container_of(defer, Exec, bury);
    ListNode *node;

    while ((node = list_pop_front(&exec->dead))) {
        exec_run_free(list_entry(node, ExecRun, node));
    }
}

/* The run's own functions may still be on the stack: it is freed at the end of the tick. */
void exec_run_ended(ExecRun *run)
{
    Exec *exec = run->exec;

    list_remove(&run->node);
    list_push_back(&exec->dead, &run->node);
    loop_defer_post(exec->config.loop, &exec->bury);
    run->controller->running--;
    exec->stats.running--;
    loop_defer_post(exec->config.loop, &run->controller->resume);
}

/* ---- life ---- */

Exec *exec_new(const ExecConfig *config)
{
    Exec *exec = xcalloc(1, sizeof(*exec));

    exec->config = *config;
    exec->view.options = config->options;
    exec->view.reservations = &exec->reservations;
    exec->view.pools = config->pools;
    for (size_t i = 0; i < KUBE_KIND_MAX_; i++) {
        exec->view.stores[i] = config->stores[i];
    }
    reservations_init(&exec->reservations, config->seed);
    pace_init(&exec->pace, config->seed);
    if (config->tracer) {
        rng_init_os(&exec->trace_rng);
    }
    list_init(&exec->runs);
    list_init(&exec->dead);
    loop_defer_init(&exec->bury, on_bury);
    exec_metrics_register(exec);
    return exec;
}

static void controller_queue_new(ExecController *controller)
{
    const ExecConfig *config = &controller->exec->config;
    const KubeQueueConfig queue = {
        .loop = config->loop,
        .seed = config->seed + controller->exec->n_controllers,
        .on_ready = on_ready,
        .ctx = controller,
    };

    controller->queue = kube_queue_new(&queue);
}

void exec_add(Exec *exec, const Reconciler *reconciler)
{
    ExecController *controller = &exec->controllers[exec->n_controllers];

    CHECK(exec->n_controllers < EXEC_CONTROLLERS_MAX && !exec->started);
    controller->exec = exec;
    controller->reconciler = reconciler;
    controller->workers = reconciler->workers(exec->config.options);
    coalesce_init(&controller->coalesce, exec->config.seed);
    loop_defer_init(&controller->resume, on_resume);
    controller_queue_new(controller);
    controller->watches = xcalloc(reconciler->n_watches + 1, sizeof(controller->watches[0]));
    for (size_t i = 0; i < reconciler->n_watches; i++) {
        ExecWatch *watch = &controller->watches[i];
        KubeStore *store = exec->config.stores[reconciler->watches[i].kind];

        watch->listener.fn = on_change;
        watch->controller = controller;
        watch->rule = &reconciler->watches[i];
        if (store) {
            kube_store_listen(store, &watch->listener);
        }
    }
    exec->n_controllers++;
}

void exec_start(Exec *exec)
{
    CHECK(!exec->started);
    exec->started = true;
    for (size_t i = 0; i < exec->n_controllers; i++) {
        ExecController *controller = &exec->controllers[i];
        const KubeStore *store = exec->config.stores[controller->reconciler->kind];
        KubeStoreIter it;
        const KubeObj *obj;

        if (!store) {
            continue;
        }
        it = kube_store_all(store);
        while ((obj = kube_store_next(&it))) {
            (void)kube_queue_add(controller->queue, kube_obj_key(obj), KUBE_PRIO_LOW);
        }
    }
}

/* New queues, because what was queued belongs to the time of leadership. */
void exec_stop(Exec *exec)
{
    ListNode *node;

    exec->started = false;
    while ((node = list_first(&exec->runs))) {
        ExecRun *run = list_entry(node, ExecRun, node);

        exec_run_cancel(run);
        reservations_release_all(&exec->reservations, str_from(run->holder));
        kube_queue_done(run->controller->queue, run->item);
        run->item = NULL;
        exec_run_ended(run);
    }
    for (size_t i = 0; i < exec->n_controllers; i++) {
        ExecController *controller = &exec->controllers[i];

        controller->queue = kube_queue_free(controller->queue);
        controller_queue_new(controller);
    }
}

Exec *exec_free(Exec *exec)
{
    if (!exec) {
        return NULL;
    }
    exec_stop(exec);
    on_bury(&exec->bury);
    loop_defer_cancel(&exec->bury);
    for (size_t i = 0; i < exec->n_controllers; i++) {
        ExecController *controller = &exec->controllers[i];

        for (size_t w = 0; w < controller->reconciler->n_watches; w++) {
            if (list_node_is_linked(&controller->watches[w].listener.node)) {
                kube_store_unlisten(&controller->watches[w].listener);
            }
        }
        free(controller->watches);
        loop_defer_cancel(&controller->resume);
        coalesce_deinit(&controller->coalesce);
        controller->queue = kube_queue_free(controller->queue);
    }
    reservations_deinit(&exec->reservations);
    pace_deinit(&exec->pace);
    free(exec);
    return NULL;
}

bool exec_is_started(const Exec *exec)
{
    return exec->started;
}

bool exec_is_idle(const Exec *exec)
{
    KubeQueueStats stats;

    for (size_t i = 0; i < exec->n_controllers; i++) {
        kube_queue_stats(exec->controllers[i].queue, &stats);
        if (stats.depth > 0 || stats.running > 0) {
            return false;
        }
    }
    return true;
}

void exec_enqueue(Exec *exec, const Reconciler *reconciler, KubeKey key)
{
    for (size_t i = 0; i < exec->n_controllers; i++) {
        if (exec->controllers[i].reconciler == reconciler) {
            (void)kube_queue_add(exec->controllers[i].queue, key, KUBE_PRIO_NORMAL);
        }
    }
}

void exec_stats(const Exec *exec, ExecStats *ret_stats)
{
    *ret_stats = exec->stats;
}
