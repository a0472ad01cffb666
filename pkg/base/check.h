/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * Invariants that stay on in release builds. A failed CHECK is a bug in this program, never a
 * reaction to input: it prints the place and the condition and aborts, so that the kubelet restarts
 * a process whose state is rebuilt from the API server.
 */
#include "base/attr.h"

#define CHECK(cond)                                                                                \
    do {                                                                                           \
        if (__builtin_expect(!(cond), 0)) {                                                        \
            check_failed(__FILE__, __LINE__, #cond);                                               \
        }                                                                                          \
    } while (0)

#define CHECK_UNREACHABLE() check_failed(__FILE__, __LINE__, "unreachable")

NORETURN void check_failed(const char *file, int line, const char *condition);
