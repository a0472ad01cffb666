/* SPDX-License-Identifier: Apache-2.0 */
/* URL paths of the API, and their queries. */
#include "base/mem.h"
#include "test/fakeapi/impl.h"

static int hex_digit(char c)
{
    if (c >= '0' && c <= '9') {
        return c - '0';
    }
    return c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
}

/* Decodes in place. */
static Str decode(Str s)
{
    char *to = (char *)s.ptr;
    size_t n = 0;

    for (size_t i = 0; i < s.len; i++) {
        if (s.ptr[i] == '%' && i + 2 < s.len && hex_digit(s.ptr[i + 1]) >= 0 &&
            hex_digit(s.ptr[i + 2]) >= 0) {
            to[n++] = (char)(hex_digit(s.ptr[i + 1]) * 16 + hex_digit(s.ptr[i + 2]));
            i += 2;
        } else {
            to[n++] = s.ptr[i];
        }
    }
    return (Str){to, n};
}

static void query_member(FakeUrl *url, Str key, Str value)
{
    if (str_eq(key, STR("labelSelector"))) {
        url->label_selector = value;
    } else if (str_eq(key, STR("fieldSelector"))) {
        url->field_selector = value;
    } else if (str_eq(key, STR("continue"))) {
        url->cont = value;
    } else if (str_eq(key, STR("resourceVersion"))) {
        url->rv = value;
    } else if (str_eq(key, STR("resourceVersionMatch"))) {
        url->match = value;
    } else if (str_eq(key, STR("sendInitialEvents"))) {
        url->initial = value;
    } else if (str_eq(key, STR("limit"))) {
        str_to_u64(value, &url->limit);
    } else if (str_eq(key, STR("timeoutSeconds"))) {
        str_to_u64(value, &url->timeout_s);
    } else if (str_eq(key, STR("watch"))) {
        url->watch = str_eq(value, STR("true")) || str_eq(value, STR("1"));
    } else if (str_eq(key, STR("allowWatchBookmarks"))) {
        url->bookmarks = str_eq(value, STR("true"));
    }
}

void fake_url_deinit(FakeUrl *url)
{
    free(url->text);
    url->text = NULL;
}

int fake_url_parse(const char *path, FakeUrl *ret_url)
{
    FakeUrl url = {.text = xstrdup(path)};
    Str query;
    Str rest = str_cut(str_from(url.text), '?', &query);
    Str group = STR("");
    Str version;
    Str plural;
    Str first = str_cut(str_drop(rest, 1), '/', &rest);

    if (str_eq(first, STR("apis"))) {
        group = str_cut(rest, '/', &rest);
    }
    version = str_cut(rest, '/', &rest);
    plural = str_cut(rest, '/', &rest);
    if (str_eq(plural, STR("namespaces")) && rest.ptr) {
        url.ns = str_cut(rest, '/', &rest);
        plural = str_cut(rest, '/', &rest);
    }
    if (rest.ptr) {
        url.name = str_cut(rest, '/', &rest);
    }
    url.subresource = rest.ptr ? rest : STR("");
    url.kind = kube_kind_find_plural(group, version, plural);
    if (!url.kind || (url.subresource.len > 0 &&
                      !(url.kind->has_status && str_eq(url.subresource, STR("status"))))) {
        fake_url_deinit(&url);
        return 404;
    }
    while (query.ptr) {
        Str value;
        Str key = str_cut(str_cut(query, '&', &query), '=', &value);

        query_member(&url, key, value.ptr ? decode(value) : STR(""));
    }
    *ret_url = url;
    return 0;
}
