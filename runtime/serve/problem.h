/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * Bodies of refused requests. Errors of an endpoint have `message`, errors of the protocol
 * `detail`; a request that does not fit its schema gets {"detail":[{"type","loc","msg"}]}.
 */
#include "base/str.h"

/* One element of `loc` after its first: a member's name, or an index when name.ptr is NULL. */
typedef struct ProblemLoc {
    Str name;
    size_t index;
} ProblemLoc;

/* {"detail":[{"type":type,"loc":["body",...],"msg":msg}]} */
void problem_schema(StrBuf *out, const char *type, const char *where, const ProblemLoc *loc,
                    size_t n_loc, const char *msg);
void problem_detail(StrBuf *out, const char *detail);
void problem_message(StrBuf *out, Str message);
