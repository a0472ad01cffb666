/* SPDX-License-Identifier: Apache-2.0 */
/* controller/warmpool/status.c
 *
 * Zero is written as null: Go's types leave zeros out, and a merge patch has no other way to say
 * so.
 */
#include "controller/warmpool/status.h"

#include "base/hash.h"
#include "controller/keys.h"

size_t pool_desired(const KubeObj *pool)
{
    int64_t replicas = jnode_i64(jnode_at(kube_obj_spec(pool), "replicas"), 1);

    return replicas > 0 ? (size_t)replicas : 0;
}

static void number_want(json_t *patch, JNode now, const char *key, int64_t value)
{
    if (jnode_i64(jnode_at(now, key), 0) != value) {
        json_object_set_new(patch, key, value != 0 ? json_integer(value) : json_null());
    }
}

static uint64_t wait_for(const PoolNumbers *numbers, size_t was_ready, size_t desired)
{
    if (numbers->ready < was_ready) {
        uint64_t claimed_ns =
            numbers->lean ? POOL_STATUS_LEAN_WAIT_NS : POOL_STATUS_CLAIMED_WAIT_NS;

        return numbers->lost > 0 ? 0 : claimed_ns;
    }
    if (numbers->ready > was_ready && numbers->ready == desired) {
        return 0;
    }
    return numbers->lean ? POOL_STATUS_LEAN_WAIT_NS : POOL_STATUS_WAIT_NS;
}

json_t *pool_status_patch(const KubeObj *pool, const PoolNumbers *numbers, uint64_t *ret_wait_ns)
{
    JNode now = kube_obj_status(pool);
    size_t was_ready = (size_t)jnode_i64(jnode_at(now, "readyReplicas"), 0);
    AUTO(json) json_t *status = jx_object_new();
    json_t *patch;
    char hash[HASH_HEX_SIZE];
    AUTO(strbuf) StrBuf selector = STRBUF_INIT(256);

    hash_name(pool->name, hash);
    (void)strbuf_printf(&selector, LABEL_WARM_POOL_SANDBOX "=%s", hash);
    number_want(status, now, "replicas", (int64_t)numbers->replicas);
    number_want(status, now, "readyReplicas", (int64_t)numbers->ready);
    number_want(status, now, "observedGeneration", kube_obj_generation(pool));
    if (!str_eq(jnode_str(jnode_at(now, "selector")), strbuf_str(&selector))) {
        jx_set_str(status, "selector", strbuf_str(&selector));
    }
    if (json_object_size(status) == 0) {
        return NULL;
    }
    *ret_wait_ns = wait_for(numbers, was_ready, pool_desired(pool));
    patch = jx_object_new();
    jx_set(patch, "status", TAKE(status));
    return patch;
}
