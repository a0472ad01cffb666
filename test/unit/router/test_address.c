/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>

#include "router/address.h"
#include "router/routing.h"
#include "test/harness/t.h"

T_TEST(addresses_that_a_client_may_not_name)
{
    static const struct {
        const char *text;
        bool forbidden;
        bool with_loopback; /* forbidden although loopback is allowed */
    } rows[] = {
        {"10.0.0.1", false, false},
        {"192.0.2.7", false, false},
        {"fd00::1", false, false},
        {"2001:db8::1", false, false},
        {"0.0.0.0", true, true},
        {"0.1.2.3", true, true},
        {"127.0.0.1", true, false},
        {"127.255.255.254", true, false},
        {"::1", true, false},
        {"::ffff:127.0.0.1", true, false},
        {"169.254.0.1", true, true},
        {"169.254.169.254", true, true},
        {"::ffff:169.254.169.254", true, true},
        {"64:ff9b::169.254.169.254", true, true},
        {"64:ff9b::127.0.0.1", true, true},
        {"64:ff9b::10.0.0.1", false, false},
        {"64:ff9b:1::169.254.169.254", true, true},
        {"2002:a9fe:a9fe::1", true, true},
        {"2002:a00:1::1", false, false},
        {"::169.254.169.254", true, true},
        {"::127.0.0.1", true, true},
        {"fd00:ec2::254", true, true},
        {"fd00:ec2::253", false, false},
        {"100.100.100.200", true, true},
        {"100.100.100.201", false, false},
        {"192.0.0.192", true, true},
        {"224.0.0.1", true, true},
        {"239.255.255.255", true, true},
        {"240.0.0.1", true, true},
        {"255.255.255.255", true, true},
        {"::", true, true},
        {"::ffff:0.0.0.0", true, true},
        {"fe80::1", true, true},
        {"ff02::1", true, true},
    };

    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        Address address;

        T_OK(address_parse(str_from(rows[i].text), &address));
        if (address_is_forbidden(&address, false) != rows[i].forbidden ||
            address_is_forbidden(&address, true) != rows[i].with_loopback) {
            T_FAIL("%s", rows[i].text);
        }
    }
}

T_TEST(ports_that_a_client_may_name)
{
    static const char *const bad[] = {"x", "1-", "-1", "0", "9-8", "1,,2", "65536", "1-2-3"};
    RoutingPorts ports;
    Err err = ERR_INIT;

    T_OK(routing_ports_parse(STR(""), &ports, NULL));
    T_CHECK(routing_port_allowed(&ports, 1) && routing_port_allowed(&ports, 65535));
    T_OK(routing_ports_parse(STR("8888, 9000-9010"), &ports, NULL));
    T_CHECK(routing_port_allowed(&ports, 8888) && routing_port_allowed(&ports, 9010));
    T_CHECK(!routing_port_allowed(&ports, 8889) && !routing_port_allowed(&ports, 9011));
    for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
        T_EQ_INT(routing_ports_parse(str_from(bad[i]), &ports, &err), -EINVAL);
        T_CONTAINS(err.msg, "--allowed-ports");
    }
    AUTO(strbuf) StrBuf many = STRBUF_INIT(1024);

    for (int i = 0; i <= ROUTING_PORTS_MAX; i++) {
        strbuf_printf(&many, "%s%d", i > 0 ? "," : "", i + 1);
    }
    T_EQ_INT(routing_ports_parse(strbuf_str(&many), &ports, NULL), -EINVAL);
}
