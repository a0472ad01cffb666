/* SPDX-License-Identifier: Apache-2.0 */
/* Names, labels and buckets that dashboards of the original compute with. */
#include <stdio.h>

#include "controller/engine/meters.h"
#include "test/harness/t.h"

#define CLAIM "100 250 500 750 1000 1250 1500 2000 2500 5000 10000 30000 60000 120000 240000 +Inf "
#define CREATION "50 100 250 500 1000 2500 5000 10000 30000 60000 120000 240000 300000 600000 +Inf "
#define QUEUE "1e-08 1e-07 1e-06 1e-05 0.0001 0.001 0.01 0.1 1 10 100 1000 +Inf "
#define RECONCILE                                                                                  \
    "0.005 0.01 0.025 0.05 0.1 0.15 0.2 0.25 0.3 0.35 0.4 0.45 0.5 0.6 0.7 0.8 0.9 1 1.25 1.5 "    \
    "1.75 2 2.5 3 3.5 4 4.5 5 6 7 8 9 10 15 20 25 30 40 50 60 +Inf "

typedef struct Row {
    MeterId id;
    const char *name;
    const char *labels;  /* as many "NAME," as there are */
    const char *buckets; /* each followed by a space; NULL = a counter */
} Row;

static const Row rows[] = {
    {METER_CLAIM_STARTUP_MS, "agent_sandbox_claim_startup_latency_ms",
     "launch_type,sandbox_template,", CLAIM},
    {METER_CLAIM_CONTROLLER_STARTUP_MS, "agent_sandbox_claim_controller_startup_latency_ms",
     "launch_type,sandbox_template,", CLAIM},
    {METER_CLAIM_CLIENT_STARTUP_MS, "agent_sandbox_client_claim_startup_latency_ms",
     "launch_type,sandbox_template,", CLAIM},
    {METER_SANDBOX_CREATION_MS, "agent_sandbox_creation_latency_ms",
     "namespace,launch_type,sandbox_template,", CREATION},
    {METER_CLAIM_CREATION_TOTAL, "agent_sandbox_claim_creation_total",
     "namespace,sandbox_template,launch_type,warmpool_name,pod_condition,created_by,", NULL},
    {METER_RECONCILE_TOTAL, "controller_runtime_reconcile_total", "controller,result,", NULL},
    {METER_RECONCILE_ERRORS_TOTAL, "controller_runtime_reconcile_errors_total", "controller,",
     NULL},
    {METER_RECONCILE_TIME_SECONDS, "controller_runtime_reconcile_time_seconds", "controller,",
     RECONCILE},
    {METER_QUEUE_SECONDS, "workqueue_queue_duration_seconds", "name,", QUEUE},
    {METER_WORK_SECONDS, "workqueue_work_duration_seconds", "name,", QUEUE},
};

/* Takes `NAME="` off a label list and adds NAME to out; false at the end or at "le". */
static bool next_label(Str *list, StrBuf *out)
{
    Str rest;
    Str name = str_cut(*list, '=', &rest);

    if (name.len == 0 || str_eq(name, STR("le"))) {
        return false;
    }
    strbuf_append(out, name);
    strbuf_append_char(out, ',');
    (void)str_cut(str_drop(rest, 1), '"', &rest);
    *list = str_starts(rest, STR(",")) ? str_drop(rest, 1) : STR("");
    return true;
}

static void check(const Row *row, Str text)
{
    AUTO(strbuf) StrBuf labels = STRBUF_INIT(1000);
    AUTO(strbuf) StrBuf buckets = STRBUF_INIT(1000);
    char head[120];
    int n = snprintf(head, sizeof(head), "%s%s{", row->name, row->buckets ? "_bucket" : "");

    while (text.len > 0) {
        Str line = str_cut(text, '\n', &text);
        Str list;

        if (!str_starts(line, (Str){head, (size_t)n})) {
            continue;
        }
        list = str_drop(line, (size_t)n);
        strbuf_clear(&labels);
        while (next_label(&list, &labels)) {
        }
        if (str_starts(list, STR("le=\""))) {
            strbuf_append(&buckets, str_cut(str_drop(list, 4), '"', &list));
            strbuf_append_char(&buckets, ' ');
        }
    }
    T_EQ_STR(strbuf_str(&labels), row->labels);
    T_EQ_STR(strbuf_str(&buckets), row->buckets ? row->buckets : "");
}

T_TEST(names_labels_and_buckets_are_the_contracts)
{
    AUTO(metrics) Metrics *metrics = metrics_new();
    AUTO(strbuf) StrBuf text = STRBUF_INIT(1u << 20);
    Meters *meters = meters_new(metrics);
    static const Str values[8] = {{"v", 1}, {"v", 1}, {"v", 1}, {"v", 1},
                                  {"v", 1}, {"v", 1}, {"v", 1}, {"v", 1}};

    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        size_t n = 0;

        for (const char *p = rows[i].labels; *p; p++) {
            n += *p == ',';
        }
        meters_sample(meters, rows[i].id, 1, values, n);
    }
    T_OK(metrics_write(metrics, &text));
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        t_row(rows[i].name);
        check(&rows[i], strbuf_str(&text));
    }
    meters_free(meters);
}

/* The contract's first bucket is 100 ms, which is more than a warm claim takes. */
T_TEST(finer_buckets_have_names_of_our_own)
{
    AUTO(metrics) Metrics *metrics = metrics_new();
    AUTO(strbuf) StrBuf text = STRBUF_INIT(1u << 20);
    Meters *meters = meters_new(metrics);
    const Str labels[] = {STR("warm"), STR("t")};
    const Str stage[] = {STR("warm"), STR("adopt")};

    meters_sample(meters, METER_CLAIM_CONTROLLER_STARTUP_MS, 4.7, labels, 2);
    meters_sample(meters, METER_CLAIM_STAGE_MS, 0.4, stage, 2);
    T_OK(metrics_write(metrics, &text));
    T_CONTAINS(strbuf_str(&text),
               "cofferdam_claim_controller_startup_latency_ms_bucket{launch_type=\"warm\","
               "sandbox_template=\"t\",le=\"5\"} 1\n");
    T_CONTAINS(strbuf_str(&text), "cofferdam_claim_stage_latency_ms_bucket{launch_type=\"warm\","
                                  "stage=\"adopt\",le=\"0.5\"} 1\n");
    T_CONTAINS(strbuf_str(&text), "cofferdam_claim_stage_latency_ms_sum{launch_type=\"warm\","
                                  "stage=\"adopt\"} 0.4\n");
    meters_free(meters);
}
