/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * File descriptors around fork. Everything this program opens is close-on-exec, but its forked
 * helpers do not exec: they close all that is not theirs, or a client's connection would stay open
 * as long as a helper lives.
 */
#include <stddef.h>
#include <unistd.h>

#include "base/attr.h"

/* Closes all descriptors but those in `keep` (sorted in place). For a freshly forked child. */
void fds_close_except(int *keep, size_t n);

static inline void fd_close(int *fd) /* does nothing when *fd < 0 */
{
    if (*fd >= 0) {
        close(*fd);
        *fd = -1;
    }
}

DEFINE_AUTO(fd, int, fd_close)

static inline int fd_take(int *fd)
{
    int taken = *fd;

    *fd = -1;
    return taken;
}
