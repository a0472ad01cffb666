/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <stdio.h>

#include "base/clock.h"
#include "router/routing.h"
#include "test/harness/t.h"

typedef struct Row {
    const char *fields;
    const char *detail; /* NULL = accepted */
} Row;

#define ID "X-Sandbox-ID: a\r\n"
#define LABEL_63 "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"

static const Row rows[] = {
    {"", "X-Sandbox-ID header is required."},
    {"X-Sandbox-ID: \r\n", "X-Sandbox-ID header is required."},
    {ID, NULL},
    {"X-Sandbox-ID: 0-a-9\r\n", NULL},
    {"X-Sandbox-ID: " LABEL_63 "\r\n", NULL},
    {"X-Sandbox-ID: " LABEL_63 "a\r\n", "Invalid sandbox ID format."},
    {"X-Sandbox-ID: aB\r\n", "Invalid sandbox ID format."},
    {"X-Sandbox-ID: -a\r\n", "Invalid sandbox ID format."},
    {"X-Sandbox-ID: a-\r\n", "Invalid sandbox ID format."},
    {"X-Sandbox-ID: a.b\r\n", "Invalid sandbox ID format."},
    {"X-Sandbox-ID: \xc3\xa4\r\n", "Invalid sandbox ID format."},
    {"X-Sandbox-ID: A\r\nX-Sandbox-Namespace: B\r\nX-Sandbox-Port: x\r\n",
     "Invalid sandbox ID format."},
    {ID "X-Sandbox-Namespace:\r\n", NULL},
    {ID "X-Sandbox-Namespace: a_b\r\nX-Sandbox-Port: x\r\n", "Invalid namespace format."},
    {ID "X-Sandbox-Port: 1\r\n", NULL},
    {ID "X-Sandbox-Port: +8888\r\n", NULL},
    {ID "X-Sandbox-Port: 0000000000000000000008888\r\n", NULL},
    {ID "X-Sandbox-Port: 65535\r\n", NULL},
    {ID "X-Sandbox-Port: 65536\r\n", "Invalid port format."},
    {ID "X-Sandbox-Port: 0\r\n", "Invalid port format."},
    {ID "X-Sandbox-Port: +\r\n", "Invalid port format."},
    {ID "X-Sandbox-Port: -1\r\n", "Invalid port format."},
    {ID "X-Sandbox-Port: 8 8\r\n", "Invalid port format."},
    {ID "X-Sandbox-Port: 0x50\r\n", "Invalid port format."},
    {ID "X-Sandbox-Pod-IP:\r\n", NULL},
    {ID "X-Sandbox-Pod-IP: 10.0.0.1\r\n", NULL},
    {ID "X-Sandbox-Pod-IP: fd00::12\r\n", NULL},
    {ID "X-Sandbox-Pod-IP: [fd00::12]\r\n", "Invalid target IP address."},
    {ID "X-Sandbox-Pod-IP: fe80::1%eth0\r\n", "Invalid target IP address."},
    {ID "X-Sandbox-Pod-IP: 010.0.0.1\r\n", "Invalid target IP address."},
    {ID "X-Sandbox-Pod-IP: 10.1\r\n", "Invalid target IP address."},
    {ID "X-Sandbox-Pod-IP: name\r\n", "Invalid target IP address."},
    {ID "X-Sandbox-Pod-IP: 0.0.0.0\r\n", "Invalid target IP address."},
    {ID "X-Sandbox-Pod-IP: ::\r\n", "Invalid target IP address."},
    {ID "X-Sandbox-Pod-IP: 127.9.9.9\r\n", "Invalid target IP address."},
    {ID "X-Sandbox-Pod-IP: ::1\r\n", "Invalid target IP address."},
    {ID "X-Sandbox-Pod-IP: ::ffff:127.0.0.1\r\n", "Invalid target IP address."},
    {ID "X-Sandbox-Pod-IP: 169.254.169.254\r\n", "Invalid target IP address."},
    {ID "X-Sandbox-Pod-IP: ::ffff:169.254.1.1\r\n", "Invalid target IP address."},
    {ID "X-Sandbox-Pod-IP: fe80::1\r\n", "Invalid target IP address."},
    {ID "X-Sandbox-Pod-IP: 224.0.0.1\r\n", "Invalid target IP address."},
    {ID "X-Sandbox-Pod-IP: ff02::1\r\n", "Invalid target IP address."},
    {ID ID, "X-Sandbox-ID header is repeated."},
    {ID "x-sandbox-port: 1\r\nX-SANDBOX-PORT: 1\r\n", "X-Sandbox-Port header is repeated."},
    {"X-Sandbox-UID: 1\r\nX-Sandbox-UID: 1\r\n", "X-Sandbox-UID header is repeated."},
};

static int parse(const char *fields, bool loopback, Routing *ret, const char **ret_detail)
{
    static HttpHead head;
    AUTO(strbuf) StrBuf text = STRBUF_INIT(HTTP_HEAD_MAX);

    strbuf_printf(&text, "GET / HTTP/1.1\r\nHost: h\r\n%s\r\n", fields);
    http_head_init(&head);
    T_EQ_INT(http_request_parse(&head, text.ptr, text.len), text.len);
    return routing_parse(&head, NULL, loopback, ret, ret_detail);
}

T_TEST(refusals_in_order)
{
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        Routing routing;
        const char *detail = NULL;

        t_row(rows[i].fields);
        T_EQ_INT(parse(rows[i].fields, false, &routing, &detail), rows[i].detail ? -EINVAL : 0);
        if (rows[i].detail) {
            T_EQ_STR(detail, rows[i].detail);
        }
    }
    t_row(NULL);
}

T_TEST(values_and_defaults)
{
    Routing routing;
    const char *detail;

    T_OK(parse(ID, false, &routing, &detail));
    T_EQ_STR(routing_id(&routing), "a");
    T_EQ_STR(routing_ns(&routing), "default");
    T_EQ_INT(routing.port, 8888);
    T_CHECK(!routing.pod_ip.set);
    T_EQ_INT(routing.timeout_ns, 0);
    T_OK(parse("X-Sandbox-Timeout: 2.5\r\nX-Sandbox-Port: +080\r\nX-Sandbox-Namespace: n\r\n" ID
               "X-Sandbox-Pod-IP: ::ffff:10.0.0.7\r\n",
               false, &routing, &detail));
    T_EQ_STR(routing_ns(&routing), "n");
    T_EQ_INT(routing.port, 80);
    T_EQ_INT(routing.timeout_ns, 2500 * NS_PER_MS);
    T_CHECK(routing.pod_ip.set && !routing.pod_ip.v6);
    T_OK(parse(ID "X-Sandbox-Pod-IP: 127.0.0.1\r\n", true, &routing, &detail));
}

T_TEST(a_timeout_that_cannot_be_used_is_none)
{
    static const char *const bad[] = {"", "x", "-1", "0", "nan", "inf", "1e999", "1 2", "5s"};
    Routing routing;
    const char *detail;
    char fields[64];

    for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
        t_row(bad[i]);
        snprintf(fields, sizeof(fields), ID "X-Sandbox-Timeout: %s\r\n", bad[i]);
        T_OK(parse(fields, false, &routing, &detail));
        T_EQ_INT(routing.timeout_ns, 0);
    }
    t_row(NULL);
    T_OK(parse(ID "X-Sandbox-Timeout: 1e300\r\n", false, &routing, &detail));
    T_CHECK(routing.timeout_ns > 0 && routing.timeout_ns <= 1000000000ull * NS_PER_S);
    T_OK(parse(ID "X-Sandbox-Timeout: 1e-30\r\n", false, &routing, &detail));
    T_EQ_INT(routing.timeout_ns, 1);
}

T_TEST(addresses)
{
    Address a, b;
    char text[ADDRESS_TEXT_MAX];

    T_OK(address_parse(STR("10.0.0.1"), &a));
    T_OK(address_parse(STR("::ffff:10.0.0.1"), &b));
    T_CHECK(address_equal(&a, &b));
    T_EQ_INT(address_hash(1, &a), address_hash(1, &b));
    a.port = 80;
    T_CHECK(!address_equal(&a, &b) && address_same_host(&a, &b));
    T_EQ_INT(address_format(&a, text), 11);
    T_EQ_STR(text, "10.0.0.1:80");
    T_OK(address_parse(STR("fd00::12"), &b));
    b.port = 65535;
    address_format(&b, text);
    T_EQ_STR(text, "[fd00::12]:65535");
    T_CHECK(!address_same_host(&a, &b));
    T_EQ_INT(address_parse(STR(""), &a), -EINVAL);
    T_EQ_INT(address_parse(STR("10.0.0.1\0"), &a), -EINVAL);
    T_EQ_INT(address_parse(STR("10.0.0.1:80"), &a), -EINVAL);
}
