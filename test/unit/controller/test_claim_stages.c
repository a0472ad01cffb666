/* SPDX-License-Identifier: Apache-2.0 */
/* Where the time of a claim goes: the stages' histograms beside the total's. */
#include <stdio.h>

#include "test/harness/t.h"
#include "test/unit/controller/rig.h"

#define STAGE "cofferdam_claim_stage_latency_ms"
#define TOTAL "cofferdam_claim_controller_startup_latency_ms"
#define NEW_LATENCY_NS (30 * NS_PER_MS)

/* Number behind "NAME_SUFFIX{LABELS} ". */
static double number_of(Str text, const char *name, const char *suffix, const char *labels)
{
    char key[200];
    double value = -1;
    int n = snprintf(key, sizeof(key), "\n%s_%s{%s} ", name, suffix, labels);
    const char *at = memmem(text.ptr, text.len, key, (size_t)n);
    Str rest;

    if (!at) {
        return -1;
    }
    T_OK(str_to_double(
        str_cut((Str){at + n, (size_t)(text.ptr + text.len - at) - (size_t)n}, '\n', &rest),
        &value));
    return value;
}

static double stage_sum(Str text, const char *launch, const char *stage, double count)
{
    char labels[100];

    (void)snprintf(labels, sizeof(labels), "launch_type=\"%s\",stage=\"%s\"", launch, stage);
    t_row(labels);
    T_CHECK(number_of(text, STAGE, "count", labels) == count);
    return number_of(text, STAGE, "sum", labels);
}

static FakeVerdict slow(void *ctx, const FakeCall *call)
{
    UNUSED(ctx);
    UNUSED(call);
    return (FakeVerdict){.kind = FAKE_PASS, .delay_ns = NEW_LATENCY_NS};
}

/* Runs n claims to Ready and compares; a cold claim's pod stage contains its adopt stage. */
static void check(int replicas, int n, const char *launch, double pod_min_ms)
{
    AUTO(rig) Rig rig;
    AUTO(strbuf) StrBuf out = STRBUF_INIT(1u << 20);
    char name[16], labels[80];
    double adopt, pod, status, total;

    rig_init(&rig, 3);
    rig_pool(&rig, replicas, "OnReplenish");
    rig_start(&rig);
    rig_run(&rig, 30 * NS_PER_S);
    fakeapi_set_hook(rig.fake.api, slow, NULL);
    for (int i = 0; i < n; i++) {
        (void)snprintf(name, sizeof(name), "k%d", i);
        rig_claim(&rig, name, "");
    }
    rig_run(&rig, 30 * NS_PER_S);
    T_EQ_INT(rig_ready_claims(&rig), n);
    T_OK(metrics_write(rig.metrics, &out));
    (void)stage_sum(strbuf_str(&out), launch, "queue", n);
    adopt = stage_sum(strbuf_str(&out), launch, "adopt", n);
    pod = stage_sum(strbuf_str(&out), launch, "pod", n);
    status = stage_sum(strbuf_str(&out), launch, "status", n);
    (void)snprintf(labels, sizeof(labels), "launch_type=\"%s\",sandbox_template=\"t\"", launch);
    total = number_of(strbuf_str(&out), TOTAL, "sum", labels);
    T_CHECK(adopt >= n * 30.0 && status >= n * 30.0);
    T_CHECK(pod >= n * pod_min_ms);
    /* The total is truncated to milliseconds, once a claim. */
    T_CHECK(total <= adopt + pod + status + 0.5);
    T_CHECK(total + n * 1.0 >= pod + status);
    if (pod_min_ms == 0) {
        T_CHECK(pod == 0 && total + n * 1.0 >= adopt + status);
    }
}

T_TEST(the_stages_of_warm_claims_add_up)
{
    check(5, 5, "warm", 0);
}

T_TEST(a_cold_claim_waits_for_its_pod)
{
    check(0, 2, "cold", 1000);
}
