/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <stdio.h>

#include "router/identity.h"
#include "test/harness/t.h"

static ProxyNets nets(const char *text)
{
    ProxyNets ret = {.n = 0};

    T_OK(proxy_nets_parse(str_from(text), &ret, NULL));
    return ret;
}

static bool has(const char *text, const char *address)
{
    ProxyNets list = nets(text);
    Address a;

    T_OK(address_parse(str_from(address), &a));
    return proxy_nets_contain(&list, &a);
}

T_TEST(networks)
{
    T_CHECK(has("10.0.0.0/8", "10.255.0.1"));
    T_CHECK(!has("10.0.0.0/8", "11.0.0.1"));
    T_CHECK(has("192.0.2.7", "192.0.2.7"));
    T_CHECK(!has("192.0.2.7", "192.0.2.6"));
    T_CHECK(has("192.0.2.4/30", "192.0.2.7"));
    T_CHECK(!has("192.0.2.4/30", "192.0.2.8"));
    T_CHECK(has("0.0.0.0/0", "9.9.9.9"));
    T_CHECK(!has("0.0.0.0/0", "fd00::1"));
    T_CHECK(has(" 10.0.0.0/8 ,, fd00::/12 ", "fd0f::1"));
    T_CHECK(!has("", "10.0.0.1"));
}

T_TEST(what_is_no_network_is_named)
{
    static const char *const bad[] = {"10.0.0.0/33", "10.0.0/8",    "a", "fd00::/129",
                                      "10.0.0.0/",   "10.0.0.0/-1", "/8"};

    for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
        ProxyNets ret;
        Err err = ERR_INIT;

        t_row(bad[i]);
        T_EQ_INT(proxy_nets_parse(str_from(bad[i]), &ret, &err), -EINVAL);
        T_CONTAINS(err.msg, bad[i]);
    }
}

T_TEST(too_many_networks_are_refused)
{
    AUTO(strbuf) StrBuf text = STRBUF_INIT(4096);
    ProxyNets ret;
    Err err = ERR_INIT;

    for (int i = 0; i < PROXY_NETS_MAX; i++) {
        strbuf_append_cstr(&text, "10.0.0.1,");
    }
    T_OK(proxy_nets_parse(strbuf_str(&text), &ret, &err));
    strbuf_append_cstr(&text, "10.0.0.1");
    T_EQ_INT(proxy_nets_parse(strbuf_str(&text), &ret, &err), -EINVAL);
}

/* Same client for the limits? */
static bool same(const char *forwarded, const char *peer, const char *as)
{
    ProxyNets list = nets("10.0.0.0/8,fd00::/8");
    HttpHead head;
    char text[4096], a[IDENTITY_KEY_MAX], b[IDENTITY_KEY_MAX];
    int n = snprintf(text, sizeof(text), "GET / HTTP/1.1\r\nHost: h\r\n%s\r\n", forwarded);
    Str key_a, key_b;

    http_head_init(&head);
    T_CHECK(http_request_parse(&head, text, (size_t)n) > 0);
    identity_of_client(&head, str_from(peer), &list, a, &key_a);
    identity_of_client(NULL, str_from(as), &list, b, &key_b);
    return str_eq(key_a, key_b);
}

T_TEST(only_a_trusted_peer_is_believed)
{
    T_CHECK(same("", "192.0.2.1", "192.0.2.1"));
    T_CHECK(same("X-Forwarded-For: 1.1.1.1\r\n", "192.0.2.1", "192.0.2.1"));
    T_CHECK(same("X-Forwarded-For: 1.1.1.1\r\n", "10.0.0.1", "1.1.1.1"));
    T_CHECK(same("X-Forwarded-For: 6.6.6.6, 1.1.1.1\r\n", "10.0.0.1", "1.1.1.1"));
    T_CHECK(same("X-Forwarded-For: 6.6.6.6, 1.1.1.1 , 10.9.9.9\r\n", "10.0.0.1", "1.1.1.1"));
    T_CHECK(same("X-Forwarded-For: 6.6.6.6, 1.1.1.1\r\nX-Forwarded-For: 10.2.2.2\r\n", "10.0.0.1",
                 "1.1.1.1"));
    T_CHECK(same("X-Forwarded-For: 10.2.2.2\r\n", "10.0.0.1", "10.2.2.2"));
    T_CHECK(same("X-Forwarded-For: 1.1.1.1, nonsense\r\n", "10.0.0.1", "10.0.0.1"));
    T_CHECK(same("X-Forwarded-For: \r\n", "10.0.0.1", "10.0.0.1"));
    T_CHECK(same("X-Forwarded-For: 2001:db8::5\r\n", "10.0.0.1", "2001:db8::5"));
}

T_TEST(a_long_way_back_ends)
{
    AUTO(strbuf) StrBuf text = STRBUF_INIT(1024);

    strbuf_append_cstr(&text, "X-Forwarded-For: 1.1.1.1");
    for (int i = 0; i < IDENTITY_HOPS_MAX; i++) {
        strbuf_append_cstr(&text, ", 10.0.0.7");
    }
    strbuf_append_cstr(&text, "\r\n");
    T_CHECK(same(text.ptr, "10.0.0.1", "10.0.0.7"));
}

T_TEST(an_ipv6_client_is_its_network)
{
    T_CHECK(same("", "2001:db8:0:1::5", "2001:db8:0:1:ffff::9"));
    T_CHECK(!same("", "2001:db8:0:1::5", "2001:db8:0:2::5"));
    T_CHECK(!same("", "192.0.2.1", "192.0.2.2"));
}
