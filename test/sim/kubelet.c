/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Scheduler and kubelet: a Pod is scheduled, starts, becomes Ready and gets an address, each after
 * a while of its own. It may find no node or no image until the calm, fail or complete, be evicted,
 * or lose its readiness for a moment.
 */
#include "base/mem.h"
#include "base/vec.h"
#include "test/sim/sim.h"

typedef enum PodStage {
    POD_NEW,
    POD_SCHEDULED,
    POD_RUNNING,
    POD_OVER,
} PodStage;

typedef struct PodLife {
    ListNode node;
    Kubelet *kubelet;
    char *ns;
    char *name;
    char *uid;
    PodStage stage;
    bool unschedulable;
    bool no_image;
    bool blinks;     /* not Ready for a moment */
    const char *end; /* phase in which it will end, NULL = goes on */
    LoopTimer timer;
} PodLife;

struct Kubelet {
    Sim *sim;
    Rng rng;
    List pods;
    unsigned n_ips;
};

static void life_free(PodLife *life)
{
    loop_timer_disarm(&life->timer);
    list_remove(&life->node);
    free(life->ns);
    free(life->name);
    free(life->uid);
    free(life);
}

static uint64_t between(Kubelet *kubelet, uint64_t low, uint64_t high)
{
    return low + rng_below(&kubelet->rng, high - low + 1);
}

static void wake_in(PodLife *life, uint64_t ns)
{
    Loop *loop = life->kubelet->sim->loop;

    loop_timer_arm(loop, &life->timer, loop_now(loop) + ns);
}

/* False when the Pod is not there any more or on its way out. */
static bool status(PodLife *life, const char *text)
{
    FakeApi *api = life->kubelet->sim->api;
    const json_t *pod = fakeapi_get(api, KUBE_POD, life->ns, life->name);

    if (!pod || !str_eq(jx_get_str(pod, "metadata", "uid"), str_from(life->uid)) ||
        jx_get(pod, "metadata", "deletionTimestamp")) {
        return false;
    }
    sim_tell(life->kubelet->sim, "kubelet   %s/%s  %s", life->ns, life->name, text);
    (void)fakeapi_patch(api, KUBE_POD, life->ns, life->name, text);
    return true;
}

static void schedule(PodLife *life)
{
    AUTO(mem) char *text = NULL;

    if (life->unschedulable) {
        (void)status(life, "{\"status\":{\"phase\":\"Pending\",\"conditions\":[{\"type\":"
                           "\"PodScheduled\",\"status\":\"False\",\"reason\":\"Unschedulable\","
                           "\"message\":\"0/3 nodes are available\"}]}}");
        return;
    }
    text = xasprintf("{\"spec\":{\"nodeName\":\"n%u\"},\"status\":{\"phase\":\"Pending\","
                     "\"conditions\":[{\"type\":\"PodScheduled\",\"status\":\"True\"}]}}",
                     (unsigned)between(life->kubelet, 0, 2));
    if (status(life, text)) {
        life->stage = POD_SCHEDULED;
        wake_in(life, between(life->kubelet, 50 * NS_PER_MS, 2500 * NS_PER_MS));
    }
}

static void run(PodLife *life)
{
    unsigned ip = ++life->kubelet->n_ips;
    AUTO(mem) char *text = NULL;

    if (life->no_image) {
        (void)status(life,
                     "{\"status\":{\"containerStatuses\":[{\"name\":\"c\",\"state\":{\"waiting\":"
                     "{\"reason\":\"ImagePullBackOff\",\"message\":\"no such image\"}}}]}}");
        return;
    }
    text = xasprintf("{\"status\":{\"phase\":\"Running\",\"podIP\":\"10.0.%u.%u\",\"podIPs\":"
                     "[{\"ip\":\"10.0.%u.%u\"}],\"containerStatuses\":null,\"conditions\":"
                     "[{\"type\":\"PodScheduled\",\"status\":\"True\"},{\"type\":\"Ready\","
                     "\"status\":\"True\"}]}}",
                     ip / 250, ip % 250, ip / 250, ip % 250);
    if (status(life, text)) {
        life->stage = POD_RUNNING;
        if (life->end) {
            wake_in(life, between(life->kubelet, NS_PER_MS, 15 * NS_PER_S));
        }
    }
}

static void go_on(PodLife *life)
{
    AUTO(mem) char *text = NULL;

    if (life->blinks) {
        life->blinks = false;
        (void)status(life, "{\"status\":{\"conditions\":[{\"type\":\"PodScheduled\",\"status\":"
                           "\"True\"},{\"type\":\"Ready\",\"status\":\"True\"}]}}");
        if (life->end) {
            wake_in(life, 5 * NS_PER_S);
        }
    } else if (life->end) {
        text = xasprintf("{\"status\":{\"phase\":\"%s\",\"conditions\":[{\"type\":"
                         "\"PodScheduled\",\"status\":\"True\"},{\"type\":\"Ready\",\"status\":"
                         "\"False\"}]}}",
                         life->end);
        (void)status(life, text);
        life->stage = POD_OVER;
    }
}

static void on_timer(LoopTimer *timer)
{
    PodLife *life = container_of(timer, PodLife, timer);

    if (life->stage == POD_NEW) {
        schedule(life);
    } else if (life->stage == POD_SCHEDULED) {
        run(life);
    } else if (life->stage == POD_RUNNING) {
        go_on(life);
    }
}

/* ---- births and deaths ---- */

static PodLife *born(Kubelet *kubelet, const json_t *pod)
{
    Sim *sim = kubelet->sim;
    PodLife *life = xcalloc(1, sizeof(*life));
    uint64_t wait = between(kubelet, NS_PER_MS, 800 * NS_PER_MS);

    life->kubelet = kubelet;
    life->ns = xstrdup(jx_get_str(pod, "metadata", "namespace").ptr);
    life->name = xstrdup(jx_get_str(pod, "metadata", "name").ptr);
    life->uid = xstrdup(jx_get_str(pod, "metadata", "uid").ptr);
    life->unschedulable = sim_chance(sim, SIM_POD_UNSCHEDULABLE);
    life->no_image = sim_chance(sim, SIM_POD_NO_IMAGE);
    if (sim_chance(sim, SIM_POD_SLOW)) {
        wait = sim_between(sim, SIM_POD_SLOW, NS_PER_S, 20 * NS_PER_S);
    }
    if (sim_chance(sim, SIM_POD_FAILS)) {
        life->end = "Failed";
    } else if (sim_chance(sim, SIM_POD_ENDS)) {
        life->end = "Succeeded";
    }
    loop_timer_init(&life->timer, on_timer);
    list_push_back(&kubelet->pods, &life->node);
    wake_in(life, wait);
    return life;
}

/* The Pod's state went back: so does the kubelet, which goes by it. */
static void went_back(PodLife *life, const json_t *pod)
{
    Str phase = jx_get_str(pod, "status", "phase");

    life->blinks = false;
    if (str_eq(phase, STR("Running"))) {
        life->stage = POD_RUNNING;
        life->blinks = true; /* Ready again, if it was not */
    } else if (!str_eq(phase, STR("Pending"))) {
        life->stage = POD_OVER;
    } else {
        life->stage = jx_get_str(pod, "spec", "nodeName").len > 0 ? POD_SCHEDULED : POD_NEW;
    }
    wake_in(life, between(life->kubelet, NS_PER_MS, NS_PER_S));
}

void kubelet_on_change(Kubelet *kubelet, const FakeChange *change)
{
    Str uid;

    if (change->kind->id != KUBE_POD) {
        return;
    }
    if (!change->before) {
        PodLife *life = born(kubelet, change->after);

        if (kubelet->sim->restoring) {
            went_back(life, change->after);
        }
        return;
    }
    uid = jx_get_str(change->before, "metadata", "uid");
    list_foreach (&kubelet->pods, n) {
        PodLife *life = list_entry(n, PodLife, node);

        if (!change->after && str_eq(str_from(life->uid), uid)) {
            life_free(life);
            return;
        }
        if (kubelet->sim->restoring && str_eq(str_from(life->uid), uid)) {
            went_back(life, change->after);
        }
    }
}

/* ---- trouble ---- */

static PodLife *any_running(Kubelet *kubelet, SimKnob knob)
{
    PodLife *found = NULL;
    size_t n = 0;

    list_foreach (&kubelet->pods, it) {
        PodLife *life = list_entry(it, PodLife, node);

        if (life->stage == POD_RUNNING && sim_between(kubelet->sim, knob, 0, n++) == 0) {
            found = life;
        }
    }
    return found;
}

void kubelet_trouble(Kubelet *kubelet, SimKnob knob)
{
    PodLife *life = any_running(kubelet, knob);

    if (!life) {
        return;
    }
    if (knob == SIM_POD_BLINKS) {
        life->blinks = true;
        (void)status(life, "{\"status\":{\"conditions\":[{\"type\":\"PodScheduled\",\"status\":"
                           "\"True\"},{\"type\":\"Ready\",\"status\":\"False\"}]}}");
        wake_in(life, sim_between(kubelet->sim, knob, NS_PER_MS, 4 * NS_PER_S));
    } else if (knob == SIM_POD_DISRUPTED) {
        (void)status(life, "{\"status\":{\"conditions\":[{\"type\":\"PodScheduled\",\"status\":"
                           "\"True\"},{\"type\":\"Ready\",\"status\":\"True\"},{\"type\":"
                           "\"DisruptionTarget\",\"status\":\"True\",\"reason\":"
                           "\"EvictionByEvictionAPI\"}]}}");
    } else if (sim_between(kubelet->sim, knob, 0, 1) == 0) {
        life->end = "Failed";
        life->blinks = false;
        go_on(life);
    } else {
        sim_tell(kubelet->sim, "kubelet   %s/%s is evicted", life->ns, life->name);
        (void)fakeapi_delete(kubelet->sim->api, KUBE_POD, life->ns, life->name);
    }
}

void kubelet_heal(Kubelet *kubelet)
{
    list_foreach (&kubelet->pods, it) {
        PodLife *life = list_entry(it, PodLife, node);

        life->end = NULL;
        if (life->unschedulable || life->no_image) {
            life->unschedulable = life->no_image = false;
            wake_in(life, between(kubelet, NS_PER_MS, NS_PER_S));
        }
    }
}

Kubelet *kubelet_new(Sim *sim)
{
    Kubelet *kubelet = xcalloc(1, sizeof(*kubelet));

    kubelet->sim = sim;
    rng_init(&kubelet->rng, sim->options.seed + 11);
    list_init(&kubelet->pods);
    return kubelet;
}

Kubelet *kubelet_free(Kubelet *kubelet)
{
    list_foreach (&kubelet->pods, it) {
        life_free(list_entry(it, PodLife, node));
    }
    free(kubelet);
    return NULL;
}
