/* SPDX-License-Identifier: Apache-2.0 */
/* See check.h. Written with write(2) alone, since the heap may be what is broken. */
#include "base/check.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define CHECK_LINE_MAX 512

void check_failed(const char *file, int line, const char *condition)
{
    char text[CHECK_LINE_MAX];
    int n = snprintf(text, sizeof(text), "%s:%d: check failed: %s\n", file, line, condition);

    if (n > 0) {
        size_t len = (size_t)n < sizeof(text) ? (size_t)n : sizeof(text) - 1;
        ssize_t ignored = write(STDERR_FILENO, text, len);

        UNUSED(ignored);
    }
    abort();
}
