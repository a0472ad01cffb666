/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * Typed growing array: `VEC(int) v = {0}; vec_push(&v, 3); vec_free(&v);`. The caller bounds its
 * length where a peer decides how much is pushed.
 */
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"

#define VEC(T)                                                                                     \
    struct {                                                                                       \
        T *ptr;                                                                                    \
        size_t len;                                                                                \
        size_t cap;                                                                                \
    }

#define vec_reserve(v, n)                                                                          \
    do {                                                                                           \
        if ((n) > (v)->cap) {                                                                      \
            (v)->cap = (v)->cap * 2 > (n) ? (v)->cap * 2 : (n);                                    \
            (v)->cap = (v)->cap < 4 ? 4 : (v)->cap;                                                \
            (v)->ptr = xrealloc((v)->ptr, (v)->cap * sizeof(*(v)->ptr));                           \
        }                                                                                          \
    } while (0)

#define vec_push(v, ...)                                                                           \
    do {                                                                                           \
        vec_reserve((v), (v)->len + 1);                                                            \
        (v)->ptr[(v)->len++] = (__VA_ARGS__);                                                      \
    } while (0)

#define vec_pop(v) ((v)->ptr[--(v)->len])

/* Removes element i, keeping the order. */
#define vec_remove(v, i)                                                                           \
    do {                                                                                           \
        memmove(&(v)->ptr[i], &(v)->ptr[(i) + 1], ((v)->len - (i)-1) * sizeof(*(v)->ptr));         \
        (v)->len--;                                                                                \
    } while (0)

#define vec_free(v)                                                                                \
    do {                                                                                           \
        free((v)->ptr);                                                                            \
        (v)->ptr = NULL;                                                                           \
        (v)->len = (v)->cap = 0;                                                                   \
    } while (0)

/* The vector must not change in the body. (NULL + 0 is undefined in C, hence the test.) */
#define vec_foreach(v, it)                                                                         \
    for (__typeof__((v)->ptr) it = (v)->ptr, it##_end = it ? it + (v)->len : it; it != it##_end;   \
         it++)
