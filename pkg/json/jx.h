/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * Jansson helpers for the write path: building objects, patches, configuration. Memory for what
 * this program builds aborts when out, as xmalloc does; text from a peer is bounded before it is
 * parsed.
 *
 * Ownership: `json_t *` results of jx_get/jx_obj/jx_arr are borrowed from the root; results of
 * _make/_parse/_new/_dup are owned. Arguments named `stolen` are taken over, also on failure.
 * Semantic comparison of Kubernetes objects is in json/semantic.h.
 */
#include <jansson.h>

#include "base/attr.h"
#include "base/err.h"
#include "base/hash.h"
#include "base/mem.h"
#include "base/str.h"

/* AUTO(json) json_t *pod = ...; */
DEFINE_AUTO_PTR(json, json_t, json_decref)

/*
 * Text -> tree. Strict: duplicate keys are errors, depth is limited to JSON_DEPTH_MAX before a tree
 * is built. 0, -EINVAL (message with line and column), -E2BIG, -ENOMEM.
 */
int jx_parse(Str text, size_t text_max, json_t **ret, Err *reterr);

/* Compact text, owned (free with free/AUTO(mem)). jx_dump_sorted orders members by key. */
char *jx_dump_compact(const json_t *value) MUST_USE;
char *jx_dump_sorted(const json_t *value) MUST_USE;
int jx_dump_into(const json_t *value, StrBuf *out); /* 0 or -E2BIG */

/* Deep copy, never NULL for a non-NULL value. */
json_t *jx_dup(const json_t *value) MUST_USE;

/* FNV-1a of the sorted compact text as 8 hex digits: stable across restarts and member order. */
void jx_hash(const json_t *value, char ret_hex[HASH_HEX_SIZE]);

/* ---- reading ---- */

/* jx_get(pod, "metadata", "labels"): NULL when any step is missing or not an object. */
json_t *jx_get_(const json_t *root, ...) __attribute__((sentinel));
#define jx_get(root, ...) jx_get_((root), __VA_ARGS__, (const char *)NULL)
/* Text of a string value, STR_NULL for anything else (NULL included). */
Str jx_str(const json_t *value);
/* jx_get and jx_str in one; the text is NUL-terminated. */
#define jx_get_str(root, ...) jx_str(jx_get_((root), __VA_ARGS__, (const char *)NULL))
int64_t jx_i64(const json_t *value, int64_t otherwise);
bool jx_bool(const json_t *value, bool otherwise);

/* ---- building; all abort when memory is out ---- */

json_t *jx_object_new(void) MUST_USE;
json_t *jx_array_new(void) MUST_USE;
json_t *jx_string_new(Str s) MUST_USE; /* bytes that are not UTF-8 become U+FFFD */
json_t *jx_stringf_new(const char *fmt, ...) PRINTF_LIKE(1, 2) MUST_USE;

/* Gets the object (array) at the path below `root`, creating it and replacing what is not one. */
json_t *jx_obj_(json_t *root, ...) __attribute__((sentinel));
#define jx_obj(root, ...) jx_obj_((root), __VA_ARGS__, (const char *)NULL)
json_t *jx_arr_(json_t *root, ...) __attribute__((sentinel));
#define jx_arr(root, ...) jx_arr_((root), __VA_ARGS__, (const char *)NULL)

/* Sets one member; a NULL value removes it. `object` must be an object. */
void jx_set(json_t *object, const char *key, json_t *stolen);
void jx_set_str(json_t *object, const char *key, Str value);
void jx_set_i64(json_t *object, const char *key, int64_t value);
void jx_set_bool(json_t *object, const char *key, bool value);
/* jx_set_path(pod, value, "spec", "nodeName"): creates the objects on the way. */
void jx_set_path_(json_t *root, json_t *stolen, ...) __attribute__((sentinel));
#define jx_set_path(root, stolen, ...)                                                             \
    jx_set_path_((root), (stolen), __VA_ARGS__, (const char *)NULL)
void jx_append(json_t *array, json_t *stolen);

/* ---- RFC 7386 merge patches ---- */

/*
 * The smallest patch that turns `from` into `to`; NULL when nothing has to change. A patch cannot
 * say "null", so null members of `to` mean absent. Arrays are replaced whole.
 */
json_t *jx_merge_patch_make(const json_t *from, const json_t *to) MUST_USE;
/* A new tree; `target` (may be NULL) and `patch` are not changed. */
json_t *jx_merge_patch_apply(const json_t *target, const json_t *patch) MUST_USE;
