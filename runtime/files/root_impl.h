/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/* Private to root.c and resolve.c. */
#include "runtime/files/root.h"

struct Root {
    int fd; /* O_PATH */
    char *base;
    size_t base_len;
};
