/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Event by event from libyaml to Jansson. The loader keeps a stack of open collections (bounded by
 * YAML_DEPTH_MAX), so neither text nor aliases can make it recurse.
 */
#include "json/yaml.h"

#include <errno.h>
#include <yaml.h>

#include "base/check.h"
#include "json/yaml_scalar.h"

typedef struct Anchor {
    char *name;
    json_t *value; /* borrowed from the document being built; NULL while it is still open */
    size_t nodes;  /* of the value, for the budget of an alias */
    size_t bytes;
    size_t height; /* collections inside each other, 0 for a scalar */
} Anchor;

typedef struct Frame {
    json_t *container; /* owned by its parent, the root by the loader */
    char *key;         /* owned; mapping: the key that waits for its value */
    int anchor;        /* index to complete at the end, -1 = none */
    size_t nodes;      /* budget used when it was opened */
    size_t bytes;
    size_t height; /* of the highest child so far */
} Frame;

typedef struct Loader {
    yaml_parser_t parser;
    Err *reterr;
    json_t *documents;
    json_t *root; /* of the document being read */
    Frame stack[YAML_DEPTH_MAX];
    size_t depth;
    Anchor anchors[YAML_ANCHORS_MAX];
    size_t n_anchors;
    size_t nodes;
    size_t bytes;
    bool keep_empty;
} Loader;

static int fail_at(Loader *l, yaml_mark_t mark, int code, const char *what)
{
    return err_set(l->reterr, code, "bad YAML: %s at line %zu column %zu", what, mark.line + 1,
                   mark.column + 1);
}

static int fail_parser(Loader *l)
{
    const yaml_parser_t *p = &l->parser;

    if (p->error == YAML_MEMORY_ERROR) {
        return err_set(l->reterr, ENOMEM, "out of memory for YAML");
    }
    if (p->error == YAML_READER_ERROR) {
        return err_set(l->reterr, EINVAL, "bad YAML: %s at byte %zu", p->problem,
                       p->problem_offset);
    }
    return fail_at(l, p->problem_mark, EINVAL, p->problem ? p->problem : "syntax error");
}

static void drop_anchors(Loader *l)
{
    while (l->n_anchors > 0) {
        free(l->anchors[--l->n_anchors].name);
    }
}

static void loader_deinit(Loader *l)
{
    while (l->depth > 0) {
        free(l->stack[--l->depth].key);
    }
    drop_anchors(l);
    json_decref(l->root);
    json_decref(l->documents);
    yaml_parser_delete(&l->parser);
}

static int charge(Loader *l, yaml_mark_t mark, size_t nodes, size_t bytes)
{
    l->nodes += nodes;
    l->bytes += bytes;
    if (l->nodes > YAML_NODES_MAX) {
        return fail_at(l, mark, E2BIG, "too many nodes");
    }
    if (l->bytes > YAML_BYTES_MAX) {
        return fail_at(l, mark, E2BIG, "too much text after expanding aliases");
    }
    return 0;
}

/* Notes an anchor; *ret_index is -1 without one. A later one of the same name wins, as YAML says.
 */
static int add_anchor(Loader *l, const yaml_event_t *event, const yaml_char_t *name, json_t *value,
                      size_t bytes, int *ret_index)
{
    *ret_index = -1;
    if (!name) {
        return 0;
    }
    if (l->n_anchors == YAML_ANCHORS_MAX) {
        return fail_at(l, event->start_mark, E2BIG, "too many anchors");
    }
    *ret_index = (int)l->n_anchors;
    l->anchors[l->n_anchors++] = (Anchor){xstrdup((const char *)name), value, 1, bytes, 0};
    return 0;
}

static Frame *top(Loader *l)
{
    return l->depth > 0 ? &l->stack[l->depth - 1] : NULL;
}

/* The collection being filled has a child of this height. */
static void note_height(Loader *l, size_t height)
{
    Frame *frame = top(l);

    if (frame && frame->height < height) {
        frame->height = height;
    }
}

static bool key_due(Loader *l)
{
    Frame *frame = top(l);

    return frame && json_is_object(frame->container) && !frame->key;
}

static int take_key(Loader *l, const yaml_event_t *event, Str text)
{
    Frame *frame = top(l);

    if (str_eq(text, STR("<<")) && event->data.scalar.plain_implicit) {
        return fail_at(l, event->start_mark, EINVAL, "merge keys are not supported");
    }
    if (event->data.scalar.anchor) {
        return fail_at(l, event->start_mark, EINVAL, "an anchor on a key is not supported");
    }
    if (memchr(text.ptr, '\0', text.len)) {
        return fail_at(l, event->start_mark, EINVAL, "NUL in a key");
    }
    if (json_object_getn(frame->container, text.ptr, text.len)) {
        return fail_at(l, event->start_mark, EINVAL, "duplicate key");
    }
    frame->key = xstrndup(text.ptr, text.len);
    return 0;
}

/* Puts a finished or just opened value into its place. */
static void place(Loader *l, json_t *stolen)
{
    Frame *frame = top(l);

    CHECK(stolen);
    if (!frame) {
        CHECK(!l->root);
        l->root = stolen;
    } else if (json_is_array(frame->container)) {
        jx_append(frame->container, stolen);
    } else {
        jx_set(frame->container, frame->key, stolen);
        free(TAKE(frame->key));
    }
}

static int on_scalar(Loader *l, const yaml_event_t *event)
{
    Str text = {(const char *)event->data.scalar.value, event->data.scalar.length};
    const char *tag = (const char *)event->data.scalar.tag;
    const char *why = NULL;
    json_t *value = NULL;
    int index;
    int r = charge(l, event->start_mark, 1, text.len);

    if (r < 0) {
        return r;
    }
    if (key_due(l)) {
        return take_key(l, event, text);
    }
    r = yaml_scalar_resolve(text, tag, event->data.scalar.plain_implicit, &value, &why);
    if (r < 0) {
        return fail_at(l, event->start_mark, EINVAL, why);
    }
    place(l, value);
    return add_anchor(l, event, event->data.scalar.anchor, value, text.len, &index);
}

static int on_alias(Loader *l, const yaml_event_t *event)
{
    const char *name = (const char *)event->data.alias.anchor;
    const Anchor *anchor = NULL;

    for (size_t i = l->n_anchors; i-- > 0 && !anchor;) {
        if (strcmp(l->anchors[i].name, name) == 0) {
            anchor = &l->anchors[i];
        }
    }
    if (!anchor) {
        return fail_at(l, event->start_mark, EINVAL, "unknown alias");
    }
    if (!anchor->value || key_due(l)) {
        return fail_at(l, event->start_mark, EINVAL,
                       key_due(l) ? "an alias cannot be a key" : "recursive alias");
    }
    if (l->depth + anchor->height > YAML_DEPTH_MAX) {
        return fail_at(l, event->start_mark, E2BIG, "nested too deeply after expanding aliases");
    }
    int r = charge(l, event->start_mark, anchor->nodes, anchor->bytes);
    if (r < 0) {
        return r;
    }
    note_height(l, anchor->height);
    place(l, jx_dup(anchor->value));
    return 0;
}

static int open_collection(Loader *l, const yaml_event_t *event, bool mapping)
{
    const yaml_char_t *name =
        mapping ? event->data.mapping_start.anchor : event->data.sequence_start.anchor;
    const char *tag =
        (const char *)(mapping ? event->data.mapping_start.tag : event->data.sequence_start.tag);
    const char *want = mapping ? YAML_MAP_TAG : YAML_SEQ_TAG;
    Frame frame = {.nodes = l->nodes, .bytes = l->bytes};

    if (key_due(l)) {
        return fail_at(l, event->start_mark, EINVAL, "a collection cannot be a key");
    }
    if (tag && strcmp(tag, want) != 0) {
        return fail_at(l, event->start_mark, EINVAL, "tag is not supported");
    }
    if (l->depth == YAML_DEPTH_MAX) {
        return fail_at(l, event->start_mark, E2BIG, "nested too deeply");
    }
    int r = charge(l, event->start_mark, 1, 0);
    if (r == 0) {
        r = add_anchor(l, event, name, NULL, 0, &frame.anchor);
    }
    if (r < 0) {
        return r;
    }
    frame.container = mapping ? jx_object_new() : jx_array_new();
    place(l, frame.container);
    l->stack[l->depth++] = frame;
    return 0;
}

static void close_collection(Loader *l)
{
    Frame *frame = &l->stack[--l->depth];

    note_height(l, frame->height + 1);
    if (frame->anchor >= 0) {
        Anchor *anchor = &l->anchors[frame->anchor];
        anchor->value = frame->container;
        anchor->nodes = l->nodes - frame->nodes;
        anchor->bytes = l->bytes - frame->bytes;
        anchor->height = frame->height + 1;
    }
}

static void end_document(Loader *l)
{
    json_t *root = TAKE(l->root);

    drop_anchors(l);
    if (json_is_null(root) && !l->keep_empty) {
        return;
    }
    jx_append(l->documents, root);
}

static int on_event(Loader *l, const yaml_event_t *event)
{
    switch (event->type) {
    case YAML_SCALAR_EVENT:
        return on_scalar(l, event);
    case YAML_ALIAS_EVENT:
        return on_alias(l, event);
    case YAML_SEQUENCE_START_EVENT:
    case YAML_MAPPING_START_EVENT:
        return open_collection(l, event, event->type == YAML_MAPPING_START_EVENT);
    case YAML_SEQUENCE_END_EVENT:
    case YAML_MAPPING_END_EVENT:
        close_collection(l);
        return 0;
    case YAML_DOCUMENT_END_EVENT:
        end_document(l);
        return 0;
    default:
        return 0;
    }
}

static int run(Loader *l)
{
    for (;;) {
        yaml_event_t event;
        if (!yaml_parser_parse(&l->parser, &event)) {
            return fail_parser(l);
        }
        yaml_event_type_t type = event.type;
        int r = on_event(l, &event);
        yaml_event_delete(&event);
        if (r < 0 || type == YAML_STREAM_END_EVENT) {
            return r;
        }
    }
}

/*
 * The parser compares each %TAG directive with all before it, so their number is limited first.
 * What a line is does not matter (the parser knows five line ends): the word is counted wherever it
 * stands.
 */
static int check_directives(Str text, Err *reterr)
{
    size_t n = 0;

    for (const char *p; text.len > 0 && (p = memmem(text.ptr, text.len, "%TAG", 4));) {
        if (++n > YAML_DIRECTIVES_MAX) {
            return err_set(reterr, E2BIG, "bad YAML: more than %d directives", YAML_DIRECTIVES_MAX);
        }
        text = str_drop(text, (size_t)(p - text.ptr) + 4);
    }
    return 0;
}

static int load(Str text, bool keep_empty, json_t **ret, Err *reterr)
{
    if (text.len > YAML_TEXT_MAX) {
        return err_set(reterr, E2BIG, "YAML text of %zu bytes is longer than %zu", text.len,
                       YAML_TEXT_MAX);
    }
    int r = check_directives(text, reterr);
    if (r < 0) {
        return r;
    }
    Loader *l = xcalloc(1, sizeof(*l));
    l->reterr = reterr;
    l->keep_empty = keep_empty;
    l->documents = jx_array_new();
    CHECK(yaml_parser_initialize(&l->parser));
    yaml_parser_set_encoding(&l->parser, YAML_UTF8_ENCODING);
    yaml_parser_set_input_string(&l->parser, (const unsigned char *)(text.ptr ? text.ptr : ""),
                                 text.len);
    r = run(l);
    if (r == 0) {
        *ret = TAKE(l->documents);
    }
    loader_deinit(l);
    free(l);
    return r;
}

int yaml_load_all(Str text, json_t **ret, Err *reterr)
{
    return load(text, false, ret, reterr);
}

int yaml_load(Str text, json_t **ret, Err *reterr)
{
    AUTO(json) json_t *documents = NULL;
    int r = load(text, true, &documents, reterr);

    if (r < 0) {
        return r;
    }
    if (json_array_size(documents) > 1) {
        return err_set(reterr, EINVAL, "bad YAML: %zu documents where one is due",
                       json_array_size(documents));
    }
    json_t *first = json_array_get(documents, 0);
    *ret = first ? json_incref(first) : json_null();
    return 0;
}
