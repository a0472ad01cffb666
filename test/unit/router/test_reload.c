/* SPDX-License-Identifier: Apache-2.0 */
#include "router/reload.h"
#include "test/harness/t.h"

T_TEST(what_may_change_is_a_flag)
{
    size_t may = 0;

    for (size_t i = 0; options_flag(i); i++) {
        may += reload_may_change(options_flag(i));
    }
    T_EQ_INT(may, 31); /* every name of the table is one */
    T_CHECK(reload_may_change("dial-timeout"));
    T_CHECK(!reload_may_change("authz-mode"));
    T_CHECK(!reload_may_change("workers"));
    T_CHECK(!reload_may_change("http-bind-address"));
}

static const char *no_env(const char *name)
{
    UNUSED(name);
    return NULL;
}

static void load(RouterOptions *options, const char *flag)
{
    char *argv[] = {(char *)(uintptr_t) "sandbox-router",
                    (char *)(uintptr_t) "--authz-mode=allow-all", (char *)(uintptr_t)flag, NULL};

    T_OK(options_load(flag ? 3 : 2, argv, no_env, options, NULL));
}

T_TEST(differences_are_found_in_every_kind)
{
    static const char *const rows[][2] = {
        {"--workers=3", "workers"},
        {"--request-rate-per-client=0.5", "request-rate-per-client"},
        {"--dial-timeout=1s", "dial-timeout"},
        {"--cluster-domain=x", "cluster-domain"},
        {"--access-log=false", "access-log"},
        {"--zap-encoder=console", "zap-encoder"},
    };

    for (size_t row = 0; row < ARRAY_LEN(rows); row++) {
        RouterOptions a, b;
        const char *found = "";
        size_t n = 0;

        t_row(rows[row][0]);
        load(&a, NULL);
        load(&b, rows[row][0]);
        for (size_t i = 0; options_flag(i); i++) {
            if (options_differ(&a, &b, i)) {
                found = options_flag(i);
                n++;
            }
        }
        T_EQ_INT(n, 1);
        T_EQ_STR(found, rows[row][1]);
    }
}
