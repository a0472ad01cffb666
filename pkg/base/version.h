/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/* What `--version` and the build_info metrics say. Values come from the Makefile. */
#include <stdio.h>

const char *version_string(void); /* "0.1.0" */
const char *version_commit(void); /* abbreviated commit, or "unknown" */
const char *version_compiler(void);
const char *version_platform(void); /* "linux/amd64" */
/* The block that `PROGRAM --version` prints. */
void version_print(FILE *out, const char *program);
