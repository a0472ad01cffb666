/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * Compiler attributes and the ownership vocabulary.
 *
 * AUTO(type) frees a local when its scope ends: it calls type_autofree(), which each owning type
 * declares with DEFINE_AUTO. TAKE(p) hands a pointer over and leaves NULL behind, so that a
 * function reads as "build, check, hand over" without labels or double frees.
 */
#include <stddef.h>
#include <stdint.h>

#define AUTO(type) __attribute__((cleanup(type##_autofree)))

/* Declares type_autofree() for AUTO(type): calls `fn` on the variable's address. */
#define DEFINE_AUTO(name, T, fn)                                                                   \
    static inline void name##_autofree(T *p)                                                       \
    {                                                                                              \
        fn(p);                                                                                     \
    }

/* Declares type_autofree() for pointer variables: calls `fn` on the pointer when it is not NULL. */
#define DEFINE_AUTO_PTR(name, T, fn)                                                               \
    static inline void name##_autofree(T **p)                                                      \
    {                                                                                              \
        if (*p) {                                                                                  \
            fn(*p);                                                                                \
        }                                                                                          \
    }

#define TAKE(p)                                                                                    \
    __extension__({                                                                                \
        __typeof__(p) take_tmp_ = (p);                                                             \
        (p) = NULL;                                                                                \
        take_tmp_;                                                                                 \
    })

#define container_of(p, T, member) ((T *)(void *)((char *)(uintptr_t)(p)-offsetof(T, member)))
#define ARRAY_LEN(a) (sizeof(a) / sizeof((a)[0]))
#define UNUSED(x) ((void)(x))

/* For a large local that is written before it is read: the build clears all others. */
#define UNCLEARED __attribute__((uninitialized))

#define FALLTHROUGH __attribute__((fallthrough))
#define PRINTF_LIKE(fmt, first) __attribute__((format(printf, fmt, first)))
#define MUST_USE __attribute__((warn_unused_result))
#define NORETURN __attribute__((noreturn))
