/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * Projection: a static keep-tree that says which members of a document are worth remembering. It is
 * plain constant data, so a table of kinds can hold it; what is not kept is validated and skipped
 * without being built.
 *
 *     static const JProj POD[] = {
 *         JPROJ_TREE("metadata", JPROJ_KEEP("name"), JPROJ_KEEP("uid"), JPROJ_KEEP("labels")),
 *         JPROJ_TREE("spec", JPROJ_KEEP("nodeName")),
 *         JPROJ_TREE("status", JPROJ_KEEP("phase"), JPROJ_KEEP("conditions")),
 *         JPROJ_END,
 *     };
 *     static const JProj SANDBOX[] = {
 *         JPROJ_TREE("metadata", JPROJ_DROP("managedFields"), JPROJ_REST), JPROJ_REST, JPROJ_END,
 *     };
 *
 * Write the tables at file scope: inside a function the nested lists would not be constant.
 *
 * Rules: the first entry that matches a key decides; a key that none matches is dropped. Arrays are
 * transparent: a tree applies to each object in an array, however nested. A scalar where a tree
 * expects an object is kept.
 */
#include "base/str.h"

typedef enum JProjMode {
    JPROJ_MODE_END, /* ends a list */
    JPROJ_MODE_KEEP,
    JPROJ_MODE_DROP,
    JPROJ_MODE_TREE,
} JProjMode;

typedef struct JProj JProj;
struct JProj {
    Str key; /* NULL ptr matches every key */
    JProjMode mode;
    const JProj *tree; /* for JPROJ_MODE_TREE: a list that ends with JPROJ_END */
};

#define JPROJ_KEY_(literal)                                                                        \
    {                                                                                              \
        "" literal, sizeof(literal) - 1                                                            \
    }
#define JPROJ_ANY_                                                                                 \
    {                                                                                              \
        NULL, 0                                                                                    \
    }

/* clang-format off */
/* The member with everything below it. */
#define JPROJ_KEEP(literal) {.key = JPROJ_KEY_(literal), .mode = JPROJ_MODE_KEEP}
/* Not the member. */
#define JPROJ_DROP(literal) {.key = JPROJ_KEY_(literal), .mode = JPROJ_MODE_DROP}
/* Of the member, only what the entries say. */
#define JPROJ_TREE(literal, ...)                                                                   \
    {.key = JPROJ_KEY_(literal), .mode = JPROJ_MODE_TREE,                                          \
     .tree = (const JProj[]){__VA_ARGS__, JPROJ_END}}
/* As JPROJ_TREE with the entries of another list, which ends with JPROJ_END. */
#define JPROJ_LIST(literal, list)                                                                  \
    {.key = JPROJ_KEY_(literal), .mode = JPROJ_MODE_TREE, .tree = (list)}
/* Of every member not matched before, only what the entries say. */
#define JPROJ_EACH(...)                                                                            \
    {.key = JPROJ_ANY_, .mode = JPROJ_MODE_TREE, .tree = (const JProj[]){__VA_ARGS__, JPROJ_END}}
/* Every member not matched before, with everything below it. */
#define JPROJ_REST {.key = JPROJ_ANY_, .mode = JPROJ_MODE_KEEP}
#define JPROJ_END {.key = JPROJ_ANY_, .mode = JPROJ_MODE_END}
/* clang-format on */

/* The entry that decides about `key`, or NULL when it is dropped because none matches. */
const JProj *jproj_find(const JProj *list, Str key);
