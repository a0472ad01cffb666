/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The body of /execute: whatever comes in, the outcome is a request within its limits or a refusal
 * that is valid JSON.
 */
#include <math.h>

#include "runtime/exec/environ.h"
#include "runtime/serve/execreq.h"
#include "test/fuzz/fuzz.h"
#include "json/doc.h"

static void check_request(const ExecRequest *r)
{
    CHECK(r->refuse || argv_len(&r->argv) > 0);
    CHECK(argv_len(&r->env) % 2 == 0 && argv_len(&r->env) <= 2 * EXECREQ_ENV_MAX);
    for (size_t i = 0; i < argv_len(&r->env); i += 2) {
        CHECK(environ_name_ok(str_from(r->env.v.ptr[i])));
    }
    CHECK(!r->has_timeout || (isfinite(r->timeout_s) && r->timeout_s > 0 && r->timeout_s <= 60));
    CHECK(argv_len(&r->cwd) == r->has_cwd);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    AUTO(exec_request) ExecRequest request = {0};
    AUTO(strbuf) StrBuf problem = STRBUF_INIT(16 * FUZZ_INPUT_MAX);
    AUTO(jdoc) JDoc *doc = NULL;

    if (exec_request_parse(fuzz_str(data, size), 60, &request, &problem) == 0) {
        CHECK(problem.len == 0);
        check_request(&request);
        return 0;
    }
    CHECK(problem.error == 0);
    CHECK(jdoc_parse(strbuf_str(&problem), NULL, 16 * FUZZ_INPUT_MAX, &doc, NULL) == 0);
    CHECK(jnode_len(jnode_get(jdoc_root(doc), STR("detail"))) == 1);
    return 0;
}
