/* SPDX-License-Identifier: Apache-2.0 */
#include "router/wake.h"
#include "router/waking.h"
#include "test/harness/t.h"

static WakeState state_of(const char *meta, const char *spec, const char *conditions)
{
    AUTO(strbuf) StrBuf text = STRBUF_INIT(4096);
    KubeObj *obj = NULL;

    strbuf_printf(&text,
                  "{\"apiVersion\":\"agents.x-k8s.io/v1beta1\",\"kind\":\"Sandbox\",\"metadata\":{"
                  "\"name\":\"a\",\"namespace\":\"b\",\"uid\":\"u\",\"resourceVersion\":\"1\"%s},"
                  "\"spec\":{%s},\"status\":{\"conditions\":[%s]}}",
                  meta, spec, conditions);
    T_OK(kube_obj_from_text(kube_kind(KUBE_SANDBOX), strbuf_str(&text), &obj, NULL));
    WakeState state = wake_state_of(obj);

    kube_obj_unref(obj);
    return state;
}

T_TEST(what_a_sandbox_without_a_pod_is)
{
    const char *suspended = "\"operatingMode\":\"Suspended\"";
    const char *expired = "{\"type\":\"Ready\",\"status\":\"False\",\"reason\":\"SandboxExpired\"}";
    const char *deleting = ",\"deletionTimestamp\":\"2026-01-01T00:00:00Z\"";

    T_EQ_INT(state_of("", "", ""), WAKE_STARTING);
    T_EQ_INT(state_of("", "\"operatingMode\":\"Running\"", ""), WAKE_STARTING);
    T_EQ_INT(state_of("", suspended, ""), WAKE_SUSPENDED);
    T_EQ_INT(state_of("", suspended, expired), WAKE_EXPIRED);
    T_EQ_INT(state_of("", "", expired), WAKE_EXPIRED);
    T_EQ_INT(state_of(deleting, suspended, ""), WAKE_UNKNOWN);
}

static bool meant(const char *text)
{
    HttpHead head;
    AUTO(strbuf) StrBuf buf = STRBUF_INIT(4096);

    http_head_init(&head);
    strbuf_append_cstr(&buf, text);
    T_CHECK(http_request_parse(&head, buf.ptr, buf.len) > 0);
    return waking_is_meant(&head);
}

T_TEST(who_is_meant_to_wake_a_sandbox)
{
    T_CHECK(meant("GET / HTTP/1.1\r\nHost: h\r\n\r\n"));
    T_CHECK(meant("POST /execute HTTP/1.1\r\nHost: h\r\nUser-Agent: python\r\n\r\n"));
    T_CHECK(meant("GET /healthy HTTP/1.1\r\nHost: h\r\nX-Sandbox-Wake: true\r\n\r\n"));
    T_CHECK(!meant("HEAD / HTTP/1.1\r\nHost: h\r\n\r\n"));
    T_CHECK(!meant("OPTIONS / HTTP/1.1\r\nHost: h\r\n\r\n"));
    T_CHECK(!meant("GET /health HTTP/1.1\r\nHost: h\r\n\r\n"));
    T_CHECK(!meant("GET /v1/health?x HTTP/1.1\r\nHost: h\r\n\r\n"));
    T_CHECK(!meant("GET / HTTP/1.1\r\nHost: h\r\nUser-Agent: kube-probe/1.37\r\n\r\n"));
    T_CHECK(!meant("GET / HTTP/1.1\r\nHost: h\r\nX-Sandbox-Wake: False\r\n\r\n"));
}
