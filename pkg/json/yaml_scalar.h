/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/* Private to the YAML reader: what a scalar means. The rules are those of yaml.h. */
#include <stdbool.h>

#include "json/jx.h"

/*
 * `plain` = not quoted and without a tag; `tag` may be NULL. On -EINVAL *ret_why is a static text.
 * *ret is owned.
 */
int yaml_scalar_resolve(Str text, const char *tag, bool plain, json_t **ret, const char **ret_why);
