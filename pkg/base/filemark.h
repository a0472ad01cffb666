/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * Whether a file is still the one that was seen last: for configuration and keys that are looked at
 * again and again. Sees a rewrite in place, a rename over it and the symlink swap of a mounted
 * volume. Contents are not compared.
 */
#include <stdbool.h>
#include <sys/stat.h>

/* Zeroed: nothing was seen yet. */
typedef struct FileMark {
    struct stat seen;
} FileMark;

/* Looks, and remembers what it saw. False as well when there is no such file now: it may be about
 * to be replaced. Look before reading, so that a change in between is seen the next time. */
bool file_mark_changed(FileMark *mark, const char *path);
