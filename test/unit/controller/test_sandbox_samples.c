/* SPDX-License-Identifier: Apache-2.0 */
/* Which counters and times go with which change of a Sandbox's status. */
#include <string.h>

#include "base/mem.h"
#include "controller/engine/meters.h"
#include "controller/engine/reconciler.h"
#include "controller/keys.h"
#include "test/harness/t.h"
#include "test/unit/controller/fixture.h"

#define T0 "2026-11-30T11:59:00Z" /* creation, and the first status write */
#define T1 "2026-11-30T11:59:30Z"
#define T2 "2026-11-30T11:59:50Z"

#define OWNED                                                                                      \
    "'ownerReferences':[{'apiVersion':'agents.x-k8s.io/v1beta1','kind':'Sandbox','name':'s',"      \
    "'uid':'uid-s','controller':true}],'labels':{'agents.x-k8s.io/sandbox-name-hash':'f60c4582'}"
#define POD_READY                                                                                  \
    "'phase':'Running','conditions':[{'type':'PodScheduled','status':'True'},{'type':'Ready',"     \
    "'status':'True'}],'podIPs':[{'ip':'10.0.0.7'}]"
#define CONDITION(type, status, reason, at)                                                        \
    "{'type':'" type "','status':'" status "','reason':'" reason "','message':'','observed"        \
    "Generation':1,'lastTransitionTime':'" at "'}"
#define NOT_READY(at) CONDITION("Ready", "False", "DependenciesNotReady", at)
#define IS_READY(at) CONDITION("Ready", "True", "DependenciesReady", at)
#define STOPPED(at) CONDITION("Ready", "False", "SandboxSuspended", at)
#define NOT_SUSPENDED(at) CONDITION("Suspended", "False", "NotSuspended", at)
#define TERMINATING(at) CONDITION("Suspended", "False", "PodTerminating", at)
#define SUSPENDED(at) CONDITION("Suspended", "True", "PodTerminated", at)

typedef struct Row {
    const char *label;
    const char *owner; /* of the Sandbox, or "" */
    const char *spec;
    const char *conditions; /* before */
    const char *pod_status; /* NULL = no Pod */
    const char *want;
} Row;

#define NOBODYS "a/unknown/None"

static const Row table[] = {
    {"first ready", "", "", NOT_READY(T0) "," NOT_SUSPENDED(T0), POD_READY,
     "creation a/cold/__unknown__ 60000\n"},
    {"ready in the first write", "", "", "", POD_READY, "creation a/cold/__unknown__ 60000\n"},
    {"ready again after a flap", "", "", NOT_READY(T1) "," NOT_SUSPENDED(T0), POD_READY, ""},
    {"stays ready", "", "", IS_READY(T1) "," NOT_SUSPENDED(T0), POD_READY, ""},
    {"first ready of a claim's", "SandboxClaim", "", NOT_READY(T0) "," NOT_SUSPENDED(T0), POD_READY,
     ""},
    {"suspend asked for", "", "'operatingMode':'Suspended',", IS_READY(T0) "," NOT_SUSPENDED(T0),
     POD_READY, "suspend " NOBODYS "/requested 1\n"},
    {"suspend of a claim's", "SandboxClaim", "'operatingMode':'Suspended',",
     IS_READY(T0) "," NOT_SUSPENDED(T0), POD_READY, "suspend a/unknown/SandboxClaim/requested 1\n"},
    {"suspending", "", "'operatingMode':'Suspended',", STOPPED(T1) "," TERMINATING(T0), POD_READY,
     ""},
    {"suspended", "", "'operatingMode':'Suspended',", STOPPED(T2) "," TERMINATING(T0), NULL,
     "suspend " NOBODYS "/pod_terminated 1\nsuspend_ms " NOBODYS " 10000\n"},
    {"made suspended", "", "'operatingMode':'Suspended',", "", NULL, ""},
    {"resume asked for", "", "", STOPPED(T1) "," SUSPENDED(T1), "'phase':'Pending'",
     "resume " NOBODYS "/requested 1\n"},
    {"resumed", "", "", NOT_READY(T1) "," NOT_SUSPENDED(T2), POD_READY,
     "resume " NOBODYS "/ready 1\nresume_ms " NOBODYS " 10000\n"},
    {"ended well", "", "", IS_READY(T1) "," NOT_SUSPENDED(T0), "'phase':'Succeeded'",
     "finished " NOBODYS "/PodSucceeded 1\n"},
    {"ended badly", "", "", IS_READY(T1) "," NOT_SUSPENDED(T0), "'phase':'Failed'",
     "finished " NOBODYS "/PodFailed 1\n"},
    {"ended before", "", "",
     CONDITION("Ready", "False", "PodFailed",
               T1) "," NOT_SUSPENDED(T0) "," CONDITION("Finished", "True", "PodFailed", T1),
     "'phase':'Failed'", ""},
    {"expired, kept", "", "'shutdownTime':'" T1 "',", IS_READY(T1) "," NOT_SUSPENDED(T0), POD_READY,
     "expired " NOBODYS "/Retain 1\n"},
    {"expired, goes", "", "'shutdownTime':'" T1 "','shutdownPolicy':'Delete',",
     IS_READY(T1) "," NOT_SUSPENDED(T0), POD_READY, "expired " NOBODYS "/Delete 1\n"},
    {"expired before", "", "'shutdownTime':'" T1 "',",
     CONDITION("Ready", "False", "SandboxExpired", T1) "," NOT_SUSPENDED(T0), POD_READY, ""},
};

static const char *meter_name(int meter)
{
    static const char *const names[METER_MAX_] = {
        [METER_SANDBOX_CREATION_MS] = "creation", [METER_SUSPEND_TOTAL] = "suspend",
        [METER_RESUME_TOTAL] = "resume",          [METER_FINISHED_TOTAL] = "finished",
        [METER_EXPIRED_TOTAL] = "expired",        [METER_SUSPEND_MS] = "suspend_ms",
        [METER_RESUME_MS] = "resume_ms",
    };

    return names[meter] ? names[meter] : "?";
}

static void dump(const Fixture *f, StrBuf *out)
{
    for (size_t i = 0; i < f->plan.n_samples; i++) {
        const PlanSample *sample = &f->plan.samples[i];
        double value = sample->since_wall_ns
                           ? (double)(FIXTURE_NOW_NS - sample->since_wall_ns) / 1e6
                           : sample->value;

        (void)strbuf_append_cstr(out, meter_name(sample->meter));
        for (size_t l = 0; l < sample->n_labels; l++) {
            (void)strbuf_printf(out, "%c" STR_FMT, l ? '/' : ' ', STR_ARG(sample->labels[l]));
        }
        (void)strbuf_printf(out, " %.0f\n", value);
    }
}

static void put(Fixture *f, const Row *row)
{
    AUTO(mem) char *owner = xstrdup("");

    if (row->owner[0]) {
        free(owner);
        owner = xasprintf(",'ownerReferences':[{'apiVersion':'extensions.agents.x-k8s.io/v1beta1',"
                          "'kind':'%s','name':'o','uid':'uid-o','controller':true}]",
                          row->owner);
    }
    (void)fixture_put(f, KUBE_SANDBOX,
                      "{'metadata':{'name':'s'%s},'spec':{%s'podTemplate':{'spec':{'containers':["
                      "{'name':'m'}]}}},'status':{'conditions':[%s]}}",
                      owner, row->spec, row->conditions);
    if (row->pod_status) {
        bool going = strstr(row->spec, "Suspended") != NULL;

        (void)fixture_put(f, KUBE_POD, "{'metadata':{'name':'s',%s" OWNED "},'status':{%s}}",
                          going ? "'deletionTimestamp':'" T2 "'," : "", row->pod_status);
    }
}

T_TEST(sandbox_samples_table)
{
    for (size_t i = 0; i < ARRAY_LEN(table); i++) {
        AUTO(fixture) Fixture f;
        AUTO(strbuf) StrBuf text = STRBUF_INIT(4096);

        t_row(table[i].label);
        fixture_init(&f);
        put(&f, &table[i]);
        if (!table[i].pod_status) {
            fixture_absent(&f, KUBE_POD, "s");
        }
        fixture_absent(&f, KUBE_SERVICE, "s");
        (void)fixture_plan(&f, sandbox_reconciler()->plan, "s");
        dump(&f, &text);
        T_EQ_STR(strbuf_str(&text), table[i].want);
        t_row(NULL);
    }
}

/* A change that only a refused creation brings. */
T_TEST(sandbox_samples_of_a_resume_that_is_refused)
{
    AUTO(fixture) Fixture f;
    AUTO(strbuf) StrBuf text = STRBUF_INIT(4096);
    const Row row = {.owner = "", .spec = "", .conditions = STOPPED(T1) "," SUSPENDED(T1)};
    KubeError error;
    PlanAction action = {.verb = PLAN_CREATE, .kind = KUBE_POD, .ns = STR("a"), .name = STR("s")};

    fixture_init(&f);
    put(&f, &row);
    fixture_absent(&f, KUBE_POD, "s");
    fixture_absent(&f, KUBE_SERVICE, "s");
    kube_error_set(&error, KUBE_REASON_FORBIDDEN, "exceeded quota");
    facts_add_failure(&f.facts, &action, &error);
    (void)fixture_plan(&f, sandbox_reconciler()->plan, "s");
    dump(&f, &text);
    T_EQ_STR(strbuf_str(&text), "resume " NOBODYS "/requested 1\nresume " NOBODYS "/error 1\n");
}
