/* SPDX-License-Identifier: Apache-2.0 */
/* The Sandbox reconciler on random object states: deterministic, fixpoint, prefix-safe. */
#include <stdio.h>

#include "base/hash.h"
#include "controller/keys.h"
#include "test/harness/t.h"
#include "test/unit/controller/props.h"

#define SEEDS 1200

static bool one_in(Rng *rng, unsigned n)
{
    return rng_below(rng, n) == 0;
}

static const char *pick(Rng *rng, const char *const *texts, size_t n)
{
    return texts[rng_below(rng, n)];
}

#define PICK(rng, ...)                                                                             \
    pick((rng), (const char *const[]){__VA_ARGS__}, ARRAY_LEN(((const char *const[]){__VA_ARGS__})))

/* An ownerReferences member, or nothing. */
static const char *owner(Rng *rng)
{
    return PICK(
        rng,
        "'ownerReferences':[{'apiVersion':'agents.x-k8s.io/v1beta1','kind':'Sandbox','name':'s',"
        "'uid':'uid-s','controller':true,'blockOwnerDeletion':true}],",
        "'ownerReferences':[{'apiVersion':'agents.x-k8s.io/v1beta1','kind':'Sandbox','name':'s',"
        "'uid':'uid-s','controller':true,'blockOwnerDeletion':true}],",
        "'ownerReferences':[{'apiVersion':'apps/v1','kind':'ReplicaSet','name':'r','uid':'uid-r',"
        "'controller':true}],",
        "'ownerReferences':[{'apiVersion':'apps/v1','kind':'Thing','name':'t','uid':'uid-t'}],",
        "");
}

static const char *labels(Rng *rng)
{
    static char text[512];
    char hash[HASH_HEX_SIZE];

    hash_name(STR("s"), hash);
    (void)snprintf(text, sizeof(text), "'labels':{%s'x':'1'%s%s%s%s}",
                   one_in(rng, 3) ? "" : "'agents.x-k8s.io/sandbox-name-hash':'HASHHASH',",
                   one_in(rng, 4) ? ",'agents.x-k8s.io/adoptable':'true'" : "",
                   one_in(rng, 3) ? ",'agents.x-k8s.io/warm-pool-sandbox':'old'" : "",
                   one_in(rng, 3) ? ",'gone':'away'" : "",
                   one_in(rng, 4) ? ",'agents.x-k8s.io/created-by':'controller'" : "");
    if (strstr(text, "HASHHASH")) {
        memcpy(strstr(text, "HASHHASH"), one_in(rng, 5) ? "00000000" : hash, 8);
    }
    return text;
}

static void add_pod(Rng *rng, World *world, const char *name, bool owned)
{
    const char *own = owned ? "'ownerReferences':[{'apiVersion':'agents.x-k8s.io/v1beta1','kind':"
                              "'Sandbox','name':'s','uid':'uid-s','controller':true}],"
                            : owner(rng);

    world_put(world, KUBE_POD,
              "{'metadata':{'name':'%s',%s%s%s%s},'spec':{%s},'status':{'phase':'%s'%s%s}}", name,
              own, one_in(rng, 5) ? "'deletionTimestamp':'2026-11-30T11:59:00Z'," : "", labels(rng),
              one_in(rng, 2) ? ",'annotations':{'agents.x-k8s.io/propagated-labels':'gone,x',"
                               "'agents.x-k8s.io/propagated-annotations':'agents.x-k8s.io/a,b'}"
                             : "",
              one_in(rng, 2) ? "'nodeName':'n1'" : "",
              PICK(rng, "Pending", "Running", "Running", "Succeeded", "Failed", "Unknown"),
              PICK(rng,
                   ",'conditions':[{'type':'Ready','status':'True'},{'type':'PodScheduled',"
                   "'status':'True'}]",
                   ",'conditions':[{'type':'PodScheduled','status':'False','reason':"
                   "'Unschedulable','message':'no nodes'}]",
                   ""),
              one_in(rng, 2) ? ",'podIPs':[{'ip':'10.0.0.1'},{'ip':'fd00::1'}]" : "");
}

static void add_service(Rng *rng, World *world)
{
    world_put(world, KUBE_SERVICE, "{'metadata':{'name':'s',%s%s},'spec':{'clusterIP':'%s'%s%s}}",
              owner(rng), labels(rng), PICK(rng, "None", "None", "10.96.0.1"),
              one_in(rng, 2) ? ",'selector':{'other':'thing'}" : "",
              one_in(rng, 2) ? ",'ports':[{'name':'z','port':1,'protocol':'TCP','targetPort':1}]"
                             : "");
}

static const char *status(Rng *rng)
{
    return PICK(
        rng, "", "",
        ",'status':{'conditions':[{'type':'Ready','status':'False','reason':'SandboxExpired',"
        "'message':'Sandbox has expired','observedGeneration':1,'lastTransitionTime':"
        "'2026-11-30T11:00:00Z'}],'service':'s','serviceFQDN':'s.a.svc.cluster.local'}",
        ",'status':{'conditions':[{'type':'Ready','status':'True','reason':'DependenciesReady',"
        "'message':'Pod is Ready','observedGeneration':1,'lastTransitionTime':"
        "'2026-11-30T11:00:00Z'},{'type':'Finished','status':'True','reason':'PodFailed',"
        "'message':'Pod failed','lastTransitionTime':'2026-11-30T11:00:00Z'}],'nodeName':'n0',"
        "'podIPs':['10.0.0.9']}",
        ",'status':{'conditions':[{'type':'Ready','status':'False','reason':"
        "'InvalidConfiguration','message':'bad','observedGeneration':1,'lastTransitionTime':"
        "'2026-11-30T11:00:00Z'}]}",
        ",'status':{'conditions':[{'type':'Ready','status':'False','reason':'SandboxSuspended',"
        "'message':'Sandbox is suspended','observedGeneration':1,'lastTransitionTime':"
        "'2026-11-30T11:00:00Z'},{'type':'Suspended','status':'True','reason':'PodTerminated',"
        "'message':'x','observedGeneration':1,'lastTransitionTime':'2026-11-30T11:00:00Z'}]}");
}

static const char *sandbox_owner(Rng *rng)
{
    return PICK(rng, "", "",
                ",'ownerReferences':[{'apiVersion':'extensions.agents.x-k8s.io/v1beta1','kind':"
                "'SandboxWarmPool','name':'p','uid':'uid-p','controller':true}]",
                ",'ownerReferences':[{'apiVersion':'extensions.agents.x-k8s.io/v1alpha1','kind':"
                "'SandboxClaim','name':'c','uid':'uid-c','controller':true}]",
                ",'ownerReferences':[{'apiVersion':'other.io/v1','kind':'Thing','name':'t','uid':"
                "'uid-t','controller':true}]");
}

static void add_sandbox(Rng *rng, World *world)
{
    world_put(
        world, KUBE_SANDBOX,
        "{'metadata':{'name':'s','uid':'uid-s','labels':{'agents.x-k8s.io/warm-pool-sandbox':'ph',"
        "'agents.x-k8s.io/sandbox-template-ref-hash':'th'%s}%s%s},'spec':{'podTemplate':{'metadata'"
        ":{%s},'spec':{'containers':[{'name':'m','image':'i'%s}]}}%s%s%s%s%s}%s}",
        PICK(rng, "", ",'agents.x-k8s.io/created-by':'go-client'",
             ",'agents.x-k8s.io/created-by':'someone'"),
        PICK(rng, "", "", ",'annotations':{'agents.x-k8s.io/pod-name':'other'}",
             ",'annotations':{'agents.x-k8s.io/pod-name':'s'}"),
        sandbox_owner(rng),
        PICK(rng, "", "'labels':{'x':'1','y':'2','agents.x-k8s.io/sandbox-name-hash':'evil'}",
             "'labels':{'x':'2'},'annotations':{'b':'c','opentelemetry.io/trace-context':'t'}"),
        PICK(rng, "", ",'ports':[{'containerPort':80}]",
             ",'ports':[{'containerPort':80,'name':'web'},{'containerPort':53,'protocol':'UDP'}]"),
        PICK(rng, "", ",'service':true", ",'service':true", ",'service':false"),
        PICK(rng, "", ",'operatingMode':'Running'", ",'operatingMode':'Suspended'"),
        PICK(rng, "", "", ",'shutdownTime':'2026-11-30T11:59:59Z'",
             ",'shutdownTime':'2026-11-30T12:00:01Z'", ",'shutdownTime':'2026-11-30T12:00:00Z'"),
        PICK(rng, "", ",'shutdownPolicy':'Retain'", ",'shutdownPolicy':'Delete'"),
        PICK(rng, "", "", ",'volumeClaimTemplates':[{'metadata':{'name':'data'},'spec':{}}]",
             ",'volumeClaimTemplates':[{'metadata':{'name':'data','labels':{'l':'v'}},'spec':{}},"
             "{'metadata':{'name':'more'},'spec':{}}]"),
        status(rng));
}

static void generate(Rng *rng, World *world)
{
    world->graceful = one_in(rng, 2);
    world->options.warm_pool_eviction = !one_in(rng, 4);
    world->options.disable_sandbox_events = one_in(rng, 4);
    add_sandbox(rng, world);
    if (!one_in(rng, 3)) {
        add_pod(rng, world, "s", one_in(rng, 2));
    }
    if (one_in(rng, 6)) {
        add_pod(rng, world, "other", one_in(rng, 2));
    }
    if (one_in(rng, 2)) {
        add_service(rng, world);
    }
    if (one_in(rng, 3)) {
        world_put(world, KUBE_PVC, "{'metadata':{'name':'data-s',%s%s},'spec':{}}", owner(rng),
                  labels(rng));
    }
}

static void generate_refusing(Rng *rng, World *world)
{
    static const KubeKindId kinds[] = {KUBE_POD, KUBE_SERVICE, KUBE_PVC};
    KubeKindId kind = kinds[rng_below(rng, ARRAY_LEN(kinds))];

    generate(rng, world);
    world->refuse[kind].reason = one_in(rng, 2) ? KUBE_REASON_INVALID : KUBE_REASON_FORBIDDEN;
    world->refuse[kind].http = world->refuse[kind].reason == KUBE_REASON_INVALID ? 422 : 403;
    world->refuse[kind].message = "exceeded quota";
}

static PropsSpec spec_of(void (*make)(Rng *rng, World *world))
{
    return (PropsSpec){
        .reconciler = sandbox_reconciler(),
        .key = {STR("a"), STR("s")},
        .generate = make,
    };
}

T_TEST(sandbox_plans_are_deterministic_fixpoints_and_prefix_safe)
{
    PropsSpec spec = spec_of(generate);

    props_check(&spec, 1, SEEDS);
}

T_TEST(sandbox_plans_stand_still_when_creations_are_refused)
{
    PropsSpec spec = spec_of(generate_refusing);

    props_check(&spec, 100001, SEEDS / 3);
}

/* Whatever the state: nobody else's object is changed, and no second Pod is made. */
T_TEST(sandbox_plans_leave_foreign_objects_alone)
{
    for (uint64_t seed = 1; seed <= SEEDS; seed++) {
        AUTO(world) World world;
        Rng rng;
        AUTO(mem) char *before = NULL;
        AUTO(mem) char *after = NULL;
        size_t pods;

        rng_init(&rng, seed);
        world_init(&world, 1);
        add_sandbox(&rng, &world);
        world_put(&world, KUBE_POD,
                  "{'metadata':{'name':'s','labels':{'agents.x-k8s.io/sandbox-name-hash':'x'},"
                  "'ownerReferences':[{'apiVersion':'apps/v1','kind':'ReplicaSet','name':'r','uid':"
                  "'uid-r','controller':true}]},'status':{'phase':'Running'}}");
        pods = world_count(&world, KUBE_POD);
        before = jx_dump_sorted(world_get(&world, KUBE_POD, "a", "s"));
        (void)world_pass(&world, sandbox_reconciler(), (KubeKey){STR("a"), STR("s")});
        (void)world_pass(&world, sandbox_reconciler(), (KubeKey){STR("a"), STR("s")});
        after = jx_dump_sorted(world_get(&world, KUBE_POD, "a", "s"));
        T_EQ_STR(after, before);
        T_CHECK(world_count(&world, KUBE_POD) <= pods);
    }
}
