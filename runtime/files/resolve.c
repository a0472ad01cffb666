/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The walk keeps an absolute canonical path and the text still to be walked. Outside of the root
 * components are only counted, never looked at: whoever comes back in (../workspace/x) is inside.
 */
#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/mem.h"
#include "runtime/exec/fds.h"
#include "runtime/files/root_impl.h"

typedef struct Walk {
    const Root *root;
    size_t len;
    char at[PATH_MAX]; /* "" is "/"; else "/a/b" */
    StrBuf rest;
    int links;
} Walk;

/* Length of the root's own path in Walk.at: a root of "/" adds nothing. */
static size_t prefix_len(const Root *root)
{
    return root->base_len == 1 ? 0 : root->base_len;
}

/* The part below the root, or NULL when the walk is outside. Empty at the root itself. */
static const char *below_root(const Walk *w)
{
    size_t len = prefix_len(w->root);

    if (w->len < len || memcmp(w->at, w->root->base, len) != 0) {
        return NULL;
    }
    if (w->len == len) {
        return w->at + len;
    }
    return w->at[len] == '/' ? w->at + len + 1 : NULL;
}

static void walk_pop(Walk *w)
{
    while (w->len > 0 && w->at[w->len - 1] != '/') {
        w->len--;
    }
    w->len -= w->len > 0;
    w->at[w->len] = '\0';
}

static int walk_push(Walk *w, Str name)
{
    if (name.len > NAME_MAX || w->len + 1 + name.len >= sizeof(w->at)) {
        return -ENAMETOOLONG;
    }
    w->at[w->len] = '/';
    memcpy(w->at + w->len + 1, name.ptr, name.len);
    w->len += 1 + name.len;
    w->at[w->len] = '\0';
    return 0;
}

/* Length of the link's target, 0 when the place is no link (or not there), -errno. */
static int read_link(const Walk *w, char target[PATH_MAX])
{
    const char *below = below_root(w);
    AUTO(fd) int fd = -1;
    RootPath path;
    struct stat st;
    ssize_t n;

    if (!below || *below == '\0') {
        return 0;
    }
    path.len = strlen(below);
    memcpy(path.text, below, path.len + 1);
    fd = root_openat(w->root, &path, O_PATH | O_NOFOLLOW);
    if (fd == -ELOOP || fd == -EXDEV) {
        return fd; /* a directory became a link just now */
    }
    if (fd < 0 || fstat(fd, &st) < 0 || !S_ISLNK(st.st_mode)) {
        return 0;
    }
    n = readlinkat(fd, "", target, PATH_MAX);
    return n < 0 ? -errno : (int)n;
}

/* The link's target takes the place of its name. */
static int walk_link(Walk *w, Str target)
{
    AUTO(strbuf) StrBuf rest = STRBUF_INIT(2 * PATH_MAX);

    if (++w->links > ROOT_LINKS_MAX) {
        return -ELOOP;
    }
    strbuf_append(&rest, target);
    strbuf_append_char(&rest, '/');
    if (strbuf_append(&rest, strbuf_str(&w->rest)) < 0) {
        return -ENAMETOOLONG;
    }
    walk_pop(w);
    if (str_starts(target, STR("/"))) {
        w->len = 0;
        w->at[0] = '\0';
    }
    strbuf_clear(&w->rest);
    strbuf_append(&w->rest, strbuf_str(&rest));
    return 0;
}

static int walk_name(Walk *w, Str name, bool last, bool follow)
{
    char target[PATH_MAX];
    int n = walk_push(w, name);

    if (n < 0 || (last && !follow)) {
        return n;
    }
    n = read_link(w, target);
    return n > 0 ? walk_link(w, (Str){target, (size_t)n}) : n;
}

static Str next_name(Str *rest)
{
    Str after;
    Str name;

    do {
        name = str_cut(*rest, '/', &after);
        *rest = after;
    } while (name.len == 0 && rest->len > 0);
    return name;
}

static bool only_slashes(Str s)
{
    for (size_t i = 0; i < s.len; i++) {
        if (s.ptr[i] != '/') {
            return false;
        }
    }
    return true;
}

static int walk(Walk *w, bool follow)
{
    while (w->rest.len > 0) {
        char name[NAME_MAX + 1];
        Str rest = strbuf_str(&w->rest);
        Str part = next_name(&rest);
        bool last = only_slashes(rest);
        int r = 0;

        if (part.len > NAME_MAX) {
            return -ENAMETOOLONG;
        }
        memcpy(name, part.ptr, part.len);
        part.ptr = name; /* the text it came from is about to move */
        strbuf_consume(&w->rest, w->rest.len - rest.len);
        if (str_eq(part, STR(".."))) {
            walk_pop(w);
        } else if (part.len > 0 && !str_eq(part, STR("."))) {
            r = walk_name(w, part, last, follow);
        }
        if (r < 0) {
            return r;
        }
    }
    return 0;
}

int root_resolve(const Root *root, Str path, bool follow, RootPath *ret_path)
{
    Walk w = {.root = root, .len = prefix_len(root)};
    const char *below;
    int r;

    if (str_find(path, '\0') >= 0) {
        return -EXDEV;
    }
    memcpy(w.at, root->base, w.len);
    w.at[w.len] = '\0';
    strbuf_init(&w.rest, 2 * PATH_MAX);
    r = strbuf_append(&w.rest, path) < 0 ? -ENAMETOOLONG : walk(&w, follow);
    strbuf_deinit(&w.rest);
    if (r < 0) {
        return r;
    }
    below = below_root(&w);
    if (!below) {
        return -EXDEV;
    }
    below = *below ? below : ".";
    ret_path->len = strlen(below);
    memcpy(ret_path->text, below, ret_path->len + 1);
    return 0;
}

int root_resolve_absolute(const Root *root, Str path, RootPath *ret_path)
{
    Str base = {root->base, root->base_len};

    if (root->base_len > 1 && str_starts(path, base) &&
        (path.len == base.len || path.ptr[base.len] == '/')) {
        path = str_drop(path, base.len);
    }
    return root_resolve(root, path, true, ret_path);
}
