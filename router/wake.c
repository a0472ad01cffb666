/* SPDX-License-Identifier: Apache-2.0 */
/* See wake.h. */
#include "router/wake.h"

#include <stdlib.h>
#include <string.h>

#include "base/check.h"
#include "base/hash.h"
#include "base/hmap.h"
#include "base/mem.h"
#include "base/rng.h"
#include "router/mailbox.h"

#define LABEL_MAX 63
#define COMPLAIN_NS (60 * NS_PER_S) /* between two lines about the API server */

struct WakeQuery {
    ListNode node; /* of incoming, a name, or its inbox's answers */
    WakeInbox *inbox;
    WakeFn fn;
    void *ctx;
    bool may_wake;
    WakeState state;
    char ns[LABEL_MAX + 1];
    char name[LABEL_MAX + 1];
};

struct WakeInbox {
    Wake *wake;
    Mailbox box;
};

/* The main thread's, but for `queries`. */
typedef struct Name {
    HMapNode node;
    ListNode age; /* linked while no call runs, the oldest first */
    Wake *wake;
    KubeCall *call;
    List queries;  /* under the lock */
    bool may_wake; /* of any that wait */
    WakeState state;
    uint64_t until_ns; /* how long `state` is believed */
    char ns[LABEL_MAX + 1];
    char name[LABEL_MAX + 1];
} Name;

struct Wake {
    WakeConfig config;
    Loop *loop;
    LoopWake bell;
    pthread_mutex_t lock;
    List incoming;
    size_t n_queries;
    HMap names;
    List ages;
    size_t n_names;
    uint64_t seed;
    uint64_t complained_ns;
    CounterFamily *lookups;
    CounterFamily *wakes;
};

static const char *const state_names[] = {"untold", "unknown", "suspended", "expired", "starting"};

/* ---- answers, any thread ---- */

static void deliver(ListNode *node)
{
    WakeQuery *query = list_entry(node, WakeQuery, node);
    WakeFn fn = query->fn;
    void *ctx = query->ctx;
    WakeState state = query->state;

    free(query);
    fn(ctx, state);
}

WakeInbox *wake_inbox_new(Wake *wake, Loop *loop)
{
    WakeInbox *inbox = xcalloc(1, sizeof(*inbox));

    inbox->wake = wake;
    mailbox_init(&inbox->box, loop, &wake->lock, &wake->n_queries, deliver);
    return inbox;
}

WakeInbox *wake_inbox_free(WakeInbox *inbox)
{
    if (inbox) {
        mailbox_deinit(&inbox->box);
        free(inbox);
    }
    return NULL;
}

WakeQuery *wake_ask(WakeInbox *inbox, Str ns, Str name, bool may_wake, WakeFn fn, void *ctx)
{
    Wake *wake = inbox->wake;
    WakeQuery *query;
    bool room;

    if (ns.len > LABEL_MAX || name.len > LABEL_MAX) {
        return NULL;
    }
    query = xcalloc(1, sizeof(*query));
    *query = (WakeQuery){.inbox = inbox, .fn = fn, .ctx = ctx, .may_wake = may_wake};
    memcpy(query->ns, ns.ptr, ns.len);
    memcpy(query->name, name.ptr, name.len);
    pthread_mutex_lock(&wake->lock);
    room = wake->n_queries < WAKE_QUERIES_MAX;
    if (room) {
        wake->n_queries++;
        list_push_back(&wake->incoming, &query->node);
    }
    pthread_mutex_unlock(&wake->lock);
    if (!room) {
        free(query);
        return NULL;
    }
    loop_wake_signal(&wake->bell);
    return query;
}

void wake_cancel(WakeQuery *query)
{
    Wake *wake = query->inbox->wake;

    pthread_mutex_lock(&wake->lock);
    list_remove(&query->node);
    wake->n_queries--;
    pthread_mutex_unlock(&wake->lock);
    free(query);
}

/* ---- the main thread ---- */

WakeState wake_state_of(const KubeObj *sandbox)
{
    JNode ready = kube_obj_condition(sandbox, STR("Ready"));

    if (kube_obj_deleting(sandbox)) {
        return WAKE_UNKNOWN;
    }
    if (str_eq(jnode_str(jnode_get(ready, STR("reason"))), STR("SandboxExpired"))) {
        return WAKE_EXPIRED;
    }
    if (str_eq(jnode_str(jnode_get(kube_obj_spec(sandbox), STR("operatingMode"))),
               STR("Suspended"))) {
        return WAKE_SUSPENDED;
    }
    return WAKE_STARTING;
}

/* With the lock held. */
static void answer_one(WakeQuery *query, WakeState state)
{
    list_remove(&query->node);
    query->state = state;
    mailbox_post(&query->inbox->box, &query->node);
}

static void answer(Name *name)
{
    Wake *wake = name->wake;

    pthread_mutex_lock(&wake->lock);
    list_foreach (&name->queries, node) {
        answer_one(list_entry(node, WakeQuery, node), name->state);
    }
    pthread_mutex_unlock(&wake->lock);
    name->may_wake = false;
}

static void settle(Name *name, WakeState state)
{
    Wake *wake = name->wake;

    name->state = state;
    name->until_ns = loop_now(wake->loop) + WAKE_REMEMBER_NS;
    list_remove(&name->age);
    list_push_back(&wake->ages, &name->age);
    counter_inc(counter_with(wake->lookups, str_from(state_names[state])));
    answer(name);
}

static void complain(Wake *wake, const char *what, const Name *name, const KubeError *error)
{
    uint64_t now = loop_now(wake->loop);

    if (wake->complained_ns == 0 || now - wake->complained_ns >= COMPLAIN_NS) {
        wake->complained_ns = now;
        LOG_WARN(wake->config.log, what, F_CSTR("namespace", name->ns),
                 F_CSTR("sandbox", name->name), F_CSTR("error", error->msg),
                 F_I64("http", error->http));
    }
}

static void on_resumed(void *ctx, const KubeError *error, KubeObj *obj)
{
    Name *name = ctx;
    Wake *wake = name->wake;

    UNUSED(obj);
    name->call = NULL;
    counter_inc(counter_with(wake->wakes, error ? STR("error") : STR("resumed")));
    if (error) {
        complain(wake, "cannot resume a suspended sandbox", name, error);
    } else {
        LOG_INFO(wake->config.log, "resumed a suspended sandbox", F_CSTR("namespace", name->ns),
                 F_CSTR("sandbox", name->name));
    }
    settle(name, error ? WAKE_SUSPENDED : WAKE_STARTING);
}

static void on_sandbox(void *ctx, const KubeError *error, KubeObj *obj)
{
    Name *name = ctx;
    Wake *wake = name->wake;
    KubeKey key = {str_from(name->ns), str_from(name->name)};
    WakeState state = WAKE_UNTOLD;

    name->call = NULL;
    if (!error) {
        state = wake_state_of(obj);
    } else if (error->reason == KUBE_REASON_NOT_FOUND) {
        state = WAKE_UNKNOWN;
    } else {
        complain(wake, "cannot read a sandbox", name, error);
    }
    if (state == WAKE_SUSPENDED && wake->config.resume && name->may_wake) {
        name->call = kube_api_patch(wake->config.api, kube_kind(KUBE_SANDBOX), key, NULL,
                                    STR("{\"spec\":{\"operatingMode\":\"Running\"}}"),
                                    KUBE_CALL_NORMAL, on_resumed, name);
        return;
    }
    settle(name, state);
}

static void look(Name *name)
{
    KubeKey key = {str_from(name->ns), str_from(name->name)};

    list_remove(&name->age);
    name->call = kube_api_get(name->wake->config.api, kube_kind(KUBE_SANDBOX), key,
                              KUBE_CALL_NORMAL, on_sandbox, name);
}

static void forget(Wake *wake, Name *name)
{
    hmap_remove(&wake->names, &name->node);
    list_remove(&name->age);
    wake->n_names--;
    free(name);
}

/* NULL when all WAKE_NAMES_MAX are being asked about. */
static Name *get_name(Wake *wake, const char *ns, const char *text)
{
    uint64_t hash = hash_str(hash_str(wake->seed, str_from(ns)), str_from(text));
    ListNode *oldest = list_first(&wake->ages);
    Name *name;

    for (HMapNode *n = hmap_first(&wake->names, hash); n; n = hmap_next(n)) {
        name = container_of(n, Name, node);
        if (strcmp(name->ns, ns) == 0 && strcmp(name->name, text) == 0) {
            return name;
        }
    }
    if (wake->n_names >= WAKE_NAMES_MAX) {
        if (!oldest) {
            return NULL;
        }
        forget(wake, list_entry(oldest, Name, age));
    }
    name = xcalloc(1, sizeof(*name));
    name->wake = wake;
    list_init(&name->queries);
    memcpy(name->ns, ns, strlen(ns) + 1);
    memcpy(name->name, text, strlen(text) + 1);
    hmap_insert(&wake->names, &name->node, hash);
    list_push_back(&wake->ages, &name->age);
    wake->n_names++;
    return name;
}

/* Takes one question in. NULL: none is left, or it is answered. */
static Name *take_one(Wake *wake, bool *ret_more)
{
    ListNode *node = list_pop_front(&wake->incoming);
    WakeQuery *query;
    Name *name;

    *ret_more = node != NULL;
    if (!node) {
        return NULL;
    }
    query = list_entry(node, WakeQuery, node);
    name = get_name(wake, query->ns, query->name);
    if (!name) {
        query->state = WAKE_UNTOLD;
        mailbox_post(&query->inbox->box, &query->node);
        return NULL;
    }
    list_push_back(&name->queries, &query->node);
    name->may_wake |= query->may_wake;
    return name;
}

static void on_questions(LoopWake *bell)
{
    Wake *wake = container_of(bell, Wake, bell);
    bool more = true;

    while (more) {
        pthread_mutex_lock(&wake->lock);
        Name *name = take_one(wake, &more);

        pthread_mutex_unlock(&wake->lock);
        if (!name || name->call) {
            continue;
        }
        bool stale = loop_now(wake->loop) >= name->until_ns;

        if (stale || (name->state == WAKE_SUSPENDED && name->may_wake && wake->config.resume)) {
            look(name);
        } else {
            answer(name);
        }
    }
}

Wake *wake_new(const WakeConfig *config)
{
    static const char *const labels[] = {"result", NULL};
    MetricSpec lookups = {.name = "sandbox_router_sandbox_lookups_total",
                          .help = "Sandboxes without a route that the API server was asked about.",
                          .labels = labels};
    MetricSpec wakes = {.name = "sandbox_router_wakes_total",
                        .help = "Suspended sandboxes resumed by a request.",
                        .labels = labels};
    Wake *wake = xcalloc(1, sizeof(*wake));

    wake->config = *config;
    wake->loop = kube_api_loop(config->api);
    CHECK(pthread_mutex_init(&wake->lock, NULL) == 0);
    CHECK(loop_wake_init(wake->loop, &wake->bell, on_questions) == 0);
    list_init(&wake->incoming);
    list_init(&wake->ages);
    hmap_init(&wake->names);
    rng_os_fill(&wake->seed, sizeof(wake->seed));
    wake->lookups = metrics_counter(config->metrics, &lookups);
    wake->wakes = metrics_counter(config->metrics, &wakes);
    return wake;
}

Wake *wake_free(Wake *wake)
{
    if (!wake) {
        return NULL;
    }
    hmap_foreach (&wake->names, node) {
        Name *name = container_of(node, Name, node);

        kube_call_cancel(name->call);
        forget(wake, name);
    }
    CHECK(list_is_empty(&wake->incoming));
    hmap_deinit(&wake->names);
    loop_wake_deinit(&wake->bell);
    pthread_mutex_destroy(&wake->lock);
    free(wake);
    return NULL;
}

bool wake_resumes(const Wake *wake)
{
    return wake->config.resume;
}
