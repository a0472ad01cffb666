/* SPDX-License-Identifier: Apache-2.0 */
/* See feed.h. */
#include "router/feed.h"

#include <stdlib.h>

#include "base/mem.h"

#define LABEL_NAME_HASH "agents.x-k8s.io/sandbox-name-hash"
#define LABEL_WARM_POOL STR("agents.x-k8s.io/warm-pool-sandbox")
#define SANDBOX_GROUP STR("agents.x-k8s.io")
#define RESYNC_NS (600 * NS_PER_S)

enum {
    INDEX_SANDBOX,
};

struct Feed {
    FeedConfig config;
    KubeInformer *informer;
    KubeListener listener;
    RouteTable *table;
    LoopDefer publish;
    Loop *loop;
    bool synced;
};

Str feed_pod_sandbox(const KubeObj *pod)
{
    KubeOwner owner;

    if (!kube_obj_controller(pod, &owner) || !str_eq(owner.kind, STR("Sandbox")) ||
        !str_eq(owner.api_group, SANDBOX_GROUP)) {
        return STR_NULL;
    }
    return owner.name;
}

static Str pod_ip(const KubeObj *pod)
{
    return jnode_str(jnode_get(kube_obj_status(pod), STR("podIP")));
}

bool feed_pod_is_routable(const KubeObj *pod)
{
    Address address;

    return feed_pod_sandbox(pod).ptr && !kube_obj_deleting(pod) &&
           !kube_obj_label(pod, LABEL_WARM_POOL).ptr &&
           kube_obj_condition_is(pod, STR("Ready"), STR("True")) &&
           address_parse(pod_ip(pod), &address) == 0;
}

/* The pod of the sandbox's own name, then the younger one, then the greater UID. */
bool feed_pod_is_better(const KubeObj *a, const KubeObj *b)
{
    bool own_a = str_eq(a->name, feed_pod_sandbox(a));
    bool own_b = str_eq(b->name, feed_pod_sandbox(b));
    int64_t born_a = kube_obj_created_ns(a);
    int64_t born_b = kube_obj_created_ns(b);

    if (own_a != own_b) {
        return own_a;
    }
    if (born_a != born_b) {
        return born_a > born_b;
    }
    return str_cmp(a->uid, b->uid) > 0;
}

static void choose(Feed *feed, const KubeStore *store, Str ns, Str name)
{
    KubeStoreIter it = kube_store_find(store, INDEX_SANDBOX, name);
    const KubeObj *best = NULL;
    const KubeObj *pod;
    RouteTable *before = feed->table;
    Address address = {0};
    Str uid = STR("");

    while ((pod = kube_store_next(&it))) {
        if (str_eq(pod->ns, ns) && feed_pod_is_routable(pod) &&
            (!best || feed_pod_is_better(pod, best))) {
            best = pod;
        }
    }
    if (best) {
        KubeOwner owner;

        address_parse(pod_ip(best), &address);
        uid = kube_obj_controller(best, &owner) && owner.uid.ptr ? owner.uid : uid;
    }
    feed->table = route_table_set(feed->table, ns, name, best ? &address : NULL, uid);
    if (feed->table != before) {
        loop_defer_post(feed->loop, &feed->publish);
    }
}

static void on_change(KubeListener *listener, const KubeStore *store, const KubeChange *change)
{
    Feed *feed = container_of(listener, Feed, listener);
    Str before = change->before ? feed_pod_sandbox(change->before) : STR_NULL;
    Str after = change->after ? feed_pod_sandbox(change->after) : STR_NULL;

    if (after.ptr) {
        choose(feed, store, change->after->ns, after);
    }
    if (before.ptr && !str_eq(before, after)) {
        choose(feed, store, change->before->ns, before);
    }
}

static void publish(LoopDefer *defer)
{
    Feed *feed = container_of(defer, Feed, publish);

    if (feed->synced) { /* half a table would turn known names into 404s */
        route_board_publish(feed->config.board, feed->table);
        feed->config.on_publish(feed->config.ctx, route_table_len(feed->table));
    }
}

static void on_state(KubeInformer *informer, const KubeError *error, void *ctx)
{
    Feed *feed = ctx;

    if (error) {
        feed->config.on_trouble(feed->config.ctx, error);
    }
    if (!feed->synced && kube_informer_synced(informer)) {
        feed->synced = true;
        loop_defer_cancel(&feed->publish);
        publish(&feed->publish);
        feed->config.on_synced(feed->config.ctx);
    }
}

static const KubeIndex indexes[] = {
    [INDEX_SANDBOX] = {"sandbox", feed_pod_sandbox},
};

Feed *feed_new(const FeedConfig *config)
{
    Feed *feed = xcalloc(1, sizeof(*feed));
    KubeInformerConfig informer = {
        .api = config->api,
        .kind = kube_kind(KUBE_POD),
        .ns = config->ns,
        .label_selector = LABEL_NAME_HASH,
        .field_selector = "status.podIP!=",
        .stream = true,
        .indexes = indexes,
        .n_indexes = ARRAY_LEN(indexes),
        .seed = config->seed,
        .resync_ns = RESYNC_NS,
        .on_state = on_state,
        .ctx = feed,
    };

    feed->config = *config;
    feed->loop = kube_api_loop(config->api);
    feed->table = route_table_new(config->seed);
    loop_defer_init(&feed->publish, publish);
    feed->informer = kube_informer_new(&informer);
    feed->listener.fn = on_change;
    kube_store_listen(kube_informer_store(feed->informer), &feed->listener);
    return feed;
}

void feed_start(Feed *feed)
{
    kube_informer_start(feed->informer);
}

Feed *feed_free(Feed *feed)
{
    if (feed) {
        loop_defer_cancel(&feed->publish);
        kube_store_unlisten(&feed->listener);
        kube_informer_free(feed->informer);
        route_table_unref(feed->table);
        free(feed);
    }
    return NULL;
}
