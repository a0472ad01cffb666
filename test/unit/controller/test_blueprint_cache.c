/* SPDX-License-Identifier: Apache-2.0 */
/* Found by the simulator: what was said of a member that somebody had edited was said of all. */
#include "test/harness/t.h"
#include "test/unit/controller/fixture.h"

/* A member as template t makes it, under an old hash; edited: with a Service added by hand. */
static const KubeObj *member_of(Fixture *f, const KubeObj *template, const char *name,
                                int generation, bool edited)
{
    const TemplateFacts *facts = template_cache_get(pools_templates(f->pools), template);
    AUTO(json) json_t *spec = jx_dup(facts->blueprint);
    AUTO(mem) char *text = NULL;
    AUTO(strbuf) StrBuf body = STRBUF_INIT(8192);

    if (edited) {
        jx_set_bool(spec, "service", true);
    }
    text = jx_dump_compact(spec);
    (void)strbuf_printf(&body,
                        "{\"metadata\":{\"name\":\"%s\",\"generation\":%d,\"labels\":{"
                        "\"agents.x-k8s.io/sandbox-template-hash\":\"0badcafe\","
                        "\"agents.x-k8s.io/sandbox-template-ref-hash\":\"%s\"}},\"spec\":%s}",
                        name, generation, facts->ref_hash, text);
    return fixture_put(f, KUBE_SANDBOX, "%s", strbuf_str(&body).ptr);
}

T_TEST(an_edited_member_is_judged_alone)
{
    AUTO(fixture) Fixture f;
    TemplateCache *cache;
    const KubeObj *template;
    const KubeObj *edited;
    const KubeObj *plain;

    fixture_init(&f);
    fixture_pool(&f, 0, "Recreate");
    cache = pools_templates(f.pools);
    template = view_get(&f.view, KUBE_TEMPLATE, STR("a"), STR("t"));
    edited = member_of(&f, template, "edited", 2, true);
    plain = member_of(&f, template, "plain", 1, false);
    T_CHECK(template_cache_is_stale(cache, template, edited));
    T_CHECK(!template_cache_is_stale(cache, template, plain));
    T_CHECK(template_cache_is_stale(cache, template, edited));
}

/* Found by the simulator: after a restore from a backup a generation comes again with another spec.
 */
T_TEST(a_template_older_than_the_last_one_is_looked_at_anew)
{
    AUTO(fixture) Fixture f;
    TemplateCache *cache;
    AUTO(kube_obj) KubeObj *later = NULL;
    const KubeObj *template;

    fixture_init(&f);
    fixture_pool(&f, 0, "Recreate");
    cache = pools_templates(f.pools);
    template = view_get(&f.view, KUBE_TEMPLATE, STR("a"), STR("t"));
    T_OK(kube_obj_from_text(
        kube_kind(KUBE_TEMPLATE),
        STR("{\"metadata\":{\"name\":\"t\",\"namespace\":\"a\",\"uid\":\"uid-t\","
            "\"generation\":1,\"resourceVersion\":\"900000\"},\"spec\":{"
            "\"networkPolicyManagement\":\"Unmanaged\"}}"),
        &later, NULL));
    T_EQ_STR(template->uid, later->uid);
    T_EQ_INT(kube_obj_generation(template), kube_obj_generation(later));
    T_CHECK(!template_cache_get(cache, later)->policy_managed);
    T_CHECK(template_cache_get(cache, template)->policy_managed);
}
