/* SPDX-License-Identifier: Apache-2.0 */
#include "runtime/serve/route.h"
#include "test/harness/t.h"

static const Endpoint TABLE[] = {
    {"/", false, {"GET", "HEAD"}, NULL},
    {"/list", true, {"GET"}, NULL},
    {"/execute", false, {"POST"}, NULL},
};

T_TEST(route_table)
{
    static const struct {
        const char *method, *path;
        RouteResult result;
        int endpoint;
        const char *raw;
    } ROWS[] = {
        {"GET", "/", ROUTE_OK, 0, ""},
        {"POST", "/", ROUTE_NOT_ALLOWED, 0, ""},
        {"GET", "/list", ROUTE_OK, 1, ""},
        {"GET", "/list/", ROUTE_OK, 1, ""},
        {"GET", "/list//", ROUTE_OK, 1, "/"},
        {"GET", "/list/%2F", ROUTE_OK, 1, "%2F"},
        {"GET", "/list/a/../b", ROUTE_OK, 1, "a/../b"},
        {"DELETE", "/list/a", ROUTE_NOT_ALLOWED, 1, "a"},
        {"GET", "/listing", ROUTE_NOT_FOUND, 0, ""},
        {"GET", "//list/a", ROUTE_NOT_FOUND, 0, ""},
        {"POST", "/execute", ROUTE_OK, 2, ""},
        {"POST", "/execute/", ROUTE_NOT_FOUND, 0, ""},
        {"GET", "*", ROUTE_NOT_FOUND, 0, ""},
    };

    for (size_t i = 0; i < ARRAY_LEN(ROWS); i++) {
        const Endpoint *endpoint = TABLE;
        Str raw = STR("");

        t_row(ROWS[i].path);
        T_EQ_INT(route_find(TABLE, ARRAY_LEN(TABLE), str_from(ROWS[i].method),
                            str_from(ROWS[i].path), &endpoint, &raw),
                 ROWS[i].result);
        T_EQ_INT(endpoint - TABLE, ROWS[i].endpoint);
        T_EQ_STR(raw, ROWS[i].raw);
    }
    t_row(NULL);
}
