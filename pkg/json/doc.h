/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * JDoc: an immutable decoded document, one allocation of a few hundred bytes to a few kilobytes: a
 * tape of 8-byte nodes in document order, followed by the decoded string bytes (short repeats
 * stored once). Made for the read path, where ten thousand Pods must fit in memory; to change
 * something, convert with jnode_to_jansson and build a patch.
 *
 * Ownership: reference-counted, not atomic; a document belongs to one thread. A JNode and every Str
 * taken from it borrow from the document.
 *
 * Choices: a duplicate key is an error (Go silently takes the last; the API server never sends
 * one). Numbers without fraction or exponent that fit int64_t are JTYPE_INT, all others JTYPE_REAL
 * (double), as Go's unstructured decoder does; a number too large for a double is an error. Object
 * lookup is linear in the number of members: meant for objects as Kubernetes has them.
 */
#include <stdbool.h>
#include <stdint.h>

#include "base/attr.h"
#include "base/err.h"
#include "base/str.h"
#include "json/proj.h"

#define JDOC_TEXT_MAX ((size_t)64 << 20) /* ceiling for text_max; the tape has 28-bit lengths */

typedef struct JDoc JDoc;

typedef enum JType {
    JTYPE_ABSENT, /* no such member; every accessor takes it and gives its default */
    JTYPE_NULL,
    JTYPE_BOOL,
    JTYPE_INT,
    JTYPE_REAL,
    JTYPE_STRING,
    JTYPE_ARRAY,
    JTYPE_OBJECT,
} JType;

typedef struct JNode {
    const JDoc *doc; /* NULL = absent */
    uint32_t at;
} JNode;

#define JNODE_ABSENT ((JNode){NULL, 0})

/*
 * Decodes `text` (one JSON value, nothing but white space around it), keeping what `proj` says
 * (NULL = all; applies when the root is an object or array). 0, -EINVAL (not JSON, or a duplicate
 * key; the message has the byte offset), -E2BIG (longer than text_max or deeper than
 * JSON_DEPTH_MAX), -ENOMEM.
 */
int jdoc_parse(Str text, const JProj *proj, size_t text_max, JDoc **ret, Err *reterr);
JDoc *jdoc_ref(JDoc *doc);
void jdoc_unref(JDoc *doc);        /* NULL is fine */
size_t jdoc_size(const JDoc *doc); /* bytes of the allocation */
JNode jdoc_root(const JDoc *doc);  /* a NULL doc gives JNODE_ABSENT */

DEFINE_AUTO_PTR(jdoc, JDoc, jdoc_unref)

JType jnode_type(JNode node);
bool jnode_exists(JNode node); /* false for absent; true for null */

/* Member of an object; absent when there is none or node is not an object. */
JNode jnode_get(JNode node, Str key);
/* Walks keys: jnode_at(root, "metadata", "labels", "app"). */
JNode jnode_path(JNode node, const Str *keys, size_t n);
#define jnode_at(node, ...)                                                                        \
    jnode_path((node), (const Str[]){JNODE_KEYS_(__VA_ARGS__)},                                    \
               sizeof((const Str[]){JNODE_KEYS_(__VA_ARGS__)}) / sizeof(Str))
/* The lengths of literals are known to the compiler. */
#define JNODE_KEYS_(...) JNODE_PICK_(__VA_ARGS__, 5, 4, 3, 2, 1, 0)(__VA_ARGS__)
#define JNODE_PICK_(a, b, c, d, e, n, ...) JNODE_KEYS_##n##_
#define JNODE_KEYS_1_(a) str_from(a)
#define JNODE_KEYS_2_(a, b) str_from(a), str_from(b)
#define JNODE_KEYS_3_(a, b, c) str_from(a), str_from(b), str_from(c)
#define JNODE_KEYS_4_(a, b, c, d) str_from(a), str_from(b), str_from(c), str_from(d)
#define JNODE_KEYS_5_(a, b, c, d, e) str_from(a), str_from(b), str_from(c), str_from(d), str_from(e)
/* Element of an array; linear. */
JNode jnode_index(JNode node, size_t i);

Str jnode_str(JNode node); /* STR_NULL unless it is a string (an empty string has a non-NULL ptr) */
int64_t jnode_i64(JNode node, int64_t otherwise); /* integers only */
double jnode_f64(JNode node, double otherwise);   /* integers and reals */
bool jnode_bool(JNode node, bool otherwise);      /* booleans only */
size_t jnode_len(JNode node);                     /* members or elements; 0 for everything else */

/* Iteration in document order, over objects and arrays; anything else has no elements.
 *     JIter it = jnode_iter(node);
 *     while (jiter_next(&it, &key, &value)) { ... }      key is STR_NULL in arrays, may be NULL  */
typedef struct JIter {
    JNode parent;
    uint32_t at;
    uint32_t left;
    bool object;
} JIter;
JIter jnode_iter(JNode node);
bool jiter_next(JIter *it, Str *ret_key, JNode *ret_value);

/* Same JSON value; members in any order. Integers and reals are different types. Absent equals
 * absent. */
bool jnode_equal(JNode a, JNode b);

/* An owned mutable copy (see json/jx.h); NULL for an absent node. */
struct json_t;
struct json_t *jnode_to_jansson(JNode node) MUST_USE;
