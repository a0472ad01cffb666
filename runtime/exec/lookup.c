/* SPDX-License-Identifier: Apache-2.0 */
#include "runtime/exec/lookup.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/mem.h"

static int check_candidate(int cwd_fd, const char *file)
{
    struct stat st;

    if (fstatat(cwd_fd, file, &st, 0) < 0) {
        return -errno;
    }
    if (!S_ISREG(st.st_mode) || faccessat(cwd_fd, file, X_OK, AT_EACCESS) < 0) {
        return -EACCES;
    }
    return 0;
}

int lookup_program(Str name, Str path, int cwd_fd, char **ret_program)
{
    int failure = -ENOENT;

    if (str_find(name, '/') >= 0) {
        *ret_program = xstrndup(name.ptr, name.len);
        return 0;
    }
    if (!path.ptr) {
        path = STR(LOOKUP_PATH_DEFAULT);
    }
    for (bool more = name.len > 0; more;) {
        Str rest;
        Str dir = str_cut(path, ':', &rest);
        AUTO(mem)
        char *file = dir.len ? xasprintf(STR_FMT "/" STR_FMT, STR_ARG(dir), STR_ARG(name))
                             : xasprintf("./" STR_FMT, STR_ARG(name));
        int r = check_candidate(cwd_fd, file);

        if (r == 0) {
            *ret_program = TAKE(file);
            return 0;
        }
        if (r != -ENOENT && r != -ENOTDIR && failure == -ENOENT) {
            failure = r;
        }
        more = rest.ptr != NULL;
        path = rest;
    }
    return failure;
}
