/* SPDX-License-Identifier: Apache-2.0 */
/* What wakes claims and pools, and what must not. */
#include "controller/engine/reconciler.h"
#include "test/harness/t.h"
#include "test/unit/controller/fixture.h"

typedef struct Keys {
    KeySink sink;
    StrBuf text; /* "name " per key, in order of arrival */
} Keys;

static void add(KeySink *sink, Str ns, Str name)
{
    Keys *keys = container_of(sink, Keys, sink);

    T_EQ_STR(ns, "a");
    (void)strbuf_append(&keys->text, name);
    (void)strbuf_append_char(&keys->text, ' ');
}

/* Wakes of one change, as text, to be freed. */
static char *wakes(const Fixture *f, const Reconciler *reconciler, KubeKindId kind,
                   const KubeObj *before, const KubeObj *after)
{
    Keys keys = {.sink = {add}, .text = STRBUF_INIT(65536)};

    for (size_t i = 0; i < reconciler->n_watches; i++) {
        if (reconciler->watches[i].kind == kind) {
            reconciler->watches[i].map(&f->view, before, after, &keys.sink);
        }
    }
    (void)strbuf_append(&keys.text, STR(""));
    return strbuf_take(&keys.text);
}

#define WAKES(f, reconciler, kind, before, after, want)                                            \
    do {                                                                                           \
        AUTO(mem) char *got_ = wakes((f), (reconciler), (kind), (before), (after));                \
        T_EQ_STR(got_, want);                                                                      \
    } while (0)

static void put_claims(Fixture *f, int waiting, int bound)
{
    for (int i = 0; i < waiting; i++) {
        fixture_put(f, KUBE_CLAIM,
                    "{'metadata':{'name':'w%d'},'spec':{'warmPoolRef':{'name':'p'}}}", i);
    }
    for (int i = 0; i < bound; i++) {
        fixture_put(f, KUBE_CLAIM,
                    "{'metadata':{'name':'b%d'},'spec':{'warmPoolRef':{'name':'p'}},'status':"
                    "{'sandbox':{'name':'s%d'}}}",
                    i, i);
    }
    fixture_put(f, KUBE_CLAIM,
                "{'metadata':{'name':'elsewhere'},'spec':{'warmPoolRef':{'name':'q'}}}");
}

/* Keeps the object alive beyond its replacement in the store. */
static KubeObj *keep(const KubeObj *obj)
{
    return kube_obj_ref(obj);
}

T_TEST(a_member_that_becomes_ready_wakes_a_few_waiting_claims_and_no_bound_one)
{
    AUTO(fixture) Fixture f;
    AUTO(kube_obj) KubeObj *pending = NULL;
    AUTO(kube_obj) KubeObj *ready = NULL;

    fixture_init(&f);
    fixture_pool(&f, 1, "");
    put_claims(&f, 9, 3);
    pending = keep(fixture_member(&f, "m", NULL));
    WAKES(&f, claim_reconciler(), KUBE_SANDBOX, NULL, pending, "");
    ready = keep(fixture_member(&f, "m", "n1"));
    WAKES(&f, claim_reconciler(), KUBE_SANDBOX, pending, ready, "w0 w1 w2 w3 ");
    WAKES(&f, claim_reconciler(), KUBE_SANDBOX, ready, ready, "");
}

T_TEST(a_sandbox_wakes_its_claim_when_something_the_claim_shows_has_changed)
{
    static const struct {
        const char *label, *metadata, *status, *want;
    } rows[] = {
        {"nothing", "", "{'nodeName':'n2'}", ""},
        {"ready", "", "{'conditions':[{'type':'Ready','status':'True'}]}", "k "},
        {"finished", "", "{'conditions':[{'type':'Finished','status':'True'}]}", "k "},
        {"suspended only", "", "{'conditions':[{'type':'Suspended','status':'True'}]}", ""},
        {"address", "", "{'podIPs':['10.0.0.1']}", "k "},
        {"deletion", "'deletionTimestamp':'2026-11-30T11:00:00Z',", "{}", "k "},
        {"label", "'labels':{'x':'y'},", "{}", "k "},
    };
    static const char own[] =
        "{'metadata':{'name':'s',%s'ownerReferences':[{'apiVersion':"
        "'extensions.agents.x-k8s.io/v1beta1','kind':'SandboxClaim','name':'k','uid':'uid-k',"
        "'controller':true}]},'spec':{},'status':%s}";

    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        AUTO(fixture) Fixture f;
        AUTO(kube_obj) KubeObj *before = NULL;
        AUTO(kube_obj) KubeObj *after = NULL;

        t_row(rows[i].label);
        fixture_init(&f);
        before = keep(fixture_put(&f, KUBE_SANDBOX, own, "", "{}"));
        after = keep(fixture_put(&f, KUBE_SANDBOX, own, rows[i].metadata, rows[i].status));
        WAKES(&f, claim_reconciler(), KUBE_SANDBOX, before, after, rows[i].want);
        WAKES(&f, claim_reconciler(), KUBE_SANDBOX, after, NULL, "k ");
    }
}

T_TEST(a_name_that_becomes_free_wakes_the_claim_of_that_name)
{
    AUTO(fixture) Fixture f;
    const KubeObj *other;

    fixture_init(&f);
    put_claims(&f, 1, 0);
    other = fixture_put(&f, KUBE_SANDBOX, "{'metadata':{'name':'w0'},'spec':{}}");
    WAKES(&f, claim_reconciler(), KUBE_SANDBOX, other, NULL, "w0 ");
}

T_TEST(pools_wake_waiting_claims_on_spec_changes_only)
{
    AUTO(fixture) Fixture f;
    AUTO(kube_obj) KubeObj *first = NULL;
    AUTO(kube_obj) KubeObj *status = NULL;
    AUTO(kube_obj) KubeObj *spec = NULL;

    fixture_init(&f);
    put_claims(&f, 2, 2);
    first = keep(fixture_put(&f, KUBE_WARMPOOL,
                             "{'metadata':{'name':'p'},'spec':{'sandboxTemplateRef':{'name':"
                             "'t'}}}"));
    WAKES(&f, claim_reconciler(), KUBE_WARMPOOL, NULL, first, "w0 w1 ");
    status = keep(fixture_put(&f, KUBE_WARMPOOL,
                              "{'metadata':{'name':'p'},'spec':{'sandboxTemplateRef':{'name':"
                              "'t'}},'status':{'replicas':1}}"));
    WAKES(&f, claim_reconciler(), KUBE_WARMPOOL, first, status, "");
    spec = keep(fixture_put(&f, KUBE_WARMPOOL,
                            "{'metadata':{'name':'p','generation':2},'spec':"
                            "{'sandboxTemplateRef':{'name':'t'}}}"));
    WAKES(&f, claim_reconciler(), KUBE_WARMPOOL, status, spec, "w0 w1 ");
}

T_TEST(templates_and_policies_wake_what_waits_for_them)
{
    AUTO(fixture) Fixture f;
    AUTO(kube_obj) KubeObj *first = NULL;
    AUTO(kube_obj) KubeObj *second = NULL;
    AUTO(kube_obj) KubeObj *orphan = NULL;
    const KubeObj *policy;

    fixture_init(&f);
    fixture_pool(&f, 1, "");
    put_claims(&f, 1, 1);
    first = keep(view_get(&f.view, KUBE_TEMPLATE, STR("a"), STR("t")));
    policy = view_get(&f.view, KUBE_NETPOL, STR("a"), STR("t-network-policy"));
    WAKES(&f, claim_reconciler(), KUBE_TEMPLATE, NULL, first, "w0 b0 ");
    WAKES(&f, claim_reconciler(), KUBE_NETPOL, NULL, policy, "w0 ");
    WAKES(&f, claim_reconciler(), KUBE_NETPOL, policy, policy, "");
    WAKES(&f, warmpool_reconciler(), KUBE_TEMPLATE, NULL, first, "p ");
    WAKES(&f, warmpool_reconciler(), KUBE_TEMPLATE, first, NULL, "p ");
    WAKES(&f, warmpool_reconciler(), KUBE_NETPOL, NULL, policy, "p ");
    T_OK(kube_obj_from_text(kube_kind(KUBE_NETPOL),
                            STR("{\"metadata\":{\"name\":\"t-network-policy\",\"namespace\":\"a\","
                                "\"uid\":\"x\",\"resourceVersion\":\"1\"}}"),
                            &orphan, NULL));
    WAKES(&f, warmpool_reconciler(), KUBE_NETPOL, orphan, policy, "p "); /* its own again */
    WAKES(&f, claim_reconciler(), KUBE_NETPOL, orphan, policy, "w0 ");
    WAKES(&f, warmpool_reconciler(), KUBE_NETPOL, policy, orphan, "");
    WAKES(&f, warmpool_reconciler(), KUBE_NETPOL, policy, policy, "");
    second = keep(fixture_put(&f, KUBE_TEMPLATE,
                              "{'metadata':{'name':'t','generation':2},'spec':{'podTemplate':"
                              "{'spec':{}}}}"));
    WAKES(&f, claim_reconciler(), KUBE_TEMPLATE, first, second, "w0 ");
}

T_TEST(members_wake_their_pool_when_a_number_changes)
{
    AUTO(fixture) Fixture f;
    AUTO(kube_obj) KubeObj *pending = NULL;
    AUTO(kube_obj) KubeObj *ready = NULL;
    AUTO(kube_obj) KubeObj *claimed = NULL;

    fixture_init(&f);
    fixture_pool(&f, 1, "");
    pending = keep(fixture_member(&f, "m", NULL));
    WAKES(&f, warmpool_reconciler(), KUBE_SANDBOX, NULL, pending, "p ");
    ready = keep(fixture_member(&f, "m", "n1"));
    WAKES(&f, warmpool_reconciler(), KUBE_SANDBOX, pending, ready, "p ");
    WAKES(&f, warmpool_reconciler(), KUBE_SANDBOX, ready, ready, "p ");
    claimed = keep(fixture_put(&f, KUBE_SANDBOX,
                               "{'metadata':{'name':'m','ownerReferences':[{'apiVersion':"
                               "'extensions.agents.x-k8s.io/v1beta1','kind':'SandboxClaim','name':"
                               "'k','uid':'uid-k','controller':true}]},'spec':{}}"));
    WAKES(&f, warmpool_reconciler(), KUBE_SANDBOX, ready, claimed, "p ");
    WAKES(&f, warmpool_reconciler(), KUBE_SANDBOX, claimed, NULL, "");
    WAKES(&f, warmpool_reconciler(), KUBE_SANDBOX, ready, NULL, "p ");
}
