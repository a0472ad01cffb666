/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>

#include "base/clock.h"
#include "base/rng.h"
#include "base/timefmt.h"
#include "test/harness/t.h"

T_TEST(timestamps_are_written_as_kubernetes_writes_them)
{
    char text[TIMEFMT_SIZE];
    int64_t t = 1796073492123456789; /* 2026-11-30T21:18:12.123456789Z */

    timefmt_seconds(t, text);
    T_EQ_STR(text, "2026-11-30T21:18:12Z");
    timefmt_micros(t, text);
    T_EQ_STR(text, "2026-11-30T21:18:12.123456Z");
    timefmt_nanos(t, text);
    T_EQ_STR(text, "2026-11-30T21:18:12.123456789Z");
    timefmt_nanos(0, text); /* never a zero fraction */
    T_EQ_STR(text, "1970-01-01T00:00:00.000000001Z");
    timefmt_seconds(-1, text);
    T_EQ_STR(text, "1969-12-31T23:59:59Z");
}

T_TEST(timestamps_are_read_with_any_fraction_and_offset)
{
    static const struct {
        const char *text;
        int64_t want;
    } rows[] = {
        {"1970-01-01T00:00:00Z", 0},
        {"1970-01-01T01:00:00+01:00", 0},
        {"1969-12-31T19:30:00-04:30", 0},
        {"1970-01-01T00:00:00.5Z", 500000000},
        {"1970-01-01t00:00:01.000000001z", 1000000001},
        {"2026-08-22T00:27:14.123456+00:00", 1787358434123456000},
        {"2000-02-29T00:00:00Z", 951782400000000000},
        {"1970-01-01T00:00:00.1234567891234Z", 123456789},
    };
    static const char *const bad[] = {
        "",
        "1970-01-01",
        "1970-01-01T00:00:00",
        "1970-13-01T00:00:00Z",
        "1970-02-29T00:00:00Z",
        "1900-02-29T00:00:00Z",
        "1970-01-01T24:00:00Z",
        "1970-01-01T00:00:60Z",
        "1970-01-01T00:00:00.Z",
        "1970-01-01T00:00:00Z ",
        "1970-01-01T00:00:00+24:00",
        "1970-01-01 00:00:00Z",
        "9999-01-01T00:00:00Z",
    };

    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        int64_t got = -1;

        t_row(rows[i].text);
        T_OK(timefmt_parse(str_from(rows[i].text), &got));
        T_EQ_INT(got, rows[i].want);
    }
    for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
        int64_t got = -1;

        t_row(bad[i]);
        T_EQ_INT(timefmt_parse(str_from(bad[i]), &got), -EINVAL);
        T_EQ_INT(got, -1);
    }
}

T_TEST(timestamps_survive_a_round_trip)
{
    Rng rng;

    rng_init(&rng, 3);
    for (int i = 0; i < 20000; i++) {
        int64_t t = (int64_t)(rng_u64(&rng) >> 2) * (i % 2 ? 1 : -1);
        int64_t back;
        char text[TIMEFMT_SIZE];

        t = t / 1000 * 1000;
        timefmt_micros(t, text);
        t_row(text);
        T_OK(timefmt_parse(str_from(text), &back));
        T_EQ_INT(back, t);
    }
}

T_TEST(durations_follow_go)
{
    static const struct {
        const char *text;
        int want;
        int64_t ns;
    } rows[] = {
        {"0", 0, 0},
        {"5m", 0, 300000000000},
        {"300ms", 0, 300000000},
        {"1h2m", 0, 3720000000000},
        {"1.5h", 0, 5400000000000},
        {"-10s", 0, -10000000000},
        {"2us", 0, 2000},
        {"2\xc2\xb5s", 0, 2000},
        {"1ns", 0, 1},
        {"", -EINVAL, 0},
        {"5", -EINVAL, 0},
        {"5 m", -EINVAL, 0},
        {"m", -EINVAL, 0},
        {"5x", -EINVAL, 0},
        {"1e9s", -EINVAL, 0},
        {"9999999h", -ERANGE, 0},
    };

    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        int64_t ns = 0;

        t_row(rows[i].text);
        T_EQ_INT(timefmt_parse_duration(str_from(rows[i].text), &ns), rows[i].want);
        T_EQ_INT(ns, rows[i].ns);
    }
}

T_TEST(durations_are_printed_as_they_are_read)
{
    static const char *const texts[] = {"0s", "300ms", "2s", "1m30s", "1h2m0s", "-5s", "15us"};

    for (size_t i = 0; i < ARRAY_LEN(texts); i++) {
        char text[TIMEFMT_SIZE];
        int64_t ns;

        T_OK(timefmt_parse_duration(str_from(texts[i]), &ns));
        timefmt_duration(ns, text);
        T_EQ_STR(text, texts[i]);
    }
}

T_TEST(a_fake_clock_moves_when_told)
{
    FakeClock fake;

    fake_clock_init(&fake, 5, 100);
    fake_clock_advance(&fake, 10);
    T_EQ_INT(clock_mono_ns(&fake.clock), 15);
    T_EQ_INT(clock_wall_ns(&fake.clock), 110);
    T_CHECK(clock_wall_ns(clock_system()) > 1700000000000000000);
}
