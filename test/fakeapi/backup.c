/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Storage restored from a backup (`etcdutl snapshot restore` without --bump-revision): objects and
 * resourceVersion are as they were, everybody's connections break, and nobody is told. The observer
 * hears of each object that differs, as of a change by nobody.
 */
#include <errno.h>

#include "base/mem.h"
#include "test/fakeapi/impl.h"

struct FakeBackup {
    uint64_t rv;
    json_t *objects[KUBE_KIND_MAX_]; /* arrays, sorted like the server's */
};

FakeBackup *fakeapi_backup(FakeApi *api)
{
    FakeBackup *backup = xcalloc(1, sizeof(*backup));

    backup->rv = api->rv;
    for (size_t k = 0; k < KUBE_KIND_MAX_; k++) {
        backup->objects[k] = jx_array_new();
        vec_foreach (&api->objects[k], it) {
            jx_append(backup->objects[k], json_incref(*it));
        }
    }
    return backup;
}

FakeBackup *fakeapi_backup_free(FakeBackup *backup)
{
    if (backup) {
        for (size_t k = 0; k < KUBE_KIND_MAX_; k++) {
            json_decref(backup->objects[k]);
        }
        free(backup);
    }
    return NULL;
}

static void tell(FakeApi *api, size_t kind, const json_t *before, const json_t *after)
{
    const FakeChange change = {NULL, kube_kind((KubeKindId)kind), before, after, api->rv};

    if (api->observer && before != after) {
        api->observer(api->observer_ctx, &change);
    }
}

static const json_t *find_in(const json_t *objects, const json_t *like)
{
    size_t i;
    json_t *object;

    json_array_foreach(objects, i, object)
    {
        if (str_eq(fake_meta(object, "uid"), fake_meta(like, "uid"))) {
            return object;
        }
    }
    return NULL;
}

static void restore_kind(FakeApi *api, size_t k, const json_t *objects)
{
    AUTO(json) json_t *old = jx_array_new();
    size_t i;
    json_t *object;

    vec_foreach (&api->objects[k], it) {
        jx_append(old, *it); /* with its reference */
    }
    vec_free(&api->objects[k]);
    json_array_foreach(objects, i, object)
    {
        vec_push(&api->objects[k], json_incref(object));
    }
    json_array_foreach(old, i, object)
    {
        if (!find_in(objects, object)) {
            tell(api, k, object, NULL);
        }
    }
    json_array_foreach(objects, i, object)
    {
        tell(api, k, find_in(old, object), object);
    }
}

void fakeapi_skip_versions(FakeApi *api, uint64_t n)
{
    api->rv += n;
}

void fakeapi_restore(FakeApi *api, const FakeBackup *backup)
{
    fake_history_clear(api);
    api->rv = backup->rv;
    api->compacted_rv = backup->rv;
    fake_late_clear(api);
    for (size_t k = 0; k < KUBE_KIND_MAX_; k++) {
        restore_kind(api, k, backup->objects[k]);
    }
    vec_foreach (&api->objects[KUBE_POD], it) {
        if (fake_meta(*it, "deletionTimestamp").len > 0) {
            fake_late_add(api, *it);
        }
    }
    fakeapi_cut_watches(api, ECONNRESET);
    loop_timer_arm(api->loop, &api->gc, loop_now(api->loop) + FAKE_GC_DELAY_NS);
}
