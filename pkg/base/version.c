/* SPDX-License-Identifier: Apache-2.0 */
/* See version.h. COFFERDAM_VERSION and COFFERDAM_COMMIT come from the Makefile. */
#include "base/version.h"

const char *version_string(void)
{
    return COFFERDAM_VERSION;
}

const char *version_commit(void)
{
    return COFFERDAM_COMMIT;
}

const char *version_compiler(void)
{
#ifdef __clang__
    return "clang " __clang_version__;
#else
    return "gcc " __VERSION__;
#endif
}

const char *version_platform(void)
{
#if defined(__x86_64__)
    return "linux/amd64";
#elif defined(__aarch64__)
    return "linux/arm64";
#else
    return "linux/other";
#endif
}

void version_print(FILE *out, const char *program)
{
    fprintf(out,
            "%s (Cofferdam)\n"
            "  version:  %s\n"
            "  commit:   %s\n"
            "  compiler: %s\n"
            "  platform: %s\n",
            program, version_string(), version_commit(), version_compiler(), version_platform());
}
