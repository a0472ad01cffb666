/* SPDX-License-Identifier: Apache-2.0 */
/* Conditions of a claim, byte for byte, its expiry, and what a Pod complains about. */
#include "base/timefmt.h"
#include "controller/claim/expiry.h"
#include "controller/claim/status.h"
#include "controller/claim/trouble.h"
#include "test/harness/t.h"
#include "test/unit/controller/fixture.h"

#define CLAIM(extra) "{'metadata':{'name':'k','generation':3},'spec':{}" extra "}"
#define SANDBOX(status) "{'metadata':{'name':'s'},'spec':{}" status "}"
#define OWN_READY(state, why, text)                                                                \
    "{'type':'Ready','status':'" state "','reason':'" why "','message':'" text                     \
    "','lastTransitionTime':'2026-11-30T11:00:00Z','observedGeneration':7}"
#define OWN_FINISHED                                                                               \
    "{'type':'Finished','status':'True','reason':'PodFailed','message':'Pod failed',"              \
    "'lastTransitionTime':'2026-11-30T10:00:00Z','observedGeneration':9}"

typedef struct StatusRow {
    const char *label, *claim, *sandbox; /* sandbox NULL = none */
    ClaimFault fault;
    bool expired, missing, created;
    const char *trouble;
    const char *want; /* the patch, single quotes; NULL = nothing to write */
    bool urgent;
} StatusRow;

#define READY_NOW(state, why, text)                                                                \
    "{'lastTransitionTime':'2026-11-30T12:00:00Z','message':'" text                                \
    "','observedGeneration':3,'reason':'" why "','status':'" state "','type':'Ready'}"
#define READY_THEN(state, why, text)                                                               \
    "{'lastTransitionTime':'2026-11-30T11:00:00Z','message':'" text                                \
    "','observedGeneration':3,'reason':'" why "','status':'" state "','type':'Ready'}"
#define FINISHED_MIRRORED                                                                          \
    "{'lastTransitionTime':'2026-11-30T10:00:00Z','message':'Pod failed','observedGeneration':9,"  \
    "'reason':'PodFailed','status':'True','type':'Finished'}"

static const StatusRow rows[] = {
    {"ready is copied with its time",
     CLAIM(""),
     SANDBOX(",'status':{'podIPs':['10.1.1.1'],'conditions':[" OWN_READY(
         "True", "DependenciesReady", "Pod is Ready") "]}"),
     {0},
     false,
     false,
     false,
     NULL,
     "{'status':{'conditions':[" READY_THEN(
         "True", "DependenciesReady",
         "Pod is Ready") "],"
                         "'sandbox':{'name':'s','podIPs':['10.1.1.1']}}}",
     true},
    {"no condition on the Sandbox",
     CLAIM(""),
     SANDBOX(""),
     {0},
     false,
     false,
     false,
     NULL,
     "{'status':{'conditions':[" READY_NOW("False", "SandboxNotReady",
                                           "Sandbox is not ready") "],"
                                                                   "'sandbox':{'name':'s'}}}",
     true},
    {"just created",
     CLAIM(""),
     NULL,
     {0},
     false,
     false,
     true,
     NULL,
     "{'status':{'conditions':[" READY_NOW("False", "SandboxNotReady",
                                           "Sandbox is not ready") "],"
                                                                   "'sandbox':{'name':'k'}}}",
     true},
    {"trouble of the Pod",
     CLAIM(""),
     SANDBOX(",'status':{'conditions':[" OWN_READY("False", "DependenciesNotReady",
                                                   "Pod exists with phase: Pending") "]}"),
     {0},
     false,
     false,
     false,
     "ImagePullBackOff: no such image",
     "{'status':{'conditions':[" READY_THEN("False", "DependenciesNotReady",
                                            "Pod exists with phase: Pending; ImagePullBackOff: no "
                                            "such image") "],"
                                                          "'sandbox':{'name':'s'}}}",
     true},
    {"Sandbox expired on its own",
     CLAIM(""),
     SANDBOX(",'status':{'conditions':[" OWN_READY("False", "SandboxExpired",
                                                   "Sandbox has expired") "]}"),
     {0},
     false,
     false,
     false,
     NULL,
     "{'status':{'conditions':[" READY_NOW("False", "SandboxExpired",
                                           "Underlying Sandbox resource has expired independently "
                                           "of the Claim.") "],"
                                                            "'sandbox':{'name':'s'}}}",
     true},
    {"finished is mirrored verbatim and sorted first",
     CLAIM(""),
     SANDBOX(",'status':{'conditions':[" OWN_READY("False", "PodFailed",
                                                   "Pod failed") "," OWN_FINISHED "]}"),
     {0},
     false,
     false,
     false,
     NULL,
     "{'status':{'conditions':[" FINISHED_MIRRORED
     "," READY_THEN("False", "PodFailed", "Pod failed") "],'sandbox':{'name':'s'}}}",
     true},
    {"missing keeps the name",
     CLAIM(",'status':{'sandbox':{'name':'gone','podIPs':['10.1.1.1']}}"),
     NULL,
     {0},
     false,
     true,
     false,
     NULL,
     "{'status':{'conditions':[" READY_NOW("False", "SandboxMissing",
                                           "Sandbox does not exist") "],"
                                                                     "'sandbox':{'podIPs':null}}}",
     true},
    {"expired, Sandbox still there",
     CLAIM(""),
     SANDBOX(",'status':{'conditions':[" OWN_FINISHED "]}"),
     {0},
     true,
     false,
     false,
     NULL,
     "{'status':{'conditions':[" FINISHED_MIRRORED
     "," READY_NOW("False", "ClaimExpired",
                   "Claim expired. Sandbox cleanup initiated.") "],"
                                                                "'sandbox':{'name':'s'}}}",
     true},
    {"expired, Sandbox gone: Finished stays, name goes",
     CLAIM(",'status':{'sandbox':{'name':'s'},'conditions':[" OWN_FINISHED "]}"),
     NULL,
     {0},
     true,
     false,
     false,
     NULL,
     "{'status':{'conditions':[" FINISHED_MIRRORED "," READY_NOW(
         "False", "ClaimExpired", "Claim expired. Sandbox cleanup initiated.") "],"
                                                                               "'sandbox':null}}",
     true},
    {"a fault keeps what is known of the Sandbox",
     CLAIM(",'status':{'sandbox':{'name':'s','podIPs':['10.1.1.1']},'conditions':[" READY_THEN(
         "True", "DependenciesReady", "Pod is Ready") "]}"),
     NULL,
     {REASON_RECONCILER_ERROR, "Error seen: x"},
     false,
     false,
     false,
     NULL,
     "{'status':{'conditions':[" READY_NOW("False", "ReconcilerError", "Error seen: x") "]}}",
     true},
    {"in step: nothing to write",
     CLAIM(",'status':{'sandbox':{'name':'s'},'conditions':[" READY_THEN(
         "True", "DependenciesReady", "Pod is Ready") "]}"),
     SANDBOX(
         ",'status':{'conditions':[" OWN_READY("True", "DependenciesReady", "Pod is Ready") "]}"),
     {0},
     false,
     false,
     false,
     NULL,
     NULL,
     false},
    {"an empty sandbox is no sandbox",
     CLAIM(",'status':{'sandbox':{},'conditions':[" READY_THEN("False", "TemplateNotFound",
                                                               "x") "]}"),
     NULL,
     {REASON_TEMPLATE_NOT_FOUND, "x"},
     false,
     false,
     false,
     NULL,
     NULL,
     false},
    {"progress between two kinds of not ready may wait",
     CLAIM(",'status':{'sandbox':{'name':'s'},'conditions':[" READY_THEN(
         "False", "SandboxNotReady", "Sandbox is not ready") "]}"),
     SANDBOX(",'status':{'conditions':[" OWN_READY("False", "DependenciesNotReady",
                                                   "Pod does not exist") "]}"),
     {0},
     false,
     false,
     false,
     NULL,
     "{'status':{'conditions':[" READY_THEN("False", "DependenciesNotReady",
                                            "Pod does not exist") "]}}",
     false},
    {"a flip takes the Sandbox's time",
     CLAIM(",'status':{'sandbox':{'name':'s'},'conditions':[{'type':'Ready','status':'False',"
           "'reason':'SandboxNotReady','message':'Sandbox is not ready','lastTransitionTime':"
           "'2026-11-30T09:00:00Z','observedGeneration':3}]}"),
     SANDBOX(
         ",'status':{'conditions':[" OWN_READY("True", "DependenciesReady", "Pod is Ready") "]}"),
     {0},
     false,
     false,
     false,
     NULL,
     "{'status':{'conditions':[" READY_THEN("True", "DependenciesReady", "Pod is Ready") "]}}",
     true},
};

static char *quotes_doubled(const char *text)
{
    char *copy = xstrdup(text);

    for (char *c = copy; *c; c++) {
        *c = *c == '\'' ? '"' : *c;
    }
    return copy;
}

T_TEST(claim_status_table)
{
    AUTO(fixture) Fixture f;

    fixture_init(&f);
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        const StatusRow *row = &rows[i];
        AUTO(claim_status) ClaimStatus status = {0};
        ClaimOutcome outcome = {
            .claim = fixture_put(&f, KUBE_CLAIM, "%s", row->claim),
            .fault = row->fault,
            .expired = row->expired,
            .missing = row->missing,
            .created = row->created ? STR("k") : STR_NULL,
            .trouble = row->trouble,
            .now_wall_ns = FIXTURE_NOW_NS,
        };

        t_row(row->label);
        if (row->sandbox) {
            outcome.sandbox = fixture_put(&f, KUBE_SANDBOX, "%s", row->sandbox);
        }
        claim_status_make(&outcome, &f.arena, &status);
        T_EQ_INT(status.patch != NULL, row->want != NULL);
        if (row->want) {
            AUTO(mem) char *got = jx_dump_sorted(status.patch);
            AUTO(mem) char *want = quotes_doubled(row->want);

            T_EQ_STR(got, want);
            T_EQ_INT(status.urgent, row->urgent);
        }
    }
}

T_TEST(expiry_is_the_earlier_of_two_times)
{
    static const struct {
        const char *label, *spec, *finished, *want; /* want "" = never */
    } expiries[] = {
        {"no lifecycle", "{}", "{'status':'True','lastTransitionTime':'2026-01-01T00:00:00Z'}", ""},
        {"shutdownTime", "{'lifecycle':{'shutdownTime':'2026-01-01T00:00:10Z'}}", "{}",
         "2026-01-01T00:00:10Z"},
        {"with an offset", "{'lifecycle':{'shutdownTime':'2026-01-01T02:00:10+02:00'}}", "{}",
         "2026-01-01T00:00:10Z"},
        {"ttl without Finished", "{'lifecycle':{'ttlSecondsAfterFinished':5}}", "{}", ""},
        {"ttl with Finished=False", "{'lifecycle':{'ttlSecondsAfterFinished':5}}",
         "{'status':'False','lastTransitionTime':'2026-01-01T00:00:00Z'}", ""},
        {"ttl", "{'lifecycle':{'ttlSecondsAfterFinished':5}}",
         "{'status':'True','lastTransitionTime':'2026-01-01T00:00:00Z'}", "2026-01-01T00:00:05Z"},
        {"ttl of zero", "{'lifecycle':{'ttlSecondsAfterFinished':0}}",
         "{'status':'True','lastTransitionTime':'2026-01-01T00:00:00Z'}", "2026-01-01T00:00:00Z"},
        {"both, time first",
         "{'lifecycle':{'shutdownTime':'2026-01-01T00:00:03Z','ttlSecondsAfterFinished':5}}",
         "{'status':'True','lastTransitionTime':'2026-01-01T00:00:00Z'}", "2026-01-01T00:00:03Z"},
        {"both, ttl first",
         "{'lifecycle':{'shutdownTime':'2026-01-01T00:00:09Z','ttlSecondsAfterFinished':5}}",
         "{'status':'True','lastTransitionTime':'2026-01-01T00:00:00Z'}", "2026-01-01T00:00:05Z"},
        {"largest ttl", "{'lifecycle':{'ttlSecondsAfterFinished':2147483647}}",
         "{'status':'True','lastTransitionTime':'2026-01-01T00:00:00Z'}", "2094-01-19T03:14:07Z"},
        {"unreadable time", "{'lifecycle':{'shutdownTime':'soon'}}", "{}", ""},
    };

    for (size_t i = 0; i < ARRAY_LEN(expiries); i++) {
        AUTO(mem) char *spec_text = quotes_doubled(expiries[i].spec);
        AUTO(mem) char *finished_text = quotes_doubled(expiries[i].finished);
        AUTO(jdoc) JDoc *spec = NULL;
        AUTO(json) json_t *finished = NULL;
        char got[64] = "";
        int64_t at;

        t_row(expiries[i].label);
        T_OK(jdoc_parse(str_from(spec_text), NULL, 4096, &spec, NULL));
        T_OK(jx_parse(str_from(finished_text), 4096, &finished, NULL));
        at = claim_expires_at(jdoc_root(spec), finished);
        if (at != 0) {
            timefmt_seconds(at, got);
        }
        T_EQ_STR(got, expiries[i].want);
    }
}

T_TEST(trouble_is_the_first_thing_that_is_wrong)
{
    static const struct {
        const char *label, *status, *want;
    } pods[] = {
        {"nothing yet", "{}", ""},
        {"creating", "{'containerStatuses':[{'state':{'waiting':{'reason':'ContainerCreating'}}}]}",
         ""},
        {"unschedulable",
         "{'conditions':[{'type':'PodScheduled','status':'False','reason':'Unschedulable',"
         "'message':'0/3 nodes'}]}",
         "Unschedulable: 0/3 nodes"},
        {"pull",
         "{'containerStatuses':[{'state':{'running':{}}},{'state':{'waiting':{'reason':"
         "'ErrImagePull','message':'not found'}}}]}",
         "ErrImagePull: not found"},
        {"init before container",
         "{'containerStatuses':[{'state':{'waiting':{'reason':'B'}}}],'initContainerStatuses':"
         "[{'state':{'waiting':{'reason':'A'}}}]}",
         "A"},
        {"crash",
         "{'containerStatuses':[{'state':{'terminated':{'reason':'Error','exitCode':137}}}]}",
         "Error: exit code 137"},
        {"done",
         "{'containerStatuses':[{'state':{'terminated':{'reason':'Completed','exitCode':0}}}]}",
         ""},
        {"a volume that cannot be mounted",
         "{'phase':'Pending','conditions':[{'type':'PodScheduled','status':'True'},{'type':"
         "'PodReadyToStartContainers','status':'False'}],'containerStatuses':[{'state':{'waiting':"
         "{'reason':'ContainerCreating'}}}]}",
         "ContainerCreating: volumes or network of Pod \"s\" are not ready, see its Events"},
        {"a volume that is not bound",
         "{'phase':'Pending','conditions':[{'type':'PodScheduled','status':'False','reason':"
         "'Unschedulable','message':'pod has unbound immediate PersistentVolumeClaims'}]}",
         "Unschedulable: pod has unbound immediate PersistentVolumeClaims"},
        {"an image on its way",
         "{'phase':'Pending','conditions':[{'type':'PodReadyToStartContainers','status':'True'}],"
         "'containerStatuses':[{'state':{'waiting':{'reason':'ContainerCreating'}}}]}",
         ""},
        {"evicted", "{'reason':'Evicted','message':'disk'}", "Evicted: disk"},
    };
    AUTO(fixture) Fixture f;

    fixture_init(&f);
    for (size_t i = 0; i < ARRAY_LEN(pods); i++) {
        const KubeObj *pod =
            fixture_put(&f, KUBE_POD, "{'metadata':{'name':'s'},'status':%s}", pods[i].status);
        const char *got = claim_pod_trouble(pod, &f.arena);

        t_row(pods[i].label);
        T_EQ_STR(got ? got : "", pods[i].want);
    }
}

T_TEST(long_trouble_is_cut_at_a_character)
{
    AUTO(fixture) Fixture f;
    char text[1200];
    const KubeObj *pod;
    const char *got;

    fixture_init(&f);
    for (size_t i = 0; i < 1000; i += 2) {
        memcpy(text + i + 1, "\xc3\xa4", 2);
    }
    text[0] = 'x';
    text[1001] = '\0';
    pod = fixture_put(&f, KUBE_POD,
                      "{'metadata':{'name':'s'},'status':{'reason':'R','message':'%s'}}", text);
    got = claim_pod_trouble(pod, &f.arena);
    T_EQ_INT(strlen(got), 3 + CLAIM_TROUBLE_TEXT_MAX - 1);
    T_CHECK(str_is_utf8(str_from(got)));
}
