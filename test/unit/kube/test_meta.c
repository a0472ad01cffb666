/* SPDX-License-Identifier: Apache-2.0 */
#include "base/clock.h"
#include "base/mem.h"
#include "kube/meta.h"
#include "test/harness/t.h"

#define A63 "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"

T_TEST(meta_names)
{
    static const struct {
        const char *text;
        bool label, service, subdomain, qualified, value;
    } ROWS[] = {
        {"a", true, true, true, true, true},
        {"a-b", true, true, true, true, true},
        {"1a", true, false, true, true, true},
        {"a.b", false, false, true, true, true},
        {"a..b", false, false, false, true, true},
        {"a.-b", false, false, false, true, true},
        {"a-.b", false, false, false, true, true},
        {"", false, false, false, false, true},
        {"-a", false, false, false, false, false},
        {"a-", false, false, false, false, false},
        {".a", false, false, false, false, false},
        {"a.", false, false, false, false, false},
        {"A", false, false, false, true, true},
        {"a_b", false, false, false, true, true},
        {"x.y/z", false, false, false, true, false},
        {"X/z", false, false, false, false, false},
        {"x/", false, false, false, false, false},
        {"/z", false, false, false, false, false},
        {"x/y/z", false, false, false, false, false},
        {"a b", false, false, false, false, false},
        {"\xc3\xa9", false, false, false, false, false},
        {A63, true, true, true, true, true},
        {A63 "a", false, false, true, false, false},
        {"x/" A63, false, false, false, true, false},
        {"x/" A63 "a", false, false, false, false, false},
        {A63 "." A63 "." A63 "." A63 "", false, false, false, false, false},
    };

    for (size_t i = 0; i < ARRAY_LEN(ROWS); i++) {
        Str s = str_from(ROWS[i].text);

        t_row(ROWS[i].text);
        T_EQ_INT(kube_name_is_label(s), ROWS[i].label);
        T_EQ_INT(kube_name_is_service(s), ROWS[i].service);
        T_EQ_INT(kube_name_is_subdomain(s), ROWS[i].subdomain);
        T_EQ_INT(kube_name_is_qualified(s), ROWS[i].qualified);
        T_EQ_INT(kube_label_value_is_valid(s), ROWS[i].value);
    }
}

static void check_json(const json_t *value, const char *want)
{
    AUTO(mem) char *text = jx_dump_sorted(value);

    T_EQ_STR(text, want);
}

T_TEST(meta_builders)
{
    AUTO(kube_obj) KubeObj *owner = NULL;
    AUTO(json) json_t *object = NULL;

    T_OK(kube_obj_from_text(kube_kind(KUBE_SANDBOX),
                            STR("{\"apiVersion\":\"agents.x-k8s.io/v1alpha1\",\"metadata\":{"
                                "\"name\":\"s\",\"namespace\":\"n\",\"uid\":\"u\"}}"),
                            &owner, NULL));
    object = kube_meta_new(kube_kind(KUBE_POD), STR("n"), STR("p"));
    kube_meta_set_owner(object, owner);
    kube_meta_set_label(object, "l", STR("1"));
    kube_meta_set_annotation(object, "a", STR("2"));
    check_json(
        object,
        "{\"apiVersion\":\"v1\",\"kind\":\"Pod\",\"metadata\":{\"annotations\":{\"a\":\"2\"},"
        "\"labels\":{\"l\":\"1\"},\"name\":\"p\",\"namespace\":\"n\",\"ownerReferences\":[{"
        "\"apiVersion\":\"agents.x-k8s.io/v1beta1\",\"blockOwnerDeletion\":true,"
        "\"controller\":true,\"kind\":\"Sandbox\",\"name\":\"s\",\"uid\":\"u\"}]}}");
}

T_TEST(meta_conditions_move_time_only_with_status)
{
    AUTO(json) json_t *conditions = jx_array_new();
    KubeCondition ready = {"Ready", "False", "Starting", {"wait", 4}, 1};
    int64_t t0 = 1796072400ll * (int64_t)NS_PER_S + 999;

    T_CHECK(kube_condition_set(conditions, &ready, t0));
    T_CHECK(!kube_condition_set(conditions, &ready, t0 + 5 * (int64_t)NS_PER_S));
    ready.reason = "Pulling";
    ready.observed_generation = 2;
    T_CHECK(kube_condition_set(conditions, &ready, t0 + 5 * (int64_t)NS_PER_S));
    check_json(conditions, "[{\"lastTransitionTime\":\"2026-11-30T21:00:00Z\",\"message\":\"wait\","
                           "\"observedGeneration\":2,\"reason\":\"Pulling\",\"status\":\"False\","
                           "\"type\":\"Ready\"}]");
    ready.status = "True";
    ready.message = STR_NULL;
    ready.observed_generation = 0;
    T_CHECK(kube_condition_set(conditions, &ready, t0 + 5 * (int64_t)NS_PER_S));
    check_json(conditions, "[{\"lastTransitionTime\":\"2026-11-30T21:00:05Z\",\"message\":\"\","
                           "\"reason\":\"Pulling\",\"status\":\"True\",\"type\":\"Ready\"}]");
    T_CHECK(kube_condition_set(conditions, &(KubeCondition){"Finished", "True", "Done", {"", 0}, 0},
                               t0));
    T_EQ_INT(json_array_size(conditions), 2);
    T_EQ_STR(jx_get_str(json_array_get(conditions, 1), "type"), "Finished");
    T_CHECK(kube_condition_find(conditions, "Finished"));
    T_CHECK(kube_condition_remove(conditions, "Ready"));
    T_CHECK(!kube_condition_remove(conditions, "Ready"));
    T_CHECK(!kube_condition_find(conditions, "Ready"));
}

T_TEST(meta_patches)
{
    AUTO(json) json_t *patch = NULL;

    kube_patch_require_rv(&patch, STR("7"));
    kube_patch_label(&patch, "a", STR("b"));
    kube_patch_label(&patch, "c", STR_NULL);
    kube_patch_annotation(&patch, "d", STR(""));
    check_json(patch, "{\"metadata\":{\"annotations\":{\"d\":\"\"},\"labels\":{\"a\":\"b\","
                      "\"c\":null},\"resourceVersion\":\"7\"}}");
}
