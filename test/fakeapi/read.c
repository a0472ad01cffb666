/* SPDX-License-Identifier: Apache-2.0 */
/* Lists and watches. */
#include <stdio.h>

#include "base/mem.h"
#include "test/fakeapi/impl.h"

/* ---- selection ---- */

int fake_filter_init(FakeFilter *filter, const FakeUrl *url)
{
    *filter = (FakeFilter){.kind = url->kind};
    if (kube_selector_parse(url->label_selector, &filter->labels, NULL) < 0) {
        return 400;
    }
    filter->ns = url->ns.ptr ? xstrndup(url->ns.ptr, url->ns.len) : NULL;
    if (url->name.ptr) {
        filter->fields = xasprintf("metadata.name=" STR_FMT, STR_ARG(url->name));
    } else {
        filter->fields = xstrndup(url->field_selector.ptr ? url->field_selector.ptr : "",
                                  url->field_selector.len);
    }
    return 0;
}

void fake_filter_deinit(FakeFilter *filter)
{
    free(filter->ns);
    free(filter->fields);
    kube_selector_free(filter->labels);
}

static Str label_of(const void *ctx, Str key)
{
    AUTO(mem) char *name = xstrndup(key.ptr, key.len);

    return jx_get_str((const json_t *)ctx, "metadata", "labels", name);
}

/* "path=value,path!=value"; paths are member names joined by dots. */
static bool fields_match(const char *fields, const json_t *object)
{
    Str rest = str_from(fields);

    while (rest.ptr && rest.len > 0) {
        Str value;
        Str path = str_cut(str_cut(rest, ',', &rest), '=', &value);
        bool negative = path.len > 0 && path.ptr[path.len - 1] == '!';
        const json_t *at = object;

        path = negative ? str_take(path, path.len - 1) : path;
        value = value.len > 0 && value.ptr[0] == '=' ? str_drop(value, 1) : value;
        while (path.ptr) {
            Str step = str_cut(path, '.', &path);
            AUTO(mem) char *key = xstrndup(step.ptr, step.len);

            at = jx_get(at, key);
        }
        if (str_eq(jx_str(at), value) == negative) {
            return false;
        }
    }
    return true;
}

static bool filter_matches(const FakeFilter *filter, const json_t *object)
{
    return object &&
           (!filter->ns || str_eq(fake_meta(object, "namespace"), str_from(filter->ns))) &&
           kube_selector_matches(filter->labels, label_of, object) &&
           fields_match(filter->fields, object);
}

/* ---- LIST ---- */

typedef VEC(const json_t *) Objects;

static size_t object_place(const Objects *objects, const json_t *object)
{
    size_t i = 0;

    while (i < objects->len &&
           !(str_eq(fake_meta(objects->ptr[i], "name"), fake_meta(object, "name")) &&
             str_eq(fake_meta(objects->ptr[i], "namespace"), fake_meta(object, "namespace")))) {
        i++;
    }
    return i;
}

static void undo_event(Objects *objects, const FakeEvent *event)
{
    size_t i = object_place(objects, event->after ? event->after : event->before);

    if (!event->before) {
        vec_remove(objects, i);
    } else if (event->after) {
        objects->ptr[i] = event->before;
    } else {
        vec_push(objects, event->before);
    }
}

/* Objects as they were at version rv, at most as far back as there is history. */
static json_t *list_snapshot(FakeApi *api, const FakeFilter *filter, uint64_t rv)
{
    json_t *items = jx_array_new();
    Objects objects = {0};

    vec_foreach (&api->objects[filter->kind->id], it) {
        vec_push(&objects, *it);
    }
    for (size_t i = api->events.len; i > 0 && api->events.ptr[i - 1].rv > rv; i--) {
        if (api->events.ptr[i - 1].kind == filter->kind) {
            undo_event(&objects, &api->events.ptr[i - 1]);
        }
    }
    vec_foreach (&objects, it) {
        if (filter_matches(filter, *it)) {
            jx_append(items, json_incref((json_t *)*it));
        }
    }
    vec_free(&objects);
    return items;
}

/* The version `lag` changes ago, at most back to the last compaction. */
static uint64_t version_before(const FakeApi *api, uint64_t lag)
{
    if (lag == 0) {
        return api->rv;
    }
    return api->rv > api->compacted_rv + lag ? api->rv - lag : api->compacted_rv;
}

/* What a real server says to options that do not go together (k8s.io/apimachinery, validation of
 * ListOptions). */
static bool options_refused(const FakeApi *api, const FakeUrl *url, FakeAnswer *answer)
{
    const char *what = NULL;

    if (url->initial.len > 0 && !url->watch) {
        what = "sendInitialEvents: Forbidden: sendInitialEvents is forbidden for list";
    } else if (url->initial.len > 0 && url->match.len == 0) {
        what = "resourceVersionMatch: Forbidden: sendInitialEvents requires setting "
               "resourceVersionMatch to NotOlderThan";
    } else if (url->initial.len > 0 && !str_eq(url->match, STR("NotOlderThan"))) {
        what = "resourceVersionMatch: Unsupported value: supported values: \"NotOlderThan\"";
    } else if (url->initial.len > 0 && api->streams_off) {
        what = "sendInitialEvents: Forbidden: sendInitialEvents is forbidden for watch unless the "
               "WatchList feature gate is enabled";
    } else if (url->watch && url->initial.len == 0 && url->match.len > 0) {
        what = "resourceVersionMatch: Forbidden: resourceVersionMatch is forbidden for watch "
               "unless sendInitialEvents is provided";
    }
    if (what) {
        fake_answer_status(answer, 422, "Invalid", "ListOptions.meta.k8s.io \"\" is invalid: %s",
                           what);
    }
    return what != NULL;
}

static FakeSnapshot *snapshot_find(FakeApi *api, Str token)
{
    uint64_t id = 0;

    if (str_to_u64(token, &id) == 0) {
        vec_foreach (&api->snapshots, it) {
            if (it->id == id) {
                return it;
            }
        }
    }
    return NULL;
}

/* The rest of a list waits in a snapshot under a number that is the continue token. */
static int list_page(FakeApi *api, const FakeUrl *url, json_t *items, uint64_t rv,
                     FakeAnswer *answer)
{
    AUTO(json) json_t *list = jx_object_new();
    AUTO(json) json_t *rest = jx_array_new();
    json_t *page = jx_array_new();
    uint64_t limit = url->limit;
    json_t *item;
    size_t i;

    if (api->page_max > 0 && (limit == 0 || api->page_max < limit)) {
        limit = api->page_max;
    }
    json_array_foreach(items, i, item)
    {
        jx_append(limit == 0 || i < limit ? page : rest, json_incref(item));
    }
    jx_set(list, "kind", jx_stringf_new("%sList", url->kind->kind));
    jx_set_str(list, "apiVersion", str_from(url->kind->api_version));
    jx_set_path(list, jx_stringf_new("%llu", (unsigned long long)rv), "metadata",
                "resourceVersion");
    if (json_array_size(rest) > 0) {
        FakeSnapshot snapshot = {.id = ++api->seq, .items = TAKE(rest), .rv = rv};

        jx_set_path(list, jx_stringf_new("%llu", (unsigned long long)snapshot.id), "metadata",
                    "continue");
        vec_push(&api->snapshots, snapshot);
    }
    jx_set(list, "items", page);
    fake_answer_object(answer, 200, list);
    return 0;
}

int fake_list(FakeApi *api, const FakeUrl *url, uint64_t lag, FakeAnswer *answer)
{
    AUTO(json) json_t *items = NULL;
    FakeFilter filter;
    FakeSnapshot *snapshot;
    uint64_t rv;

    if (options_refused(api, url, answer)) {
        return answer->http;
    }
    if (url->cont.len > 0) {
        snapshot = snapshot_find(api, url->cont);
        if (!snapshot) {
            return fake_answer_status(answer, 410, "Expired",
                                      "The provided continue parameter is "
                                      "too old to display a consistent list "
                                      "result.");
        }
        items = json_incref(snapshot->items);
        return list_page(api, url, items, snapshot->rv, answer);
    }
    if (fake_filter_init(&filter, url) != 0) {
        return fake_answer_status(answer, 400, "BadRequest", "unable to parse requirement");
    }
    rv = version_before(api, lag);
    items = list_snapshot(api, &filter, rv);
    fake_filter_deinit(&filter);
    return list_page(api, url, items, rv, answer);
}

/* ---- WATCH ---- */

static void line_add(StrBuf *out, const char *type, const json_t *object)
{
    AUTO(mem) char *text = jx_dump_compact(object);

    strbuf_printf(out, "{\"type\":\"%s\",\"object\":%s}\n", type, text);
}

static void gone_line(StrBuf *out)
{
    FakeAnswer status = {.http = 0};

    fake_answer_status(&status, 410, "Expired", "too old resource version");
    strbuf_printf(out, "{\"type\":\"ERROR\",\"object\":%s}\n", status.body);
    free(status.body);
}

static void bookmark_line(StrBuf *out, const KubeKind *kind, uint64_t rv, bool initial_end)
{
    AUTO(json) json_t *object = jx_object_new();

    jx_set_str(object, "kind", str_from(kind->kind));
    jx_set_str(object, "apiVersion", str_from(kind->api_version));
    jx_set_path(object, jx_stringf_new("%llu", (unsigned long long)rv), "metadata",
                "resourceVersion");
    if (initial_end) {
        jx_set_path(object, jx_stringf_new("true"), "metadata", "annotations",
                    "k8s.io/initial-events-end");
    }
    line_add(out, "BOOKMARK", object);
}

/* What there was at version rv as ADDED events; a stream also tells where they end. */
static void initial_lines(FakeApi *api, const FakeWatch *watch, uint64_t rv, bool end, StrBuf *out)
{
    AUTO(json) json_t *items = list_snapshot(api, &watch->filter, rv);
    size_t i;
    json_t *item;

    json_array_foreach(items, i, item)
    {
        line_add(out, "ADDED", item);
    }
    if (end && watch->bookmarks) {
        bookmark_line(out, watch->filter.kind, rv, true);
    }
}

int fake_watch_start(FakeExchange *x, uint64_t lag, FakeAnswer *answer)
{
    FakeApi *api = x->api;
    AUTO(strbuf) StrBuf first = STRBUF_INIT(64u << 20);
    FakeWatch *watch;
    bool streams = str_eq(x->url.initial, STR("true"));
    uint64_t from = 0;
    size_t i = 0;

    if (options_refused(api, &x->url, answer)) {
        return answer->http;
    }
    watch = xcalloc(1, sizeof(*watch));
    if (fake_filter_init(&watch->filter, &x->url) != 0) {
        free(watch);
        return fake_answer_status(answer, 400, "BadRequest", "unable to parse requirement");
    }
    str_to_u64(x->url.rv, &from);
    watch->bookmarks = x->url.bookmarks;
    if (x->url.timeout_s > 0) {
        watch->ends_ns = loop_now(api->loop) + x->url.timeout_s * NS_PER_S;
    }
    if (streams || from == 0) {
        from = version_before(api, streams ? lag : 0);
        if (!str_eq(x->url.initial, STR("false"))) {
            initial_lines(api, watch, from, streams, &first);
        }
    }
    if (from < api->compacted_rv) {
        gone_line(&first);
        x->ended = true;
        i = api->events.len;
    } else {
        while (i < api->events.len && api->events.ptr[i].rv <= from) {
            i++;
        }
    }
    watch->next = i;
    watch->after = from; /* which the server may not have reached */
    x->watch = watch;
    answer->http = 200;
    answer->body = strbuf_take(&first);
    return 0;
}

void fake_watch_lines(FakeApi *api, FakeWatch *watch, StrBuf *out)
{
    for (; watch->next < api->events.len; watch->next++) {
        const FakeEvent *event = &api->events.ptr[watch->next];
        bool was =
            event->kind == watch->filter.kind && filter_matches(&watch->filter, event->before);
        bool is = event->kind == watch->filter.kind && filter_matches(&watch->filter, event->after);

        if (event->rv <= watch->after) {
            continue;
        }
        if (is) {
            line_add(out, was ? "MODIFIED" : "ADDED", event->after);
        } else if (was) {
            /* Left the selection: the old state with the version of the change. */
            AUTO(json) json_t *last = jx_dup(event->last ? event->last : event->before);

            jx_set_path(last, jx_stringf_new("%llu", (unsigned long long)event->rv), "metadata",
                        "resourceVersion");
            line_add(out, "DELETED", last);
        }
    }
}

void fake_watch_bookmark(FakeApi *api, const FakeWatch *watch, StrBuf *out)
{
    if (watch->bookmarks && watch->next == api->events.len && api->rv > watch->after) {
        bookmark_line(out, watch->filter.kind, api->rv, false);
    }
}
