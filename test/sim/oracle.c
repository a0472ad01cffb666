/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What must hold after every change, whatever goes wrong. Each rule looks at a change by its
 * author: users may do what they like, controllers may not.
 *
 * A controller acts on what it has seen, which may be a while ago. Rules about a state that
 * somebody else may have changed since then allow what was true within SEEN_NS.
 */
#include "test/sim/oracle.h"
#include "base/hash.h"
#include "base/hmap.h"
#include "base/mem.h"
#include "base/timefmt.h"
#include "controller/keys.h"
#include "controller/warmpool/scale.h"

#define SEEN_NS (60 * NS_PER_S)
#define UNREST_NS (20 * NS_PER_S)
#define CLOCK_JUMP_MAX_NS (40 * (int64_t)NS_PER_S)
/* Writes to one object in one simulated minute. */
#define WRITES_MAX 60

typedef struct Rate {
    HMapNode node;
    char *key;
    uint64_t minute;
    uint64_t life_ns; /* a new process has to find out anew what to leave alone */
    unsigned n;
} Rate;

/* A fact that was true at a time: "template's policy is in place", "claim owns Sandbox". */
typedef struct Seen {
    HMapNode node;
    char *key;
    uint64_t last_ns;
    int64_t most; /* of a number that goes with it */
} Seen;

struct Oracle {
    Sim *sim;
    HMap rates;
    HMap seen;
    char *taken;               /* "kind ns/name uid": a name that we were told is taken */
    const Replica *taken_from; /* who was told */
    uint64_t taken_ns;
};

/* ---- objects ---- */

bool owner_of(const json_t *object, Owner *ret_owner)
{
    json_t *refs = jx_get(object, "metadata", "ownerReferences");
    size_t i;
    json_t *ref;

    json_array_foreach(refs, i, ref)
    {
        if (jx_bool(json_object_get(ref, "controller"), false)) {
            Str rest;

            ret_owner->group = str_cut(jx_get_str(ref, "apiVersion"), '/', &rest);
            ret_owner->kind = jx_get_str(ref, "kind");
            ret_owner->uid = jx_get_str(ref, "uid");
            return true;
        }
    }
    *ret_owner = (Owner){STR(""), STR(""), STR("")};
    return false;
}

bool owned_by_kind(const json_t *object, const char *group, const char *kind)
{
    Owner owner;

    return owner_of(object, &owner) && str_eq(owner.kind, str_from(kind)) &&
           str_eq(owner.group, str_from(group));
}

bool owned_by(const json_t *object, Str uid)
{
    Owner owner;

    return owner_of(object, &owner) && str_eq(owner.uid, uid);
}

bool is_deleting(const json_t *object)
{
    return jx_get(object, "metadata", "deletionTimestamp") != NULL;
}

Str meta(const json_t *object, const char *member)
{
    return jx_get_str(object, "metadata", member);
}

const json_t *condition_of(const json_t *object, const char *type)
{
    json_t *list = jx_get(object, "status", "conditions");
    size_t i;
    json_t *condition;

    json_array_foreach(list, i, condition)
    {
        if (str_eq(jx_get_str(condition, "type"), str_from(type))) {
            return condition;
        }
    }
    return NULL;
}

bool condition_is(const json_t *object, const char *type, const char *status)
{
    return str_eq(jx_get_str(condition_of(object, type), "status"), str_from(status));
}

bool pod_is_live(const json_t *pod)
{
    Str phase = jx_get_str(pod, "status", "phase");

    return !is_deleting(pod) && !str_eq(phase, STR("Failed")) && !str_eq(phase, STR("Succeeded"));
}

typedef struct Counting {
    Str uid;
    bool (*fn)(const json_t *object);
    size_t n;
} Counting;

static void count_one(void *ctx, const json_t *object)
{
    Counting *counting = ctx;

    counting->n += owned_by(object, counting->uid) && counting->fn(object);
}

size_t count_owned(const Sim *sim, KubeKindId kind, Str uid, bool (*fn)(const json_t *object))
{
    Counting counting = {uid, fn, 0};

    fakeapi_each(sim->api, kind, count_one, &counting);
    return counting.n;
}

bool is_there(const json_t *object)
{
    return !is_deleting(object);
}

/* ---- memory ---- */

static Seen *seen_find(const Oracle *oracle, const char *key)
{
    uint64_t hash = hash_str(1, str_from(key));

    for (HMapNode *n = hmap_first(&oracle->seen, hash); n; n = hmap_next(n)) {
        if (strcmp(container_of(n, Seen, node)->key, key) == 0) {
            return container_of(n, Seen, node);
        }
    }
    return NULL;
}

/* A new fact, or the old one again. Takes key. */
static Seen *seen_note(Oracle *oracle, char *key)
{
    Seen *seen = seen_find(oracle, key);

    if (seen) {
        free(key);
    } else {
        seen = xcalloc(1, sizeof(*seen));
        seen->key = key;
        seen->most = -1;
        hmap_insert(&oracle->seen, &seen->node, hash_str(1, str_from(key)));
    }
    seen->last_ns = sim_now(oracle->sim);
    return seen;
}

static bool seen_lately(const Oracle *oracle, const char *key)
{
    const Seen *seen = seen_find(oracle, key);

    return seen && sim_now(oracle->sim) <= seen->last_ns + SEEN_NS;
}

/* ---- rules ---- */

static bool two_lead(const Sim *sim)
{
    return replica_leads(sim->replicas[0]) && replica_leads(sim->replicas[1]);
}

/* One leader, one storage, and both for a while. */
static bool is_alone(const Sim *sim)
{
    uint64_t now = sim->clock.now_mono_ns;

    return !two_lead(sim) && now >= sim->last_life_ns + UNREST_NS &&
           (sim->restored_ns == 0 || now >= sim->restored_ns + SEEN_NS);
}

#define NAME_ARG(object) STR_ARG(meta(object, "namespace")), STR_ARG(meta(object, "name"))

static void check_pods(Oracle *oracle, const FakeChange *change)
{
    Owner owner;

    if (!change->after || !pod_is_live(change->after) || !owner_of(change->after, &owner) ||
        !str_eq(owner.kind, STR(KIND_SANDBOX))) {
        return;
    }
    if (count_owned(oracle->sim, KUBE_POD, owner.uid, pod_is_live) > 1) {
        sim_fail(oracle->sim, "two live Pods of one Sandbox, the second is " STR_FMT "/" STR_FMT,
                 NAME_ARG(change->after));
    }
}

static bool may_be_adopted(const json_t *child)
{
    json_t *labels = jx_get(child, "metadata", "labels");

    return str_eq(jx_get_str(labels, LABEL_ADOPTABLE), STR("true")) ||
           jx_get_str(labels, LABEL_SANDBOX_NAME_HASH).len > 0;
}

/* Pods, Services and PVCs that are not a Sandbox's are nobody's business. */
static void check_child(Oracle *oracle, const FakeChange *change)
{
    const char *what = change->after ? "changes" : "deletes";
    Owner owner;

    AUTO(mem) char *key = NULL;

    if (!change->before || owned_by_kind(change->before, API_GROUP_CORE, KIND_SANDBOX)) {
        return;
    }
    key = xasprintf("child " STR_FMT, STR_ARG(meta(change->before, "uid")));
    if (seen_lately(oracle, key)) {
        return;
    }
    if (!owner_of(change->before, &owner) && change->after && may_be_adopted(change->before)) {
        return;
    }
    sim_fail(oracle->sim, "a controller %s the %s " STR_FMT "/" STR_FMT ", which is not its own",
             what, change->kind->kind, NAME_ARG(change->before));
}

static void note_child(Oracle *oracle, const FakeChange *change)
{
    const json_t *child = change->before ? change->before : change->after;

    if (owned_by_kind(child, API_GROUP_CORE, KIND_SANDBOX)) {
        seen_note(oracle, xasprintf("child " STR_FMT, STR_ARG(meta(child, "uid"))));
    }
}

static void check_policy(Oracle *oracle, const FakeChange *change)
{
    AUTO(mem)
    char *key =
        change->before ? xasprintf("child " STR_FMT, STR_ARG(meta(change->before, "uid"))) : NULL;

    if (change->before && !seen_lately(oracle, key) &&
        !owned_by_kind(change->before, API_GROUP_EXTENSIONS, KIND_SANDBOX_TEMPLATE) &&
        !owned_by_kind(change->before, API_GROUP_EXTENSIONS, KIND_SANDBOX_CLAIM)) {
        sim_fail(oracle->sim,
                 "a controller changes the NetworkPolicy " STR_FMT "/" STR_FMT
                 ", which is not its own",
                 NAME_ARG(change->before));
    }
}

static void note_policy(Oracle *oracle, const FakeChange *change)
{
    const json_t *policy = change->before ? change->before : change->after;

    /* Its end, or its being there: both are moments in which it was seen. */
    if (owned_by_kind(policy, API_GROUP_EXTENSIONS, KIND_SANDBOX_TEMPLATE)) {
        seen_note(oracle, xasprintf("policy " STR_FMT "/" STR_FMT, NAME_ARG(policy)));
        seen_note(oracle, xasprintf("child " STR_FMT, STR_ARG(meta(policy, "uid"))));
    }
}

/* Also when the template became managed only now, the plan may have been made before. */
static void check_gate(Oracle *oracle, const json_t *sandbox)
{
    Str name = jx_get_str(sandbox, "metadata", "annotations", ANNOTATION_TEMPLATE_REF);
    Str ns = meta(sandbox, "namespace");
    AUTO(mem) char *policy = xasprintf(STR_FMT "-network-policy", STR_ARG(name));
    AUTO(mem) char *policy_key = xasprintf("policy " STR_FMT "/%s", STR_ARG(ns), policy);
    AUTO(mem)
    char *open_key = xasprintf("unmanaged " STR_FMT "/" STR_FMT, STR_ARG(ns), STR_ARG(name));
    AUTO(mem) char *space = xstrndup(ns.ptr, ns.len);
    const json_t *live = fakeapi_get(oracle->sim->api, KUBE_NETPOL, space, policy);

    if ((live && owned_by_kind(live, API_GROUP_EXTENSIONS, KIND_SANDBOX_TEMPLATE)) ||
        seen_lately(oracle, policy_key) || seen_lately(oracle, open_key)) {
        return;
    }
    sim_fail(oracle->sim,
             "Sandbox " STR_FMT "/" STR_FMT " is created before the policy of template " STR_FMT,
             NAME_ARG(sandbox), STR_ARG(name));
}

static bool is_unmanaged(const json_t *template)
{
    return template &&
           str_eq(jx_get_str(template, "spec", "networkPolicyManagement"), STR("Unmanaged"));
}

static void note_template(Oracle *oracle, const FakeChange *change)
{
    const json_t *template = change->before ? change->before : change->after;

    if (is_unmanaged(change->before) || is_unmanaged(change->after)) {
        seen_note(oracle, xasprintf("unmanaged " STR_FMT "/" STR_FMT, NAME_ARG(template)))
            ->last_ns = is_unmanaged(change->after) ? UINT64_MAX / 2 : sim_now(oracle->sim);
    }
}

/* The most replicas somebody may still believe in: forgotten after SEEN_NS. */
static void note_pool(Oracle *oracle, const FakeChange *change)
{
    const json_t *states[] = {change->before, change->after};

    for (size_t i = 0; i < ARRAY_LEN(states); i++) {
        AUTO(mem) char *key = NULL;
        Seen *seen;
        uint64_t last;
        int64_t replicas;

        if (!states[i]) {
            continue;
        }
        key = xasprintf("pool " STR_FMT, STR_ARG(meta(states[i], "uid")));
        seen = seen_find(oracle, key);
        last = seen ? seen->last_ns : 0;
        replicas = jx_i64(jx_get(states[i], "spec", "replicas"), 0);
        seen = seen_note(oracle, TAKE(key));
        if (replicas >= seen->most || sim_now(oracle->sim) - last > SEEN_NS) {
            seen->most = replicas;
        } else {
            seen->last_ns = last;
        }
    }
}

static void check_pool_size(Oracle *oracle, const json_t *sandbox)
{
    AUTO(mem) char *key = NULL;
    const Seen *seen;
    Owner owner;
    size_t most;
    size_t n;

    if (!owner_of(sandbox, &owner) || !str_eq(owner.kind, STR(KIND_SANDBOX_WARM_POOL))) {
        return;
    }
    key = xasprintf("pool " STR_FMT, STR_ARG(owner.uid));
    seen = seen_find(oracle, key);
    n = count_owned(oracle->sim, KUBE_SANDBOX, owner.uid, is_there);
    most = seen ? (size_t)seen->most + scale_surge((size_t)seen->most) : SIZE_MAX / 2;
    /* What a leader had on its way when it ended, its successor does not know of, and two at once
     * do not know of each other: then as many again. */
    if (!is_alone(oracle->sim)) {
        most *= 2;
    }
    if (n > most) {
        sim_fail(oracle->sim,
                 "pool of " STR_FMT "/" STR_FMT " has %d members, wanted are at most %d",
                 NAME_ARG(sandbox), (int)n, (int)seen->most);
    }
}

/* By the clock of a controller, which may be wrong. */
static bool time_is_over(const Oracle *oracle, Str text)
{
    int64_t slack = sim_is_on(oracle->sim, SIM_CLOCK_JUMP) ? CLOCK_JUMP_MAX_NS : 0;
    int64_t at;

    return text.len > 0 && timefmt_parse(text, &at) == 0 &&
           at <= oracle->sim->clock.now_wall_ns + slack;
}

static bool ends_itself(const Oracle *oracle, const json_t *sandbox)
{
    return time_is_over(oracle, jx_get_str(sandbox, "spec", "shutdownTime")) &&
           str_eq(jx_get_str(sandbox, "spec", "shutdownPolicy"), STR("Delete"));
}

/* The claim that is bound to this Sandbox and has no reason to give it up. */
static void check_bound(Oracle *oracle, const json_t *sandbox)
{
    AUTO(mem) char *ns = xstrndup(meta(sandbox, "namespace").ptr, meta(sandbox, "namespace").len);
    Str bound = meta(sandbox, "name");
    Owner owner;

    (void)owner_of(sandbox, &owner);
    for (int i = 0; i < 16; i++) {
        char name[16];
        const json_t *claim;

        (void)snprintf(name, sizeof(name), "k%d", i);
        claim = fakeapi_get(oracle->sim->api, KUBE_CLAIM, ns, name);
        if (claim && str_eq(meta(claim, "uid"), owner.uid) && !is_deleting(claim) &&
            str_eq(jx_get_str(claim, "status", "sandbox", "name"), bound) &&
            !jx_get(claim, "spec", "lifecycle")) {
            sim_fail(oracle->sim,
                     "a controller deletes the Sandbox " STR_FMT "/" STR_FMT
                     " of the bound claim %s",
                     NAME_ARG(sandbox), name);
        }
    }
}

static void check_sandbox_end(Oracle *oracle, const json_t *sandbox)
{
    if (ends_itself(oracle, sandbox)) {
        return;
    }
    if (owned_by_kind(sandbox, API_GROUP_EXTENSIONS, KIND_SANDBOX_CLAIM)) {
        check_bound(oracle, sandbox);
    } else if (!owned_by_kind(sandbox, API_GROUP_EXTENSIONS, KIND_SANDBOX_WARM_POOL)) {
        sim_fail(oracle->sim,
                 "a controller deletes the Sandbox " STR_FMT "/" STR_FMT ", which is not its own",
                 NAME_ARG(sandbox));
    }
}

static void check_sandbox(Oracle *oracle, const FakeChange *change)
{
    Owner before;
    Owner after;
    bool had = change->before && owner_of(change->before, &before);

    if (!change->before) {
        check_gate(oracle, change->after);
        check_pool_size(oracle, change->after);
        return;
    }
    if (!change->after || (is_deleting(change->after) && !is_deleting(change->before))) {
        check_sandbox_end(oracle, change->before);
        return;
    }
    (void)owner_of(change->after, &after);
    if (!had && after.uid.len > 0) {
        check_pool_size(oracle, change->after);
    }
    if (had && !str_eq(before.uid, after.uid) &&
        !str_eq(before.kind, STR(KIND_SANDBOX_WARM_POOL))) {
        sim_fail(oracle->sim,
                 "a controller takes the Sandbox " STR_FMT "/" STR_FMT " from " STR_FMT " " STR_FMT,
                 NAME_ARG(change->before), STR_ARG(before.kind), STR_ARG(before.uid));
    }
}

static void note_sandbox(Oracle *oracle, const FakeChange *change)
{
    const json_t *sandbox = change->after ? change->after : change->before;
    Owner owner;

    if (owner_of(sandbox, &owner) && str_eq(owner.kind, STR(KIND_SANDBOX_CLAIM))) {
        seen_note(oracle, xasprintf("owner " STR_FMT "/" STR_FMT " " STR_FMT, NAME_ARG(sandbox),
                                    STR_ARG(owner.uid)));
    }
}

/* A time that was set, or a ttl, and a policy that says so. */
static void check_claim_end(Oracle *oracle, const json_t *claim)
{
    Str policy = jx_get_str(claim, "spec", "lifecycle", "shutdownPolicy");
    bool over = time_is_over(oracle, jx_get_str(claim, "spec", "lifecycle", "shutdownTime")) ||
                (jx_get(claim, "spec", "lifecycle", "ttlSecondsAfterFinished") &&
                 condition_is(claim, "Finished", "True"));

    if (!over || !str_starts(policy, STR("Delete"))) {
        sim_fail(oracle->sim,
                 "a controller deletes the claim " STR_FMT "/" STR_FMT " before its time",
                 NAME_ARG(claim));
    }
}

static void check_claim(Oracle *oracle, const FakeChange *change)
{
    Str now = jx_get_str(change->after, "status", "sandbox", "name");
    Str was = jx_get_str(change->before, "status", "sandbox", "name");
    AUTO(mem) char *key = NULL;

    if (!change->after || (is_deleting(change->after) && !is_deleting(change->before))) {
        check_claim_end(oracle, change->before);
        return;
    }
    if (condition_is(change->after, "Ready", "True")) {
        key = xasprintf("owner " STR_FMT "/" STR_FMT " " STR_FMT,
                        STR_ARG(meta(change->after, "namespace")), STR_ARG(now),
                        STR_ARG(meta(change->after, "uid")));
        if (now.len == 0 || !seen_find(oracle, key)) {
            sim_fail(oracle->sim,
                     "claim " STR_FMT "/" STR_FMT " is Ready with Sandbox \"" STR_FMT
                     "\", which was never its own",
                     NAME_ARG(change->after), STR_ARG(now));
        }
    }
    if (was.len > 0 && now.len > 0 && !str_eq(was, now) &&
        !jx_get(change->after, "metadata", "annotations", ANNOTATION_REBIND)) {
        sim_fail(oracle->sim,
                 "claim " STR_FMT "/" STR_FMT " goes from Sandbox " STR_FMT " to " STR_FMT,
                 NAME_ARG(change->after), STR_ARG(was), STR_ARG(now));
    }
}

/* ---- dispatch ---- */

static void note(Oracle *oracle, const FakeChange *change)
{
    switch (change->kind->id) {
    case KUBE_NETPOL:
        note_policy(oracle, change);
        break;
    case KUBE_TEMPLATE:
        note_template(oracle, change);
        break;
    case KUBE_WARMPOOL:
        note_pool(oracle, change);
        break;
    case KUBE_SANDBOX:
        note_sandbox(oracle, change);
        break;
    case KUBE_POD:
        check_pods(oracle, change);
        note_child(oracle, change);
        break;
    case KUBE_SERVICE:
    case KUBE_PVC:
        note_child(oracle, change);
        break;
    default:
        break;
    }
}

void oracle_on_change(Oracle *oracle, const FakeChange *change)
{
    counts_on_change(oracle->sim, change);
    if (!change->req) {
        note(oracle, change);
        return;
    }
    words_on_change(oracle->sim, change, is_alone(oracle->sim));
    switch (change->kind->id) {
    case KUBE_POD:
    case KUBE_SERVICE:
    case KUBE_PVC:
        check_child(oracle, change);
        break;
    case KUBE_NETPOL:
        check_policy(oracle, change);
        break;
    case KUBE_SANDBOX:
        check_sandbox(oracle, change);
        break;
    case KUBE_CLAIM:
        check_claim(oracle, change);
        break;
    default:
        break;
    }
    note(oracle, change);
}

/* Who was told that a name is taken looks at what has it before it tries again. */
void oracle_on_request(Oracle *oracle, const Replica *replica, const FakeCall *call, bool passes)
{
    AUTO(mem) char *ns = xstrndup(call->ns.ptr ? call->ns.ptr : "", call->ns.len);
    AUTO(mem) char *name = xstrndup(call->name.ptr ? call->name.ptr : "", call->name.len);
    AUTO(mem) char *key = xasprintf("%s %s/%s", call->kind->plural, ns, name);
    bool told = oracle->taken && strcmp(oracle->taken, key) == 0 && oracle->taken_from == replica;

    if (call->method == KUBE_GET) {
        if (told) {
            free(TAKE(oracle->taken));
        }
        return;
    }
    if (call->method != KUBE_POST || !passes || call->kind->id == KUBE_EVENT ||
        call->kind->id == KUBE_LEASE || !fakeapi_get(oracle->sim->api, call->kind->id, ns, name)) {
        return;
    }
    if (told && is_alone(oracle->sim) &&
        oracle->taken_ns > oracle->sim->last_life_ns - 1000 * NS_PER_S &&
        sim_now(oracle->sim) < oracle->taken_ns + NS_PER_S) {
        sim_fail(oracle->sim, "%s creates %s again, which it was told is there, and has not looked",
                 replica_name(replica), key);
    }
    free(oracle->taken);
    oracle->taken = TAKE(key);
    oracle->taken_from = replica;
    oracle->taken_ns = sim_now(oracle->sim);
}

void oracle_on_write(Oracle *oracle, const Replica *replica, const FakeCall *call)
{
    AUTO(mem)
    char *key = xasprintf("%s " STR_FMT "/" STR_FMT, call->kind->plural, STR_ARG(call->ns),
                          STR_ARG(call->name));
    uint64_t hash = hash_str(1, str_from(key));
    uint64_t minute = sim_now(oracle->sim) / (60 * NS_PER_S);
    Rate *rate = NULL;

    if (call->kind->id == KUBE_EVENT) {
        return;
    }
    for (HMapNode *n = hmap_first(&oracle->rates, hash); n && !rate; n = hmap_next(n)) {
        rate = container_of(n, Rate, node);
        rate = strcmp(rate->key, key) == 0 ? rate : NULL;
    }
    if (!rate) {
        rate = xcalloc(1, sizeof(*rate));
        rate->key = TAKE(key);
        hmap_insert(&oracle->rates, &rate->node, hash);
    }
    rate->n =
        rate->minute == minute && rate->life_ns == oracle->sim->last_life_ns ? rate->n + 1 : 1;
    rate->life_ns = oracle->sim->last_life_ns;
    rate->minute = minute;
    if (rate->n > WRITES_MAX) {
        sim_fail(oracle->sim, "%s writes %s more than %d times in a minute", replica_name(replica),
                 rate->key, WRITES_MAX);
    }
}

/* ---- life ---- */

Oracle *oracle_new(Sim *sim)
{
    Oracle *oracle = xcalloc(1, sizeof(*oracle));

    oracle->sim = sim;
    hmap_init(&oracle->rates);
    hmap_init(&oracle->seen);
    return oracle;
}

Oracle *oracle_free(Oracle *oracle)
{
    hmap_foreach (&oracle->rates, n) {
        Rate *rate = container_of(n, Rate, node);

        hmap_remove(&oracle->rates, n);
        free(rate->key);
        free(rate);
    }
    hmap_foreach (&oracle->seen, n) {
        Seen *seen = container_of(n, Seen, node);

        hmap_remove(&oracle->seen, n);
        free(seen->key);
        free(seen);
    }
    hmap_deinit(&oracle->rates);
    hmap_deinit(&oracle->seen);
    free(oracle->taken);
    free(oracle);
    return NULL;
}
