/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * The whole controller over an API server in process: informers, stores, pools index, executor and
 * all four reconcilers on the virtual clock of test/fakeapi, with a kubelet that makes every Pod
 * ready after a while. What runs is production code; only main() and the network are missing.
 *
 * The rig can lose its controller at any time (rig_crash) and start another with empty memory.
 */
#include "controller/engine/exec.h"
#include "controller/warmpool/pools.h"
#include "kube/informer.h"
#include "test/fakeapi/world.h"

/* From a Pod's creation to ready, unless a test says otherwise. */
#define RIG_POD_START_NS (1500ull * 1000000ull)

typedef struct Rig {
    FakeWorld fake;
    ControllerOptions options;
    Metrics *metrics; /* of all controllers that the rig had */
    Meters *meters;
    /* the controller; all NULL while it is down */
    KubeApi *client;
    KubeInformer *informers[KUBE_KIND_MAX_];
    Pools *pools;
    KubeEvents *events;
    Exec *exec;
    /* the kubelet */
    LoopTimer kubelet;
    uint64_t pod_start_ns;
    unsigned pod_ip;
    bool kubelet_off;
    /* requests of the controller */
    uint64_t crash_at; /* the write after which it is lost, 0 = never */
    uint64_t n_writes;
    bool crashed;
} Rig;

void rig_init(Rig *rig, uint64_t seed);
void rig_deinit(Rig *rig);
/* Starts a controller, waits until its caches are full. */
void rig_start(Rig *rig);
void rig_crash(Rig *rig);
void rig_run(Rig *rig, uint64_t ns);

/* Template t, pool p. */
void rig_pool(Rig *rig, int replicas, const char *strategy);
void rig_claim(Rig *rig, const char *name, const char *spec);
/* Claims with Ready=True. */
size_t rig_ready_claims(const Rig *rig);
/* Fails the test when two claims name one Sandbox, a Sandbox named by a claim is not its own, or a
 * claim owns more than one. */
void rig_check_bindings(const Rig *rig);

DEFINE_AUTO(rig, Rig, rig_deinit)
