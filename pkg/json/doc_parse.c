/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Text to tape. Nodes and string bytes grow in scratch memory (on the stack while small) and are
 * copied once into a document of exactly the right size. What the projection drops never gets here.
 */
#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "base/mem.h"
#include "json/doc_tape.h"
#include "json/scan.h"

#define SCRATCH_NODES 512 /* on the stack; more is on the heap */
#define SCRATCH_BYTES 4096
#define NUMBER_MAX 400 /* longest text of a real or of an integer beyond int64_t */
#define SEEN_SLOTS 256 /* recently stored short strings, power of two */
#define SEEN_LEN_MAX 64
#define KEYS_PAIRWISE 16 /* objects with more members are sorted to find duplicate keys */

typedef struct Seen {
    uint32_t at;
    uint32_t len;
} Seen;

typedef struct Builder {
    JScan scan;
    TapeNode *tape;
    size_t n_nodes;
    size_t cap_nodes;
    char *bytes;
    size_t n_bytes;
    size_t cap_bytes;
    size_t mem_max; /* of each of the two, from the length of the text */
    TapeNode stack_nodes[SCRATCH_NODES];
    char stack_bytes[SCRATCH_BYTES];
    Seen seen[SEEN_SLOTS];
} Builder;

static void builder_init(Builder *b, Str text)
{
    jscan_init(&b->scan, text, JSON_DEPTH_MAX);
    b->tape = b->stack_nodes;
    b->n_nodes = 0;
    b->cap_nodes = SCRATCH_NODES;
    b->bytes = b->stack_bytes;
    b->n_bytes = 0;
    b->cap_bytes = SCRATCH_BYTES;
    /* a byte of text makes at most one node; doubling may double that once */
    b->mem_max = 2 * sizeof(TapeNode) * (text.len + SCRATCH_NODES);
    memset(b->seen, 0, sizeof(b->seen));
}

static void builder_deinit(Builder *b)
{
    if (b->tape != b->stack_nodes) {
        free(b->tape);
    }
    if (b->bytes != b->stack_bytes) {
        free(b->bytes);
    }
}

/* Moves scratch memory to twice its size or more: used bytes of `old` go to the result. */
static void *scratch_grow(void *old, bool on_stack, size_t used, size_t size, size_t max)
{
    void *p = mem_try_realloc(on_stack ? NULL : old, size, max);

    if (p && on_stack) {
        memcpy(p, old, used);
    }
    return p;
}

static int grow_nodes(Builder *b)
{
    size_t cap = b->cap_nodes * 2;
    void *p = scratch_grow(b->tape, b->tape == b->stack_nodes, b->n_nodes * sizeof(TapeNode),
                           cap * sizeof(TapeNode), b->mem_max);
    if (!p) {
        return -ENOMEM;
    }
    b->tape = p;
    b->cap_nodes = cap;
    return 0;
}

static int grow_bytes(Builder *b, size_t n)
{
    size_t cap = b->cap_bytes * 2 > b->n_bytes + n ? b->cap_bytes * 2 : b->n_bytes + n;
    void *p = scratch_grow(b->bytes, b->bytes == b->stack_bytes, b->n_bytes, cap, b->mem_max);

    if (!p) {
        return -ENOMEM;
    }
    b->bytes = p;
    b->cap_bytes = cap;
    return 0;
}

static inline int push(Builder *b, uint32_t head, uint32_t arg)
{
    if (b->n_nodes == b->cap_nodes && grow_nodes(b) < 0) {
        return -ENOMEM;
    }
    b->tape[b->n_nodes++] = (TapeNode){head, arg};
    return 0;
}

static int push_wide(Builder *b, JType type, const void *value)
{
    TapeNode slot;

    memcpy(&slot, value, sizeof(slot));
    int r = push(b, tape_head(type, 1), 0);
    return r < 0 ? r : push(b, slot.head, slot.arg);
}

static inline Seen *seen_slot(Builder *b, Str s)
{
    uint64_t head = 0, tail = 0;

    if (s.len >= 8) {
        memcpy(&head, s.ptr, 8);
        memcpy(&tail, s.ptr + s.len - 8, 8);
    } else {
        memcpy(&head, s.ptr, s.len);
    }
    uint64_t h = (head ^ (tail * 3) ^ s.len) * 0x9e3779b97f4a7c15ull;
    return &b->seen[h >> 56 & (SEEN_SLOTS - 1)];
}

/* Appends the decoded string, or points to the same bytes stored shortly before. */
static int push_string(Builder *b, const JToken *token)
{
    Str s = token->text;

    if (b->n_bytes + s.len > b->cap_bytes && grow_bytes(b, s.len) < 0) {
        return -ENOMEM;
    }
    char *dst = b->bytes + b->n_bytes;
    if (token->escaped) {
        size_t n = jscan_unescape(s, dst);
        uint32_t at = (uint32_t)b->n_bytes;
        b->n_bytes += n;
        return push(b, tape_head(JTYPE_STRING, n), at);
    }
    if (s.len == 0) {
        return push(b, tape_head(JTYPE_STRING, 0), 0);
    }
    uint32_t at = (uint32_t)b->n_bytes;
    if (s.len <= SEEN_LEN_MAX) {
        Seen *seen = seen_slot(b, s);
        if (seen->len == s.len && memcmp(b->bytes + seen->at, s.ptr, s.len) == 0) {
            return push(b, tape_head(JTYPE_STRING, s.len), seen->at);
        }
        *seen = (Seen){at, (uint32_t)s.len};
    }
    memcpy(dst, s.ptr, s.len);
    b->n_bytes += s.len;
    return push(b, tape_head(JTYPE_STRING, s.len), at);
}

static int push_double(Builder *b, Str text)
{
    char number[NUMBER_MAX + 1];

    b->scan.at = text.ptr; /* the place of the error, if it is one */
    if (text.len > NUMBER_MAX) {
        b->scan.why = "number too long";
        return -EINVAL;
    }
    memcpy(number, text.ptr, text.len);
    number[text.len] = '\0';
    double v = strtod(number, NULL);
    if (!isfinite(v)) {
        b->scan.why = "number too large";
        return -EINVAL;
    }
    b->scan.at = text.ptr + text.len;
    return push_wide(b, JTYPE_REAL, &v);
}

static int push_int(Builder *b, Str text)
{
    int64_t v;

    if (str_to_i64(text, &v) < 0) {
        return push_double(b, text);
    }
    if (v >= INT32_MIN && v <= INT32_MAX) {
        return push(b, tape_head(JTYPE_INT, 0), (uint32_t)(int32_t)v);
    }
    return push_wide(b, JTYPE_INT, &v);
}

static Str key_at(const Builder *b, uint32_t at)
{
    return (Str){b->bytes + b->tape[at].arg, tape_len(b->tape[at])};
}

static int key_order(const void *pa, const void *pb, void *ctx)
{
    const Builder *b = ctx;
    Str x = key_at(b, *(const uint32_t *)pa), y = key_at(b, *(const uint32_t *)pb);

    if (x.len != y.len) {
        return x.len < y.len ? -1 : 1;
    }
    return memcmp(x.ptr, y.ptr, x.len);
}

static int keys_are_unique(Builder *b, uint32_t *keys, size_t n)
{
    if (n <= KEYS_PAIRWISE) {
        for (size_t i = 1; i < n; i++) {
            for (size_t j = 0; j < i; j++) {
                if (b->tape[keys[i]].head == b->tape[keys[j]].head &&
                    str_eq(key_at(b, keys[i]), key_at(b, keys[j]))) {
                    return 0;
                }
            }
        }
        return 1;
    }
    qsort_r(keys, n, sizeof(*keys), key_order, b);
    for (size_t i = 1; i < n; i++) {
        if (key_order(&keys[i - 1], &keys[i], b) == 0) {
            return 0;
        }
    }
    return 1;
}

/* -EINVAL when the object at `at` has a key twice. */
static int check_keys(Builder *b, uint32_t at)
{
    uint32_t few[KEYS_PAIRWISE], n = tape_len(b->tape[at]);
    uint32_t *keys = n <= KEYS_PAIRWISE ? few : mem_try_alloc(n * sizeof(*keys), b->mem_max);

    if (!keys) {
        return -ENOMEM;
    }
    for (uint32_t i = 0, key = at + 1; i < n; i++) {
        keys[i] = key;
        key = tape_after(b->tape, key + 1);
    }
    int unique = keys_are_unique(b, keys, n);
    if (keys != few) {
        free(keys);
    }
    if (!unique) {
        b->scan.why = "duplicate key in the object that ends";
        return -EINVAL;
    }
    return 0;
}

static int build_value(Builder *b, const JToken *token, const JProj *proj);

static int build_array(Builder *b, const JProj *proj)
{
    size_t at = b->n_nodes, n = 0;
    JToken token;
    int r = push(b, 0, 0);

    while (r == 0) {
        r = jscan_next(&b->scan, &token);
        if (r == 0 && token.kind == JTOK_ARRAY_END) {
            b->tape[at] = (TapeNode){tape_head(JTYPE_ARRAY, n), (uint32_t)b->n_nodes};
            return 0;
        }
        if (r == 0) {
            r = build_value(b, &token, proj);
            n++;
        }
    }
    return r;
}

/* The projection's entry for a key; an escaped key is decoded into free scratch for it. */
static int find_entry(Builder *b, const JToken *key, const JProj *proj, const JProj **ret)
{
    Str name = key->text;

    if (key->escaped) {
        if (b->n_bytes + name.len > b->cap_bytes && grow_bytes(b, name.len) < 0) {
            return -ENOMEM;
        }
        char *dst = b->bytes + b->n_bytes;
        name = (Str){dst, jscan_unescape(name, dst)};
    }
    *ret = jproj_find(proj, name);
    return 0;
}

/* The member whose key was just read: 1 = kept, 0 = dropped. */
static int build_member(Builder *b, const JToken *key, const JProj *proj)
{
    const JProj *entry = NULL;
    JToken token;

    if (proj) {
        int r = find_entry(b, key, proj, &entry);
        if (r < 0) {
            return r;
        }
        if (!entry || entry->mode == JPROJ_MODE_DROP) {
            return jscan_skip(&b->scan, NULL);
        }
    }
    int r = push_string(b, key);
    if (r == 0) {
        r = jscan_next(&b->scan, &token);
    }
    if (r == 0) {
        r = build_value(b, &token, entry ? entry->tree : NULL);
    }
    return r < 0 ? r : 1;
}

static int build_object(Builder *b, const JProj *proj)
{
    size_t at = b->n_nodes, n = 0;
    JToken token;
    int r = push(b, 0, 0);

    while (r >= 0) {
        r = jscan_next(&b->scan, &token);
        if (r == 0 && token.kind == JTOK_OBJECT_END) {
            b->tape[at] = (TapeNode){tape_head(JTYPE_OBJECT, n), (uint32_t)b->n_nodes};
            return check_keys(b, (uint32_t)at);
        }
        if (r == 0) {
            r = build_member(b, &token, proj);
            n += r == 1;
        }
    }
    return r;
}

static int build_value(Builder *b, const JToken *token, const JProj *proj)
{
    switch (token->kind) {
    case JTOK_OBJECT:
        return build_object(b, proj);
    case JTOK_ARRAY:
        return build_array(b, proj);
    case JTOK_STRING:
        return push_string(b, token);
    case JTOK_INT:
        return push_int(b, token->text);
    case JTOK_REAL:
        return push_double(b, token->text);
    case JTOK_TRUE:
        return push(b, tape_head(JTYPE_BOOL, 0), 1);
    case JTOK_FALSE:
        return push(b, tape_head(JTYPE_BOOL, 0), 0);
    default:
        return push(b, tape_head(JTYPE_NULL, 0), 0);
    }
}

static int build_text(Builder *b, const JProj *proj)
{
    JToken token;
    int r = jscan_next(&b->scan, &token);

    if (r == 0) {
        r = build_value(b, &token, proj);
    }
    if (r == 0) {
        r = jscan_next(&b->scan, &token);
    }
    return r;
}

static JDoc *builder_finish(const Builder *b)
{
    size_t nodes = b->n_nodes * sizeof(TapeNode);
    JDoc *doc = mem_try_alloc(sizeof(*doc) + nodes + b->n_bytes, sizeof(*doc) + 2 * b->mem_max);

    if (doc) {
        doc->refs = 1;
        doc->n_nodes = (uint32_t)b->n_nodes;
        doc->n_bytes = (uint32_t)b->n_bytes;
        memcpy(doc->tape, b->tape, nodes);
        memcpy((char *)doc->tape + nodes, b->bytes, b->n_bytes);
    }
    return doc;
}

int jdoc_parse(Str text, const JProj *proj, size_t text_max, JDoc **ret, Err *reterr)
{
    UNCLEARED Builder b;

    if (text.len > text_max || text.len > JDOC_TEXT_MAX) {
        return err_set(reterr, E2BIG, "JSON text of %zu bytes is longer than %zu", text.len,
                       text_max < JDOC_TEXT_MAX ? text_max : JDOC_TEXT_MAX);
    }
    builder_init(&b, text);
    int r = build_text(&b, proj);
    JDoc *doc = r == 0 ? builder_finish(&b) : NULL;
    builder_deinit(&b);
    if (r == -EINVAL || r == -E2BIG) {
        return jscan_err(&b.scan, r, reterr);
    }
    if (!doc) {
        return err_set(reterr, ENOMEM, "out of memory for JSON text of %zu bytes", text.len);
    }
    *ret = doc;
    return 0;
}
