/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Golden pairs of what pools and cold claims create. Words in capitals in the files stand for
 * hashes, which the test puts in.
 */
#include "base/mem.h"
#include "controller/claim/adopt.h"
#include "controller/keys.h"
#include "controller/warmpool/member.h"
#include "test/harness/t.h"
#include "test/unit/controller/golden.h"

static KubeObj *object(KubeKindId kind, const char *text)
{
    KubeObj *obj = NULL;

    T_OK(kube_obj_from_text(kube_kind(kind), str_from(text), &obj, NULL));
    return obj;
}

static void put_label(json_t *want, const char *key, const char *word, const char *hash)
{
    json_t *labels = jx_get(want, "metadata", "labels");

    if (str_eq(jx_get_str(labels, key), str_from(word))) {
        jx_set_str(labels, key, str_from(hash));
    }
    labels = jx_get(want, "spec", "podTemplate", "metadata", "labels");
    if (str_eq(jx_get_str(labels, key), str_from(word))) {
        jx_set_str(labels, key, str_from(hash));
    }
}

static void put_hashes(json_t *want, const TemplateFacts *facts)
{
    char pool[HASH_HEX_SIZE];

    hash_name(STR("pool"), pool);
    put_label(want, LABEL_TEMPLATE_HASH, "HASH", facts->hash);
    put_label(want, LABEL_POD_TEMPLATE_HASH, "PODHASH", facts->pod_hash);
    put_label(want, LABEL_TEMPLATE_REF_HASH, "REFHASH", facts->ref_hash);
    put_label(want, LABEL_WARM_POOL_SANDBOX, "POOLHASH", pool);
}

T_TEST(pool_member_golden)
{
    static const char *const names[] = {"plain", "whole"};

    for (size_t i = 0; i < ARRAY_LEN(names); i++) {
        AUTO(template_cache) TemplateCache *cache = template_cache_new();
        AUTO(kube_obj)
        KubeObj *pool =
            object(KUBE_WARMPOOL, "{\"metadata\":{\"name\":\"pool\",\"namespace\":\"a\",\"uid\":"
                                  "\"uid-p\"},\"spec\":{}}");
        AUTO(kube_obj) KubeObj *template = NULL;
        AUTO(json) json_t *want = NULL;
        AUTO(json) json_t *got = NULL;
        const TemplateFacts *facts;

        golden_load("pool-member", names[i], KUBE_TEMPLATE, &template, &want);
        facts = template_cache_get(cache, template);
        put_hashes(want, facts);
        got = member_build(pool, template, facts, STR("pool-x"));
        golden_check(names[i], got, want);
    }
}

T_TEST(cold_claim_golden)
{
    static const char text[] =
        "{\"metadata\":{\"name\":\"storage\",\"namespace\":\"a\",\"uid\":\"uid-t\"},\"spec\":{"
        "\"service\":true,\"envVarsInjectionPolicy\":\"Allowed\",\"volumeClaimTemplatesPolicy\":"
        "\"Allowed\",\"podTemplate\":{\"metadata\":{\"labels\":{\"app\":\"demo\"}},\"spec\":{"
        "\"containers\":[{\"name\":\"main\",\"image\":\"localhost/python:1\"},{\"name\":\"side\","
        "\"image\":\"localhost/side:1\"}]}},\"volumeClaimTemplates\":[{\"metadata\":{\"name\":"
        "\"data\"},\"spec\":{\"accessModes\":[\"ReadWriteOnce\"],\"resources\":{\"requests\":{"
        "\"storage\":\"1Gi\"}}}}]}}";
    AUTO(template_cache) TemplateCache *cache = template_cache_new();
    AUTO(kube_obj) KubeObj *template = object(KUBE_TEMPLATE, text);
    AUTO(kube_obj) KubeObj *claim = NULL;
    AUTO(json) json_t *want = NULL;
    AUTO(json) json_t *got = NULL;
    AUTO(arena) Arena arena;
    const TemplateFacts *facts;
    ClaimFault fault = {0};

    arena_init(&arena, 0);
    golden_load("claim-cold", "whole", KUBE_CLAIM, &claim, &want);
    facts = template_cache_get(cache, template);
    put_hashes(want, facts);
    T_OK(claim_sandbox_build(claim, template, facts, &arena, &got, &fault));
    golden_check("whole", got, want);
}

/* The hash is on objects in clusters: a change of its text rolls every pool on upgrade. */
T_TEST(the_template_hash_never_changes)
{
    AUTO(template_cache) TemplateCache *cache = template_cache_new();
    AUTO(kube_obj) KubeObj *template = NULL;
    AUTO(json) json_t *want = NULL;

    golden_load("pool-member", "plain", KUBE_TEMPLATE, &template, &want);
    T_EQ_STR(template_cache_get(cache, template)->hash, "d5c4dc69");
}
