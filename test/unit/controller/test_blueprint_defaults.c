/* SPDX-License-Identifier: Apache-2.0 */
/* Blueprint copy, secure defaults, canonical form and its hash. */
#include "controller/blueprint/blueprint.h"
#include "test/harness/t.h"

static json_t *parse(const char *text)
{
    json_t *value = NULL;

    T_OK(jx_parse(str_from(text), 1 << 20, &value, NULL));
    return value;
}

static char *defaulted(const char *template_spec)
{
    AUTO(json) json_t *spec = parse(template_spec);
    AUTO(json) json_t *blueprint = blueprint_from_spec(spec);

    blueprint_apply_secure_defaults(blueprint, spec);
    return jx_dump_sorted(blueprint);
}

T_TEST(secure_defaults_follow_the_table)
{
    static const struct {
        const char *label, *spec, *want;
    } rows[] = {
        {"default policy, nothing set", "{\"podTemplate\":{\"spec\":{\"containers\":[]}}}",
         "{\"podTemplate\":{\"metadata\":{},\"spec\":{\"automountServiceAccountToken\":false,"
         "\"containers\":[],\"dnsConfig\":{\"nameservers\":[\"8.8.8.8\",\"1.1.1.1\"]},"
         "\"dnsPolicy\":\"None\"}}}"},
        {"token asked for, own dns policy",
         "{\"podTemplate\":{\"spec\":{\"automountServiceAccountToken\":true,"
         "\"dnsPolicy\":\"ClusterFirst\"}}}",
         "{\"podTemplate\":{\"metadata\":{},\"spec\":{\"automountServiceAccountToken\":true,"
         "\"dnsPolicy\":\"ClusterFirst\"}}}"},
        {"unmanaged", "{\"networkPolicyManagement\":\"Unmanaged\",\"podTemplate\":{\"spec\":{}}}",
         "{\"podTemplate\":{\"metadata\":{},\"spec\":{\"automountServiceAccountToken\":false}}}"},
        {"own policy",
         "{\"networkPolicyManagement\":\"Managed\",\"networkPolicy\":{\"egress\":[]},"
         "\"podTemplate\":{\"spec\":{}}}",
         "{\"podTemplate\":{\"metadata\":{},\"spec\":{\"automountServiceAccountToken\":false}}}"},
        {"own dnsConfig is overwritten under the default policy",
         "{\"networkPolicyManagement\":\"Managed\",\"podTemplate\":{\"spec\":{\"dnsPolicy\":\"\","
         "\"dnsConfig\":{\"nameservers\":[\"10.0.0.1\"]}}}}",
         "{\"podTemplate\":{\"metadata\":{},\"spec\":{\"automountServiceAccountToken\":false,"
         "\"dnsConfig\":{\"nameservers\":[\"8.8.8.8\",\"1.1.1.1\"]},\"dnsPolicy\":\"None\"}}}"},
        {"volumes and service are copied, policies are not",
         "{\"service\":true,\"envVarsInjectionPolicy\":\"Allowed\",\"volumeClaimTemplates\":"
         "[{\"metadata\":{\"name\":\"d\"},\"spec\":{}}],\"networkPolicyManagement\":\"Unmanaged\","
         "\"podTemplate\":{\"metadata\":{\"labels\":{\"app\":\"x\"}},\"spec\":{}}}",
         "{\"podTemplate\":{\"metadata\":{\"labels\":{\"app\":\"x\"}},\"spec\":"
         "{\"automountServiceAccountToken\":false}},\"service\":true,\"volumeClaimTemplates\":"
         "[{\"metadata\":{\"name\":\"d\"},\"spec\":{}}]}"},
    };

    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        AUTO(mem) char *got = NULL;

        t_row(rows[i].label);
        got = defaulted(rows[i].spec);
        T_EQ_STR(got, rows[i].want);
    }
}

static bool same(const char *a, const char *b)
{
    AUTO(json) json_t *x = parse(a);
    AUTO(json) json_t *y = parse(b);
    AUTO(json) json_t *bx = blueprint_from_spec(x);
    AUTO(json) json_t *by = blueprint_from_spec(y);
    AUTO(json) json_t *cx = blueprint_canonical(bx);
    AUTO(json) json_t *cy = blueprint_canonical(by);
    char hx[HASH_HEX_SIZE];
    char hy[HASH_HEX_SIZE];
    bool equal = json_equal(cx, cy);

    blueprint_hash(cx, hx);
    blueprint_hash(cy, hy);
    T_EQ_INT(str_eq(str_from(hx), str_from(hy)), equal);
    return equal;
}

T_TEST(canonical_form_ignores_what_go_ignores_and_nothing_else)
{
    static const struct {
        const char *label, *a, *b;
        bool equal;
    } rows[] = {
        {"order of members", "{\"podTemplate\":{\"spec\":{\"hostname\":\"a\",\"nodeName\":\"b\"}}}",
         "{\"podTemplate\":{\"spec\":{\"nodeName\":\"b\",\"hostname\":\"a\"}}}", true},
        {"null and empty", "{\"podTemplate\":{\"spec\":{\"volumes\":[],\"hostname\":\"\"}}}",
         "{\"podTemplate\":{\"spec\":{\"nodeSelector\":null}}}", true},
        {"plain bool false", "{\"podTemplate\":{\"spec\":{\"hostNetwork\":false}}}",
         "{\"podTemplate\":{\"spec\":{}}}", true},
        {"pointer bool false",
         "{\"podTemplate\":{\"spec\":{\"automountServiceAccountToken\":false}}}",
         "{\"podTemplate\":{\"spec\":{}}}", false},
        {"quantities",
         "{\"podTemplate\":{\"spec\":{\"containers\":[{\"name\":\"c\",\"resources\":{\"limits\":"
         "{\"memory\":\"1024Mi\",\"cpu\":\"0.5\"}}}]}}}",
         "{\"podTemplate\":{\"spec\":{\"containers\":[{\"name\":\"c\",\"resources\":{\"limits\":"
         "{\"memory\":\"1Gi\",\"cpu\":\"500m\"}}}]}}}",
         true},
        {"text that looks like a quantity",
         "{\"podTemplate\":{\"spec\":{\"containers\":[{\"env\":[{\"name\":\"A\",\"value\":"
         "\"1024Mi\"}]}]}}}",
         "{\"podTemplate\":{\"spec\":{\"containers\":[{\"env\":[{\"name\":\"A\",\"value\":"
         "\"1Gi\"}]}]}}}",
         false},
        {"emptyDir is not absence",
         "{\"podTemplate\":{\"spec\":{\"volumes\":[{\"name\":\"v\",\"emptyDir\":{}}]}}}",
         "{\"podTemplate\":{\"spec\":{\"volumes\":[{\"name\":\"v\"}]}}}", false},
        {"metadata of podTemplate",
         "{\"podTemplate\":{\"metadata\":{\"labels\":{\"a\":\"b\"}},\"spec\":{}}}",
         "{\"podTemplate\":{\"spec\":{}}}", true},
        {"service absent and false", "{\"podTemplate\":{\"spec\":{}},\"service\":false}",
         "{\"podTemplate\":{\"spec\":{}}}", false},
        {"service true and false", "{\"podTemplate\":{\"spec\":{}},\"service\":false}",
         "{\"podTemplate\":{\"spec\":{}},\"service\":true}", false},
        {"volume claim metadata but name",
         "{\"podTemplate\":{\"spec\":{}},\"volumeClaimTemplates\":[{\"metadata\":{\"name\":\"d\","
         "\"labels\":{\"x\":\"y\"}},\"spec\":{}}]}",
         "{\"podTemplate\":{\"spec\":{}},\"volumeClaimTemplates\":[{\"metadata\":{\"name\":\"d\"},"
         "\"spec\":{}}]}",
         true},
        {"volume claim size",
         "{\"podTemplate\":{\"spec\":{}},\"volumeClaimTemplates\":[{\"metadata\":{\"name\":\"d\"},"
         "\"spec\":{\"resources\":{\"requests\":{\"storage\":\"1Gi\"}}}}]}",
         "{\"podTemplate\":{\"spec\":{}},\"volumeClaimTemplates\":[{\"metadata\":{\"name\":\"d\"},"
         "\"spec\":{\"resources\":{\"requests\":{\"storage\":\"2Gi\"}}}}]}",
         false},
        {"image", "{\"podTemplate\":{\"spec\":{\"containers\":[{\"image\":\"a:1\"}]}}}",
         "{\"podTemplate\":{\"spec\":{\"containers\":[{\"image\":\"a:2\"}]}}}", false},
    };

    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        t_row(rows[i].label);
        T_EQ_INT(same(rows[i].a, rows[i].b), rows[i].equal);
    }
}
