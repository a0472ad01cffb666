/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * Where the program of a command lies. A name with a slash is used as it is (relative to the
 * working directory); any other is searched in PATH. Of several failures the first that is not
 * "missing" is reported, as exec-with-path of Python and the shells do.
 */
#include "base/str.h"

#define LOOKUP_PATH_DEFAULT "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"

/* 0 with an owned path, or -errno. Relative PATH entries count from `cwd_fd`. */
int lookup_program(Str name, Str path, int cwd_fd, char **ret_program);
