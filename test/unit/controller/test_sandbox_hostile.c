/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Objects that no API server would let through, or that another controller has damaged: any member
 * of any type. Plans must not crash, must come to an end, and must leave other people's objects
 * alone.
 */
#include "base/mem.h"
#include "base/rng.h"
#include "test/harness/t.h"
#include "test/unit/controller/world.h"

#define ROUNDS 4000

static const char sandbox_text[] =
    "{\"metadata\":{\"name\":\"s\",\"namespace\":\"a\",\"uid\":\"uid-s\",\"labels\":{"
    "\"agents.x-k8s.io/created-by\":\"x\",\"agents.x-k8s.io/warm-pool-sandbox\":\"p\"},"
    "\"annotations\":{\"agents.x-k8s.io/pod-name\":\"s\"},\"ownerReferences\":[{\"apiVersion\":"
    "\"extensions.agents.x-k8s.io/v1beta1\",\"kind\":\"SandboxWarmPool\",\"name\":\"p\",\"uid\":"
    "\"u\",\"controller\":true}]},\"spec\":{\"service\":true,\"operatingMode\":\"Running\","
    "\"shutdownTime\":\"2026-11-30T13:00:00Z\",\"shutdownPolicy\":\"Retain\","
    "\"volumeClaimTemplates\":[{\"metadata\":{\"name\":\"d\",\"labels\":{\"a\":\"b\"}},\"spec\":{}}"
    "],"
    "\"podTemplate\":{\"metadata\":{\"labels\":{\"a\":\"b\"},\"annotations\":{\"c\":\"d\"}},"
    "\"spec\":"
    "{\"containers\":[{\"name\":\"m\",\"ports\":[{\"containerPort\":80,\"name\":\"w\",\"protocol\":"
    "\"TCP\"}]}],\"initContainers\":[{\"restartPolicy\":\"Always\",\"ports\":[{\"containerPort\":1}"
    "]"
    "}],\"volumes\":[{\"name\":\"d\"}]}}},\"status\":{\"conditions\":[{\"type\":\"Ready\","
    "\"status\":"
    "\"False\",\"reason\":\"DependenciesNotReady\",\"message\":\"m\",\"observedGeneration\":1,"
    "\"lastTransitionTime\":\"2026-11-30T11:00:00Z\"}],\"podIPs\":[\"1.2.3.4\"],\"service\":\"s\"}"
    "}";

static const char pod_text[] =
    "{\"metadata\":{\"name\":\"s\",\"namespace\":\"a\",\"uid\":\"uid-p\",\"labels\":{"
    "\"agents.x-k8s.io/sandbox-name-hash\":\"f60c4582\"},\"annotations\":{"
    "\"agents.x-k8s.io/propagated-labels\":\"a,,b\"},\"ownerReferences\":[{\"apiVersion\":"
    "\"agents.x-k8s.io/v1beta1\",\"kind\":\"Sandbox\",\"name\":\"s\",\"uid\":\"uid-s\","
    "\"controller\":true}]},\"spec\":{\"nodeName\":\"n\"},\"status\":{\"phase\":\"Running\","
    "\"podIPs\":[{\"ip\":\"10.0.0.1\"}],\"conditions\":[{\"type\":\"Ready\",\"status\":\"True\"},{"
    "\"type\":\"PodScheduled\",\"status\":\"True\",\"reason\":\"r\",\"message\":\"m\"}]}}";

static const char service_text[] =
    "{\"metadata\":{\"name\":\"s\",\"namespace\":\"a\",\"uid\":\"uid-x\",\"labels\":{"
    "\"agents.x-k8s.io/sandbox-name-hash\":\"f60c4582\"},\"ownerReferences\":[{\"apiVersion\":"
    "\"agents.x-k8s.io/v1beta1\",\"kind\":\"Sandbox\",\"name\":\"s\",\"uid\":\"uid-s\","
    "\"controller\":true}]},\"spec\":{\"clusterIP\":\"None\",\"selector\":{\"k\":\"v\"},\"ports\":["
    "{"
    "\"name\":\"w\",\"port\":80,\"protocol\":\"TCP\",\"targetPort\":80}]}}";

static json_t *random_value(Rng *rng)
{
    switch (rng_below(rng, 9)) {
    case 0:
        return json_null();
    case 1:
        return json_true();
    case 2:
        return json_integer((json_int_t)rng_u64(rng));
    case 3:
        return json_real(1e300);
    case 4:
        return jx_string_new(STR(""));
    case 5:
        return jx_string_new(STR("\xc3\xa9\x01,/\"\\ 'x"));
    case 6:
        return jx_array_new();
    case 7:
        return jx_object_new();
    default: {
        json_t *nest = jx_array_new();

        jx_append(nest, jx_object_new());
        jx_append(nest, json_null());
        return nest;
    }
    }
}

/* Replaces, removes or doubles one member somewhere below; names and uids of objects stay. */
static void damage(Rng *rng, json_t *value)
{
    const char *key;
    json_t *member = NULL;
    size_t n = json_is_array(value) ? json_array_size(value) : json_object_size(value);
    size_t at = n ? rng_below(rng, n) : 0;
    size_t i = 0;

    if (n == 0) {
        return;
    }
    if (json_is_array(value)) {
        member = json_array_get(value, at);
        if (json_is_object(member) && rng_below(rng, 3)) {
            damage(rng, member);
        } else {
            (void)json_array_set_new(value, at, random_value(rng));
        }
        return;
    }
    json_object_foreach(value, key, member)
    {
        if (i++ == at) {
            break;
        }
    }
    if ((json_is_object(member) || json_is_array(member)) && rng_below(rng, 5)) {
        damage(rng, member);
    } else {
        (void)json_object_set_new(value, key, random_value(rng));
    }
}

/* NULL when the damage is such that the object would not even be decoded. */
static json_t *damaged(Rng *rng, KubeKindId kind, const char *text)
{
    json_t *body = NULL;
    AUTO(mem) char *again = NULL;
    KubeObj *obj = NULL;
    Err err = ERR_INIT;

    T_OK(jx_parse(str_from(text), 1u << 20, &body, &err));
    for (uint64_t n = rng_below(rng, 4); n > 0; n--) {
        damage(rng, body);
    }
    again = jx_dump_compact(body);
    if (kube_obj_from_text(kube_kind(kind), str_from(again), &obj, &err) < 0 ||
        !str_eq(obj->name, STR("s")) || !str_eq(obj->ns, STR("a")) || obj->uid.len == 0) {
        kube_obj_unref(obj);
        json_decref(body);
        return NULL;
    }
    kube_obj_unref(obj);
    return body;
}

static void add_damaged(Rng *rng, World *world, KubeKindId kind, const char *text)
{
    json_t *body = damaged(rng, kind, text);

    if (body) {
        world_add(world, kind, body);
    }
}

T_TEST(sandbox_plans_survive_damaged_objects)
{
    for (uint64_t seed = 1; seed <= ROUNDS; seed++) {
        AUTO(world) World world;
        Rng rng;

        rng_init(&rng, seed);
        world_init(&world, seed);
        add_damaged(&rng, &world, KUBE_SANDBOX, sandbox_text);
        if (rng_below(&rng, 3)) {
            add_damaged(&rng, &world, KUBE_POD, pod_text);
        }
        if (rng_below(&rng, 3)) {
            add_damaged(&rng, &world, KUBE_SERVICE, service_text);
        }
        for (int i = 0; i < 3; i++) {
            (void)world_pass(&world, sandbox_reconciler(), (KubeKey){STR("a"), STR("s")});
        }
        T_CHECK(world_count(&world, KUBE_POD) <= 2 && world_count(&world, KUBE_SERVICE) <= 1);
    }
}
