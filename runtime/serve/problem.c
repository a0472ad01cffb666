/* SPDX-License-Identifier: Apache-2.0 */
#include "runtime/serve/problem.h"

#include "json/write.h"

void problem_schema(StrBuf *out, const char *type, const char *where, const ProblemLoc *loc,
                    size_t n_loc, const char *msg)
{
    JWriter w;

    jw_init(&w, out);
    jw_object(&w);
    jw_key(&w, STR("detail"));
    jw_array(&w);
    jw_object(&w);
    jw_member_cstr(&w, "type", type);
    jw_key(&w, STR("loc"));
    jw_array(&w);
    jw_cstr(&w, where);
    for (size_t i = 0; i < n_loc; i++) {
        if (loc[i].name.ptr) {
            jw_str(&w, loc[i].name);
        } else {
            jw_u64(&w, loc[i].index);
        }
    }
    jw_array_end(&w);
    jw_member_cstr(&w, "msg", msg);
    jw_object_end(&w);
    jw_array_end(&w);
    jw_object_end(&w);
}

static void one_member(StrBuf *out, const char *key, Str value)
{
    JWriter w;

    jw_init(&w, out);
    jw_object(&w);
    jw_member_str(&w, key, value);
    jw_object_end(&w);
}

void problem_detail(StrBuf *out, const char *detail)
{
    one_member(out, "detail", str_from(detail));
}

void problem_message(StrBuf *out, Str message)
{
    one_member(out, "message", message);
}
