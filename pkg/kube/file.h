/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/* Small configuration files, read whole and bounded. */
#include <stddef.h>

#include "base/err.h"

/*
 * Owned, NUL-terminated. -ENOENT and other errno of open and read, -E2BIG beyond max, -EINVAL when
 * it is not a regular file or contains NUL. reterr may be NULL.
 */
int kube_file_read(const char *path, size_t max, char **ret_text, size_t *ret_len, Err *reterr);
