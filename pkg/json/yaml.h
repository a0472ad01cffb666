/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * YAML text -> Jansson trees, for configuration files and manifests. Every way a small file can
 * become a large tree is limited; errors carry "line L column C".
 *
 * Plain scalars resolve as kubectl reads them, less the traps: null, ~ and empty are null;
 * true/false in three spellings are booleans; decimal, 0x, 0o and leading-0 octal integers; reals
 * with a point or an exponent. Everything else is a string, `yes`, `no`, `on` and `off` included.
 * Quoted scalars and
 * !!str are strings. Keys are always strings. Duplicate keys, merge keys (<<), complex keys, other
 * tags and recursive aliases are errors.
 */
#include "json/jx.h"

#define YAML_TEXT_MAX ((size_t)3 << 20)  /* bytes of text */
#define YAML_DEPTH_MAX 64                /* collections inside each other */
#define YAML_NODES_MAX 100000            /* nodes of all documents, aliases expanded */
#define YAML_BYTES_MAX ((size_t)6 << 20) /* string bytes of all documents, aliases expanded */
#define YAML_ANCHORS_MAX 256             /* anchors of one document */
#define YAML_DIRECTIVES_MAX 32           /* occurrences of %TAG in the text */

/*
 * Exactly one document. 0, -EINVAL (bad YAML, none or more than one document), -E2BIG (a limit).
 * An empty text or a lone "---" is one null document.
 */
int yaml_load(Str text, json_t **ret, Err *reterr);

/* All documents as a JSON array; empty documents (only comments between separators) are left out.
 */
int yaml_load_all(Str text, json_t **ret, Err *reterr);
