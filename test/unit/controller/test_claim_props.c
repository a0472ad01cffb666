/* SPDX-License-Identifier: Apache-2.0 */
/* The claim and pool reconcilers on random object states: deterministic, fixpoint, prefix-safe. */
#include <stdio.h>

#include "base/hash.h"
#include "controller/keys.h"
#include "test/harness/t.h"
#include "test/unit/controller/props.h"

#define SEEDS 500

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

static const char *image(Rng *rng)
{
    return PICK(rng, "i:1", "i:1", "i:2");
}

static void add_template(Rng *rng, World *world)
{
    world_put(world, KUBE_TEMPLATE,
              "{'metadata':{'name':'t','uid':'uid-t'},'spec':{'podTemplate':{'metadata':{'labels':"
              "{'app':'demo'%s}},'spec':{'containers':[{'name':'c','image':'i:1'}]}}%s%s%s}}",
              PICK(rng, "", "", ",'sandbox.users.io/team':'blue'"),
              PICK(rng, "", ",'networkPolicyManagement':'Unmanaged'"),
              PICK(rng, "", ",'envVarsInjectionPolicy':'Allowed'",
                   ",'envVarsInjectionPolicy':'Overrides'"),
              PICK(rng, "", ",'volumeClaimTemplatesPolicy':'Allowed'"));
    if (!one_in(rng, 4)) {
        world_put(world, KUBE_NETPOL,
                  "{'metadata':{'name':'t-network-policy','ownerReferences':[{'apiVersion':"
                  "'extensions.agents.x-k8s.io/v1beta1','kind':'SandboxTemplate','name':'t',"
                  "'uid':'%s','controller':true}]},'spec':{}}",
                  PICK(rng, "uid-t", "uid-t", "uid-t", "other"));
    }
}

static void add_pool(Rng *rng, World *world)
{
    world_put(world, KUBE_WARMPOOL,
              "{'metadata':{'name':'p','uid':'uid-p'%s},'spec':{'replicas':%d,"
              "'sandboxTemplateRef':{'name':'%s'}%s}%s}",
              one_in(rng, 20) ? ",'deletionTimestamp':'2026-11-30T11:00:00Z'" : "",
              (int)rng_below(rng, 6), PICK(rng, "t", "t", "t", "t", "t2"),
              PICK(rng, "", ",'updateStrategy':{'type':'Recreate'}"),
              PICK(rng, "", ",'status':{'replicas':2,'readyReplicas':2}"));
}

static const char *sandbox_status(Rng *rng)
{
    return PICK(rng, "{}", "{'podIPs':['10.0.0.1'],'nodeName':'n1'}",
                "{'podIPs':['10.0.0.1'],'nodeName':'n1','conditions':[{'type':'Ready','status':"
                "'True','reason':'DependenciesReady','message':'Pod is Ready',"
                "'lastTransitionTime':'2026-11-30T11:58:00Z'}]}",
                "{'podIPs':['10.0.0.2'],'nodeName':'n2','conditions':[{'type':'Ready','status':"
                "'True','reason':'DependenciesReady','message':'Pod is Ready',"
                "'lastTransitionTime':'2026-11-30T11:59:00Z'}]}",
                "{'conditions':[{'type':'Ready','status':'False','reason':'DependenciesNotReady',"
                "'message':'Pod exists with phase: Pending','lastTransitionTime':"
                "'2026-11-30T11:59:50Z'}]}",
                "{'conditions':[{'type':'Ready','status':'False','reason':'PodFailed','message':"
                "'Pod failed','lastTransitionTime':'2026-11-30T11:59:00Z'},{'type':'Finished',"
                "'status':'True','reason':'PodFailed','message':'Pod failed',"
                "'lastTransitionTime':'2026-11-30T11:59:00Z'}]}");
}

#define OWNER(kind, name, uid)                                                                     \
    ",'ownerReferences':[{'apiVersion':'extensions.agents.x-k8s.io/v1beta1','kind':'" kind         \
    "','name':'" name "','uid':'" uid "','controller':true,'blockOwnerDeletion':true}]"

static const char *sandbox_labels(Rng *rng)
{
    static char text[512];
    char ref[HASH_HEX_SIZE];
    char pool[HASH_HEX_SIZE];

    hash_name(STR("t"), ref);
    hash_name(STR("p"), pool);
    (void)snprintf(text, sizeof(text), "'agents.x-k8s.io/sandbox-template-ref-hash':'%s'%s%s%s%s",
                   one_in(rng, 10) ? "ffffffff" : ref,
                   one_in(rng, 6) ? "" : ",'agents.x-k8s.io/warm-pool-sandbox':'", "", "", "");
    if (strstr(text, "warm-pool-sandbox")) {
        (void)snprintf(text + strlen(text), sizeof(text) - strlen(text), "%s'", pool);
    }
    if (!one_in(rng, 4)) {
        (void)snprintf(text + strlen(text), sizeof(text) - strlen(text),
                       ",'agents.x-k8s.io/launch-type':'warm'");
    }
    return text;
}

static void add_sandbox(Rng *rng, World *world, const char *name, const char *owner)
{
    const char *labels = sandbox_labels(rng);

    world_put(world, KUBE_SANDBOX,
              "{'metadata':{'name':'%s','uid':'uid-%s','creationTimestamp':'%s'%s%s,'labels':{%s}},"
              "'spec':{'podTemplate':{'metadata':{'labels':{'app':'demo'}},'spec':"
              "{'automountServiceAccountToken':false,'dnsPolicy':'None','dnsConfig':{'nameservers':"
              "['8.8.8.8','1.1.1.1']},'containers':[{'name':'c','image':'%s'}]}}},'status':%s}",
              name, name,
              PICK(rng, "2026-11-30T11:59:55Z", "2026-11-30T11:50:00Z", "2026-11-29T00:00:00Z"),
              owner, one_in(rng, 12) ? ",'deletionTimestamp':'2026-11-30T11:59:00Z'" : "", labels,
              image(rng), sandbox_status(rng));
}

static void add_members(Rng *rng, World *world)
{
    static const char *const names[] = {"m1", "m2", "m3", "m4"};
    size_t n = rng_below(rng, ARRAY_LEN(names) + 1);

    for (size_t i = 0; i < n; i++) {
        add_sandbox(rng, world, names[i],
                    PICK(rng, OWNER("SandboxWarmPool", "p", "uid-p"),
                         OWNER("SandboxWarmPool", "p", "uid-p"),
                         OWNER("SandboxWarmPool", "p", "uid-p"),
                         OWNER("SandboxClaim", "other", "uid-other"), ""));
    }
}

static const char *claim_status(Rng *rng)
{
    return PICK(rng, "", "", ",'status':{'sandbox':{'name':'m1'}}",
                ",'status':{'sandbox':{'name':'own','podIPs':['10.0.0.1']},'conditions':[{'type':"
                "'Ready','status':'True','reason':'DependenciesReady','message':'Pod is Ready',"
                "'lastTransitionTime':'2026-11-30T11:58:00Z','observedGeneration':1}]}",
                ",'status':{'conditions':[{'type':'Ready','status':'False','reason':"
                "'TemplateNotFound','message':'x','lastTransitionTime':'2026-11-30T11:58:00Z'}]}",
                ",'status':{'conditions':[{'type':'Finished','status':'True','reason':'PodFailed',"
                "'message':'Pod failed','lastTransitionTime':'2026-11-30T11:58:00Z'}]}");
}

static void add_claim(Rng *rng, World *world)
{
    world_put(
        world, KUBE_CLAIM,
        "{'metadata':{'name':'k','uid':'uid-k','creationTimestamp':'%s'%s%s},'spec':"
        "{'warmPoolRef':{'name':'p'}%s%s%s%s}%s}",
        PICK(rng, "2026-11-30T11:59:59Z", "2026-11-30T11:50:00Z"),
        PICK(rng, "", "", ",'annotations':{'agents.x-k8s.io/sandbox-name':'m1'}",
             ",'annotations':{'agents.x-k8s.io/sandbox-name':'m2','cofferdam.dev/rebind':"
             "'true'}",
             ",'annotations':{'agents.x-k8s.io/controller-first-observed-at':"
             "'2026-11-30T11:59:59.5Z'}"),
        PICK(rng, "", "", ",'labels':{'agents.x-k8s.io/created-by':'go-client'}",
             ",'labels':{'agents.x-k8s.io/sandbox-name':'m1'}"),
        PICK(rng, "", "", "", ",'env':[{'name':'A','value':'1'}]"),
        PICK(rng, "", "", "", ",'volumeClaimTemplates':[{'metadata':{'name':'d'},'spec':{}}]"),
        PICK(rng, "", "", ",'additionalPodMetadata':{'labels':{'sandbox.users.io/team':'red'}}",
             ",'additionalPodMetadata':{'labels':{'team':'red'}}"),
        PICK(rng, "", "", ",'lifecycle':{'shutdownTime':'2026-11-30T11:00:00Z'}",
             ",'lifecycle':{'shutdownTime':'2026-11-30T11:00:00Z','shutdownPolicy':'Delete'}",
             ",'lifecycle':{'ttlSecondsAfterFinished':10}"),
        claim_status(rng));
}

static void generate(Rng *rng, World *world)
{
    world->options.label_domains[0] = OPTIONS_LABEL_DOMAIN_DEFAULT;
    world->options.n_label_domains = 1;
    world->options.disable_claim_events = one_in(rng, 4);
    world->options.disable_claim_observability = one_in(rng, 4);
    if (!one_in(rng, 8)) {
        add_template(rng, world);
    }
    if (!one_in(rng, 8)) {
        add_pool(rng, world);
    }
    add_members(rng, world);
    if (one_in(rng, 4)) {
        add_sandbox(rng, world, "own", OWNER("SandboxClaim", "k", "uid-k"));
    }
    if (one_in(rng, 8)) {
        add_sandbox(rng, world, "k",
                    PICK(rng, OWNER("SandboxClaim", "k", "uid-k"),
                         OWNER("SandboxClaim", "k", "uid-before"), ""));
    }
    add_claim(rng, world);
}

static void generate_refusing(Rng *rng, World *world)
{
    generate(rng, world);
    world->refuse[KUBE_SANDBOX].reason =
        one_in(rng, 2) ? KUBE_REASON_INVALID : KUBE_REASON_FORBIDDEN;
    world->refuse[KUBE_SANDBOX].http =
        world->refuse[KUBE_SANDBOX].reason == KUBE_REASON_INVALID ? 422 : 403;
    world->refuse[KUBE_SANDBOX].message = "exceeded quota";
}

static PropsSpec spec_of(const Reconciler *reconciler, const char *name,
                         void (*make)(Rng *rng, World *world))
{
    return (PropsSpec){
        .reconciler = reconciler,
        .key = {STR("a"), str_from(name)},
        .generate = make,
        .passes_max = 6,
    };
}

T_TEST(claim_plans_are_deterministic_fixpoints_and_prefix_safe)
{
    PropsSpec spec = spec_of(claim_reconciler(), "k", generate);

    props_check(&spec, 1, SEEDS);
}

T_TEST(claim_plans_stand_still_when_creations_are_refused)
{
    PropsSpec spec = spec_of(claim_reconciler(), "k", generate_refusing);

    props_check(&spec, 100001, SEEDS / 4);
}

T_TEST(pool_plans_are_deterministic_fixpoints_and_prefix_safe)
{
    PropsSpec spec = spec_of(warmpool_reconciler(), "p", generate);

    props_check(&spec, 200001, SEEDS);
}

T_TEST(pool_plans_stand_still_when_creations_are_refused)
{
    PropsSpec spec = spec_of(warmpool_reconciler(), "p", generate_refusing);

    props_check(&spec, 300001, SEEDS / 4);
}

/* Whose the Sandbox is now, "" = nobody's. */
static Str owner_uid(const World *world, const char *name)
{
    const json_t *sandbox = world_get(world, KUBE_SANDBOX, "a", name);

    return jx_get_str(json_array_get(jx_get(sandbox, "metadata", "ownerReferences"), 0), "uid");
}

/* Whatever the state: Sandboxes of other claims stay theirs, and the claim ends with one at most.
 */
T_TEST(claim_plans_leave_other_claims_sandboxes_alone)
{
    static const char *const names[] = {"m1", "m2", "m3", "m4", "own", "k"};

    for (uint64_t seed = 1; seed <= SEEDS; seed++) {
        AUTO(world) World world;
        bool others[ARRAY_LEN(names)];
        size_t n_own = 0;
        Rng rng;

        world_init(&world, 3);
        rng_init(&rng, seed);
        generate(&rng, &world);
        for (size_t i = 0; i < ARRAY_LEN(names); i++) {
            others[i] = str_eq(owner_uid(&world, names[i]), STR("uid-other"));
        }
        for (int pass = 0; pass < 6; pass++) {
            (void)world_pass(&world, claim_reconciler(), (KubeKey){STR("a"), STR("k")});
            world_end_pass(&world);
        }
        for (size_t i = 0; i < ARRAY_LEN(names); i++) {
            T_EQ_INT(str_eq(owner_uid(&world, names[i]), STR("uid-other")), others[i]);
            n_own += str_eq(owner_uid(&world, names[i]), STR("uid-k")) &&
                     !jx_get(world_get(&world, KUBE_SANDBOX, "a", names[i]), "metadata",
                             "deletionTimestamp");
        }
        T_CHECK(n_own <= 1);
    }
}
