/* SPDX-License-Identifier: Apache-2.0 */
#include <pthread.h>
#include <stdio.h>

#include "router/census.h"
#include "test/harness/t.h"

static Str text_of(Metrics *metrics, StrBuf *out)
{
    strbuf_clear(out);
    T_OK(metrics_write(metrics, out));
    strbuf_append_char(out, '\0');
    return strbuf_str(out);
}

#define REQUESTS "sandbox_router_sandbox_requests_total"

T_TEST(requests_by_code_and_bytes)
{
    Metrics *metrics = metrics_new();
    Census *census = census_new(10, metrics);
    AUTO(strbuf) StrBuf out = STRBUF_INIT(1 << 20);

    census_count(census, STR("ns"), STR("a"), 200, 10, 100);
    census_count(census, STR("ns"), STR("a"), 200, 10, 100);
    census_count(census, STR("ns"), STR("a"), 502, 1, 1);
    census_count(census, STR("n"), STR("sa"), 200, 5, 5); /* not the same as ns/a */
    text_of(metrics, &out);
    T_CONTAINS(out.ptr, REQUESTS "{sandbox_namespace=\"ns\",sandbox=\"a\",code=\"200\"} 2\n");
    T_CONTAINS(out.ptr, REQUESTS "{sandbox_namespace=\"ns\",sandbox=\"a\",code=\"502\"} 1\n");
    T_CONTAINS(out.ptr, REQUESTS "{sandbox_namespace=\"n\",sandbox=\"sa\",code=\"200\"} 1\n");
    T_CONTAINS(out.ptr, "sandbox_router_sandbox_bytes_total"
                        "{sandbox_namespace=\"ns\",sandbox=\"a\",direction=\"to_client\"} 201\n");
    metrics_free(metrics);
    census_free(census);
}

T_TEST(the_oldest_makes_room_and_its_numbers_stay)
{
    Metrics *metrics = metrics_new();
    Census *census = census_new(2, metrics);
    AUTO(strbuf) StrBuf out = STRBUF_INIT(1 << 20);

    census_count(census, STR("ns"), STR("a"), 200, 0, 7);
    census_count(census, STR("ns"), STR("b"), 200, 0, 0);
    census_count(census, STR("ns"), STR("a"), 200, 0, 0);
    census_count(census, STR("ns"), STR("c"), 404, 0, 0); /* b goes */
    text_of(metrics, &out);
    T_CHECK(!strstr(out.ptr, "sandbox=\"b\""));
    T_CONTAINS(out.ptr, "sandbox=\"a\",code=\"200\"} 2\n");
    T_CONTAINS(out.ptr, "sandbox=\"_overflow\",code=\"200\"} 1\n");
    census_count(census, STR("ns"), STR("b"), 200, 0, 0); /* a goes */
    text_of(metrics, &out);
    T_CONTAINS(out.ptr, "sandbox=\"_overflow\",code=\"200\"} 3\n");
    T_CONTAINS(out.ptr, "sandbox=\"_overflow\",direction=\"to_client\"} 7\n");
    metrics_free(metrics);
    census_free(census);
}

T_TEST(many_codes_are_other)
{
    Metrics *metrics = metrics_new();
    Census *census = census_new(2, metrics);
    AUTO(strbuf) StrBuf out = STRBUF_INIT(1 << 20);

    for (int code = 200; code < 200 + CENSUS_CODES + 5; code++) {
        census_count(census, STR("ns"), STR("a"), code, 0, 0);
    }
    text_of(metrics, &out);
    T_CONTAINS(out.ptr, "sandbox=\"a\",code=\"other\"} 5\n");
    T_CONTAINS(out.ptr, "sandbox=\"a\",code=\"207\"} 1\n");
    census_count(census, STR("ns"), STR("b"), 999, 0, 0);
    census_count(census, STR("ns"), STR("c"), 999, 0, 0); /* a goes, then b: one "other" of both */
    census_count(census, STR("ns"), STR("d"), 999, 0, 0);
    text_of(metrics, &out);
    T_CONTAINS(out.ptr, "sandbox=\"_overflow\",code=\"other\"} 6\n");
    T_CHECK(!strstr(out.ptr, "sandbox=\"_overflow\",code=\"999\""));
    metrics_free(metrics);
    census_free(census);
}

T_TEST(as_many_as_there_may_be_are_written)
{
    Metrics *metrics = metrics_new();
    Census *census = census_new(CENSUS_MAX, metrics);
    AUTO(strbuf) StrBuf out = STRBUF_INIT(32 << 20);
    char name[16];

    for (int i = 0; i < CENSUS_MAX; i++) {
        snprintf(name, sizeof(name), "n%d", i);
        for (int code = 200; code < 200 + CENSUS_CODES + 1; code++) {
            census_count(census, STR("ns"), str_from(name), code, 0, 0);
        }
    }
    text_of(metrics, &out);
    T_CONTAINS(out.ptr, "sandbox=\"n0\",code=\"other\"} 1\n");
    T_CONTAINS(out.ptr, "sandbox=\"n4095\",code=\"other\"} 1\n");
    metrics_free(metrics);
    census_free(census);
}

static void *counts(void *arg)
{
    for (int i = 0; i < 2000; i++) {
        census_count(arg, STR("ns"), i % 2 ? STR("a") : STR("b"), 200, 1, 1);
    }
    return NULL;
}

T_TEST(workers_count_while_it_is_scraped)
{
    Metrics *metrics = metrics_new();
    Census *census = census_new(1, metrics);
    AUTO(strbuf) StrBuf out = STRBUF_INIT(1 << 20);
    pthread_t threads[3];

    for (int i = 0; i < 3; i++) {
        T_EQ_INT(pthread_create(&threads[i], NULL, counts, census), 0);
    }
    for (int i = 0; i < 20; i++) {
        text_of(metrics, &out);
    }
    for (int i = 0; i < 3; i++) {
        pthread_join(threads[i], NULL);
    }
    metrics_free(metrics);
    census_free(census);
}
