/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <stdio.h>

#include "kube/queue.h"
#include "test/harness/t.h"

#define KEY(text) ((KubeKey){STR("n"), STR(text)})

typedef struct Rig {
    FakeClock clock;
    Loop *loop;
    KubeQueue *queue;
    int ready;
} Rig;

static void on_ready(KubeQueue *queue, void *ctx)
{
    UNUSED(queue);
    ((Rig *)ctx)->ready++;
}

static void rig_init(Rig *rig, KubeBackoffConfig backoff)
{
    *rig = (Rig){.ready = 0};
    fake_clock_init(&rig->clock, 1000 * NS_PER_S, 0);
    T_OK(loop_new_virtual(&rig->clock.clock, &rig->loop));
    rig->queue = kube_queue_new(&(KubeQueueConfig){
        .loop = rig->loop, .backoff = backoff, .seed = 7, .on_ready = on_ready, .ctx = rig});
}

static void rig_deinit(Rig *rig)
{
    kube_queue_free(rig->queue);
    loop_free(rig->loop);
}

DEFINE_AUTO(rig, Rig, rig_deinit)

static void advance(Rig *rig, uint64_t ns)
{
    fake_clock_advance(&rig->clock, ns);
    T_OK(loop_step(rig->loop, 0));
}

static KubeQueueItem *pop(Rig *rig, const char *want)
{
    KubeQueueItem *item = NULL;

    T_EQ_INT(kube_queue_pop(rig->queue, &item), want ? 0 : KUBE_QUEUE_E_EMPTY);
    if (want) {
        T_EQ_STR(kube_queue_item_key(item).name, want);
        T_EQ_STR(kube_queue_item_key(item).ns, "n");
    }
    return item;
}

static const KubeBackoffConfig PLAIN = {5 * NS_PER_MS, 1000 * NS_PER_S, 0};

T_TEST(queue_adds_of_one_key_are_one_run)
{
    AUTO(rig) Rig rig;
    KubeQueueItem *item;

    rig_init(&rig, PLAIN);
    for (int i = 0; i < 5; i++) {
        T_OK(kube_queue_add(rig.queue, KEY("a"), KUBE_PRIO_NORMAL));
    }
    advance(&rig, 0);
    T_EQ_INT(rig.ready, 1);
    item = pop(&rig, "a");
    pop(&rig, NULL);
    kube_queue_done(rig.queue, item);
    pop(&rig, NULL);
}

T_TEST(queue_key_added_while_running_runs_once_more)
{
    AUTO(rig) Rig rig;
    KubeQueueItem *item;

    rig_init(&rig, PLAIN);
    T_OK(kube_queue_add(rig.queue, KEY("a"), KUBE_PRIO_NORMAL));
    item = pop(&rig, "a");
    T_OK(kube_queue_add(rig.queue, KEY("a"), KUBE_PRIO_LOW));
    T_OK(kube_queue_add(rig.queue, KEY("a"), KUBE_PRIO_HIGH));
    pop(&rig, NULL); /* never twice at once */
    kube_queue_done(rig.queue, item);
    item = pop(&rig, "a");
    T_EQ_INT(kube_queue_item_priority(item), KUBE_PRIO_HIGH);
    kube_queue_done(rig.queue, item);
    pop(&rig, NULL);
}

T_TEST(queue_orders_by_priority_then_arrival)
{
    AUTO(rig) Rig rig;

    rig_init(&rig, PLAIN);
    T_OK(kube_queue_add(rig.queue, KEY("low"), KUBE_PRIO_LOW));
    T_OK(kube_queue_add(rig.queue, KEY("b"), KUBE_PRIO_NORMAL));
    T_OK(kube_queue_add(rig.queue, KEY("a"), KUBE_PRIO_NORMAL));
    T_OK(kube_queue_add(rig.queue, KEY("raised"), KUBE_PRIO_LOW));
    T_OK(kube_queue_add(rig.queue, KEY("raised"), KUBE_PRIO_HIGH));
    T_OK(kube_queue_add(rig.queue, KEY("raised"), KUBE_PRIO_LOW)); /* never lowered */
    kube_queue_done(rig.queue, pop(&rig, "raised"));
    kube_queue_done(rig.queue, pop(&rig, "b"));
    kube_queue_done(rig.queue, pop(&rig, "a"));
    kube_queue_done(rig.queue, pop(&rig, "low"));
}

T_TEST(queue_earliest_deadline_wins)
{
    AUTO(rig) Rig rig;

    rig_init(&rig, PLAIN);
    T_OK(kube_queue_add_after(rig.queue, KEY("a"), KUBE_PRIO_NORMAL, 10 * NS_PER_S));
    T_OK(kube_queue_add_after(rig.queue, KEY("a"), KUBE_PRIO_NORMAL, 2 * NS_PER_S));
    T_OK(kube_queue_add_after(rig.queue, KEY("a"), KUBE_PRIO_LOW, 20 * NS_PER_S));
    pop(&rig, NULL);
    advance(&rig, 2 * NS_PER_S - 1);
    pop(&rig, NULL);
    advance(&rig, 1);
    T_EQ_INT(rig.ready, 1);
    kube_queue_done(rig.queue, pop(&rig, "a"));
    advance(&rig, 60 * NS_PER_S);
    pop(&rig, NULL);
    T_OK(kube_queue_add_after(rig.queue, KEY("a"), KUBE_PRIO_NORMAL, 10 * NS_PER_S));
    T_OK(kube_queue_add(rig.queue, KEY("a"), KUBE_PRIO_NORMAL)); /* now beats later */
    kube_queue_done(rig.queue, pop(&rig, "a"));
    T_OK(kube_queue_add_after(rig.queue, KEY("a"), KUBE_PRIO_NORMAL, UINT64_MAX));
}

T_TEST(queue_delay_given_while_running_holds_after_it)
{
    AUTO(rig) Rig rig;
    KubeQueueItem *item;

    rig_init(&rig, PLAIN);
    T_OK(kube_queue_add(rig.queue, KEY("a"), KUBE_PRIO_NORMAL));
    item = pop(&rig, "a");
    T_OK(kube_queue_add_after(rig.queue, KEY("a"), KUBE_PRIO_NORMAL, NS_PER_S));
    kube_queue_done(rig.queue, item);
    pop(&rig, NULL);
    advance(&rig, NS_PER_S);
    kube_queue_done(rig.queue, pop(&rig, "a"));
}

T_TEST(queue_back_off_doubles_to_its_cap_and_is_forgotten)
{
    AUTO(rig) Rig rig;
    uint64_t step = 5 * NS_PER_MS;

    rig_init(&rig, PLAIN);
    for (uint32_t i = 0; i < 10; i++) {
        T_OK(kube_queue_add_failed(rig.queue, KEY("a"), KUBE_PRIO_NORMAL, 0));
        T_EQ_INT(kube_queue_failures(rig.queue, KEY("a")), i + 1);
        advance(&rig, step - 1);
        pop(&rig, NULL);
        advance(&rig, 1);
        kube_queue_done(rig.queue, pop(&rig, "a"));
        step *= 2;
    }
    T_OK(kube_queue_add_failed(rig.queue, KEY("a"), KUBE_PRIO_NORMAL, 100 * NS_PER_MS));
    advance(&rig, 100 * NS_PER_MS);
    kube_queue_done(rig.queue, pop(&rig, "a"));
    kube_queue_forget(rig.queue, KEY("a"));
    T_EQ_INT(kube_queue_failures(rig.queue, KEY("a")), 0);
    T_OK(kube_queue_add_failed(rig.queue, KEY("a"), KUBE_PRIO_NORMAL, 0));
    advance(&rig, 5 * NS_PER_MS);
    kube_queue_done(rig.queue, pop(&rig, "a"));
}

T_TEST(queue_ready_is_told_again_while_work_is_left)
{
    AUTO(rig) Rig rig;
    KubeQueueStats stats;

    rig_init(&rig, PLAIN);
    T_OK(kube_queue_add(rig.queue, KEY("a"), KUBE_PRIO_NORMAL));
    T_OK(kube_queue_add(rig.queue, KEY("b"), KUBE_PRIO_NORMAL));
    T_OK(kube_queue_add_after(rig.queue, KEY("c"), KUBE_PRIO_NORMAL, NS_PER_S));
    advance(&rig, 0);
    kube_queue_stats(rig.queue, &stats);
    T_EQ_INT(stats.depth, 2);
    T_EQ_INT(stats.delayed, 1);
    kube_queue_done(rig.queue, pop(&rig, "a"));
    advance(&rig, 0);
    T_EQ_INT(rig.ready, 2);
    kube_queue_done(rig.queue, pop(&rig, "b"));
    advance(&rig, 0);
    T_EQ_INT(rig.ready, 2);
}

T_TEST(queue_is_bounded)
{
    AUTO(rig) Rig rig;
    char name[16];

    rig_init(&rig, PLAIN);
    for (unsigned i = 0; i < KUBE_QUEUE_KEYS_MAX; i++) {
        snprintf(name, sizeof(name), "%u", i);
        T_OK(kube_queue_add(rig.queue, (KubeKey){STR("n"), str_from(name)}, KUBE_PRIO_LOW));
    }
    T_EQ_INT(kube_queue_add(rig.queue, KEY("x"), KUBE_PRIO_LOW), -ENOSPC);
    T_OK(kube_queue_add(rig.queue, KEY("7"), KUBE_PRIO_LOW)); /* there already */
    kube_queue_done(rig.queue, pop(&rig, "0"));
    T_OK(kube_queue_add(rig.queue, KEY("x"), KUBE_PRIO_LOW));
}

T_TEST(queue_jitter_is_the_same_for_the_same_seed)
{
    const KubeBackoffConfig config = {NS_PER_S, 30 * NS_PER_S, 0.5};
    Rng a;
    Rng b;

    rng_init(&a, 3);
    rng_init(&b, 3);
    for (uint32_t i = 0; i < 100; i++) {
        uint64_t full = kube_backoff_ns(&config, i, NULL);
        uint64_t x = kube_backoff_ns(&config, i, &a);

        T_EQ_INT(x, kube_backoff_ns(&config, i, &b));
        T_CHECK(x <= full && x >= full / 2);
    }
    T_EQ_INT(kube_backoff_ns(&config, 4, NULL), 16 * NS_PER_S);
    T_EQ_INT(kube_backoff_ns(&config, UINT32_MAX, NULL), 30 * NS_PER_S);
}
