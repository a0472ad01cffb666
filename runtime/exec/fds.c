/* SPDX-License-Identifier: Apache-2.0 */
#include "runtime/exec/fds.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/syscall.h>

static int compare(const void *a, const void *b)
{
    int left = *(const int *)a, right = *(const int *)b;

    return (left > right) - (left < right);
}

static void close_between(unsigned first, unsigned last)
{
    struct rlimit limit;

    if (first > last || syscall(SYS_close_range, first, last, 0) == 0) {
        return;
    }
    /* A kernel or a sandbox without close_range: one by one, up to the limit of open files. */
    if (getrlimit(RLIMIT_NOFILE, &limit) < 0 || limit.rlim_cur > 65536) {
        limit.rlim_cur = 65536;
    }
    for (unsigned fd = first; fd <= last && fd < limit.rlim_cur; fd++) {
        close((int)fd);
    }
}

void fds_close_except(int *keep, size_t n)
{
    unsigned next = 0;

    qsort(keep, n, sizeof(*keep), compare);
    for (size_t i = 0; i < n; i++) {
        if (keep[i] >= 0 && (unsigned)keep[i] > next) {
            close_between(next, (unsigned)keep[i] - 1);
        }
        if (keep[i] >= 0) {
            next = (unsigned)keep[i] + 1;
        }
    }
    close_between(next, ~0u);
}
