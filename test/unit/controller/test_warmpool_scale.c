/* SPDX-License-Identifier: Apache-2.0 */
/* Arithmetic of a pool: rows, and invariants over everything small. */
#include "controller/warmpool/scale.h"
#include "test/harness/t.h"

T_TEST(scale_rows)
{
    static const struct {
        const char *label;
        ScaleInput in;
        ScaleDecision want;
    } rows[] = {
        {"empty pool fills", {10, 0, 0, 0, 0, 0, 300}, {10, 0, 0}},
        {"in batches", {1000, 0, 0, 0, 0, 0, 300}, {300, 0, 0}},
        {"full", {10, 10, 10, 0, 0, 0, 300}, {0, 0, 0}},
        {"terminating counts", {10, 7, 7, 0, 0, 2, 300}, {1, 0, 0}},
        {"scale down", {2, 6, 4, 0, 0, 0, 300}, {0, 0, 4}},
        {"scale down in batches", {0, 500, 500, 0, 0, 0, 300}, {0, 0, 300}},
        {"to zero", {0, 3, 3, 2, 1, 0, 300}, {0, 3, 3}},
        {"rollout begins: surge of a quarter", {8, 0, 0, 8, 0, 0, 300}, {2, 0, 0}},
        {"rollout begins: surge of one", {2, 0, 0, 2, 0, 0, 300}, {1, 0, 0}},
        {"surge is up, none ready", {8, 2, 0, 8, 0, 0, 300}, {0, 0, 0}},
        {"one ready retires one", {8, 2, 1, 8, 0, 0, 300}, {0, 1, 0}},
        {"the retired one makes room", {8, 2, 1, 7, 0, 0, 300}, {1, 0, 0}},
        {"stale and unready go at once", {8, 0, 0, 5, 3, 0, 300}, {2, 3, 0}},
        {"last stale one", {8, 8, 8, 1, 0, 0, 300}, {0, 1, 0}},
        {"scaled down in a rollout", {2, 5, 0, 5, 0, 0, 300}, {0, 3, 4}},
    };

    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        ScaleDecision got = scale_decide(&rows[i].in);

        t_row(rows[i].label);
        T_EQ_INT(got.create, rows[i].want.create);
        T_EQ_INT(got.delete_stale, rows[i].want.delete_stale);
        T_EQ_INT(got.delete_fresh, rows[i].want.delete_fresh);
    }
}

static void check_bounds(const ScaleInput *in)
{
    ScaleDecision out = scale_decide(in);
    size_t stale = in->stale_ready + in->stale_unready;
    size_t there = in->fresh + stale + in->terminating;
    size_t limit = in->desired + (stale > 0 ? scale_surge(in->desired) : 0);
    size_t ready = in->fresh_ready + in->stale_ready;
    size_t ready_lost =
        out.delete_stale > in->stale_unready ? out.delete_stale - in->stale_unready : 0;

    T_CHECK(out.create == 0 || there + out.create <= limit);
    T_CHECK(out.create <= in->batch_max);
    T_CHECK(out.delete_stale + out.delete_fresh <= in->batch_max);
    T_CHECK(out.delete_stale <= stale && out.delete_fresh <= in->fresh);
    /* A rollout alone never takes a ready member below what is wanted. */
    if (in->fresh <= in->desired && ready >= in->desired) {
        T_CHECK(ready - ready_lost >= in->desired || out.delete_fresh > 0);
    }
}

T_TEST(scale_never_exceeds_surge_or_batch)
{
    for (size_t desired = 0; desired <= 6; desired++) {
        for (size_t code = 0; code < 6 * 6 * 5 * 4 * 3; code++) {
            size_t fresh = code % 6;
            size_t fresh_ready = code / 6 % 6;
            ScaleInput in = {desired,        fresh, fresh_ready, code / 36 % 5, code / 180 % 4,
                             code / 720 % 3, 4};

            if (fresh_ready <= fresh) {
                check_bounds(&in);
            }
        }
    }
}

/* Carries out decisions with every new member ready at once: must end at `desired`, all fresh. */
T_TEST(scale_converges)
{
    for (size_t desired = 0; desired <= 9; desired++) {
        for (size_t stale = 0; stale <= 9; stale++) {
            ScaleInput in = {desired, 0, 0, stale, 0, 0, 3};
            int rounds = 0;

            for (; rounds < 100; rounds++) {
                ScaleDecision out = scale_decide(&in);

                if (out.create + out.delete_stale + out.delete_fresh == 0) {
                    break;
                }
                in.fresh = in.fresh_ready = in.fresh + out.create - out.delete_fresh;
                in.stale_ready -= out.delete_stale;
            }
            T_CHECK(rounds < 100);
            T_EQ_INT(in.fresh, desired);
            T_EQ_INT(in.stale_ready, 0);
        }
    }
}
