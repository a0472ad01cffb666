/* SPDX-License-Identifier: Apache-2.0 */
/* What a claim may add to a Pod's metadata, and how it is merged. */
#include "controller/blueprint/podmeta.h"
#include "test/harness/t.h"

static json_t *parse(const char *text)
{
    json_t *value = NULL;

    T_OK(jx_parse(str_from(text), 1 << 20, &value, NULL));
    return value;
}

#define V63 "a23456789012345678901234567890123456789012345678901234567890123"

T_TEST(additional_metadata_is_checked_key_by_key)
{
    static const char *const domains[] = {"sandbox.users.io", "corp.example"};
    static const struct {
        const char *label, *metadata, *want; /* want NULL = allowed */
    } rows[] = {
        {"nothing", "{}", NULL},
        {"empty maps", "{\"labels\":{},\"annotations\":{}}", NULL},
        {"allowed domain", "{\"labels\":{\"sandbox.users.io/team\":\"red\"}}", NULL},
        {"sub-domain", "{\"labels\":{\"a.b.corp.example/team\":\"red\"}}", NULL},
        {"domain in upper case is no qualified name", "{\"labels\":{\"Corp.example/team\":\"x\"}}",
         "label key \"Corp.example/team\" is not valid"},
        {"suffix that is no sub-domain", "{\"labels\":{\"evilcorp.example/team\":\"red\"}}",
         "label domain \"evilcorp.example\" of \"evilcorp.example/team\" is not in the allow-list"},
        {"no prefix", "{\"labels\":{\"team\":\"red\"}}",
         "label key \"team\" must have a domain prefix"},
        {"router's label", "{\"labels\":{\"app\":\"Sandbox-Router\"}}",
         "label \"app\" may not be \"Sandbox-Router\""},
        {"reserved domain", "{\"labels\":{\"agents.x-k8s.io/claim-uid\":\"u\"}}",
         "label domain \"agents.x-k8s.io\" of \"agents.x-k8s.io/claim-uid\" is not in the "
         "allow-list"},
        {"value of 63", "{\"labels\":{\"corp.example/a\":\"" V63 "\"}}", NULL},
        {"value of 64", "{\"labels\":{\"corp.example/a\":\"" V63 "4\"}}",
         "value of label \"corp.example/a\" is not valid"},
        {"value with a space", "{\"labels\":{\"corp.example/a\":\"x y\"}}",
         "value of label \"corp.example/a\" is not valid"},
        {"not a string", "{\"labels\":{\"corp.example/a\":1}}", "labels must be a map of strings"},
        {"not a map", "{\"labels\":[]}", "labels must be a map of strings"},
        {"smallest bad key is named", "{\"labels\":{\"zz\":\"\",\"aa\":\"\",\"mm\":\"\"}}",
         "label key \"aa\" must have a domain prefix"},
        {"plain annotation", "{\"annotations\":{\"note\":\"anything goes here\"}}", NULL},
        {"foreign annotation domain", "{\"annotations\":{\"x.example/note\":\"\"}}", NULL},
        {"safe-to-evict",
         "{\"annotations\":{\"cluster-autoscaler.kubernetes.io/safe-to-evict\":\"false\"}}", NULL},
        {"kubernetes domain",
         "{\"annotations\":{\"seccomp.security.alpha.kubernetes.io/p\":\"u\"}}",
         "annotation domain \"seccomp.security.alpha.kubernetes.io\" of "
         "\"seccomp.security.alpha.kubernetes.io/p\" is reserved"},
        {"k8s domain", "{\"annotations\":{\"k8s.io/x\":\"\"}}",
         "annotation domain \"k8s.io\" of \"k8s.io/x\" is reserved"},
        {"our domain", "{\"annotations\":{\"extensions.agents.x-k8s.io/x\":\"\"}}",
         "annotation domain \"extensions.agents.x-k8s.io\" of \"extensions.agents.x-k8s.io/x\" is "
         "reserved"},
        {"bad annotation key", "{\"annotations\":{\"a b\":\"\"}}",
         "annotation key \"a b\" is not valid"},
    };
    AUTO(arena) Arena arena;

    arena_init(&arena, 0);
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        AUTO(json) json_t *metadata = parse(rows[i].metadata);
        const char *text = NULL;
        int r;

        t_row(rows[i].label);
        r = podmeta_validate(metadata, domains, ARRAY_LEN(domains), &arena, &text);
        T_EQ_INT(r, rows[i].want ? PODMETA_E_INVALID : 0);
        T_EQ_STR(text ? text : "", rows[i].want ? rows[i].want : "");
    }
}

T_TEST(no_additional_metadata_is_fine)
{
    AUTO(arena) Arena arena;
    const char *text = NULL;

    arena_init(&arena, 0);
    T_OK(podmeta_validate(NULL, NULL, 0, &arena, &text));
    T_CHECK(!text);
}

T_TEST(merge_adds_and_names_the_first_conflict)
{
    static const struct {
        const char *label, *base, *add, *want, *text;
    } rows[] = {
        {"into nothing", "{}", "{\"labels\":{\"a/b\":\"c\"}}", "{\"labels\":{\"a/b\":\"c\"}}", ""},
        {"same value", "{\"labels\":{\"a\":\"1\"}}", "{\"labels\":{\"a\":\"1\"}}",
         "{\"labels\":{\"a\":\"1\"}}", ""},
        {"both maps", "{\"labels\":{\"a\":\"1\"}}", "{\"annotations\":{\"x\":\"y\"}}",
         "{\"annotations\":{\"x\":\"y\"},\"labels\":{\"a\":\"1\"}}", ""},
        {"empty adds nothing", "{\"labels\":{\"a\":\"1\"}}", "{\"labels\":{},\"annotations\":{}}",
         "{\"labels\":{\"a\":\"1\"}}", ""},
        {"conflict changes nothing", "{\"labels\":{\"m\":\"1\",\"b\":\"1\"}}",
         "{\"labels\":{\"n\":\"3\",\"m\":\"2\",\"b\":\"2\"}}",
         "{\"labels\":{\"b\":\"1\",\"m\":\"1\"}}", "label \"b\" is already set by the template"},
        {"annotation conflict after good labels", "{\"annotations\":{\"x\":\"1\"}}",
         "{\"labels\":{\"n\":\"3\"},\"annotations\":{\"x\":\"2\"}}",
         "{\"annotations\":{\"x\":\"1\"}}", "annotation \"x\" is already set by the template"},
    };
    AUTO(arena) Arena arena;

    arena_init(&arena, 0);
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        AUTO(json) json_t *base = parse(rows[i].base);
        AUTO(json) json_t *add = parse(rows[i].add);
        const char *text = "";
        AUTO(mem) char *got = NULL;
        int r;

        t_row(rows[i].label);
        r = podmeta_merge(base, add, &arena, &text);
        T_EQ_INT(r, rows[i].text[0] ? PODMETA_E_CONFLICT : 0);
        T_EQ_STR(text, rows[i].text);
        got = jx_dump_sorted(base);
        T_EQ_STR(got, rows[i].want);
    }
}

T_TEST(pods_are_equal_when_their_own_keys_are)
{
    static const struct {
        const char *label, *a, *b;
        bool equal;
    } rows[] = {
        {"both empty", "{}", "{\"labels\":{},\"annotations\":null}", true},
        {"reserved keys do not count", "{\"labels\":{\"agents.x-k8s.io/claim-uid\":\"1\"}}", "{}",
         true},
        {"trace context does not count",
         "{\"annotations\":{\"opentelemetry.io/trace-context\":\"1\"}}", "{}", true},
        {"value", "{\"labels\":{\"a\":\"1\"}}", "{\"labels\":{\"a\":\"2\"}}", false},
        {"empty value is not absence", "{\"labels\":{\"a\":\"\"}}", "{}", false},
        {"one more on the right", "{}", "{\"annotations\":{\"x\":\"1\"}}", false},
    };

    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        AUTO(json) json_t *a = parse(rows[i].a);
        AUTO(json) json_t *b = parse(rows[i].b);

        t_row(rows[i].label);
        T_EQ_INT(podmeta_pod_equal(a, b), rows[i].equal);
        T_EQ_INT(podmeta_pod_equal(b, a), rows[i].equal);
    }
}
