/* SPDX-License-Identifier: Apache-2.0 */
/*
 * See api.h. A call is one allocation plus its URL and body. A call that is cancelled from inside
 * its own item callback is freed when the transport's frame below it has returned.
 */
#include "kube/api.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/check.h"
#include "base/mem.h"
#include "kube/listread.h"
#include "json/write.h"

struct KubeApi {
    Loop *loop;
    KubeTransport *transport;
    const char *field_manager;
    List calls;
};

struct KubeCall {
    KubeApi *api;
    ListNode node;
    const KubeKind *kind;
    KubeRequest req;
    StrBuf url;
    char *body;
    LoopDefer refuse; /* posts the error of a call that was never submitted */
    KubeError error;  /* set by refuse and by a reader that stopped the page */
    bool failed;
    bool listing;
    bool in_data; /* inside on_data: freeing waits */
    bool cancelled;
    bool ending; /* inside its final callback */
    KubeListRead reader;
    KubeItemFn item_fn;
    KubePageFn page_fn;
    KubeCallFn fn;
    void *ctx;
};

static void call_free(KubeCall *call)
{
    list_remove(&call->node);
    loop_defer_cancel(&call->refuse);
    strbuf_deinit(&call->url);
    if (call->listing) {
        kube_listread_deinit(&call->reader);
    }
    free(call->body);
    free(call);
}

static void call_end(KubeCall *call, const KubeError *error, KubeObj *obj, const KubeListMeta *meta)
{
    call->ending = true;
    if (call->listing) {
        call->page_fn(call->ctx, error, meta);
    } else {
        call->fn(call->ctx, error, obj);
    }
    call_free(call);
}

void kube_call_cancel(KubeCall *call)
{
    if (!call || call->ending || call->cancelled) {
        return;
    }
    kube_cancel(call->api->transport, &call->req);
    call->cancelled = true;
    if (!call->in_data) {
        call_free(call);
    }
}

/* ---- answers ---- */

/* A DELETE that is done answers with a Status; everything else with the object. */
static bool body_is_status(Str body)
{
    static const JProj KIND[] = {JPROJ_KEEP("kind"), JPROJ_END};
    AUTO(jdoc) JDoc *doc = NULL;

    return jdoc_parse(body, KIND, KUBE_OBJ_TEXT_MAX, &doc, NULL) == 0 &&
           str_eq(jnode_str(jnode_at(jdoc_root(doc), "kind")), STR("Status"));
}

static void call_answer(KubeCall *call, const KubeResult *result)
{
    AUTO(kube_obj) KubeObj *obj = NULL;
    KubeError error;
    Err err = ERR_INIT;

    if (kube_error_from_result(result, call->req.method, &error) != KUBE_REASON_NONE) {
        call_end(call, &error, NULL, NULL);
        return;
    }
    if (call->req.method == KUBE_DELETE && body_is_status(result->body)) {
        call_end(call, NULL, NULL, NULL);
        return;
    }
    if (kube_obj_from_text(call->kind, result->body, &obj, &err) < 0) {
        /* A write of which we cannot read the answer did happen. */
        kube_error_set(&error,
                       call->req.method == KUBE_GET ? KUBE_REASON_BAD_ANSWER
                                                    : KUBE_REASON_UNKNOWN_OUTCOME,
                       "unreadable answer: %s", err.msg);
        error.http = result->http_status;
        call_end(call, &error, NULL, NULL);
        return;
    }
    call_end(call, NULL, obj, NULL);
}

static int page_shell(const KubeCall *call, Str shell, JDoc **ret_doc, KubeListMeta *ret_meta,
                      Err *reterr)
{
    AUTO(jdoc) JDoc *doc = NULL;
    JNode root;
    Str kind;
    Str rv;
    Str cont;

    if (jdoc_parse(shell, NULL, KUBE_LIST_SHELL_MAX, &doc, reterr) < 0) {
        return -EBADMSG;
    }
    root = jdoc_root(doc);
    kind = jnode_str(jnode_at(root, "kind"));
    rv = jnode_str(jnode_at(root, "metadata", "resourceVersion"));
    cont = jnode_str(jnode_at(root, "metadata", "continue"));
    if (!str_starts(kind, str_from(call->kind->kind)) || !str_ends(kind, STR("List")) ||
        kind.len != strlen(call->kind->kind) + 4) {
        return err_set(reterr, EBADMSG, "expected %sList, got " STR_FMT, call->kind->kind,
                       STR_ARG(str_take(kind.ptr ? kind : STR("nothing"), 64)));
    }
    if (rv.len == 0 || !jnode_exists(jnode_at(root, "items"))) {
        return err_set(reterr, EBADMSG, "a list without resourceVersion or items");
    }
    *ret_meta = (KubeListMeta){.rv = rv, .cont = cont.ptr ? cont : STR("")};
    *ret_doc = TAKE(doc);
    return 0;
}

static void page_answer(KubeCall *call, const KubeResult *result)
{
    AUTO(jdoc) JDoc *doc = NULL;
    KubeListMeta meta;
    KubeError error;
    Err err = ERR_INIT;
    Str shell;

    if (call->failed) {
        call_end(call, &call->error, NULL, NULL);
        return;
    }
    if (kube_error_from_result(result, KUBE_GET, &error) != KUBE_REASON_NONE) {
        call_end(call, &error, NULL, NULL);
        return;
    }
    if (kube_listread_end(&call->reader, &shell, &err) < 0 ||
        page_shell(call, shell, &doc, &meta, &err) < 0) {
        kube_error_set(&error, KUBE_REASON_BAD_ANSWER, "%s", err.msg);
        call_end(call, &error, NULL, NULL);
        return;
    }
    call_end(call, NULL, NULL, &meta);
}

static void call_on_done(KubeRequest *req, const KubeResult *result)
{
    KubeCall *call = container_of(req, KubeCall, req);

    if (call->listing) {
        page_answer(call, result);
    } else {
        call_answer(call, result);
    }
}

static int call_on_item(KubeListRead *reader, Str item, Err *reterr)
{
    KubeCall *call = container_of(reader, KubeCall, reader);
    AUTO(kube_obj) KubeObj *obj = NULL;
    int r = kube_obj_from_text(call->kind, item, &obj, reterr);

    if (r < 0) {
        return r;
    }
    call->item_fn(call->ctx, obj);
    return call->cancelled ? -ECANCELED : 0;
}

static int call_on_data(KubeRequest *req, Str chunk)
{
    KubeCall *call = container_of(req, KubeCall, req);
    Err err = ERR_INIT;
    int r;

    call->in_data = true;
    r = kube_listread_feed(&call->reader, chunk, &err);
    call->in_data = false;
    if (call->cancelled) {
        call_free(call);
        return -ECANCELED;
    }
    if (r < 0) {
        call->failed = true;
        kube_error_set(&call->error, KUBE_REASON_BAD_ANSWER, "%s", err.msg);
    }
    return r;
}

/* ---- starting ---- */

static void call_on_refuse(LoopDefer *defer)
{
    KubeCall *call = container_of(defer, KubeCall, refuse);

    call_end(call, &call->error, NULL, NULL);
}

static KubeCall *call_new(KubeApi *api, const KubeKind *kind, KubeMethod method,
                          const KubeCallOptions *options)
{
    KubeCall *call = xcalloc(1, sizeof(*call));

    call->api = api;
    call->kind = kind;
    call->req.method = method;
    call->req.priority = options ? options->priority : KUBE_PRIO_NORMAL;
    call->req.timeout_ns = options ? options->timeout_ns : 0;
    call->req.body_max = KUBE_OBJ_TEXT_MAX;
    call->req.on_done = call_on_done;
    strbuf_init(&call->url, KUBE_URL_MAX);
    loop_defer_init(&call->refuse, call_on_refuse);
    list_push_back(&api->calls, &call->node);
    return call;
}

static void call_set_body(KubeCall *call, const char *content_type, Str body)
{
    if (body.len > KUBE_REQUEST_BODY_MAX) {
        kube_error_set(&call->error, KUBE_REASON_BAD_REQUEST, "a body of %zu bytes", body.len);
        return;
    }
    call->body = xstrndup(body.ptr, body.len);
    call->req.body = (Str){call->body, body.len};
    call->req.content_type = content_type;
}

static void call_set_url(KubeCall *call, Str ns, Str name, const char *subresource)
{
    Err err = ERR_INIT;

    if (kube_kind_url(call->kind, ns, name, subresource, &call->url, &err) < 0) {
        kube_error_set(&call->error, KUBE_REASON_BAD_REQUEST, "%s", err.msg);
    }
}

static void call_set_manager(KubeCall *call, const KubeCallOptions *options)
{
    const char *manager =
        options && options->field_manager ? options->field_manager : call->api->field_manager;

    kube_url_query(&call->url, "fieldManager", str_from(manager));
}

static KubeCall *call_start(KubeCall *call)
{
    if (call->url.error && call->error.reason == KUBE_REASON_NONE) {
        kube_error_set(&call->error, KUBE_REASON_BAD_REQUEST, "the URL is too long");
    }
    if (call->error.reason != KUBE_REASON_NONE) {
        loop_defer_post(call->api->loop, &call->refuse);
        return call;
    }
    call->req.path = call->url.ptr;
    kube_submit(call->api->transport, &call->req);
    return call;
}

KubeCall *kube_api_get(KubeApi *api, const KubeKind *kind, KubeKey key,
                       const KubeCallOptions *options, KubeCallFn fn, void *ctx)
{
    KubeCall *call = call_new(api, kind, KUBE_GET, options);

    call->fn = fn;
    call->ctx = ctx;
    call_set_url(call, key.ns, key.name, NULL);
    return call_start(call);
}

/* One write with a body: what create, patch and replace differ in are method, place and type. */
static KubeCall *call_write(KubeCall *call, KubeKey key, const char *subresource, const char *type,
                            Str body, const KubeCallOptions *options, KubeCallFn fn, void *ctx)
{
    call->fn = fn;
    call->ctx = ctx;
    call_set_url(call, key.ns, key.name, subresource);
    call_set_manager(call, options);
    call_set_body(call, type, body);
    return call_start(call);
}

KubeCall *kube_api_create(KubeApi *api, const KubeKind *kind, Str ns, Str body,
                          const KubeCallOptions *options, KubeCallFn fn, void *ctx)
{
    return call_write(call_new(api, kind, KUBE_POST, options), (KubeKey){ns, STR_NULL}, NULL,
                      "application/json", body, options, fn, ctx);
}

KubeCall *kube_api_patch(KubeApi *api, const KubeKind *kind, KubeKey key, const char *subresource,
                         Str patch, const KubeCallOptions *options, KubeCallFn fn, void *ctx)
{
    return call_write(call_new(api, kind, KUBE_PATCH, options), key, subresource,
                      "application/merge-patch+json", patch, options, fn, ctx);
}

KubeCall *kube_api_replace(KubeApi *api, const KubeKind *kind, KubeKey key, const char *subresource,
                           Str body, const KubeCallOptions *options, KubeCallFn fn, void *ctx)
{
    return call_write(call_new(api, kind, KUBE_PUT, options), key, subresource, "application/json",
                      body, options, fn, ctx);
}

static void delete_body(const KubeDeleteOptions *del, StrBuf *out)
{
    static const char *const POLICIES[] = {
        [KUBE_PROPAGATION_DEFAULT] = NULL,
        [KUBE_PROPAGATION_BACKGROUND] = "Background",
        [KUBE_PROPAGATION_FOREGROUND] = "Foreground",
        [KUBE_PROPAGATION_ORPHAN] = "Orphan",
    };
    JWriter w;

    jw_init(&w, out);
    jw_object(&w);
    jw_member_cstr(&w, "apiVersion", "v1");
    jw_member_cstr(&w, "kind", "DeleteOptions");
    if (POLICIES[del->propagation]) {
        jw_member_cstr(&w, "propagationPolicy", POLICIES[del->propagation]);
    }
    if (del->grace_s >= 0) {
        jw_member_i64(&w, "gracePeriodSeconds", del->grace_s);
    }
    if (del->uid.len > 0 || del->rv.len > 0) {
        jw_key(&w, STR("preconditions"));
        jw_object(&w);
        if (del->uid.len > 0) {
            jw_member_str(&w, "uid", del->uid);
        }
        if (del->rv.len > 0) {
            jw_member_str(&w, "resourceVersion", del->rv);
        }
        jw_object_end(&w);
    }
    jw_object_end(&w);
}

KubeCall *kube_api_delete(KubeApi *api, const KubeKind *kind, KubeKey key,
                          const KubeDeleteOptions *del, const KubeCallOptions *options,
                          KubeCallFn fn, void *ctx)
{
    static const KubeDeleteOptions PLAIN = {.grace_s = -1};
    AUTO(strbuf) StrBuf body = STRBUF_INIT(KUBE_URL_MAX);
    KubeCall *call = call_new(api, kind, KUBE_DELETE, options);

    call->fn = fn;
    call->ctx = ctx;
    call_set_url(call, key.ns, key.name, NULL);
    delete_body(del ? del : &PLAIN, &body);
    call_set_body(call, "application/json", strbuf_str(&body));
    return call_start(call);
}

KubeCall *kube_api_list_page(KubeApi *api, const KubeKind *kind, const KubeListOptions *list,
                             const KubeCallOptions *options, KubeItemFn item_fn, KubePageFn fn,
                             void *ctx)
{
    KubeCall *call = call_new(api, kind, KUBE_GET, options);
    unsigned limit = list->limit ? list->limit : KUBE_LIST_LIMIT;
    char number[16];

    call->listing = true;
    call->item_fn = item_fn;
    call->page_fn = fn;
    call->ctx = ctx;
    call->req.on_data = call_on_data;
    kube_listread_init(&call->reader, call_on_item);
    call_set_url(call, list->ns, STR_NULL, NULL);
    snprintf(number, sizeof(number), "%u", limit);
    kube_url_query(&call->url, "limit", str_from(number));
    if (list->label_selector) {
        kube_url_query(&call->url, "labelSelector", str_from(list->label_selector));
    }
    if (list->field_selector) {
        kube_url_query(&call->url, "fieldSelector", str_from(list->field_selector));
    }
    if (list->cont.len > 0) {
        kube_url_query(&call->url, "continue", list->cont);
    }
    return call_start(call);
}

/* ---- life ---- */

KubeApi *kube_api_new(Loop *loop, KubeTransport *transport, const char *field_manager)
{
    KubeApi *api = xcalloc(1, sizeof(*api));

    api->loop = loop;
    api->transport = transport;
    api->field_manager = field_manager ? field_manager : "cofferdam";
    list_init(&api->calls);
    return api;
}

KubeApi *kube_api_free(KubeApi *api)
{
    if (api) {
        list_foreach (&api->calls, n) {
            kube_call_cancel(list_entry(n, KubeCall, node));
        }
        CHECK(list_is_empty(&api->calls));
        free(api);
    }
    return NULL;
}

Loop *kube_api_loop(const KubeApi *api)
{
    return api->loop;
}

KubeTransport *kube_api_transport(const KubeApi *api)
{
    return api->transport;
}
