/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Any bytes as YAML: an answer within the limits, nothing leaked, an error text with a failure.
 * What was accepted is a tree whose JSON text is YAML for the same tree.
 */
#include <errno.h>

#include "test/fuzz/fuzz.h"
#include "json/yaml.h"

/* JSON is YAML except for the number forms that only YAML knows; those are strings or integers
 * here. */
static void check_json_is_yaml(const json_t *value)
{
    AUTO(mem) char *text = jx_dump_compact(value);
    AUTO(json) json_t *again = NULL;
    Err err = ERR_INIT;
    int r = yaml_load(str_from(text), &again, &err);

    CHECK(r == 0 || r == -E2BIG || memmem(text, strlen(text), "\\u", 2) || strlen(text) > 1024);
    CHECK(r < 0 || json_equal(value, again));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    AUTO(json) json_t *all = NULL;
    AUTO(json) json_t *one = NULL;
    Str text = fuzz_str(data, size);
    Err err = ERR_INIT;
    int r = yaml_load_all(text, &all, &err);

    CHECK(r == 0 || ((r == -EINVAL || r == -E2BIG) && err.msg[0] && !all));
    int r_one = yaml_load(text, &one, NULL);
    CHECK(r == 0 || r_one < 0);
    if (r_one == 0) {
        check_json_is_yaml(one);
    }
    return 0;
}
