/* SPDX-License-Identifier: Apache-2.0 */
/* See filemark.h. */
#include "base/filemark.h"

bool file_mark_changed(FileMark *mark, const char *path)
{
    struct stat *seen = &mark->seen;
    struct stat now;
    bool same;

    if (stat(path, &now) < 0) {
        return false;
    }
    same = now.st_ino == seen->st_ino && now.st_dev == seen->st_dev &&
           now.st_size == seen->st_size && now.st_mtim.tv_sec == seen->st_mtim.tv_sec &&
           now.st_mtim.tv_nsec == seen->st_mtim.tv_nsec;
    *seen = now;
    return !same;
}
