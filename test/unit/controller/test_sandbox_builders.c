/* SPDX-License-Identifier: Apache-2.0 */
/* Pod, PVC and Service of a Sandbox: golden pairs, and the patches for live objects. */
#include <stdio.h>

#include "base/mem.h"
#include "controller/sandbox/sandbox.h"
#include "test/harness/t.h"
#include "test/unit/controller/golden.h"
#include "json/yaml.h"

T_TEST(sandbox_pod_golden)
{
    static const char *const names[] = {"bare", "pool-member", "claimed", "volumes"};

    for (size_t i = 0; i < ARRAY_LEN(names); i++) {
        AUTO(kube_obj) KubeObj *sandbox = NULL;
        AUTO(json) json_t *want = NULL;
        AUTO(json) json_t *got = NULL;

        golden_load("sandbox-pod", names[i], KUBE_SANDBOX, &sandbox, &want);
        got = sandbox_pod_desired(sandbox, true);
        golden_check(names[i], got, want);
    }
}

T_TEST(sandbox_pod_without_eviction_has_no_mark)
{
    AUTO(kube_obj) KubeObj *sandbox = NULL;
    AUTO(json) json_t *want = NULL;
    AUTO(json) json_t *got = NULL;

    golden_load("sandbox-pod", "pool-member", KUBE_SANDBOX, &sandbox, &want);
    got = sandbox_pod_desired(sandbox, false);
    T_CHECK(!jx_get(got, "metadata", "annotations"));
}

T_TEST(sandbox_pvc_golden)
{
    AUTO(kube_obj) KubeObj *sandbox = NULL;
    AUTO(json) json_t *want = NULL;
    AUTO(json) json_t *got = NULL;
    JNode claims;

    golden_load("sandbox-pvc", "labels", KUBE_SANDBOX, &sandbox, &want);
    claims = jnode_at(kube_obj_spec(sandbox), "volumeClaimTemplates");
    got = sandbox_pvc_desired(sandbox, jnode_index(claims, 0));
    golden_check("labels", got, want);
}

T_TEST(sandbox_service_golden)
{
    static const char *const names[] = {"no-ports", "ports"};

    for (size_t i = 0; i < ARRAY_LEN(names); i++) {
        AUTO(kube_obj) KubeObj *sandbox = NULL;
        AUTO(json) json_t *want = NULL;
        AUTO(json) json_t *got = NULL;

        golden_load("sandbox-service", names[i], KUBE_SANDBOX, &sandbox, &want);
        got = sandbox_service_desired(sandbox);
        golden_check(names[i], got, want);
    }
}

T_TEST(sandbox_service_has_a_limit_of_ports)
{
    AUTO(strbuf) StrBuf text = STRBUF_INIT(1u << 20);
    AUTO(kube_obj) KubeObj *sandbox = NULL;
    AUTO(json) json_t *got = NULL;
    Err err = ERR_INIT;

    (void)strbuf_append_cstr(&text,
                             "{\"metadata\":{\"name\":\"s\",\"namespace\":\"a\",\"uid\":\"u\"}"
                             ",\"spec\":{\"podTemplate\":{\"spec\":{\"containers\":[{\"ports\":[");
    for (int i = 1; i <= SANDBOX_PORTS_MAX + 10; i++) {
        (void)strbuf_printf(&text, "%s{\"containerPort\":%d}", i > 1 ? "," : "", i);
    }
    (void)strbuf_append_cstr(&text, "]}]}}}}");
    T_OK(kube_obj_from_text(kube_kind(KUBE_SANDBOX), strbuf_str(&text), &sandbox, &err));
    got = sandbox_service_desired(sandbox);
    T_EQ_INT(json_array_size(jx_get(got, "spec", "ports")), SANDBOX_PORTS_MAX);
}

/* ---- patches of live objects ---- */

static KubeObj *object(KubeKindId kind, const char *yaml)
{
    AUTO(json) json_t *body = NULL;
    AUTO(mem) char *text = NULL;
    KubeObj *obj = NULL;
    Err err = ERR_INIT;

    if (yaml_load(str_from(yaml), &body, &err) < 0) {
        T_FAIL("%s in %s", err.msg, yaml);
    }
    text = jx_dump_compact(body);
    if (kube_obj_from_text(kube_kind(kind), str_from(text), &obj, &err) < 0) {
        T_FAIL("%s in %s", err.msg, yaml);
    }
    return obj;
}

#define OWNED_BY_S                                                                                 \
    "ownerReferences: [{apiVersion: agents.x-k8s.io/v1beta1, kind: Sandbox, name: s, uid: u, "     \
    "controller: true}]"
#define HASH "agents.x-k8s.io/sandbox-name-hash: f60c4582"

typedef struct PatchRow {
    const char *label;
    const char *sandbox; /* metadata besides name, and spec */
    const char *live;
    const char *want; /* sorted JSON, NULL = in line */
} PatchRow;

static void check_pod_patch(const PatchRow *row)
{
    AUTO(kube_obj) KubeObj *sandbox = object(KUBE_SANDBOX, row->sandbox);
    AUTO(kube_obj) KubeObj *pod = object(KUBE_POD, row->live);
    AUTO(json) json_t *patch = sandbox_pod_patch(sandbox, pod, true);
    AUTO(mem) char *text = patch ? jx_dump_sorted(patch) : NULL;

    t_row(row->label);
    T_EQ_STR(text ? text : "in line", row->want ? row->want : "in line");
    t_row(NULL);
}

#define SANDBOX(meta, template)                                                                    \
    "{metadata: {name: s, namespace: a, uid: u" meta                                               \
    "}, spec: {podTemplate: {metadata: {" template "}, spec: {}}}}"
#define POD(meta) "{metadata: {name: s, namespace: a, uid: p, " meta "}}"

T_TEST(sandbox_pod_patch_table)
{
    static const PatchRow table[] = {
        {"in line", SANDBOX("", ""), POD(OWNED_BY_S ", labels: {" HASH ", stray: x}"), NULL},
        {"hash label lost", SANDBOX("", ""), POD(OWNED_BY_S),
         "{\"metadata\":{\"labels\":{\"agents.x-k8s.io/sandbox-name-hash\":\"f60c4582\"}}}"},
        {"label added and recorded", SANDBOX("", "labels: {team: a}"),
         POD(OWNED_BY_S ", labels: {" HASH "}"),
         "{\"metadata\":{\"annotations\":{\"agents.x-k8s.io/propagated-labels\":\"team\"},"
         "\"labels\":{\"team\":\"a\"}}}"},
        {"label gone from the template", SANDBOX("", ""),
         POD(OWNED_BY_S ", labels: {" HASH ", team: a}, annotations: "
                        "{agents.x-k8s.io/propagated-labels: team}"),
         "{\"metadata\":{\"annotations\":{\"agents.x-k8s.io/propagated-labels\":\"\"},"
         "\"labels\":{\"team\":null}}}"},
        {"an empty record stays", SANDBOX("", ""),
         POD(OWNED_BY_S ", labels: {" HASH "}, annotations: "
                        "{agents.x-k8s.io/propagated-labels: ''}"),
         NULL},
        {"reserved keys of an old record are taken away", SANDBOX("", ""),
         POD(OWNED_BY_S ", labels: {" HASH ", agents.x-k8s.io/evil: x}, annotations: "
                        "{agents.x-k8s.io/propagated-labels: 'agents.x-k8s.io/evil,"
                        "agents.x-k8s.io/sandbox-name-hash'}"),
         "{\"metadata\":{\"annotations\":{\"agents.x-k8s.io/propagated-labels\":\"\"},"
         "\"labels\":{\"agents.x-k8s.io/evil\":null}}}"},
        {"adopted from a pool: label and safe-to-evict go",
         SANDBOX(", labels: {agents.x-k8s.io/sandbox-template-ref-hash: t}, ownerReferences: "
                 "[{apiVersion: extensions.agents.x-k8s.io/v1beta1, kind: SandboxClaim, name: c, "
                 "uid: c, controller: true}]",
                 ""),
         POD(OWNED_BY_S ", labels: {" HASH ", agents.x-k8s.io/warm-pool-sandbox: w, "
                        "agents.x-k8s.io/sandbox-template-ref-hash: t}, annotations: "
                        "{cluster-autoscaler.kubernetes.io/safe-to-evict: 'true', "
                        "agents.x-k8s.io/propagated-annotations: "
                        "cluster-autoscaler.kubernetes.io/safe-to-evict}"),
         "{\"metadata\":{\"annotations\":{\"agents.x-k8s.io/propagated-annotations\":\"\","
         "\"cluster-autoscaler.kubernetes.io/safe-to-evict\":null},"
         "\"labels\":{\"agents.x-k8s.io/warm-pool-sandbox\":null}}}"},
        {"orphaned: the policy label goes too",
         SANDBOX(", labels: {agents.x-k8s.io/sandbox-template-ref-hash: t}", ""),
         POD(OWNED_BY_S ", labels: {" HASH ", agents.x-k8s.io/sandbox-template-ref-hash: t}"),
         "{\"metadata\":{\"labels\":{\"agents.x-k8s.io/sandbox-template-ref-hash\":null}}}"},
        {"creator changed", SANDBOX(", labels: {agents.x-k8s.io/created-by: go-client}", ""),
         POD(OWNED_BY_S ", labels: {" HASH ", agents.x-k8s.io/created-by: controller}"),
         "{\"metadata\":{\"labels\":{\"agents.x-k8s.io/created-by\":\"go-client\"}}}"},
        {"unowned: owner added, other references kept", SANDBOX("", ""),
         POD("ownerReferences: [{apiVersion: v1, kind: Thing, name: t, uid: t}], labels: {" HASH
             "}"),
         "{\"metadata\":{\"ownerReferences\":[{\"apiVersion\":\"v1\",\"kind\":\"Thing\",\"name\":"
         "\"t\",\"uid\":\"t\"},{\"apiVersion\":\"agents.x-k8s.io/v1beta1\",\"blockOwnerDeletion\":"
         "true,\"controller\":true,\"kind\":\"Sandbox\",\"name\":\"s\",\"uid\":\"u\"}]}}"},
    };

    for (size_t i = 0; i < ARRAY_LEN(table); i++) {
        check_pod_patch(&table[i]);
    }
}

static void check_service_patch(const PatchRow *row, bool ports)
{
    AUTO(kube_obj) KubeObj *sandbox = object(KUBE_SANDBOX, row->sandbox);
    AUTO(kube_obj) KubeObj *service = object(KUBE_SERVICE, row->live);
    AUTO(json) json_t *patch = sandbox_service_patch(sandbox, service, ports);
    AUTO(mem) char *text = patch ? jx_dump_sorted(patch) : NULL;

    t_row(row->label);
    T_EQ_STR(text ? text : "in line", row->want ? row->want : "in line");
    t_row(NULL);
}

#define WITH_PORT                                                                                  \
    "{metadata: {name: s, namespace: a, uid: u}, spec: {podTemplate: {spec: {containers: "         \
    "[{ports: "                                                                                    \
    "[{containerPort: 80, name: web}]}]}}}}"
#define SERVICE(labels, spec)                                                                      \
    "{metadata: {name: s, namespace: a, uid: x, " OWNED_BY_S ", labels: {" labels                  \
    "}}, spec: {" spec "}}"

T_TEST(sandbox_service_patch_table)
{
    static const PatchRow table[] = {
        {"as the server completed it", WITH_PORT,
         SERVICE(HASH, "clusterIP: None, selector: {" HASH "}, ports: [{name: web, port: 80, "
                       "protocol: TCP, targetPort: 80, nodePort: 0}]"),
         NULL},
        {"selector and label", WITH_PORT,
         SERVICE("x: y", "selector: {app: other}, ports: [{name: web, port: 80, protocol: TCP, "
                         "targetPort: 80}]"),
         "{\"metadata\":{\"labels\":{\"agents.x-k8s.io/sandbox-name-hash\":\"f60c4582\"}},\"spec\":"
         "{\"selector\":{\"agents.x-k8s.io/sandbox-name-hash\":\"f60c4582\",\"app\":null}}}"},
        {"ports", WITH_PORT,
         SERVICE(HASH, "selector: {" HASH "}, ports: [{name: web, port: 81, protocol: TCP, "
                       "targetPort: 81}]"),
         "{\"spec\":{\"ports\":[{\"name\":\"web\",\"port\":80,\"protocol\":\"TCP\",\"targetPort\":"
         "80}]}}"},
        {"no ports any more", SANDBOX("", ""),
         SERVICE(HASH, "selector: {" HASH "}, ports: [{name: web, port: 81, protocol: TCP, "
                       "targetPort: 81}]"),
         "{\"spec\":{\"ports\":null}}"},
    };

    for (size_t i = 0; i < ARRAY_LEN(table); i++) {
        check_service_patch(&table[i], true);
    }
}

T_TEST(sandbox_service_patch_leaves_ports_alone_when_told)
{
    static const PatchRow row = {"ports are the user's", SANDBOX("", ""),
                                 SERVICE(HASH, "selector: {" HASH "}, ports: [{port: 1}]"), NULL};

    check_service_patch(&row, false);
}
