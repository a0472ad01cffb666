/* SPDX-License-Identifier: Apache-2.0 */
#include "json/doc.h"

#include <jansson.h>
#include <stdlib.h>

#include "base/check.h"
#include "json/doc_tape.h"

JDoc *jdoc_ref(JDoc *doc)
{
    CHECK(doc->refs > 0 && doc->refs < UINT32_MAX);
    doc->refs++;
    return doc;
}

void jdoc_unref(JDoc *doc)
{
    if (doc) {
        CHECK(doc->refs > 0);
        if (--doc->refs == 0) {
            free(doc);
        }
    }
}

size_t jdoc_size(const JDoc *doc)
{
    return sizeof(*doc) + doc->n_nodes * sizeof(TapeNode) + doc->n_bytes;
}

JNode jdoc_root(const JDoc *doc)
{
    return (JNode){doc, 0};
}

static inline TapeNode node_tape(JNode node)
{
    return node.doc->tape[node.at];
}

static inline bool is_type(JNode node, JType type)
{
    return node.doc && tape_type(node_tape(node)) == type;
}

/* The string stored in tape slot `at`. */
static inline Str string_at(const JDoc *doc, uint32_t at)
{
    const char *bytes = (const char *)(doc->tape + doc->n_nodes);

    return (Str){bytes + doc->tape[at].arg, tape_len(doc->tape[at])};
}

JType jnode_type(JNode node)
{
    return node.doc ? tape_type(node_tape(node)) : JTYPE_ABSENT;
}

bool jnode_exists(JNode node)
{
    return node.doc != NULL;
}

/* The value of `key` among the members whose key nodes are in [at, end); 0 when it is not there. */
static uint32_t find_member(const JDoc *doc, uint32_t at, uint32_t end, Str key)
{
    const TapeNode *tape = doc->tape;
    const char *bytes = (const char *)(tape + doc->n_nodes);
    uint32_t head = tape_head(JTYPE_STRING, key.len);

    for (; at < end; at = tape_after(tape, at + 1)) {
        /* Keys of one length mostly differ in their first or last byte. */
        if (tape[at].head == head &&
            (key.len == 0 || (bytes[tape[at].arg] == key.ptr[0] &&
                              bytes[tape[at].arg + key.len - 1] == key.ptr[key.len - 1] &&
                              memcmp(bytes + tape[at].arg, key.ptr, key.len) == 0))) {
            return at + 1;
        }
    }
    return 0;
}

JNode jnode_get(JNode node, Str key)
{
    if (!is_type(node, JTYPE_OBJECT)) {
        return JNODE_ABSENT;
    }
    uint32_t at = find_member(node.doc, node.at + 1, node_tape(node).arg, key);
    return at ? (JNode){node.doc, at} : JNODE_ABSENT;
}

JNode jnode_path(JNode node, const Str *keys, size_t n)
{
    for (size_t i = 0; i < n && node.doc; i++) {
        node = jnode_get(node, keys[i]);
    }
    return node;
}

JNode jnode_index(JNode node, size_t i)
{
    if (!is_type(node, JTYPE_ARRAY) || i >= tape_len(node_tape(node))) {
        return JNODE_ABSENT;
    }
    uint32_t at = node.at + 1;
    while (i-- > 0) {
        at = tape_after(node.doc->tape, at);
    }
    return (JNode){node.doc, at};
}

Str jnode_str(JNode node)
{
    return is_type(node, JTYPE_STRING) ? string_at(node.doc, node.at) : STR_NULL;
}

int64_t jnode_i64(JNode node, int64_t otherwise)
{
    int64_t v;

    if (!is_type(node, JTYPE_INT)) {
        return otherwise;
    }
    if (tape_len(node_tape(node)) == 0) {
        return (int32_t)node_tape(node).arg;
    }
    memcpy(&v, &node.doc->tape[node.at + 1], sizeof(v));
    return v;
}

double jnode_f64(JNode node, double otherwise)
{
    double v;

    if (is_type(node, JTYPE_INT)) {
        return (double)jnode_i64(node, 0);
    }
    if (!is_type(node, JTYPE_REAL)) {
        return otherwise;
    }
    memcpy(&v, &node.doc->tape[node.at + 1], sizeof(v));
    return v;
}

bool jnode_bool(JNode node, bool otherwise)
{
    return is_type(node, JTYPE_BOOL) ? node_tape(node).arg != 0 : otherwise;
}

size_t jnode_len(JNode node)
{
    return is_type(node, JTYPE_OBJECT) || is_type(node, JTYPE_ARRAY) ? tape_len(node_tape(node))
                                                                     : 0;
}

JIter jnode_iter(JNode node)
{
    return (JIter){
        .parent = node,
        .at = node.at + 1,
        .left = (uint32_t)jnode_len(node),
        .object = is_type(node, JTYPE_OBJECT),
    };
}

bool jiter_next(JIter *it, Str *ret_key, JNode *ret_value)
{
    if (it->left == 0) {
        return false;
    }
    const JDoc *doc = it->parent.doc;
    uint32_t value = it->at + it->object;

    if (ret_key) {
        *ret_key = it->object ? string_at(doc, it->at) : STR_NULL;
    }
    *ret_value = (JNode){doc, value};
    it->at = tape_after(doc->tape, value);
    it->left--;
    return true;
}

/*
 * Keys are unique and the lengths agree. Each member is looked for from where the last one was
 * found: two texts of one writer have the same order, so that large objects do not cost their
 * square.
 */
static bool objects_equal(JNode a, JNode b)
{
    JIter it = jnode_iter(a);
    uint32_t begin = b.at + 1, end = node_tape(b).arg, next = begin;
    Str key;
    JNode value;

    while (jiter_next(&it, &key, &value)) {
        uint32_t at = find_member(b.doc, next, end, key);
        if (!at) {
            at = find_member(b.doc, begin, next, key);
        }
        if (!at || !jnode_equal(value, (JNode){b.doc, at})) {
            return false;
        }
        next = tape_after(b.doc->tape, at);
    }
    return true;
}

static bool arrays_equal(JNode a, JNode b)
{
    JIter ia = jnode_iter(a), ib = jnode_iter(b);
    JNode x, y;

    while (jiter_next(&ia, NULL, &x) && jiter_next(&ib, NULL, &y)) {
        if (!jnode_equal(x, y)) {
            return false;
        }
    }
    return true;
}

bool jnode_equal(JNode a, JNode b)
{
    JType type = jnode_type(a);

    if (type != jnode_type(b)) {
        return false;
    }
    if (a.doc == b.doc && a.at == b.at) {
        return true;
    }
    switch (type) {
    case JTYPE_BOOL:
        return jnode_bool(a, false) == jnode_bool(b, false);
    case JTYPE_INT:
        return jnode_i64(a, 0) == jnode_i64(b, 0);
    case JTYPE_REAL:
        return jnode_f64(a, 0) == jnode_f64(b, 0);
    case JTYPE_STRING:
        return str_eq(jnode_str(a), jnode_str(b));
    case JTYPE_ARRAY:
        return jnode_len(a) == jnode_len(b) && arrays_equal(a, b);
    case JTYPE_OBJECT:
        return jnode_len(a) == jnode_len(b) && objects_equal(a, b);
    default:
        return true; /* both null, both absent */
    }
}

static json_t *container_to_jansson(JNode node)
{
    json_t *out = jnode_type(node) == JTYPE_OBJECT ? json_object() : json_array();
    JIter it = jnode_iter(node);
    Str key;
    JNode child;

    CHECK(out);
    while (jiter_next(&it, &key, &child)) {
        json_t *value = jnode_to_jansson(child);
        int r = it.object ? json_object_setn_new_nocheck(out, key.ptr, key.len, value)
                          : json_array_append_new(out, value);
        CHECK(r == 0);
    }
    return out;
}

struct json_t *jnode_to_jansson(JNode node)
{
    json_t *out = NULL;

    switch (jnode_type(node)) {
    case JTYPE_ABSENT:
        return NULL;
    case JTYPE_NULL:
        return json_null();
    case JTYPE_BOOL:
        return json_boolean(jnode_bool(node, false));
    case JTYPE_INT:
        out = json_integer(jnode_i64(node, 0));
        break;
    case JTYPE_REAL:
        out = json_real(jnode_f64(node, 0));
        break;
    case JTYPE_STRING: {
        Str s = jnode_str(node);
        out = json_stringn_nocheck(s.ptr, s.len);
        break;
    }
    default:
        out = container_to_jansson(node);
        break;
    }
    CHECK(out);
    return out;
}
