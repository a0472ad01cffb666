/* SPDX-License-Identifier: Apache-2.0 */
/* Environment and volume claims of a claim, put into a template's blueprint. */
#include "controller/claim/env.h"
#include "controller/claim/volumes.h"
#include "test/harness/t.h"

static json_t *parse(const char *text)
{
    json_t *value = NULL;

    T_OK(jx_parse(str_from(text), 1 << 20, &value, NULL));
    return value;
}

#define POD                                                                                        \
    "{\"containers\":[{\"name\":\"a\",\"env\":[{\"name\":\"X\",\"valueFrom\":{}}]},"               \
    "{\"name\":\"b\"},{\"name\":\"f\",\"envFrom\":[{}]}],\"initContainers\":[{\"name\":\"i\"}]}"

typedef struct EnvRow {
    const char *label, *policy, *env;
    const char *container; /* whose env is looked at */
    const char *want;      /* env of it; NULL = a fault */
    const char *reason, *message;
} EnvRow;

static const EnvRow env_rows[] = {
    {"nothing asked", "", "[]", "a", "[{\"name\":\"X\",\"valueFrom\":{}}]", NULL, NULL},
    {"no policy", "", "[{\"name\":\"A\",\"value\":\"1\"}]", "a", NULL, REASON_ENV_REJECTED,
     "environment variable injection rejected: the template does not allow environment variables "
     "from a claim"},
    {"disallowed", "Disallowed", "[{\"name\":\"A\",\"value\":\"1\"}]", "a", NULL,
     REASON_ENV_REJECTED,
     "environment variable injection rejected: the template does not allow environment variables "
     "from a claim"},
    {"appended in order", "Allowed",
     "[{\"name\":\"B\",\"value\":\"2\"},{\"name\":\"A\",\"value\":\"\"}]", "a",
     "[{\"name\":\"X\",\"valueFrom\":{}},{\"name\":\"B\",\"value\":\"2\"},{\"name\":\"A\","
     "\"value\":\"\"}]",
     NULL, NULL},
    {"named entries first", "Allowed",
     "[{\"name\":\"B\",\"value\":\"2\"},{\"containerName\":\"a\",\"name\":\"A\",\"value\":\"1\"}]",
     "a",
     "[{\"name\":\"X\",\"valueFrom\":{}},{\"name\":\"A\",\"value\":\"1\"},{\"name\":\"B\","
     "\"value\":\"2\"}]",
     NULL, NULL},
    {"another container", "Allowed", "[{\"containerName\":\"b\",\"name\":\"A\",\"value\":\"1\"}]",
     "b", "[{\"name\":\"A\",\"value\":\"1\"}]", NULL, NULL},
    {"override refused", "Allowed", "[{\"name\":\"X\",\"value\":\"1\"}]", "a", NULL,
     REASON_RECONCILER_ERROR,
     "Error seen: environment variable override is not allowed by the template policy for variable "
     "\"X\""},
    {"override", "Overrides", "[{\"name\":\"X\",\"value\":\"1\"}]", "a",
     "[{\"name\":\"X\",\"value\":\"1\"}]", NULL, NULL},
    {"twice under Allowed", "Allowed",
     "[{\"name\":\"A\",\"value\":\"1\"},{\"name\":\"A\",\"value\":\"2\"}]", "a", NULL,
     REASON_RECONCILER_ERROR,
     "Error seen: environment variable override is not allowed by the template policy for variable "
     "\"A\""},
    {"twice under Overrides", "Overrides",
     "[{\"name\":\"A\",\"value\":\"1\"},{\"name\":\"A\",\"value\":\"2\"}]", "a",
     "[{\"name\":\"X\",\"valueFrom\":{}},{\"name\":\"A\",\"value\":\"2\"}]", NULL, NULL},
    {"envFrom under Allowed", "Allowed",
     "[{\"containerName\":\"f\",\"name\":\"A\",\"value\":\"1\"}]", "f", NULL, REASON_ENV_REJECTED,
     "environment variable injection rejected: container \"f\" uses envFrom, and the template "
     "policy does not allow overrides"},
    {"envFrom under Overrides", "Overrides",
     "[{\"containerName\":\"f\",\"name\":\"A\",\"value\":\"1\"}]", "f",
     "[{\"name\":\"A\",\"value\":\"1\"}]", NULL, NULL},
    {"unknown container", "Overrides", "[{\"containerName\":\"z\",\"name\":\"A\",\"value\":\"1\"}]",
     "a", NULL, REASON_RECONCILER_ERROR,
     "Error seen: container \"z\" of environment variable \"A\" is not in the template"},
};

static const json_t *container_named(const json_t *pod, const char *name)
{
    const json_t *list = json_object_get(pod, "containers");

    for (size_t i = 0; i < json_array_size(list); i++) {
        if (str_eq(jx_get_str(json_array_get(list, i), "name"), str_from(name))) {
            return json_array_get(list, i);
        }
    }
    return NULL;
}

T_TEST(env_injection_follows_the_policy)
{
    AUTO(arena) Arena arena;

    arena_init(&arena, 0);
    for (size_t i = 0; i < ARRAY_LEN(env_rows); i++) {
        const EnvRow *row = &env_rows[i];
        AUTO(json) json_t *pod = parse(POD);
        AUTO(json) json_t *env = parse(row->env);
        ClaimFault fault = {0};
        int r;

        t_row(row->label);
        r = claim_env_inject(pod, env, str_from(row->policy), &arena, &fault);
        T_EQ_INT(r, row->want ? 0 : CLAIM_E_FAULT);
        if (row->want) {
            AUTO(mem)
            char *got =
                jx_dump_sorted(json_object_get(container_named(pod, row->container), "env"));

            T_EQ_STR(got, row->want);
        } else {
            T_EQ_STR(fault.reason, row->reason);
            T_EQ_STR(fault.message, row->message);
        }
    }
}

T_TEST(env_reaches_init_containers_but_only_by_name)
{
    AUTO(arena) Arena arena;
    AUTO(json) json_t *pod = parse(POD);
    AUTO(json) json_t *env = parse("[{\"containerName\":\"i\",\"name\":\"A\",\"value\":\"1\"}]");
    ClaimFault fault = {0};
    AUTO(mem) char *got = NULL;

    arena_init(&arena, 0);
    T_OK(claim_env_inject(pod, env, STR("Allowed"), &arena, &fault));
    got = jx_dump_sorted(json_object_get(pod, "initContainers"));
    T_EQ_STR(got, "[{\"env\":[{\"name\":\"A\",\"value\":\"1\"}],\"name\":\"i\"}]");
}

T_TEST(env_for_a_pod_without_containers_is_a_fault)
{
    AUTO(arena) Arena arena;
    AUTO(json) json_t *pod = parse("{}");
    AUTO(json) json_t *env = parse("[{\"name\":\"A\",\"value\":\"1\"}]");
    ClaimFault fault = {0};

    arena_init(&arena, 0);
    T_EQ_INT(claim_env_inject(pod, env, STR("Allowed"), &arena, &fault), CLAIM_E_FAULT);
    T_EQ_STR(fault.reason, REASON_RECONCILER_ERROR);
}

#define VCT(name, size)                                                                            \
    "{\"metadata\":{\"name\":\"" name "\"},\"spec\":{\"storageClassName\":\"" size "\"}}"

T_TEST(volume_claims_follow_the_policy)
{
    static const struct {
        const char *label, *policy, *template, *claim, *want, *message;
    } rows[] = {
        {"none, none", "", "[]", "[]", "[]", NULL},
        {"template's alone", "", "[" VCT("a", "1") "]", "[]", "[" VCT("a", "1") "]", NULL},
        {"disallowed", "Disallowed", "[]", "[" VCT("a", "1") "]", NULL,
         "failed to merge volume claim templates: the template does not allow volume claim "
         "templates from a claim"},
        {"no policy", "", "[]", "[" VCT("a", "1") "]", NULL,
         "failed to merge volume claim templates: the template does not allow volume claim "
         "templates from a claim"},
        {"allowed, appended", "Allowed", "[" VCT("a", "1") "]", "[" VCT("b", "2") "]",
         "[" VCT("a", "1") "," VCT("b", "2") "]", NULL},
        {"allowed, overlap", "Allowed", "[" VCT("a", "1") "]", "[" VCT("a", "2") "]", NULL,
         "failed to merge volume claim templates: \"a\" overrides the template's, which its policy "
         "does not allow"},
        {"overrides, in place", "Overrides", "[" VCT("a", "1") "," VCT("b", "1") "]",
         "[" VCT("c", "3") "," VCT("a", "2") "]",
         "[" VCT("a", "2") "," VCT("b", "1") "," VCT("c", "3") "]", NULL},
        {"claim: empty name", "Allowed", "[]", "[" VCT("", "1") "]", NULL,
         "failed to merge volume claim templates: entry 0 has no name"},
        {"claim: twice", "Allowed", "[]", "[" VCT("a", "1") "," VCT("a", "2") "]", NULL,
         "failed to merge volume claim templates: name \"a\" is used twice"},
        {"template: empty name", "", "[{\"spec\":{}}]", "[]", NULL,
         "invalid volume claim templates in template: entry 0 has no name"},
        {"template: twice", "Allowed", "[" VCT("a", "1") "," VCT("a", "2") "]", "[]", NULL,
         "invalid volume claim templates in template: name \"a\" is used twice"},
    };
    AUTO(arena) Arena arena;

    arena_init(&arena, 0);
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        AUTO(json) json_t *blueprint = jx_object_new();
        AUTO(json) json_t *claims = parse(rows[i].claim);
        ClaimFault fault = {0};
        AUTO(mem) char *got = NULL;
        int r;

        t_row(rows[i].label);
        jx_set(blueprint, "volumeClaimTemplates", parse(rows[i].template));
        r = claim_volumes_merge(blueprint, claims, str_from(rows[i].policy), &arena, &fault);
        T_EQ_INT(r, rows[i].want ? 0 : CLAIM_E_FAULT);
        got = jx_dump_compact(json_object_get(blueprint, "volumeClaimTemplates"));
        T_EQ_STR(got, rows[i].want ? rows[i].want : rows[i].template);
        if (!rows[i].want) {
            T_EQ_STR(fault.reason, REASON_VCT_ERROR);
            T_EQ_STR(fault.message, rows[i].message);
        }
    }
}

T_TEST(too_many_volume_claims_are_refused)
{
    AUTO(arena) Arena arena;
    AUTO(json) json_t *blueprint = jx_object_new();
    AUTO(json) json_t *claims = jx_array_new();
    ClaimFault fault = {0};

    arena_init(&arena, 0);
    for (int i = 0; i < 257; i++) {
        json_t *entry = jx_object_new();

        jx_set_path(entry, jx_stringf_new("v%d", i), "metadata", "name");
        jx_append(claims, entry);
    }
    T_EQ_INT(claim_volumes_merge(blueprint, claims, STR("Allowed"), &arena, &fault), CLAIM_E_FAULT);
    T_EQ_STR(fault.message, "failed to merge volume claim templates: more than 256 entries");
}
