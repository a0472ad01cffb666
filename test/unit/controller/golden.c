/* SPDX-License-Identifier: Apache-2.0 */
/* See golden.h. */
#include "test/unit/controller/golden.h"

#include <stdio.h>

#include "base/mem.h"
#include "test/harness/t.h"
#include "json/yaml.h"

void golden_load(const char *folder, const char *name, KubeKindId kind, KubeObj **ret_in,
                 json_t **ret_want)
{
    AUTO(mem) char *path = xasprintf("test/golden/%s/%s.yaml", folder, name);
    AUTO(json) json_t *documents = NULL;
    AUTO(mem) char *text = NULL;
    Err err = ERR_INIT;

    if (yaml_load_all(t_read_file(path), &documents, &err) < 0 || json_array_size(documents) != 2) {
        T_FAIL("%s: %s", path, err.code ? err.msg : "not two documents");
    }
    text = jx_dump_compact(json_array_get(documents, 0));
    if (kube_obj_from_text(kube_kind(kind), str_from(text), ret_in, &err) < 0) {
        T_FAIL("%s: %s", path, err.msg);
    }
    *ret_want = jx_dup(json_array_get(documents, 1));
}

void golden_check(const char *name, const json_t *got, const json_t *want)
{
    AUTO(mem) char *got_text = jx_dump_sorted(got);
    AUTO(mem) char *want_text = jx_dump_sorted(want);

    t_row(name);
    T_EQ_STR(got_text, want_text);
    t_row(NULL);
}
