/* SPDX-License-Identifier: Apache-2.0 */
/* Lookups that need no DNS server: numeric names, names that cannot exist, cancelled questions. */
#include <errno.h>

#include "router/dns.h"
#include "test/harness/t.h"

typedef struct Answer {
    int calls;
    int error;
    Address address;
} Answer;

static void on_answer(void *ctx, int error, const Address *address)
{
    Answer *answer = ctx;

    answer->calls++;
    answer->error = error;
    answer->address = *address;
}

static void wait_calls(Loop *loop, const Answer *answer, int calls)
{
    for (int i = 0; i < 500 && answer->calls < calls; i++) {
        T_OK(loop_step(loop, 20 * NS_PER_MS));
    }
    T_EQ_INT(answer->calls, calls);
}

T_TEST(answers_arrive_on_the_asking_loop)
{
    Loop *loop;
    Answer answer = {0};
    char text[ADDRESS_TEXT_MAX];

    T_OK(loop_new(clock_system(), &loop));
    Dns *dns = dns_new();
    DnsInbox *inbox = dns_inbox_new(dns, loop);

    T_CHECK(dns_query(inbox, STR("127.0.0.5"), on_answer, &answer) != NULL);
    wait_calls(loop, &answer, 1);
    T_OK(answer.error);
    address_format(&answer.address, text);
    T_EQ_STR(text, "127.0.0.5:0");
    T_CHECK(dns_query(inbox, STR("::1"), on_answer, &answer) != NULL);
    wait_calls(loop, &answer, 2);
    T_CHECK(answer.address.v6);
    T_CHECK(dns_query(inbox, STR("no such name"), on_answer, &answer) != NULL);
    wait_calls(loop, &answer, 3);
    T_CHECK(answer.error < 0);
    dns_inbox_free(inbox);
    dns_free(dns);
    loop_free(loop);
}

T_TEST(a_cancelled_question_is_never_answered)
{
    Loop *loop;
    Answer answer = {0};
    DnsQuery *queries[64];

    T_OK(loop_new(clock_system(), &loop));
    Dns *dns = dns_new();
    DnsInbox *inbox = dns_inbox_new(dns, loop);

    for (size_t i = 0; i < ARRAY_LEN(queries); i++) {
        queries[i] = dns_query(inbox, STR("127.0.0.1"), on_answer, &answer);
    }
    for (size_t i = 0; i < ARRAY_LEN(queries); i++) {
        dns_cancel(queries[i]);
    }
    T_OK(loop_step(loop, 20 * NS_PER_MS));
    T_EQ_INT(answer.calls, 0);
    dns_inbox_free(inbox);
    dns_free(dns);
    loop_free(loop);
}

T_TEST(a_name_that_is_too_long_is_refused)
{
    Loop *loop;
    char name[DNS_NAME_MAX + 1];

    memset(name, 'a', sizeof(name));
    T_OK(loop_new(clock_system(), &loop));
    Dns *dns = dns_new();
    DnsInbox *inbox = dns_inbox_new(dns, loop);

    T_CHECK(dns_query(inbox, (Str){name, sizeof(name)}, on_answer, NULL) == NULL);
    dns_inbox_free(inbox);
    dns_free(dns);
    loop_free(loop);
}
