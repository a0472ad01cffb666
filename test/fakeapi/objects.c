/* SPDX-License-Identifier: Apache-2.0 */
/* Changes of objects: create, write, delete, garbage collection. */
#include <stdarg.h>
#include <stdio.h>

#include "base/mem.h"
#include "base/timefmt.h"
#include "kube/meta.h"
#include "test/fakeapi/impl.h"

#define FOREGROUND "foregroundDeletion"

Str fake_meta(const json_t *object, const char *member)
{
    return jx_get_str(object, "metadata", member);
}

static Str or_empty(Str s)
{
    return s.ptr ? s : STR("");
}

static KubeKey object_key(const json_t *object)
{
    return (KubeKey){or_empty(fake_meta(object, "namespace")), or_empty(fake_meta(object, "name"))};
}

/* Index of the object, or where it would be. */
static size_t place_of(const FakeApi *api, const KubeKind *kind, KubeKey key, bool *ret_found)
{
    size_t lo = 0;
    size_t hi = api->objects[kind->id].len;

    *ret_found = false;
    while (lo < hi) {
        size_t mid = (lo + hi) / 2;
        int r = kube_key_cmp(object_key(api->objects[kind->id].ptr[mid]), key);

        if (r == 0) {
            *ret_found = true;
            return mid;
        }
        lo = r < 0 ? mid + 1 : lo;
        hi = r < 0 ? hi : mid;
    }
    return lo;
}

const json_t *fake_find(const FakeApi *api, const KubeKind *kind, Str ns, Str name)
{
    bool found;
    size_t i = place_of(api, kind, (KubeKey){or_empty(ns), name}, &found);

    return found ? api->objects[kind->id].ptr[i] : NULL;
}

/* ---- answers ---- */

void fake_answer_object(FakeAnswer *answer, int http, const json_t *object)
{
    if (answer) {
        free(answer->body);
        answer->http = http;
        answer->body = jx_dump_compact(object);
    }
}

int fake_answer_status(FakeAnswer *answer, int http, const char *reason, const char *fmt, ...)
{
    AUTO(json) json_t *status = jx_object_new();
    char text[512];
    va_list ap;

    va_start(ap, fmt);
    vsnprintf(text, sizeof(text), fmt, ap);
    va_end(ap);
    jx_set_str(status, "kind", STR("Status"));
    jx_set_str(status, "apiVersion", STR("v1"));
    jx_set_str(status, "status", http < 300 ? STR("Success") : STR("Failure"));
    jx_set_str(status, "message", str_from(text));
    if (reason) {
        jx_set_str(status, "reason", str_from(reason));
    }
    jx_set_i64(status, "code", http);
    fake_answer_object(answer, http, status);
    return http < 300 ? 0 : http;
}

/* ---- storing ---- */

static void stamp_rv(FakeApi *api, json_t *object)
{
    char text[32];

    snprintf(text, sizeof(text), "%llu", (unsigned long long)++api->rv);
    jx_set_path(object, jx_string_new(str_from(text)), "metadata", "resourceVersion");
}

/* Steals `object`, NULL = remove. */
static void store_put(FakeApi *api, const KubeKind *kind, KubeKey key, json_t *object)
{
    bool found;
    size_t i = place_of(api, kind, key, &found);
    json_t *before = found ? api->objects[kind->id].ptr[i] : NULL;
    json_t *last = NULL;

    if (object) {
        stamp_rv(api, object);
    } else {
        last = jx_dup(before);
        stamp_rv(api, last);
    }
    fake_event(api, kind, before, object, last);
    json_decref(last);
    if (found && object) {
        api->objects[kind->id].ptr[i] = object;
    } else if (found) {
        vec_remove(&api->objects[kind->id], i);
    } else {
        vec_push(&api->objects[kind->id], NULL);
        memmove(&api->objects[kind->id].ptr[i + 1], &api->objects[kind->id].ptr[i],
                (api->objects[kind->id].len - 1 - i) * sizeof(json_t *));
        api->objects[kind->id].ptr[i] = object;
    }
    if (api->observer) {
        const FakeChange change = {api->author, kind, before, object, api->rv};

        api->observer(api->observer_ctx, &change);
    }
    json_decref(before);
}

static bool has_finalizers(const json_t *object)
{
    return json_array_size(jx_get(object, "metadata", "finalizers")) > 0;
}

static void gc_soon(FakeApi *api)
{
    if (!loop_timer_is_armed(&api->gc)) {
        loop_timer_arm(api->loop, &api->gc, loop_now(api->loop) + FAKE_GC_DELAY_NS);
    }
}

static void remove_now(FakeApi *api, const KubeKind *kind, const json_t *live)
{
    KubeKey key = object_key(live);

    gc_soon(api);
    store_put(api, kind, key, NULL);
}

/* ---- create ---- */

static void random_suffix(FakeApi *api, char ret[6])
{
    static const char LETTERS[] = "bcdfghjklmnpqrstvwxz2456789";

    for (int i = 0; i < 5; i++) {
        ret[i] = LETTERS[rng_below(&api->rng, sizeof(LETTERS) - 1)];
    }
    ret[5] = '\0';
}

static void stamp_new(FakeApi *api, const KubeKind *kind, Str ns, json_t *object)
{
    uint64_t a = rng_u64(&api->rng);
    uint64_t b = rng_u64(&api->rng);
    json_t *meta = jx_obj(object, "metadata");
    char now[TIMEFMT_SIZE];
    char suffix[6];

    if (jx_get_str(meta, "name").len == 0 && jx_get_str(meta, "generateName").len > 0) {
        random_suffix(api, suffix);
        jx_set(meta, "name",
               jx_stringf_new(STR_FMT "%s", STR_ARG(jx_get_str(meta, "generateName")), suffix));
    }
    timefmt_seconds(loop_wall_now(api->loop), now);
    jx_set_str(object, "apiVersion", str_from(kind->api_version));
    jx_set_str(object, "kind", str_from(kind->kind));
    jx_set_str(meta, "namespace", ns);
    jx_set(meta, "uid",
           jx_stringf_new("%08x-%04x-4%03x-a%03x-%012llx", (unsigned)(a >> 32),
                          (unsigned)(a >> 16) & 0xffff, (unsigned)a & 0xfff,
                          (unsigned)(b >> 48) & 0xfff, (unsigned long long)b & 0xffffffffffffull));
    jx_set_str(meta, "creationTimestamp", str_from(now));
    jx_set_i64(meta, "generation", 1);
}

int fake_object_create(FakeApi *api, const KubeKind *kind, Str ns, const json_t *object,
                       FakeAnswer *answer)
{
    AUTO(json) json_t *fresh = jx_dup(object);
    Str stated = fake_meta(object, "namespace");
    KubeKey key;

    if (stated.len > 0 && !str_eq(stated, ns)) {
        return fake_answer_status(answer, 400, "BadRequest", "the namespaces differ");
    }
    if (fake_meta(object, "resourceVersion").len > 0) {
        return fake_answer_status(answer, 500, "InternalError",
                                  "resourceVersion should not be set on objects to be created");
    }
    stamp_new(api, kind, ns, fresh);
    key = object_key(fresh);
    if (!(kind->service_name ? kube_name_is_service : kube_name_is_subdomain)(key.name)) {
        return fake_answer_status(answer, 422, "Invalid",
                                  "%s \"" STR_FMT "\" is invalid: metadata.name: Invalid value",
                                  kind->kind, STR_ARG(key.name));
    }
    if (fake_find(api, kind, key.ns, key.name)) {
        return fake_answer_status(answer, 409, "AlreadyExists", "%s \"" STR_FMT "\" already exists",
                                  kind->plural, STR_ARG(key.name));
    }
    if (answer && kind->has_status) { /* the world itself may create objects with a status */
        jx_set(fresh, "status", NULL);
    }
    if (kind->id == KUBE_POD && !jx_get(fresh, "status", "phase")) {
        jx_set_path(fresh, jx_string_new(STR("Pending")), "status", "phase");
    }
    if (json_array_size(jx_get(fresh, "metadata", "ownerReferences")) > 0) {
        gc_soon(api); /* owners may be gone already */
    }
    store_put(api, kind, key, json_incref(fresh));
    fake_answer_object(answer, 201, fresh);
    return 0;
}

/* ---- write ---- */

/* What the server alone decides, and the half of the object that the endpoint does not write. */
static void keep_fixed(const json_t *live, const KubeKind *kind, Str subresource, bool whole,
                       json_t *fresh)
{
    static const char *const FIXED[] = {"name",
                                        "namespace",
                                        "uid",
                                        "generation",
                                        "creationTimestamp",
                                        "resourceVersion",
                                        "deletionTimestamp"};
    bool status_only = subresource.len > 0;

    if (status_only) {
        json_t *status = json_incref(json_object_get(fresh, "status"));

        json_object_clear(fresh);
        json_object_update(fresh, (json_t *)live);
        jx_set(fresh, "status", status);
        jx_set(fresh, "metadata", jx_dup(json_object_get(live, "metadata")));
        return;
    }
    if (kind->has_status && !whole) {
        json_t *status = json_object_get(live, "status");

        jx_set(fresh, "status", status ? jx_dup(status) : NULL);
    }
    for (size_t i = 0; i < ARRAY_LEN(FIXED); i++) {
        json_t *value = jx_get(live, "metadata", FIXED[i]);

        jx_set(jx_obj(fresh, "metadata"), FIXED[i], value ? json_incref(value) : NULL);
    }
    jx_set_str(fresh, "apiVersion", str_from(kind->api_version));
    jx_set_str(fresh, "kind", str_from(kind->kind));
}

static bool spec_differs(const json_t *a, const json_t *b)
{
    AUTO(json) json_t *x = json_copy((json_t *)a);
    AUTO(json) json_t *y = json_copy((json_t *)b);

    json_object_del(x, "metadata");
    json_object_del(x, "status");
    json_object_del(y, "metadata");
    json_object_del(y, "status");
    return !json_equal(x, y);
}

static bool owners_differ(const json_t *a, const json_t *b)
{
    const json_t *x = jx_get(a, "metadata", "ownerReferences");
    const json_t *y = jx_get(b, "metadata", "ownerReferences");

    return x != y && !json_equal(x, y); /* NULL is not equal to itself */
}

int fake_object_write(FakeApi *api, const json_t *live, const KubeKind *kind, const json_t *wanted,
                      Str subresource, bool whole, FakeAnswer *answer)
{
    AUTO(json) json_t *fresh = jx_dup(wanted);
    Str rv = fake_meta(wanted, "resourceVersion");
    Str uid = fake_meta(wanted, "uid");
    KubeKey key = object_key(live);

    if (rv.len > 0 && !str_eq(rv, fake_meta(live, "resourceVersion"))) {
        return fake_answer_status(answer, 409, "Conflict",
                                  "Operation cannot be fulfilled on %s \"" STR_FMT
                                  "\": the object has been modified",
                                  kind->plural, STR_ARG(key.name));
    }
    if (uid.len > 0 && !str_eq(uid, fake_meta(live, "uid"))) {
        return fake_answer_status(answer, 409, "Conflict", "Precondition failed: UID");
    }
    keep_fixed(live, kind, subresource, whole, fresh);
    if (json_equal(fresh, live)) { /* nothing changed: no version, no event */
        fake_answer_object(answer, 200, live);
        return 0;
    }
    if (spec_differs(fresh, live)) {
        jx_set_i64(jx_obj(fresh, "metadata"), "generation",
                   jx_i64(jx_get(live, "metadata", "generation"), 0) + 1);
    }
    if (fake_meta(fresh, "deletionTimestamp").len > 0 && !has_finalizers(fresh) &&
        has_finalizers(live)) {
        remove_now(api, kind, live); /* the last finalizer went */
        fake_answer_object(answer, 200, fresh);
        return 0;
    }
    if (owners_differ(fresh, live) || has_finalizers(live)) {
        gc_soon(api);
    }
    store_put(api, kind, key, json_incref(fresh));
    fake_answer_object(answer, 200, fresh);
    return 0;
}

/* ---- delete ---- */

static void mark_deleted(FakeApi *api, const KubeKind *kind, const json_t *live, bool foreground)
{
    json_t *fresh = jx_dup(live);
    char now[TIMEFMT_SIZE];

    timefmt_seconds(loop_wall_now(api->loop), now);
    jx_set_path(fresh, jx_string_new(str_from(now)), "metadata", "deletionTimestamp");
    jx_set_path(fresh, json_integer(30), "metadata", "deletionGracePeriodSeconds");
    jx_set_i64(jx_obj(fresh, "metadata"), "generation",
               jx_i64(jx_get(live, "metadata", "generation"), 0) + 1);
    if (foreground) {
        jx_append(jx_arr(fresh, "metadata", "finalizers"), jx_string_new(STR(FOREGROUND)));
        gc_soon(api);
    }
    store_put(api, kind, object_key(live), fresh);
}

typedef struct LatePod {
    LoopTimer timer;
    FakeApi *api;
    char *ns;
    char *name;
    char *uid;
    ListNode node;
} LatePod;

static void late_free(LatePod *late)
{
    loop_timer_disarm(&late->timer);
    list_remove(&late->node);
    free(late->ns);
    free(late->name);
    free(late->uid);
    free(late);
}

void fake_late_clear(FakeApi *api)
{
    list_foreach (&api->late_pods, n) {
        late_free(list_entry(n, LatePod, node));
    }
}

static void pod_on_grace(LoopTimer *timer)
{
    LatePod *late = container_of(timer, LatePod, timer);
    const KubeKind *kind = kube_kind(KUBE_POD);
    const json_t *live = fake_find(late->api, kind, str_from(late->ns), str_from(late->name));

    if (live && str_eq(fake_meta(live, "uid"), str_from(late->uid)) && !has_finalizers(live)) {
        remove_now(late->api, kind, live);
    }
    late_free(late);
}

void fake_late_add(FakeApi *api, const json_t *live)
{
    LatePod *late = xcalloc(1, sizeof(*late));
    KubeKey key = object_key(live);
    Str uid = fake_meta(live, "uid");

    late->api = api;
    late->ns = xstrndup(key.ns.ptr, key.ns.len);
    late->name = xstrndup(key.name.ptr, key.name.len);
    late->uid = xstrndup(uid.ptr, uid.len);
    list_push_back(&api->late_pods, &late->node);
    loop_timer_init(&late->timer, pod_on_grace);
    loop_timer_arm(api->loop, &late->timer, loop_now(api->loop) + api->pod_grace_ns);
}

int fake_object_delete(FakeApi *api, const json_t *live, const KubeKind *kind,
                       const json_t *options, FakeAnswer *answer)
{
    Str uid = jx_get_str(options, "preconditions", "uid");
    Str rv = jx_get_str(options, "preconditions", "resourceVersion");
    bool foreground = str_eq(jx_get_str(options, "propagationPolicy"), STR("Foreground"));
    bool graceful = kind->id == KUBE_POD && api->pod_grace_ns > 0 &&
                    jx_i64(jx_get(options, "gracePeriodSeconds"), 30) > 0;
    KubeKey key = object_key(live);
    AUTO(mem) char *name = xstrndup(key.name.ptr, key.name.len);

    if ((uid.len > 0 && !str_eq(uid, fake_meta(live, "uid"))) ||
        (rv.len > 0 && !str_eq(rv, fake_meta(live, "resourceVersion")))) {
        return fake_answer_status(answer, 409, "Conflict",
                                  "Operation cannot be fulfilled on %s \"%s\": Precondition failed",
                                  kind->plural, name);
    }
    if (fake_meta(live, "deletionTimestamp").len > 0 && (graceful || has_finalizers(live))) {
        fake_answer_object(answer, 200, live);
        return 0;
    }
    if (foreground || graceful || has_finalizers(live)) {
        if (graceful) {
            fake_late_add(api, live);
        }
        mark_deleted(api, kind, live, foreground);
        fake_answer_object(answer, 200, fake_find(api, kind, key.ns, str_from(name)));
        return 0;
    }
    remove_now(api, kind, live);
    return fake_answer_status(answer, 200, NULL, "%s deleted", name);
}

/* ---- garbage collection ---- */

static const json_t *find_uid(FakeApi *api, Str uid)
{
    for (size_t k = 0; k < KUBE_KIND_MAX_; k++) {
        vec_foreach (&api->objects[k], it) {
            if (str_eq(fake_meta(*it, "uid"), uid)) {
                return *it;
            }
        }
    }
    return NULL;
}

static bool waits_foreground(const json_t *object)
{
    size_t i;
    json_t *finalizer;

    json_array_foreach(jx_get(object, "metadata", "finalizers"), i, finalizer)
    {
        if (str_eq(jx_str(finalizer), STR(FOREGROUND))) {
            return true;
        }
    }
    return false;
}

/* Owners of other kinds are out of this world and taken to be alive. */
static bool owner_is_modelled(const json_t *ref)
{
    Str rest;
    Str group = str_cut(jx_get_str(ref, "apiVersion"), '/', &rest);

    return kube_kind_find(rest.ptr ? group : STR(""), STR_NULL, jx_get_str(ref, "kind")) != NULL;
}

/* All owners are gone or wait for us in the foreground. */
static bool is_garbage(FakeApi *api, const json_t *object)
{
    json_t *refs = jx_get(object, "metadata", "ownerReferences");
    size_t i;
    json_t *ref;

    if (json_array_size(refs) == 0) {
        return false;
    }
    json_array_foreach(refs, i, ref)
    {
        const json_t *owner = find_uid(api, jx_get_str(ref, "uid"));

        if (!owner_is_modelled(ref)) {
            return false;
        }
        if (owner && !waits_foreground(owner)) {
            return false;
        }
    }
    return true;
}

static bool has_dependents(FakeApi *api, Str uid)
{
    for (size_t k = 0; k < KUBE_KIND_MAX_; k++) {
        vec_foreach (&api->objects[k], it) {
            size_t i;
            json_t *ref;

            json_array_foreach(jx_get(*it, "metadata", "ownerReferences"), i, ref)
            {
                if (str_eq(jx_get_str(ref, "uid"), uid)) {
                    return true;
                }
            }
        }
    }
    return false;
}

/* One change; false when there is nothing to collect. */
static bool gc_once(FakeApi *api)
{
    for (size_t k = 0; k < KUBE_KIND_MAX_; k++) {
        vec_foreach (&api->objects[k], it) {
            bool waits = waits_foreground(*it);

            if (waits && !has_dependents(api, fake_meta(*it, "uid"))) {
                remove_now(api, kube_kind((KubeKindId)k), *it);
                return true;
            }
            if (!waits && fake_meta(*it, "deletionTimestamp").len == 0 && is_garbage(api, *it)) {
                fake_object_delete(api, *it, kube_kind((KubeKindId)k), NULL, NULL);
                return true;
            }
        }
    }
    return false;
}

void fake_gc(LoopTimer *timer)
{
    FakeApi *api = container_of(timer, FakeApi, gc);

    while (gc_once(api)) {
    }
}
