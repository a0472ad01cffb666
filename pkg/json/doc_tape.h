/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * Layout of a JDoc, shared by doc_parse.c (builds) and doc.c (reads); nobody else looks inside.
 *
 * Nodes in document order. `head` is the type in the upper 4 bits and a length in the lower 28:
 *   NULL, BOOL   arg = the value
 *   INT          length 0: arg = the value as int32_t; length 1: the next slot holds the int64_t
 *   REAL         the next slot holds the double
 *   STRING       length = bytes, arg = offset into the string bytes; keys are strings
 *   ARRAY        length = elements, arg = index after the last element
 *   OBJECT       length = members (a key node and a value each), arg = index after the last one
 */
#include <stdint.h>

#include "json/doc.h"

#define TAPE_LEN_BITS 28
#define TAPE_LEN_MAX ((1u << TAPE_LEN_BITS) - 1)

typedef struct TapeNode {
    uint32_t head;
    uint32_t arg;
} TapeNode;

struct JDoc {
    uint32_t refs;
    uint32_t n_nodes;
    uint32_t n_bytes;
    TapeNode tape[]; /* then the string bytes */
};

static inline uint32_t tape_head(JType type, size_t len)
{
    return (uint32_t)type << TAPE_LEN_BITS | (uint32_t)len;
}

static inline JType tape_type(TapeNode node)
{
    return (JType)(node.head >> TAPE_LEN_BITS);
}

static inline uint32_t tape_len(TapeNode node)
{
    return node.head & TAPE_LEN_MAX;
}

/* Index of the node after the whole value at `at`. */
static inline uint32_t tape_after(const TapeNode *tape, uint32_t at)
{
    switch (tape_type(tape[at])) {
    case JTYPE_ARRAY:
    case JTYPE_OBJECT:
        return tape[at].arg;
    case JTYPE_INT:
        return at + 1 + tape_len(tape[at]);
    case JTYPE_REAL:
        return at + 2;
    default:
        return at + 1;
    }
}
