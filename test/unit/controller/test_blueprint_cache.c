/* SPDX-License-Identifier: Apache-2.0 */
/* Facts of templates, computed once per generation, and their limits. */
#include "controller/blueprint/cache.h"

#include <stdio.h>

#include "controller/keys.h"
#include "test/harness/t.h"
#include "test/unit/controller/fixture.h"

static const KubeObj *template(Fixture *f, const char *name, int generation, const char *image)
{
    return fixture_put(f, KUBE_TEMPLATE,
                       "{'metadata':{'name':'%s','generation':%d},'spec':{'podTemplate':{'spec':"
                       "{'containers':[{'name':'c','image':'%s'}]}}}}",
                       name, generation, image);
}

T_TEST(facts_follow_the_generation)
{
    AUTO(fixture) Fixture f;
    AUTO(template_cache) TemplateCache *cache = template_cache_new();
    char first[HASH_HEX_SIZE];

    fixture_init(&f);
    memcpy(first, template_cache_get(cache, template(&f, "t", 1, "i:1"))->hash, sizeof(first));
    T_EQ_STR(template_cache_get(cache, template(&f, "t", 1, "i:1"))->hash, first);
    T_CHECK(strcmp(template_cache_get(cache, template(&f, "t", 2, "i:2"))->hash, first) != 0);
    T_EQ_STR(template_cache_get(cache, template(&f, "t", 3, "i:1"))->hash, first);
}

T_TEST(a_template_without_spec_has_facts)
{
    AUTO(fixture) Fixture f;
    AUTO(template_cache) TemplateCache *cache = template_cache_new();
    const KubeObj *bare;

    fixture_init(&f);
    bare = fixture_put(&f, KUBE_TEMPLATE, "{'metadata':{'name':'t'}}");
    T_CHECK(json_is_object(jx_get(template_cache_get(cache, bare)->blueprint, "podTemplate")));
}

T_TEST(the_oldest_template_is_forgotten_first)
{
    AUTO(fixture) Fixture f;
    AUTO(template_cache) TemplateCache *cache = template_cache_new();
    char name[16];
    const json_t *kept = NULL;

    fixture_init(&f);
    for (int i = 0; i <= TEMPLATES_MAX; i++) {
        (void)snprintf(name, sizeof(name), "t%d", i);
        (void)template_cache_get(cache, template(&f, name, 1, "i"));
        if (i == 1) {
            kept = template_cache_get(cache, template(&f, "t1", 1, "i"))->spec;
        }
    }
    T_EQ_INT(template_cache_len(cache), TEMPLATES_MAX);
    T_CHECK(template_cache_get(cache, template(&f, "t1", 1, "i"))->spec == kept);
    T_EQ_INT(template_cache_len(cache), TEMPLATES_MAX);
}

static const KubeObj *member(Fixture *f, const char *name, const char *ref, const char *hash,
                             const char *image)
{
    return fixture_put(f, KUBE_SANDBOX,
                       "{'metadata':{'name':'%s','labels':{"
                       "'agents.x-k8s.io/sandbox-template-ref-hash':'%s',"
                       "'agents.x-k8s.io/sandbox-template-hash':'%s'}},'spec':{'podTemplate':"
                       "{'spec':{'automountServiceAccountToken':false,'dnsPolicy':'None',"
                       "'dnsConfig':{'nameservers':['8.8.8.8','1.1.1.1']},'containers':"
                       "[{'name':'c','image':'%s'}]}}}}",
                       name, ref, hash, image);
}

T_TEST(staleness_is_told_by_labels_then_by_content)
{
    AUTO(fixture) Fixture f;
    AUTO(template_cache) TemplateCache *cache = template_cache_new();
    const KubeObj *t;
    TemplateFacts facts;

    fixture_init(&f);
    t = template(&f, "t", 1, "i:1");
    facts = *template_cache_get(cache, t);
    T_CHECK(!template_cache_is_stale(cache, t, member(&f, "a", facts.ref_hash, facts.hash, "x")));
    T_CHECK(template_cache_is_stale(cache, t, member(&f, "b", "ffffffff", facts.hash, "i:1")));
    /* Another controller's hash of the same thing, and of another. */
    T_CHECK(!template_cache_is_stale(cache, t, member(&f, "c", facts.ref_hash, "12345678", "i:1")));
    T_CHECK(template_cache_is_stale(cache, t, member(&f, "d", facts.ref_hash, "87654321", "i:2")));
    T_CHECK(!template_cache_is_stale(cache, t, member(&f, "e", facts.ref_hash, "", "i:1")));
    T_CHECK(template_cache_is_stale(cache, t, member(&f, "e", facts.ref_hash, "odd", "i:2")));
    /* What was decided for a hash holds for all who carry it. */
    T_CHECK(!template_cache_is_stale(cache, t, member(&f, "g", facts.ref_hash, "12345678", "x")));
}

T_TEST(verdicts_beyond_the_limit_are_made_anew)
{
    AUTO(fixture) Fixture f;
    AUTO(template_cache) TemplateCache *cache = template_cache_new();
    const KubeObj *t;
    char hash[HASH_HEX_SIZE];

    fixture_init(&f);
    t = template(&f, "t", 1, "i:1");
    for (unsigned i = 0; i < TEMPLATE_VERDICTS_MAX + 10; i++) {
        (void)snprintf(hash, sizeof(hash), "%08x", i);
        T_EQ_INT(template_cache_is_stale(cache, t,
                                         member(&f, "m", template_cache_get(cache, t)->ref_hash,
                                                hash, i % 2 ? "i:1" : "i:2")),
                 i % 2 == 0);
    }
}
