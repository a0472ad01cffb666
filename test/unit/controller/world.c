/* SPDX-License-Identifier: Apache-2.0 */
/* See world.h. */
#include "test/unit/controller/world.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/clock.h"
#include "base/timefmt.h"
#include "kube/meta.h"
#include "test/harness/t.h"

#define TEXT_MAX 32768

void world_init(World *world, uint64_t seed)
{
    *world = (World){.now_wall_ns = WORLD_NOW_NS, .rv = 1000};
    options_defaults(&world->options);
    for (size_t kind = 0; kind < KUBE_KIND_MAX_; kind++) {
        size_t n;
        const KubeIndex *indexes = view_store_indexes((KubeKindId)kind, &n);

        world->caches[kind] = kube_store_new(kube_kind((KubeKindId)kind), indexes, n, seed + kind);
    }
    world->pools = pools_new(seed);
    pools_attach(world->pools, world->caches[KUBE_SANDBOX], world->caches[KUBE_WARMPOOL]);
    facts_init(&world->facts);
}

void world_deinit(World *world)
{
    pools_free(world->pools);
    for (size_t kind = 0; kind < KUBE_KIND_MAX_; kind++) {
        kube_store_free(world->caches[kind]);
    }
    vec_foreach (&world->objects, object) {
        json_decref(object->body);
    }
    vec_free(&world->objects);
    facts_deinit(&world->facts);
    options_deinit(&world->options);
}

/* ---- objects ---- */

static Str meta_str(const json_t *body, const char *member)
{
    return jx_get_str(body, "metadata", member);
}

static WorldObj *find(const World *world, KubeKindId kind, Str ns, Str name)
{
    for (size_t i = 0; i < world->objects.len; i++) {
        WorldObj *object = &world->objects.ptr[i];

        if (object->kind == kind && str_eq(meta_str(object->body, "name"), name) &&
            str_eq(meta_str(object->body, "namespace"), ns)) {
            return object;
        }
    }
    return NULL;
}

static KubeObj *decode(const WorldObj *object)
{
    AUTO(mem) char *text = jx_dump_compact(object->body);
    KubeObj *obj = NULL;
    Err err = ERR_INIT;

    if (kube_obj_from_text(kube_kind(object->kind), str_from(text), &obj, &err) < 0) {
        T_FAIL("world: %s in %s", err.msg, text);
    }
    return obj;
}

/* A new version of the object is what counts as a write; the cache sees it when its informer would.
 */
static void publish(World *world, WorldObj *object)
{
    AUTO(kube_obj) KubeObj *obj = NULL;
    const KubeObj *cached;
    char rv[24];

    world->n_writes++;
    (void)snprintf(rv, sizeof(rv), "%llu", (unsigned long long)++world->rv);
    jx_set_str(jx_obj(object->body, "metadata"), "resourceVersion", str_from(rv));
    obj = decode(object);
    cached = kube_store_get(world->caches[object->kind], kube_obj_key(obj));
    if (view_store_holds(obj)) {
        (void)kube_store_upsert(world->caches[object->kind], obj, KUBE_CHANGE_LIVE);
    } else if (cached) {
        kube_store_deleted(world->caches[object->kind], obj);
    }
}

static void complete(World *world, KubeKindId kind, json_t *body)
{
    json_t *meta = jx_obj(body, "metadata");
    char text[256];

    jx_set_str(body, "apiVersion", str_from(kube_kind(kind)->api_version));
    jx_set_str(body, "kind", str_from(kube_kind(kind)->kind));
    if (!json_object_get(meta, "namespace")) {
        jx_set_str(meta, "namespace", STR("a"));
    }
    if (!json_object_get(meta, "uid")) {
        (void)snprintf(text, sizeof(text), "uid-%s-%s", kube_kind(kind)->plural,
                       meta_str(body, "name").ptr);
        jx_set_str(meta, "uid", str_from(text));
    }
    if (!json_object_get(meta, "generation")) {
        jx_set_i64(meta, "generation", 1);
    }
    if (!json_object_get(meta, "creationTimestamp")) {
        timefmt_seconds(world->now_wall_ns - 60 * (int64_t)NS_PER_S, text);
        jx_set_str(meta, "creationTimestamp", str_from(text));
    }
}

void world_add(World *world, KubeKindId kind, json_t *body)
{
    complete(world, kind, body);
    vec_push(&world->objects, (WorldObj){kind, body});
    publish(world, &world->objects.ptr[world->objects.len - 1]);
}

PRINTF_LIKE(1, 0) static json_t *parse_quoted(const char *fmt, va_list ap)
{
    char text[TEXT_MAX];
    json_t *body = NULL;
    Err err = ERR_INIT;

    (void)vsnprintf(text, sizeof(text), fmt, ap);
    for (char *c = text; *c; c++) {
        if (*c == '\'') {
            *c = '"';
        }
    }
    if (jx_parse(str_from(text), sizeof(text), &body, &err) < 0) {
        T_FAIL("world: %s in %s", err.msg, text);
    }
    return body;
}

void world_put(World *world, KubeKindId kind, const char *fmt, ...)
{
    json_t *body;
    va_list ap;

    va_start(ap, fmt);
    body = parse_quoted(fmt, ap);
    va_end(ap);
    world_add(world, kind, body);
}

const json_t *world_get(const World *world, KubeKindId kind, const char *ns, const char *name)
{
    const WorldObj *object = find(world, kind, str_from(ns), str_from(name));

    return object ? object->body : NULL;
}

size_t world_count(const World *world, KubeKindId kind)
{
    size_t n = 0;

    for (size_t i = 0; i < world->objects.len; i++) {
        n += world->objects.ptr[i].kind == kind;
    }
    return n;
}

/* ---- deletion ---- */

static void remove_object(World *world, size_t i)
{
    WorldObj object = world->objects.ptr[i];
    AUTO(kube_obj) KubeObj *obj = decode(&object);

    world->n_writes++;
    vec_remove(&world->objects, i);
    if (kube_store_get(world->caches[object.kind], kube_obj_key(obj))) {
        kube_store_deleted(world->caches[object.kind], obj);
    }
    json_decref(object.body);
}

static bool uid_exists(const World *world, Str uid)
{
    for (size_t i = 0; i < world->objects.len; i++) {
        if (str_eq(meta_str(world->objects.ptr[i].body, "uid"), uid)) {
            return true;
        }
    }
    return false;
}

/* Whose controller is gone goes too. Owners that never were in the world do not count. */
static void collect_garbage(World *world, Str gone_uid)
{
    for (size_t i = 0; i < world->objects.len;) {
        AUTO(kube_obj) KubeObj *obj = decode(&world->objects.ptr[i]);
        KubeOwner owner;

        if (kube_obj_controller(obj, &owner) && str_eq(owner.uid, gone_uid) &&
            !uid_exists(world, gone_uid)) {
            AUTO(mem) char *uid = xstrndup(obj->uid.ptr, obj->uid.len);

            remove_object(world, i);
            collect_garbage(world, str_from(uid));
            i = 0;
        } else {
            i++;
        }
    }
}

static void delete_object(World *world, WorldObj *object)
{
    AUTO(mem) char *uid = xstrdup(meta_str(object->body, "uid").ptr);
    char now[TIMEFMT_SIZE];

    if (object->kind == KUBE_POD && world->graceful) {
        timefmt_seconds(world->now_wall_ns, now);
        if (meta_str(object->body, "deletionTimestamp").len == 0) {
            jx_set_str(jx_obj(object->body, "metadata"), "deletionTimestamp", str_from(now));
            publish(world, object);
        }
        return;
    }
    remove_object(world, (size_t)(object - world->objects.ptr));
    collect_garbage(world, str_from(uid));
}

void world_reap(World *world)
{
    for (size_t i = 0; i < world->objects.len;) {
        if (world->objects.ptr[i].kind == KUBE_POD &&
            meta_str(world->objects.ptr[i].body, "deletionTimestamp").len > 0) {
            remove_object(world, i);
        } else {
            i++;
        }
    }
}

/* ---- patches ---- */

/* status = true: only status changes; false: everything but status. */
static void patch_object(World *world, WorldObj *object, const json_t *patch, bool status)
{
    json_t *after = jx_merge_patch_apply(object->body, patch);
    const json_t *untouched = json_object_get(object->body, status ? "spec" : "status");
    bool custom = kube_kind(object->kind)->group[0] != '\0';

    if (status) {
        jx_set(after, "metadata", jx_dup(json_object_get(object->body, "metadata")));
    }
    jx_set(after, status ? "spec" : "status", untouched ? jx_dup(untouched) : NULL);
    jx_set(jx_obj(after, "metadata"), "resourceVersion",
           jx_string_new(meta_str(object->body, "resourceVersion")));
    if (json_equal(after, object->body)) {
        json_decref(after);
        return; /* a patch that changes nothing makes no new version */
    }
    if (custom &&
        !json_equal(json_object_get(after, "spec"), json_object_get(object->body, "spec"))) {
        jx_set_i64(jx_obj(after, "metadata"), "generation",
                   jx_i64(jx_get(object->body, "metadata", "generation"), 0) + 1);
    }
    json_decref(object->body);
    object->body = after;
    publish(world, object);
}

void world_change(World *world, KubeKindId kind, const char *ns, const char *name, const char *fmt,
                  ...)
{
    WorldObj *object = find(world, kind, str_from(ns), str_from(name));
    AUTO(json) json_t *patch = NULL;
    va_list ap;

    va_start(ap, fmt);
    patch = parse_quoted(fmt, ap);
    va_end(ap);
    T_CHECK(object);
    patch_object(world, object, patch, json_object_get(patch, "status") != NULL);
}

/* ---- actions ---- */

static void learn(World *world, const PlanAction *action)
{
    WorldObj *object = find(world, action->kind, action->ns, action->name);
    AUTO(kube_obj) KubeObj *obj = object ? decode(object) : NULL;

    facts_add_read(&world->facts, action->kind, action->ns, action->name, obj);
}

static bool refuse(World *world, const PlanAction *action)
{
    KubeError error = {.http = world->refuse[action->kind].http,
                       .reason = world->refuse[action->kind].reason};

    (void)snprintf(error.msg, sizeof(error.msg), "%s", world->refuse[action->kind].message);
    facts_add_failure(&world->facts, action, &error);
    return action->optional;
}

static bool apply_create(World *world, const PlanAction *action)
{
    json_t *body;
    char text[256];

    if (world->refuse[action->kind].reason != KUBE_REASON_NONE) {
        return refuse(world, action);
    }
    if (find(world, action->kind, action->ns, action->name)) {
        learn(world, action);
        return action->optional;
    }
    body = jx_dup(action->body);
    (void)snprintf(text, sizeof(text), "uid-%s-" STR_FMT "-new", kube_kind(action->kind)->plural,
                   STR_ARG(action->name));
    jx_set_str(jx_obj(body, "metadata"), "uid", str_from(text));
    timefmt_seconds(world->now_wall_ns, text);
    jx_set_str(jx_obj(body, "metadata"), "creationTimestamp", str_from(text));
    if (action->kind == KUBE_POD) {
        jx_set_path(body, jx_string_new(STR("Pending")), "status", "phase");
    }
    world_add(world, action->kind, body);
    facts_drop_read(&world->facts, action->kind, action->ns, action->name);
    return true;
}

static bool apply_change(World *world, const PlanAction *action)
{
    WorldObj *object = find(world, action->kind, action->ns, action->name);
    bool stale_rv;
    bool stale_uid;

    if (!object) {
        learn(world, action);
        return action->verb == PLAN_DELETE || action->optional;
    }
    stale_rv = action->rv.len > 0 && !str_eq(action->rv, meta_str(object->body, "resourceVersion"));
    stale_uid = action->uid.len > 0 && !str_eq(action->uid, meta_str(object->body, "uid"));
    if (stale_rv || stale_uid) {
        learn(world, action);
        return action->optional;
    }
    if (action->verb == PLAN_DELETE) {
        delete_object(world, object);
    } else {
        patch_object(world, object, action->body, action->verb == PLAN_PATCH_STATUS);
    }
    facts_drop_read(&world->facts, action->kind, action->ns, action->name);
    return true;
}

bool world_apply(World *world, const PlanAction *action)
{
    if (action->verb == PLAN_EVENT) {
        world->n_events++;
        return true;
    }
    if (action->verb == PLAN_READ) {
        learn(world, action);
        return true;
    }
    if (facts_failure(&world->facts, action->verb, action->kind, action->ns, action->name)) {
        return action->optional;
    }
    return action->verb == PLAN_CREATE ? apply_create(world, action) : apply_change(world, action);
}

bool world_apply_plan(World *world, const Plan *plan)
{
    bool ok = true;
    unsigned stage = 0;

    for (size_t i = 0; i < plan->n_actions; i++) {
        if (plan->actions[i]->stage != stage) {
            if (!ok) {
                return false;
            }
            stage = plan->actions[i]->stage;
        }
        ok &= world_apply(world, plan->actions[i]);
    }
    return ok;
}

View world_view(World *world)
{
    View view = {
        .options = &world->options,
        .now_wall_ns = world->now_wall_ns,
        .facts = &world->facts,
        .self = STR("self"),
        .pools = world->pools,
    };

    for (size_t kind = 0; kind < KUBE_KIND_MAX_; kind++) {
        view.stores[kind] = world->caches[kind];
    }
    return view;
}

void world_end_pass(World *world)
{
    facts_deinit(&world->facts);
    facts_init(&world->facts);
}

static bool has_read(const Plan *plan)
{
    for (size_t i = 0; i < plan->n_actions; i++) {
        if (plan->actions[i]->verb == PLAN_READ) {
            return true;
        }
    }
    return false;
}

unsigned world_pass(World *world, const Reconciler *reconciler, KubeKey key)
{
    unsigned before = world->n_writes;
    bool again = true;

    for (world->n_plans = 0; again; world->n_plans++) {
        View view = world_view(world);
        AUTO(arena) Arena arena;
        Plan plan;
        bool ok;

        arena_init(&arena, 0);
        plan_init(&plan, &arena);
        reconciler->plan(&view, key, &arena, &plan);
        ok = world_apply_plan(world, &plan);
        again = !ok || has_read(&plan) || (plan.more && plan.n_actions > 0);
        if (again && world->n_plans + 1 == WORLD_PLANS_MAX) {
            T_FAIL("more than %d plans in one pass, the last:\n%s", WORLD_PLANS_MAX,
                   plan_dump(&plan));
        }
        plan_deinit(&plan);
    }
    world_end_pass(world);
    return world->n_writes - before;
}

/* ---- dump ---- */

static int compare_lines(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

char *world_dump(const World *world)
{
    VEC(char *) lines = {0};
    AUTO(strbuf) StrBuf out = STRBUF_INIT(8u << 20);

    for (size_t i = 0; i < world->objects.len; i++) {
        AUTO(json) json_t *body = jx_dup(world->objects.ptr[i].body);

        jx_set(jx_obj(body, "metadata"), "resourceVersion", NULL);
        vec_push(&lines, jx_dump_sorted(body));
    }
    if (lines.len > 1) {
        qsort(lines.ptr, lines.len, sizeof(lines.ptr[0]), compare_lines);
    }
    vec_foreach (&lines, line) {
        (void)strbuf_printf(&out, "%s\n", *line);
        free(*line);
    }
    vec_free(&lines);
    return strbuf_take(&out);
}
