/* SPDX-License-Identifier: Apache-2.0 */
/* See fixture.h. */
#include "test/unit/controller/fixture.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/timefmt.h"
#include "controller/blueprint/blueprint.h"
#include "test/harness/t.h"

#define TEXT_MAX 16384

void fixture_init(Fixture *f)
{
    *f = (Fixture){.rv = 100};
    options_defaults(&f->options);
    f->options.label_domains[0] = OPTIONS_LABEL_DOMAIN_DEFAULT;
    f->options.n_label_domains = 1;
    for (size_t kind = 0; kind < KUBE_KIND_MAX_; kind++) {
        size_t n;
        const KubeIndex *indexes = view_store_indexes((KubeKindId)kind, &n);

        f->stores[kind] = kube_store_new(kube_kind((KubeKindId)kind), indexes, n, 7);
        f->view.stores[kind] = f->stores[kind];
    }
    f->pools = pools_new(7);
    pools_attach(f->pools, f->stores[KUBE_SANDBOX], f->stores[KUBE_WARMPOOL]);
    reservations_init(&f->reservations, 7);
    facts_init(&f->facts);
    arena_init(&f->arena, 0);
    plan_init(&f->plan, &f->arena);
    f->view.options = &f->options;
    f->view.now_wall_ns = FIXTURE_NOW_NS;
    f->view.reservations = &f->reservations;
    f->view.facts = &f->facts;
    f->view.pools = f->pools;
    f->view.self = STR("self");
}

void fixture_deinit(Fixture *f)
{
    plan_deinit(&f->plan);
    arena_deinit(&f->arena);
    facts_deinit(&f->facts);
    reservations_deinit(&f->reservations);
    pools_free(f->pools);
    for (size_t kind = 0; kind < KUBE_KIND_MAX_; kind++) {
        kube_store_free(f->stores[kind]);
    }
    options_deinit(&f->options);
    free(f->dump);
}

static void complete(Fixture *f, KubeKindId kind, json_t *object)
{
    json_t *metadata = jx_obj(object, "metadata");
    char created[TIMEFMT_SIZE];

    timefmt_seconds(f->view.now_wall_ns - 60 * 1000000000ll, created);
    jx_set_str(object, "apiVersion", str_from(kube_kind(kind)->api_version));
    jx_set_str(object, "kind", str_from(kube_kind(kind)->kind));
    if (!json_object_get(metadata, "namespace")) {
        jx_set_str(metadata, "namespace", STR("a"));
    }
    if (!json_object_get(metadata, "uid")) {
        jx_set(metadata, "uid",
               jx_stringf_new("uid-%s", json_string_value(json_object_get(metadata, "name"))));
    }
    if (!json_object_get(metadata, "generation")) {
        jx_set_i64(metadata, "generation", 1);
    }
    if (!json_object_get(metadata, "creationTimestamp")) {
        jx_set_str(metadata, "creationTimestamp", str_from(created));
    }
    jx_set(metadata, "resourceVersion", jx_stringf_new("%llu", (unsigned long long)++f->rv));
}

const KubeObj *fixture_put(Fixture *f, KubeKindId kind, const char *fmt, ...)
{
    AUTO(mem) char *text = xcalloc(1, TEXT_MAX);
    AUTO(mem) char *whole = NULL;
    AUTO(json) json_t *object = NULL;
    AUTO(kube_obj) KubeObj *obj = NULL;
    Err err = ERR_INIT;
    va_list ap;

    va_start(ap, fmt);
    T_CHECK(vsnprintf(text, TEXT_MAX, fmt, ap) < TEXT_MAX);
    va_end(ap);
    for (char *c = text; *c; c++) {
        *c = *c == '\'' ? '"' : *c;
    }
    if (jx_parse(str_from(text), TEXT_MAX, &object, &err) < 0) {
        T_FAIL("%s in %s", err.msg, text);
    }
    complete(f, kind, object);
    whole = jx_dump_compact(object);
    if (kube_obj_from_text(kube_kind(kind), str_from(whole), &obj, &err) < 0) {
        T_FAIL("%s in %s", err.msg, whole);
    }
    T_OK(kube_store_upsert(f->stores[kind], obj, KUBE_CHANGE_LIVE));
    return kube_store_get(f->stores[kind], kube_obj_key(obj));
}

void fixture_delete(Fixture *f, KubeKindId kind, const char *name)
{
    KubeKey key = {STR("a"), str_from(name)};
    const KubeObj *obj = kube_store_get(f->stores[kind], key);
    AUTO(mem) char *uid = NULL;

    T_CHECK(obj);
    uid = xstrndup(obj->uid.ptr, obj->uid.len);
    kube_store_forget(f->stores[kind], key, str_from(uid));
}

void fixture_absent(Fixture *f, KubeKindId kind, const char *name)
{
    facts_add_read(&f->facts, kind, STR("a"), str_from(name), NULL);
}

const char *fixture_plan(Fixture *f, FixturePlanFn fn, const char *name)
{
    plan_deinit(&f->plan);
    arena_reset(&f->arena);
    plan_init(&f->plan, &f->arena);
    fn(&f->view, (KubeKey){STR("a"), str_from(name)}, &f->arena, &f->plan);
    free(f->dump);
    f->dump = plan_dump(&f->plan);
    return f->dump;
}

const PlanAction *fixture_action(const Fixture *f, PlanVerb verb, KubeKindId kind)
{
    for (size_t i = 0; i < f->plan.n_actions; i++) {
        if (f->plan.actions[i]->verb == verb && f->plan.actions[i]->kind == kind) {
            return f->plan.actions[i];
        }
    }
    return NULL;
}

size_t fixture_count(const Fixture *f, PlanVerb verb, KubeKindId kind)
{
    size_t n = 0;

    for (size_t i = 0; i < f->plan.n_actions; i++) {
        n += f->plan.actions[i]->verb == verb && f->plan.actions[i]->kind == kind;
    }
    return n;
}

void fixture_pool(Fixture *f, int replicas, const char *strategy)
{
    fixture_put(f, KUBE_TEMPLATE,
                "{'metadata':{'name':'t'},'spec':{'podTemplate':{'metadata':{'labels':"
                "{'app':'demo'}},'spec':{'containers':[{'name':'c','image':'i:1'}]}}}}");
    fixture_put(f, KUBE_NETPOL,
                "{'metadata':{'name':'t-network-policy','ownerReferences':[{'apiVersion':"
                "'extensions.agents.x-k8s.io/v1beta1','kind':'SandboxTemplate','name':'t',"
                "'uid':'uid-t','controller':true}]},'spec':{}}");
    fixture_put(f, KUBE_WARMPOOL,
                "{'metadata':{'name':'p'},'spec':{'replicas':%d,'sandboxTemplateRef':{'name':'t'},"
                "'updateStrategy':{'type':'%s'}}}",
                replicas, strategy);
}

const KubeObj *fixture_member(Fixture *f, const char *name, const char *node)
{
    const KubeObj *template =
        kube_store_get(f->stores[KUBE_TEMPLATE], (KubeKey){STR("a"), STR("t")});
    const TemplateFacts *facts = template_cache_get(pools_templates(f->pools), template);
    AUTO(mem) char *blueprint = jx_dump_compact(facts->blueprint);
    char pool_hash[HASH_HEX_SIZE];
    AUTO(mem)
    char *status =
        node ? xasprintf("{'podIPs':['10.0.0.9'],'nodeName':'%s','conditions':[{'type':'Ready',"
                         "'status':'True','reason':'DependenciesReady','message':'Pod is Ready',"
                         "'lastTransitionTime':'2026-11-30T11:59:30Z','observedGeneration':1}]}",
                         node)
             : xasprintf("{}");

    hash_name(STR("p"), pool_hash);
    return fixture_put(
        f, KUBE_SANDBOX,
        "{'metadata':{'name':'%s','labels':{'agents.x-k8s.io/warm-pool-sandbox':'%s',"
        "'agents.x-k8s.io/sandbox-template-ref-hash':'%s','agents.x-k8s.io/sandbox-template-hash':"
        "'%s','agents.x-k8s.io/sandbox-pod-template-hash':'%s','agents.x-k8s.io/launch-type':"
        "'warm','agents.x-k8s.io/created-by':'controller'},'annotations':{"
        "'agents.x-k8s.io/sandbox-template-ref':'t','agents.x-k8s.io/pod-name':'%s'},"
        "'ownerReferences':[{'apiVersion':'extensions.agents.x-k8s.io/v1beta1','kind':"
        "'SandboxWarmPool','name':'p','uid':'uid-p','controller':true,'blockOwnerDeletion':true}]"
        "},'spec':%s,'status':%s}",
        name, pool_hash, facts->ref_hash, facts->hash, facts->pod_hash, name, blueprint, status);
}

void fixture_confirmed(Fixture *f, KubeKindId kind, const char *name)
{
    const KubeObj *obj = view_get(&f->view, kind, STR("a"), str_from(name));

    T_CHECK(obj);
    facts_add_read(&f->facts, kind, STR("a"), str_from(name), obj);
}
