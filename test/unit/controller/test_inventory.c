/* SPDX-License-Identifier: Apache-2.0 */
/* Gauges that are counted from the cache. */
#include "controller/inventory.h"
#include "test/harness/t.h"
#include "test/unit/controller/fixture.h"

static void put(Fixture *f, const char *name, const char *meta, const char *status)
{
    (void)fixture_put(f, KUBE_SANDBOX, "{'metadata':{'name':'%s'%s},'spec':{},'status':{%s}}", name,
                      meta, status);
}

#define POOLS                                                                                      \
    ",'annotations':{'agents.x-k8s.io/sandbox-template-ref':'t'},'labels':{'agents.x-k8s.io/"      \
    "launch-type':'warm','agents.x-k8s.io/created-by':'controller'},'ownerReferences':[{"          \
    "'apiVersion':'extensions.agents.x-k8s.io/v1beta1','kind':'SandboxWarmPool','name':'p',"       \
    "'uid':'uid-p','controller':true}]"
#define IS(type, status, reason)                                                                   \
    "'conditions':[{'type':'" type "','status':'" status "','reason':'" reason "'}]"

T_TEST(inventory_counts_sandboxes_and_members)
{
    AUTO(fixture) Fixture f;
    AUTO(metrics) Metrics *metrics = metrics_new();
    AUTO(strbuf) StrBuf text = STRBUF_INIT(1u << 16);

    fixture_init(&f);
    inventory_register(metrics, f.stores[KUBE_SANDBOX]);
    put(&f, "r1", POOLS, IS("Ready", "True", "DependenciesReady"));
    put(&f, "r2", POOLS, IS("Ready", "True", "DependenciesReady"));
    put(&f, "new", POOLS, "");
    put(&f, "going", ",'deletionTimestamp':'2026-11-30T12:00:00Z'" POOLS, "");
    put(&f, "failed", POOLS, IS("Finished", "True", "PodFailed"));
    put(&f, "ended", POOLS, IS("Finished", "True", "PodSucceeded"));
    put(&f, "bare", "", IS("Ready", "False", "SandboxExpired"));
    T_OK(metrics_write(metrics, &text));
    T_CONTAINS(strbuf_str(&text),
               "agent_sandbox_warmpool_size{namespace=\"a\",warmpool_name=\"p\",sandbox_template="
               "\"t\",sandbox_status=\"failed\"} 1\n"
               "agent_sandbox_warmpool_size{namespace=\"a\",warmpool_name=\"p\",sandbox_template="
               "\"t\",sandbox_status=\"pending\"} 1\n"
               "agent_sandbox_warmpool_size{namespace=\"a\",warmpool_name=\"p\",sandbox_template="
               "\"t\",sandbox_status=\"ready\"} 2\n"
               "agent_sandbox_warmpool_size{namespace=\"a\",warmpool_name=\"p\",sandbox_template="
               "\"t\",sandbox_status=\"succeeded\"} 1\n");
    T_CONTAINS(strbuf_str(&text),
               "agent_sandboxes{namespace=\"a\",ready_condition=\"false\",expired=\"true\","
               "launch_type=\"cold\",sandbox_template=\"unknown\",owned_by=\"None\","
               "created_by=\"unknown\"} 1\n");
    T_CONTAINS(strbuf_str(&text),
               "agent_sandboxes{namespace=\"a\",ready_condition=\"true\",expired=\"false\","
               "launch_type=\"warm\",sandbox_template=\"t\",owned_by=\"SandboxWarmPool\","
               "created_by=\"controller\"} 2\n");
    T_CONTAINS(strbuf_str(&text), "agent_sandbox_build_info{");
}
