/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>

#include "kube/kind.h"
#include "test/harness/t.h"

T_TEST(kind_urls)
{
    static const struct {
        KubeKindId kind;
        Str ns;
        Str name;
        const char *subresource;
        const char *want;
    } ROWS[] = {
        {KUBE_POD, {NULL, 0}, {NULL, 0}, NULL, "/api/v1/pods"},
        {KUBE_POD, {"n", 1}, {NULL, 0}, NULL, "/api/v1/namespaces/n/pods"},
        {KUBE_POD, {"n", 1}, {"a.b", 3}, NULL, "/api/v1/namespaces/n/pods/a.b"},
        {KUBE_SANDBOX,
         {"n", 1},
         {"a", 1},
         "status",
         "/apis/agents.x-k8s.io/v1beta1/namespaces/n/sandboxes/a/status"},
        {KUBE_CLAIM,
         {NULL, 0},
         {NULL, 0},
         NULL,
         "/apis/extensions.agents.x-k8s.io/v1beta1/sandboxclaims"},
        {KUBE_TEMPLATE,
         {"n", 1},
         {"t", 1},
         NULL,
         "/apis/extensions.agents.x-k8s.io/v1beta1/namespaces/n/sandboxtemplates/t"},
        {KUBE_NETPOL,
         {"n", 1},
         {"t", 1},
         NULL,
         "/apis/networking.k8s.io/v1/namespaces/n/networkpolicies/t"},
        {KUBE_LEASE,
         {"n", 1},
         {"t", 1},
         NULL,
         "/apis/coordination.k8s.io/v1/namespaces/n/leases/t"},
        {KUBE_EVENT, {"n", 1}, {NULL, 0}, NULL, "/apis/events.k8s.io/v1/namespaces/n/events"},
    };

    for (size_t i = 0; i < ARRAY_LEN(ROWS); i++) {
        AUTO(strbuf) StrBuf buf = STRBUF_INIT(KUBE_URL_MAX);

        t_row(ROWS[i].want);
        T_OK(kube_kind_url(kube_kind(ROWS[i].kind), ROWS[i].ns, ROWS[i].name, ROWS[i].subresource,
                           &buf, NULL));
        T_EQ_STR(strbuf_str(&buf), ROWS[i].want);
    }
}

T_TEST(kind_urls_refuse_what_is_no_name)
{
    static const struct {
        Str ns;
        Str name;
        const char *subresource;
    } ROWS[] = {
        {{"n", 1}, {"..", 2}, NULL},     {{"n", 1}, {"a/b", 3}, NULL},
        {{"n", 1}, {"", 0}, NULL},       {{"n", 1}, {"a?b", 3}, NULL},
        {{"n", 1}, {"a%2f", 4}, NULL},   {{"n", 1}, {"A", 1}, NULL},
        {{"..", 2}, {"a", 1}, NULL},     {{"a.b", 3}, {"a", 1}, NULL},
        {{"", 0}, {"a", 1}, NULL},       {{NULL, 0}, {"a", 1}, NULL},
        {{"n", 1}, {"a", 1}, "exec"},    {{"n", 1}, {"a\n", 2}, NULL},
        {{"n", 1}, {NULL, 0}, "status"},
    };

    for (size_t i = 0; i < ARRAY_LEN(ROWS); i++) {
        AUTO(strbuf) StrBuf buf = STRBUF_INIT(KUBE_URL_MAX);

        T_EQ_INT(kube_kind_url(kube_kind(KUBE_POD), ROWS[i].ns, ROWS[i].name, ROWS[i].subresource,
                               &buf, NULL),
                 -EINVAL);
        T_EQ_INT(buf.len, 0);
    }
}

T_TEST(kind_queries_are_encoded)
{
    AUTO(strbuf) StrBuf buf = STRBUF_INIT(KUBE_URL_MAX);
    AUTO(strbuf) StrBuf small = STRBUF_INIT(20);

    strbuf_append_cstr(&buf, "/x");
    T_OK(kube_url_query(&buf, "labelSelector", STR("a/b=c,d in (\xc3\xa9)")));
    T_OK(kube_url_query(&buf, "limit", STR("500")));
    T_EQ_STR(strbuf_str(&buf), "/x?labelSelector=a%2Fb%3Dc%2Cd%20in%20%28%C3%A9%29&limit=500");
    T_EQ_INT(kube_url_query(&small, "continue", STR("aaaaaaaaaaaaaaaaaaaaaa")), -E2BIG);
    T_EQ_INT(kube_kind_url(kube_kind(KUBE_POD), STR("namespace"), STR("name"), NULL, &small, NULL),
             -E2BIG);
}

T_TEST(kind_lookups)
{
    T_CHECK(kube_kind_find(STR(""), STR("v1"), STR("Pod")) == kube_kind(KUBE_POD));
    T_CHECK(kube_kind_find(STR("agents.x-k8s.io"), STR_NULL, STR("Sandbox")) ==
            kube_kind(KUBE_SANDBOX));
    T_CHECK(!kube_kind_find(STR("agents.x-k8s.io"), STR("v9"), STR("Sandbox")));
    T_CHECK(!kube_kind_find(STR("x"), STR_NULL, STR("Pod")));
    T_CHECK(kube_kind_find_plural(STR("coordination.k8s.io"), STR("v1"), STR("leases")) ==
            kube_kind(KUBE_LEASE));
    T_CHECK(!kube_kind_find_plural(STR(""), STR("v1"), STR("nodes")));
    for (int i = 0; i < KUBE_KIND_MAX_; i++) {
        T_EQ_INT(kube_kind((KubeKindId)i)->id, i);
        T_CHECK(kube_kind((KubeKindId)i)->proj && kube_kind((KubeKindId)i)->event_proj);
    }
}
