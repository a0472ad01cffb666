/* SPDX-License-Identifier: Apache-2.0 */
/* See inventory.h. */
#include "controller/inventory.h"

#include <stdlib.h>

#include "base/vec.h"
#include "base/version.h"
#include "controller/keys.h"

#define INVENTORY_LABELS 7

typedef struct InventoryRow {
    Str labels[INVENTORY_LABELS];
} InventoryRow;

static Str or_unknown(Str value)
{
    return value.len > 0 ? value : STR("unknown");
}

static Str owner_of(const KubeObj *sandbox)
{
    KubeOwner owner;

    if (!kube_obj_controller(sandbox, &owner)) {
        return STR("None");
    }
    if (str_eq(owner.kind, STR(KIND_SANDBOX_CLAIM)) ||
        str_eq(owner.kind, STR(KIND_SANDBOX_WARM_POOL))) {
        return owner.kind;
    }
    return STR("None");
}

static Str creator_of(const KubeObj *sandbox)
{
    Str value = kube_obj_label(sandbox, STR(LABEL_CREATED_BY));
    const Str known[] = {STR(CREATED_BY_GO_CLIENT), STR(CREATED_BY_PYTHON_CLIENT),
                         STR(CREATED_BY_CONTROLLER)};

    for (size_t i = 0; i < ARRAY_LEN(known); i++) {
        if (str_eq(value, known[i])) {
            return known[i];
        }
    }
    return STR(CREATED_BY_UNKNOWN);
}

static bool row_of(const KubeObj *sandbox, InventoryRow *ret_row)
{
    Str reason = jnode_str(jnode_get(kube_obj_condition(sandbox, STR("Ready")), STR("reason")));
    bool ready = kube_obj_condition_is(sandbox, STR("Ready"), STR("True"));
    bool warm = str_eq(kube_obj_label(sandbox, STR(LABEL_LAUNCH_TYPE)), STR(LAUNCH_TYPE_WARM));

    *ret_row = (InventoryRow){{
        sandbox->ns,
        ready ? STR("true") : STR("false"),
        str_eq(reason, STR("SandboxExpired")) ? STR("true") : STR("false"),
        warm ? STR(LAUNCH_TYPE_WARM) : STR(LAUNCH_TYPE_COLD),
        or_unknown(kube_obj_annotation(sandbox, STR(ANNOTATION_TEMPLATE_REF))),
        owner_of(sandbox),
        creator_of(sandbox),
    }};
    return true;
}

static Str member_state(const KubeObj *sandbox)
{
    Str finished =
        jnode_str(jnode_get(kube_obj_condition(sandbox, STR("Finished")), STR("reason")));

    if (str_eq(finished, STR("PodSucceeded"))) {
        return STR("succeeded");
    }
    if (str_eq(finished, STR("PodFailed"))) {
        return STR("failed");
    }
    return kube_obj_condition_is(sandbox, STR("Ready"), STR("True")) ? STR("ready")
                                                                     : STR("pending");
}

static bool pool_row_of(const KubeObj *sandbox, InventoryRow *ret_row)
{
    KubeOwner owner;

    if (!kube_obj_controller(sandbox, &owner) || !str_eq(owner.kind, STR(KIND_SANDBOX_WARM_POOL)) ||
        kube_obj_deleting(sandbox)) {
        return false;
    }
    *ret_row = (InventoryRow){{
        sandbox->ns,
        owner.name,
        or_unknown(kube_obj_annotation(sandbox, STR(ANNOTATION_TEMPLATE_REF))),
        member_state(sandbox),
    }};
    return true;
}

static int compare_rows(const void *a, const void *b)
{
    const InventoryRow *x = a;
    const InventoryRow *y = b;
    int r = 0;

    for (size_t i = 0; i < INVENTORY_LABELS && r == 0; i++) {
        r = str_cmp(x->labels[i], y->labels[i]);
    }
    return r;
}

/* The labels of one Sandbox; false when it does not count. */
typedef bool (*RowFn)(const KubeObj *sandbox, InventoryRow *ret_row);

static void collect_rows(MetricSink *sink, const KubeStore *store, RowFn row_fn)
{
    KubeStoreIter it = kube_store_all(store);
    VEC(InventoryRow) rows = {0};
    const KubeObj *sandbox;
    InventoryRow row;
    size_t first = 0;

    while ((sandbox = kube_store_next(&it))) {
        if (row_fn(sandbox, &row)) {
            vec_push(&rows, row);
        }
    }
    if (rows.len > 1) {
        qsort(rows.ptr, rows.len, sizeof(rows.ptr[0]), compare_rows);
    }
    for (size_t i = 1; i <= rows.len; i++) {
        if (i == rows.len || compare_rows(&rows.ptr[i], &rows.ptr[first]) != 0) {
            metric_emit(sink, rows.ptr[first].labels, (double)(i - first));
            first = i;
        }
    }
    vec_free(&rows);
}

static void collect(MetricSink *sink, void *ctx)
{
    collect_rows(sink, ctx, row_of);
}

static void collect_pools(MetricSink *sink, void *ctx)
{
    collect_rows(sink, ctx, pool_row_of);
}

static void collect_build(MetricSink *sink, void *ctx)
{
    const Str labels[] = {
        str_from(version_string()),   str_from(version_commit()),  STR("unknown"), STR("none"),
        str_from(version_compiler()), str_from(version_platform())};

    UNUSED(ctx);
    metric_emit(sink, labels, 1);
}

void inventory_register(Metrics *metrics, KubeStore *sandboxes)
{
    static const char *const labels[] = {
        "namespace",        "ready_condition", "expired",    "launch_type",
        "sandbox_template", "owned_by",        "created_by", NULL};
    static const char *const pool_labels[] = {"namespace", "warmpool_name", "sandbox_template",
                                              "sandbox_status", NULL};
    static const char *const build_labels[] = {
        "git_version", "git_commit", "build_date", "go_version", "compiler", "platform", NULL};
    static const MetricSpec spec = {
        .name = "agent_sandboxes",
        .help = "Sandboxes in the cache",
        .labels = labels,
        .series_max = INVENTORY_SERIES_MAX,
    };
    static const MetricSpec pools = {
        .name = "agent_sandbox_warmpool_size",
        .help = "Members of warm pools: ready, pending, succeeded, failed",
        .labels = pool_labels,
        .series_max = INVENTORY_SERIES_MAX,
    };
    static const MetricSpec build = {
        .name = "agent_sandbox_build_info",
        .help = "Build of this program",
        .labels = build_labels,
    };

    metrics_collect(metrics, METRIC_GAUGE, &spec, collect, sandboxes);
    metrics_collect(metrics, METRIC_GAUGE, &pools, collect_pools, sandboxes);
    metrics_collect(metrics, METRIC_GAUGE, &build, collect_build, NULL);
}
