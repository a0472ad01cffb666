/* SPDX-License-Identifier: Apache-2.0 */
#include "kube/listread.h"

#include <errno.h>

#include "kube/object.h"

enum {
    IN_SHELL, /* outside the items array */
    AT_VALUE, /* after "items": */
    IN_ITEMS, /* between items */
    IN_ITEM,
};

static bool is_space(char c)
{
    return c == ' ' || c == '\t' || c == '\n' || c == '\r';
}

void kube_listread_init(KubeListRead *reader, KubeListItemFn fn)
{
    *reader = (KubeListRead){.fn = fn};
    strbuf_init(&reader->item, KUBE_OBJ_TEXT_MAX);
    strbuf_init(&reader->shell, KUBE_LIST_SHELL_MAX);
}

void kube_listread_deinit(KubeListRead *reader)
{
    strbuf_deinit(&reader->item);
    strbuf_deinit(&reader->shell);
}

/* Length of the run from the start of s that lies inside the current string, its end included. */
static size_t string_run(KubeListRead *reader, Str s)
{
    for (size_t i = 0; i < s.len; i++) {
        char c = s.ptr[i];

        if (reader->escape) {
            reader->escape = false;
        } else if (c == '\\') {
            reader->escape = true;
        } else if (c == '"') {
            reader->in_string = false;
            return i + 1;
        }
    }
    return s.len;
}

static int list_malformed(Err *reterr, const char *what)
{
    return err_set(reterr, EBADMSG, "malformed list: %s", what);
}

static bool shell_key_is_items(const KubeListRead *reader)
{
    Str shell = strbuf_str(&reader->shell);

    return reader->key_end > 0 &&
           str_eq((Str){shell.ptr + reader->key_at, reader->key_end - reader->key_at},
                  STR("\"items\""));
}

/* One byte outside strings and outside the items. */
static int shell_byte(KubeListRead *reader, char c, Err *reterr)
{
    if (reader->done && !is_space(c)) {
        return list_malformed(reterr, "bytes after its end");
    }
    if (strbuf_append_char(&reader->shell, c) < 0) {
        return err_set(reterr, E2BIG, "a list's own members exceed %u bytes", KUBE_LIST_SHELL_MAX);
    }
    switch (c) {
    case '"':
        reader->in_string = true;
        if (reader->depth == 1) {
            reader->key_at = reader->shell.len - 1;
            reader->key_end = 0;
        }
        break;
    case '{':
    case '[':
        reader->depth++;
        break;
    case '}':
    case ']':
        if (reader->depth == 0) {
            return list_malformed(reterr, "unbalanced");
        }
        reader->done = --reader->depth == 0;
        break;
    case ':':
        if (reader->depth == 1 && shell_key_is_items(reader)) {
            reader->state = AT_VALUE;
        }
        break;
    default:
        break;
    }
    return 0;
}

static int value_byte(KubeListRead *reader, char c, Err *reterr)
{
    if (is_space(c)) {
        return 0;
    }
    if (c != '[') { /* null, or nonsense that the decoder of the shell refuses */
        reader->state = IN_SHELL;
        return shell_byte(reader, c, reterr);
    }
    if (reader->items_seen) {
        return list_malformed(reterr, "two items members");
    }
    reader->items_seen = true;
    reader->state = IN_ITEMS;
    reader->depth = 2;
    reader->comma = true;
    return strbuf_append_char(&reader->shell, '[');
}

static int between_byte(KubeListRead *reader, char c, Err *reterr)
{
    if (is_space(c)) {
        return 0;
    }
    if (c == '{' && reader->comma) {
        reader->state = IN_ITEM;
        reader->comma = false;
        reader->depth = 3;
        return strbuf_append_char(&reader->item, c);
    }
    if (c == ',' && !reader->comma && reader->n_items > 0) {
        reader->comma = true;
        return 0;
    }
    if (c == ']' && (!reader->comma || reader->n_items == 0)) {
        reader->state = IN_SHELL;
        reader->depth = 1;
        return strbuf_append_char(&reader->shell, c);
    }
    return list_malformed(reterr, "an item is not an object");
}

static int item_finish(KubeListRead *reader, Str item, Err *reterr)
{
    int r;

    if (++reader->n_items > KUBE_LIST_ITEMS_MAX) {
        return err_set(reterr, E2BIG, "more than %d items in a page", KUBE_LIST_ITEMS_MAX);
    }
    r = reader->fn(reader, item, reterr);
    strbuf_clear(&reader->item);
    reader->state = IN_ITEMS;
    return r < 0 ? r : 0;
}

/* Consumes bytes of the current item; a whole item in one chunk is not copied. */
static int item_run(KubeListRead *reader, Str s, size_t *ret_used, Err *reterr)
{
    size_t i = 0;

    while (i < s.len && reader->depth > 2) {
        char c = s.ptr[i];

        if (reader->in_string) {
            i += string_run(reader, str_drop(s, i));
            continue;
        }
        if (c == '"') {
            reader->in_string = true;
        } else if (c == '{' || c == '[') {
            reader->depth++;
        } else if (c == '}' || c == ']') {
            reader->depth--;
        }
        i++;
    }
    *ret_used = i;
    if (strbuf_append(&reader->item, str_take(s, i)) < 0) {
        return err_set(reterr, E2BIG, "an item exceeds %u bytes", KUBE_OBJ_TEXT_MAX);
    }
    return reader->depth > 2 ? 0 : item_finish(reader, strbuf_str(&reader->item), reterr);
}

static int shell_string(KubeListRead *reader, Str s, size_t *ret_used, Err *reterr)
{
    size_t n = string_run(reader, s);

    *ret_used = n;
    if (strbuf_append(&reader->shell, str_take(s, n)) < 0) {
        return err_set(reterr, E2BIG, "a list's own members exceed %u bytes", KUBE_LIST_SHELL_MAX);
    }
    if (!reader->in_string && reader->depth == 1 && reader->key_end == 0) {
        reader->key_end = reader->shell.len;
    }
    return 0;
}

int kube_listread_feed(KubeListRead *reader, Str chunk, Err *reterr)
{
    int r = 0;

    while (r == 0 && chunk.len > 0) {
        size_t used = 1;

        if (reader->state == IN_ITEM) {
            r = item_run(reader, chunk, &used, reterr);
        } else if (reader->in_string) {
            r = shell_string(reader, chunk, &used, reterr);
        } else if (reader->state == IN_ITEMS) {
            r = between_byte(reader, chunk.ptr[0], reterr);
        } else if (reader->state == AT_VALUE) {
            r = value_byte(reader, chunk.ptr[0], reterr);
        } else {
            r = shell_byte(reader, chunk.ptr[0], reterr);
        }
        chunk = str_drop(chunk, used);
    }
    return r;
}

int kube_listread_end(KubeListRead *reader, Str *ret_shell, Err *reterr)
{
    if (!reader->done) {
        return err_set(reterr, EBADMSG, "the list ended early, after %zu items", reader->n_items);
    }
    *ret_shell = strbuf_str(&reader->shell);
    return 0;
}
