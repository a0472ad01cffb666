/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>

#include "test/harness/t.h"
#include "trace/context.h"

#define GOOD "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"

T_TEST(traceparent_of_the_specification)
{
    TraceContext context;
    char text[TRACE_PARENT_LEN + 1];

    T_OK(trace_parent_parse(STR(GOOD), &context));
    T_EQ_INT(context.trace_id[0], 0x0a);
    T_EQ_INT(context.trace_id[15], 0x9c);
    T_EQ_INT(context.span_id[0], 0xb7);
    T_CHECK(trace_context_sampled(&context));
    trace_parent_format(&context, text);
    T_EQ_STR(text, GOOD);
}

T_TEST(traceparents_that_are_read_and_that_are_not)
{
    static const struct {
        const char *text;
        int flags; /* -1 = refused */
    } rows[] = {
        {GOOD, 1},
        {"00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-00", 0},
        {"00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-ff", 1},
        {"00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-02", 0},
        /* later versions: longer, with a dash in between */
        {"cc-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01", 1},
        {"cc-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01-what-comes", 1},
        {"cc-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01.what-comes", -1},
        {"00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01-", -1},
        {"ff-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01", -1},
        {"", -1},
        {"00", -1},
        {"00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-0", -1},
        {"00-0AF7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01", -1},
        {"00-0gf7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01", -1},
        {"00-00000000000000000000000000000000-b7ad6b7169203331-01", -1},
        {"00-0af7651916cd43dd8448eb211c80319c-0000000000000000-01", -1},
        {"00_0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01", -1},
        {"00-0af7651916cd43dd8448eb211c80319c_b7ad6b7169203331-01", -1},
        {"00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331_01", -1},
        {"0x-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01", -1},
        {"00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-0x", -1},
    };

    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        TraceContext context = {.flags = 77};

        t_row(rows[i].text);
        T_EQ_INT(trace_parent_parse(str_from(rows[i].text), &context) == 0, rows[i].flags >= 0);
        T_EQ_INT(context.flags, rows[i].flags >= 0 ? rows[i].flags : 77);
    }
}

T_TEST(tracestates_that_are_carried_and_that_are_not)
{
    static const struct {
        const char *text;
        bool valid;
    } rows[] = {
        {"congo=t61rcWkgMzE", true},
        {"rojo=00f067aa0ba902b7,congo=t61rcWkgMzE", true},
        {" a=1 ,\tb=2 ,,c=3", true},
        {"fw529a3039@dt=FfffffCgC", true},
        {"a=b c", true},
        {"0a=1", true},
        {"", false},
        {",", false},
        {"a", false},
        {"a=", false},
        {"=1", false},
        {"A=1", false},
        {"a=1,a=2", false},
        {"a=b=c", false},
        {"a=\x7f", false},
        {"a=\xc3\xbc", false},
        {"_a=1", false},
    };

    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        t_row(rows[i].text);
        T_EQ_INT(trace_state_is_valid(str_from(rows[i].text)), rows[i].valid);
    }
}

T_TEST(tracestate_ends_at_its_limits)
{
    char text[TRACE_STATE_MAX + 2];
    size_t n = 0;

    for (int i = 0; i < TRACE_STATE_MEMBERS_MAX; i++) {
        n += (size_t)snprintf(text + n, sizeof(text) - n, "k%d=1,", i);
    }
    T_CHECK(trace_state_is_valid((Str){text, n}));
    n += (size_t)snprintf(text + n, sizeof(text) - n, "more=1");
    T_CHECK(!trace_state_is_valid((Str){text, n}));
    memset(text, ' ', sizeof(text));
    memcpy(text, "a=1,b=", 6);
    text[TRACE_STATE_MAX - 1] = 'x'; /* the value is too long, the list is not */
    T_CHECK(!trace_state_is_valid((Str){text, TRACE_STATE_MAX}));
    memcpy(text, "a=1,  ", 6);
    text[TRACE_STATE_MAX - 1] = ' ';
    T_CHECK(trace_state_is_valid((Str){text, TRACE_STATE_MAX}));
    T_CHECK(!trace_state_is_valid((Str){text, TRACE_STATE_MAX + 1}));
}
