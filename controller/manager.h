/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * Wires the parts of the controller: informers, executor, reconcilers, Lease, Events, metrics.
 *
 * Life: the informers start at once and keep their stores equal to the API server on every replica.
 * When all of them have listed, the manager becomes a candidate for the Lease (or leads right away
 * without election), so a replica whose cache is cold never writes anything. Leading starts the
 * executor; losing the Lease stops it and ends the process, whose successor begins anew.
 */
#include "base/err.h"
#include "base/log.h"
#include "base/loop.h"
#include "controller/options.h"
#include "kube/transport.h"
#include "metrics/metrics.h"
#include "trace/tracer.h"

#define MANAGER_LEASE_NAME "a3317529.agent-sandbox.x-k8s.io"
#define MANAGER_FIELD_MANAGER "sandbox-controller"

typedef struct Manager Manager;

typedef struct ManagerConfig {
    Loop *loop; /* all borrowed */
    KubeTransport *transport;
    Logger *log;
    Metrics *metrics; /* NULL = none */
    Tracer *tracer;   /* NULL = no spans */
    const ControllerOptions *options;
    const char *lease_ns; /* not used without leader election */
    const char *identity; /* of this replica */
    uint64_t seed;
    /* The Lease was lost: the process has to end. */
    void (*on_lost)(void *ctx);
    void *ctx;
} ManagerConfig;

/* -EINVAL when the Lease cannot be set up. */
int manager_new(const ManagerConfig *config, Manager **ret_manager, Err *reterr);
Manager *manager_free(Manager *manager); /* NULL is fine; returns NULL */
void manager_start(Manager *manager);
/* Stops reconciling and gives the Lease back; done is called when that is settled. */
void manager_stop(Manager *manager, void (*done)(void *ctx), void *ctx);

bool manager_is_synced(const Manager *manager);
bool manager_is_leading(const Manager *manager);
/* Nothing in work and nothing due; for tests. */
bool manager_is_idle(const Manager *manager);

DEFINE_AUTO_PTR(manager, Manager, manager_free)
