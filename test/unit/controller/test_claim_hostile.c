/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Objects of every shape that can be decoded: each member of each object of a small world replaced
 * by each kind of junk, one at a time. Claim and pool plans must come to an end without a crash,
 * and other claims' Sandboxes must stay theirs.
 */
#include <stdio.h>

#include "test/harness/t.h"
#include "test/unit/controller/world.h"

#define CLAIM_OWNER(name, uid)                                                                     \
    "'ownerReferences':[{'apiVersion':'extensions.agents.x-k8s.io/v1beta1','kind':"                \
    "'SandboxClaim','name':'" name "','uid':'" uid "','controller':true}]"
#define POOL_OWNER                                                                                 \
    "'ownerReferences':[{'apiVersion':'extensions.agents.x-k8s.io/v1beta1','kind':"                \
    "'SandboxWarmPool','name':'p','uid':'uid-p','controller':true}]"
#define POOL_LABELS                                                                                \
    "'labels':{'agents.x-k8s.io/warm-pool-sandbox':'f50c43ef','agents.x-k8s.io/launch-type':"      \
    "'warm','agents.x-k8s.io/sandbox-template-ref-hash':'f10c3da3',"                               \
    "'agents.x-k8s.io/sandbox-template-hash':'00000000'}"
#define READY                                                                                      \
    "'status':{'podIPs':['10.0.0.1'],'nodeName':'n','conditions':[{'type':'Ready','status':"       \
    "'True','reason':'DependenciesReady','message':'m','lastTransitionTime':"                      \
    "'2026-11-30T11:00:00Z','observedGeneration':1}]}"
#define SPEC                                                                                       \
    "'spec':{'podTemplate':{'metadata':{'labels':{'app':'demo'},'annotations':{'x':'y'}},'spec':"  \
    "{'containers':[{'name':'c','env':[{'name':'A','value':'1'}],'resources':{'limits':{'cpu':"    \
    "'1'}}}]}},'volumeClaimTemplates':[{'metadata':{'name':'d'},'spec':{}}]"

typedef struct Piece {
    KubeKindId kind;
    const char *text;
} Piece;

static const Piece unbound[] = {
    {KUBE_CLAIM,
     "{'metadata':{'name':'k','namespace':'a','uid':'uid-k','creationTimestamp':"
     "'2026-11-30T11:00:00Z','labels':{'agents.x-k8s.io/created-by':'x'},'annotations':"
     "{'agents.x-k8s.io/sandbox-name':'m','agents.x-k8s.io/client-first-requested-at':"
     "'2026-11-30T11:00:00Z'}},'spec':{'warmPoolRef':{'name':'p'},'lifecycle':{'shutdownTime':"
     "'2026-12-30T11:00:00Z','shutdownPolicy':'Delete','ttlSecondsAfterFinished':3},"
     "'additionalPodMetadata':{'labels':{'sandbox.users.io/a':'b'},'annotations':{'q':'z'}}},"
     "'status':{'conditions':[{'type':'Finished','status':'False','lastTransitionTime':"
     "'2026-11-30T11:00:00Z'}]}}"},
    {KUBE_TEMPLATE,
     "{'metadata':{'name':'t','namespace':'a','uid':'uid-t'}," SPEC
     ",'envVarsInjectionPolicy':'Allowed','networkPolicyManagement':'Managed','service':true}}"},
    {KUBE_NETPOL,
     "{'metadata':{'name':'t-network-policy','namespace':'a','uid':'uid-n','ownerReferences':"
     "[{'apiVersion':'extensions.agents.x-k8s.io/v1beta1','kind':'SandboxTemplate','name':'t',"
     "'uid':'uid-t','controller':true}]},'spec':{}}"},
    {KUBE_WARMPOOL,
     "{'metadata':{'name':'p','namespace':'a','uid':'uid-p'},'spec':{'replicas':2,"
     "'sandboxTemplateRef':{'name':'t'},'updateStrategy':{'type':'Recreate'}},'status':"
     "{'replicas':1,'readyReplicas':1,'selector':'s','observedGeneration':1}}"},
    {KUBE_SANDBOX, "{'metadata':{'name':'m','namespace':'a','uid':'uid-m'," POOL_LABELS
                   ",'annotations':{'a':'b'}," POOL_OWNER "}," SPEC "}," READY "}"},
    {KUBE_SANDBOX, "{'metadata':{'name':'o','namespace':'a','uid':'uid-o'," CLAIM_OWNER(
                       "other", "uid-other") "}," SPEC "}," READY "}"},
    {KUBE_POD,
     "{'metadata':{'name':'m','namespace':'a','uid':'uid-pod','labels':"
     "{'agents.x-k8s.io/sandbox-name-hash':'x'},'ownerReferences':[{'apiVersion':"
     "'agents.x-k8s.io/v1beta1','kind':'Sandbox','name':'m','uid':'uid-m','controller':true}]},"
     "'status':{'conditions':[{'type':'PodScheduled','status':'False','reason':'Unschedulable',"
     "'message':'m'}],'containerStatuses':[{'name':'c','state':{'waiting':{'reason':'R',"
     "'message':'m'}}}],'initContainerStatuses':[{'name':'i','state':{'terminated':{'reason':'E',"
     "'exitCode':1}}}]}}"},
};

static const Piece bound[] = {
    {KUBE_CLAIM,
     "{'metadata':{'name':'k','namespace':'a','uid':'uid-k','creationTimestamp':"
     "'2026-11-30T11:00:00Z'},'spec':{'warmPoolRef':{'name':'p'},'env':[{'name':'A','value':'2',"
     "'containerName':'c'}],'volumeClaimTemplates':[{'metadata':{'name':'e'},'spec':{}}]},'status':"
     "{'sandbox':{'name':'m','podIPs':['10.0.0.1']},'conditions':[{'type':'Ready','status':'False',"
     "'reason':'SandboxNotReady','message':'x','lastTransitionTime':'2026-11-30T11:00:00Z'}]}}"},
    {KUBE_SANDBOX, "{'metadata':{'name':'m','namespace':'a','uid':'uid-m','labels':{"
                   "'agents.x-k8s.io/sandbox-template-ref-hash':'f10c3da3'}," CLAIM_OWNER(
                       "k", "uid-k") "}," SPEC "},'status':{'conditions':[{'type':'Ready','status':"
                                     "'False','reason':'DependenciesNotReady',"
                                     "'message':'m','lastTransitionTime':'2026-11-30T11:00:00Z'},{'"
                                     "type':'Finished','status':'True',"
                                     "'reason':'PodFailed','message':'m','lastTransitionTime':'"
                                     "2026-11-30T11:00:00Z'}]}}"},
};

#define JUNK_MAX 9

static json_t *junk(int number)
{
    switch (number) {
    case 0:
        return json_null();
    case 1:
        return json_true();
    case 2:
        return json_integer(-9223372036854775807ll - 1);
    case 3:
        return json_real(1e300);
    case 4:
        return jx_string_new(STR(""));
    case 5:
        return jx_string_new(STR("\xc3\xa9\x01,/\"\\ 'x"));
    case 6:
        return jx_array_new();
    case 7:
        return jx_object_new();
    default:
        return json_pack("[{}, null, [1], \"x\"]");
    }
}

/* Replaces the `at`-th member in document order. False when there are fewer. */
static bool replace(json_t *value, size_t *at, int number)
{
    const char *key;
    json_t *member;
    size_t i;

    json_object_foreach(value, key, member)
    {
        if ((*at)-- == 0) {
            json_object_set_new(value, key, junk(number));
            return true;
        }
        if (replace(member, at, number)) {
            return true;
        }
    }
    json_array_foreach(value, i, member)
    {
        if ((*at)-- == 0) {
            json_array_set_new(value, i, junk(number));
            return true;
        }
        if (replace(member, at, number)) {
            return true;
        }
    }
    return false;
}

static json_t *parse(const char *text)
{
    AUTO(mem) char *copy = xstrdup(text);
    json_t *value = NULL;

    for (char *c = copy; *c; c++) {
        *c = *c == '\'' ? '"' : *c;
    }
    T_OK(jx_parse(str_from(copy), 1u << 20, &value, NULL));
    return value;
}

static bool is_decoded(KubeKindId kind, const json_t *body)
{
    AUTO(mem) char *text = jx_dump_compact(body);
    AUTO(kube_obj) KubeObj *obj = NULL;

    return kube_obj_from_text(kube_kind(kind), str_from(text), &obj, NULL) == 0 &&
           str_eq(obj->ns, STR("a")) && obj->uid.len > 0;
}

static void run(World *world)
{
    for (int pass = 0; pass < 4; pass++) {
        (void)world_pass(world, claim_reconciler(), (KubeKey){STR("a"), STR("k")});
        world_end_pass(world);
        (void)world_pass(world, warmpool_reconciler(), (KubeKey){STR("a"), STR("p")});
        world_end_pass(world);
    }
}

/* False when the damaged piece has no member of that number. */
static bool try_one(const Piece *pieces, size_t n, size_t damaged, size_t at, int number)
{
    AUTO(world) World world;
    bool found = true;

    world_init(&world, 1);
    world.options.label_domains[0] = OPTIONS_LABEL_DOMAIN_DEFAULT;
    world.options.n_label_domains = 1;
    for (size_t i = 0; i < n; i++) {
        json_t *body = parse(pieces[i].text);
        size_t left = at;

        if (i == damaged) {
            found = replace(body, &left, number);
        }
        if (is_decoded(pieces[i].kind, body)) {
            world_add(&world, pieces[i].kind, body);
        } else {
            json_decref(body);
        }
    }
    run(&world);
    if (n == ARRAY_LEN(unbound) && pieces[damaged].kind != KUBE_SANDBOX) {
        const json_t *other = world_get(&world, KUBE_SANDBOX, "a", "o");
        const json_t *owner = json_array_get(jx_get(other, "metadata", "ownerReferences"), 0);

        T_EQ_STR(jx_get_str(owner, "uid"), "uid-other");
    }
    return found;
}

static void try_all(const Piece *pieces, size_t n)
{
    char label[64];

    for (size_t damaged = 0; damaged < n; damaged++) {
        for (int number = 0; number < JUNK_MAX; number++) {
            for (size_t at = 0;; at++) {
                (void)snprintf(label, sizeof(label), "piece %zu, junk %d, member %zu", damaged,
                               number, at);
                t_row(label);
                if (!try_one(pieces, n, damaged, at, number)) {
                    T_CHECK(at > 5);
                    break;
                }
            }
        }
    }
    t_row(NULL);
}

T_TEST(damaged_objects_around_an_unbound_claim)
{
    try_all(unbound, ARRAY_LEN(unbound));
}

T_TEST(damaged_objects_around_a_bound_claim)
{
    try_all(bound, ARRAY_LEN(bound));
}
