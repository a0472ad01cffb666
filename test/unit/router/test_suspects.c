/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>

#include "router/suspects.h"
#include "test/harness/t.h"

static Address host(int i)
{
    Address a;
    char text[32];
    int n = snprintf(text, sizeof(text), "10.0.%d.%d", i / 256, i % 256);

    T_OK(address_parse((Str){text, (size_t)n}, &a));
    a.port = (uint16_t)i;
    return a;
}

T_TEST(a_blamed_host_is_left_alone_and_then_tried_by_one)
{
    Suspects suspects;
    Address a = host(1), b = host(2), other_port = host(1);

    other_port.port = 9;
    suspects_init(&suspects, 5);
    T_EQ_INT(suspects_ask(&suspects, &a, 100, 50), 0);
    T_CHECK(suspects_blame(&suspects, &a, 100, 30));
    T_CHECK(!suspects_blame(&suspects, &a, 100, 30));
    T_EQ_INT(suspects_ask(&suspects, &a, 110, 50), 20);
    T_EQ_INT(suspects_ask(&suspects, &other_port, 110, 50),
             20); /* the host is dead, not the port */
    T_EQ_INT(suspects_ask(&suspects, &b, 110, 50), 0);
    T_EQ_INT(suspects_ask(&suspects, &a, 130, 50), 0); /* this one tries */
    T_EQ_INT(suspects_ask(&suspects, &a, 130, 50), 50);
    suspects_clear(&suspects, &a);
    T_EQ_INT(suspects_ask(&suspects, &a, 131, 50), 0);
    T_EQ_INT(suspects_ask(&suspects, &a, 131, 50), 0);
    suspects_clear(&suspects, &a);
    suspects_deinit(&suspects);
}

T_TEST(the_table_is_bounded)
{
    Suspects suspects;

    suspects_init(&suspects, 5);
    for (int i = 0; i < SUSPECTS_MAX + 10; i++) {
        Address a = host(i);

        T_CHECK(suspects_blame(&suspects, &a, 100, 1000));
    }
    T_EQ_INT(suspects.n, SUSPECTS_MAX);
    Address first = host(0), last = host(SUSPECTS_MAX + 9);

    T_EQ_INT(suspects_ask(&suspects, &first, 100, 50), 0);
    T_EQ_INT(suspects_ask(&suspects, &last, 100, 50), 1000);
    suspects_deinit(&suspects);
}
