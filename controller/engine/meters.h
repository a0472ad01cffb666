/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * The controller's own metrics: one table of names, labels and buckets. Plans name a row in
 * plan_sample(); counters add the sample's value, histograms observe it (milliseconds, truncated to
 * integers as the dashboards expect).
 */
#include "base/str.h"
#include "metrics/metrics.h"

typedef enum MeterId {
    METER_CLAIM_STARTUP_MS,            /* launch_type, sandbox_template */
    METER_CLAIM_CONTROLLER_STARTUP_MS, /* launch_type, sandbox_template */
    METER_CLAIM_CLIENT_STARTUP_MS,     /* launch_type, sandbox_template */
    METER_SANDBOX_CREATION_MS,         /* namespace, launch_type, sandbox_template */
    METER_CLAIM_CREATION_TOTAL,        /* namespace, sandbox_template, launch_type, warmpool_name,
                                          pod_condition, created_by */
    METER_SUSPEND_TOTAL,               /* namespace, sandbox_template, owned_by, result */
    METER_RESUME_TOTAL,                /* namespace, sandbox_template, owned_by, result */
    METER_FINISHED_TOTAL,              /* namespace, sandbox_template, owned_by, reason */
    METER_EXPIRED_TOTAL,               /* namespace, sandbox_template, owned_by, shutdown_policy */
    METER_SUSPEND_MS,                  /* namespace, sandbox_template, owned_by */
    METER_RESUME_MS,                   /* namespace, sandbox_template, owned_by */
    METER_CLAIM_STAGE_MS,              /* launch_type, stage */
    METER_CLAIM_FINE_MS,   /* what METER_CLAIM_CONTROLLER_STARTUP_MS observes, in finer buckets */
    METER_RECONCILE_TOTAL, /* controller, result */
    METER_RECONCILE_ERRORS_TOTAL, /* controller */
    METER_RECONCILE_TIME_SECONDS, /* controller */
    METER_QUEUE_SECONDS,          /* name */
    METER_WORK_SECONDS,           /* name */
    METER_MAX_,
} MeterId;

typedef struct Meters Meters;

Meters *meters_new(Metrics *metrics);
Meters *meters_free(Meters *meters);
/* NULL meters do nothing. */
void meters_sample(Meters *meters, MeterId id, double value, const Str *labels, size_t n_labels);
