/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Users: they create, change and delete what is theirs, and put their hands on what is ours.
 *
 * Two namespaces, in each two templates, two pools and a few claims and Sandboxes, so that
 * everybody gets in everybody's way.
 */
#include "base/mem.h"
#include "base/timefmt.h"
#include "base/vec.h"
#include "test/sim/sim.h"

#define TEMPLATES 2
#define POOLS 2
#define POOL_REPLICAS_MAX 4
#define CLAIM_NAMES 8
#define SANDBOX_NAMES 5
#define PICK_MAX 512

struct Users {
    Sim *sim;
    VEC(char *) strangers; /* "kind ns name" */
};

typedef struct Pick {
    KubeKindId kind;
    const json_t *objects[PICK_MAX];
    size_t n;
} Pick;

static const char *const namespaces[] = {"a", "b"};

static uint64_t roll(Users *users, SimKnob knob, uint64_t sides)
{
    return sim_between(users->sim, knob, 0, sides - 1);
}

static void create(Users *users, const char *text)
{
    int code = fakeapi_create(users->sim->api, text);

    sim_tell(users->sim, "user      %d create %s", code, text);
}

static void patch(Users *users, KubeKindId kind, const json_t *object, const char *text)
{
    const char *ns = jx_get_str(object, "metadata", "namespace").ptr;
    const char *name = jx_get_str(object, "metadata", "name").ptr;

    sim_tell(users->sim, "user      patch %s %s/%s %s", kube_kind(kind)->plural, ns, name, text);
    (void)fakeapi_patch(users->sim->api, kind, ns, name, text);
}

static void drop(Users *users, KubeKindId kind, const json_t *object)
{
    AUTO(mem) char *ns = xstrdup(jx_get_str(object, "metadata", "namespace").ptr);
    AUTO(mem) char *name = xstrdup(jx_get_str(object, "metadata", "name").ptr);

    sim_tell(users->sim, "user      delete %s %s/%s", kube_kind(kind)->plural, ns, name);
    (void)fakeapi_delete(users->sim->api, kind, ns, name);
}

static void collect(void *ctx, const json_t *object)
{
    Pick *pick = ctx;

    if (pick->n < PICK_MAX && !jx_get(object, "metadata", "deletionTimestamp")) {
        pick->objects[pick->n++] = object;
    }
}

/* NULL when there is none. */
static const json_t *any(Users *users, SimKnob knob, KubeKindId kind)
{
    Pick pick = {.kind = kind};

    fakeapi_each(users->sim->api, kind, collect, &pick);
    return pick.n > 0 ? pick.objects[roll(users, knob, pick.n)] : NULL;
}

static void wall_text(Users *users, uint64_t in_ns, char ret[TIMEFMT_SIZE])
{
    timefmt_seconds(users->sim->clock.now_wall_ns + (int64_t)in_ns, ret);
}

/* ---- templates and pools ---- */

static void create_template(Users *users, SimKnob knob, const char *ns, uint64_t i)
{
    static const char *const extras[] = {
        "", ", networkPolicyManagement: Unmanaged", ", service: true",
        ", volumeClaimTemplates: [{metadata: {name: data}, spec: {accessModes: [ReadWriteOnce]}}]"};
    AUTO(mem)
    char *text = xasprintf(
        "{apiVersion: extensions.agents.x-k8s.io/v1beta1, kind: SandboxTemplate, metadata: {name: "
        "t%d, namespace: %s}, spec: {podTemplate: {metadata: {labels: {app: demo}}, spec: "
        "{containers: [{name: c, image: i%d, ports: [{containerPort: 8080}]}]}}%s}}",
        (int)i, ns, (int)roll(users, knob, 3), extras[roll(users, knob, ARRAY_LEN(extras))]);

    create(users, text);
}

static void create_pool(Users *users, SimKnob knob, const char *ns, uint64_t i)
{
    AUTO(mem)
    char *text = xasprintf(
        "{apiVersion: extensions.agents.x-k8s.io/v1beta1, kind: SandboxWarmPool, metadata: {name: "
        "p%d, namespace: %s}, spec: {replicas: %d, sandboxTemplateRef: {name: t%d}, "
        "updateStrategy: {type: %s}}}",
        (int)i, ns, (int)roll(users, knob, POOL_REPLICAS_MAX + 1),
        (int)roll(users, knob, TEMPLATES), roll(users, knob, 2) ? "Recreate" : "OnReplenish");

    create(users, text);
}

static void scale_pool(Users *users, SimKnob knob)
{
    const json_t *pool = any(users, knob, KUBE_WARMPOOL);
    AUTO(mem)
    char *text = xasprintf("{spec: {replicas: %d}}", (int)roll(users, knob, POOL_REPLICAS_MAX + 1));

    if (pool) {
        patch(users, KUBE_WARMPOOL, pool, text);
    }
}

static void edit_template(Users *users, SimKnob knob)
{
    static const char *const edits[] = {
        "{spec: {podTemplate: {spec: {containers: [{name: c, image: other}]}}}}",
        ("{spec: {podTemplate: {spec: {containers: [{name: c, image: i1, ports: [{containerPort: "
         "8080}]}]}}}}"),
        "{spec: {networkPolicyManagement: Unmanaged}}",
        "{spec: {networkPolicyManagement: Managed}}",
        "{spec: {podTemplate: {metadata: {labels: {app: demo, tier: gold}}}}}",
        "{spec: {networkPolicy: {egress: [{ports: [{port: 53, protocol: UDP}]}]}}}",
    };
    const json_t *template = any(users, knob, KUBE_TEMPLATE);
    const char *edit = edits[roll(users, knob, ARRAY_LEN(edits))];

    if (template) {
        patch(users, KUBE_TEMPLATE, template, edit);
        /* Bound Sandboxes get new metadata when their claims are next looked at. */
        users->sim->lazy = users->sim->lazy || strstr(edit, "metadata");
    }
}

/* Deletes one and makes it anew now or later: a second roll hits a gap. */
static void replace(Users *users, SimKnob knob, KubeKindId kind)
{
    const char *ns = namespaces[roll(users, knob, ARRAY_LEN(namespaces))];
    uint64_t i = roll(users, knob, 2);
    char name[16];
    const json_t *live;

    (void)snprintf(name, sizeof(name), "%c%d", kind == KUBE_TEMPLATE ? 't' : 'p', (int)i);
    live = fakeapi_get(users->sim->api, kind, ns, name);
    if (live) {
        drop(users, kind, live);
        if (roll(users, knob, 2)) {
            return;
        }
    }
    if (kind == KUBE_TEMPLATE) {
        create_template(users, knob, ns, i);
    } else {
        create_pool(users, knob, ns, i);
    }
}

/* ---- claims ---- */

static void create_claim(Users *users, SimKnob knob)
{
    static const char *const extras[] = {
        "",
        "",
        "",
        ", env: [{name: A, value: b}]",
        ", additionalPodMetadata: {labels: {sandbox.users.io/team: x}}",
        ", lifecycle: {ttlSecondsAfterFinished: 2, shutdownPolicy: Delete}",
        ", volumeClaimTemplates: [{metadata: {name: own}, spec: {accessModes: [ReadWriteOnce]}}]",
    };
    AUTO(mem)
    char *text = xasprintf(
        "{apiVersion: extensions.agents.x-k8s.io/v1beta1, kind: SandboxClaim, metadata: {name: "
        "k%d, namespace: %s}, spec: {warmPoolRef: {name: p%d}%s}}",
        (int)roll(users, knob, CLAIM_NAMES), namespaces[roll(users, knob, ARRAY_LEN(namespaces))],
        (int)roll(users, knob, POOLS), extras[roll(users, knob, ARRAY_LEN(extras))]);

    create(users, text);
}

/* Several claims at once that want members of one pool. */
static void create_burst(Users *users, SimKnob knob)
{
    const char *ns = namespaces[roll(users, knob, ARRAY_LEN(namespaces))];
    int pool = (int)roll(users, knob, POOLS);
    int n = 2 + (int)roll(users, knob, 4);

    for (int i = 0; i < n; i++) {
        AUTO(mem)
        char *text = xasprintf(
            "{apiVersion: extensions.agents.x-k8s.io/v1beta1, kind: SandboxClaim, metadata: "
            "{name: k%d, namespace: %s}, spec: {warmPoolRef: {name: p%d}}}",
            CLAIM_NAMES + (int)roll(users, knob, CLAIM_NAMES), ns, pool);

        create(users, text);
    }
}

static void expire_claim(Users *users, SimKnob knob)
{
    static const char *const policies[] = {"Delete", "Retain", "DeleteForeground"};
    const json_t *claim = any(users, knob, KUBE_CLAIM);
    char at[TIMEFMT_SIZE];
    AUTO(mem) char *text = NULL;

    wall_text(users, sim_between(users->sim, knob, 0, 15 * NS_PER_S), at);
    text = xasprintf("{spec: {lifecycle: {shutdownTime: '%s', shutdownPolicy: %s}}}", at,
                     policies[roll(users, knob, ARRAY_LEN(policies))]);
    if (claim) {
        patch(users, KUBE_CLAIM, claim, text);
    }
}

/* ---- Sandboxes ---- */

static void create_sandbox(Users *users, SimKnob knob)
{
    static const char *const extras[] = {
        "", ", service: true", ", operatingMode: Suspended",
        ", volumeClaimTemplates: [{metadata: {name: data}, spec: {accessModes: [ReadWriteOnce]}}]"};
    AUTO(mem)
    char *text = xasprintf(
        "{apiVersion: agents.x-k8s.io/v1beta1, kind: Sandbox, metadata: {name: s%d, namespace: "
        "%s}, spec: {podTemplate: {spec: {containers: [{name: c, image: i, ports: "
        "[{containerPort: 80}]}]}}%s}}",
        (int)roll(users, knob, SANDBOX_NAMES), namespaces[roll(users, knob, ARRAY_LEN(namespaces))],
        extras[roll(users, knob, ARRAY_LEN(extras))]);

    create(users, text);
}

static void edit_sandbox(Users *users, SimKnob knob)
{
    const json_t *sandbox = any(users, knob, KUBE_SANDBOX);
    char at[TIMEFMT_SIZE];
    AUTO(mem) char *text = NULL;

    if (!sandbox) {
        return;
    }
    if (knob == SIM_SANDBOX_SUSPEND) {
        text = xasprintf("{spec: {operatingMode: %s}}",
                         roll(users, knob, 2) ? "Suspended" : "Running");
    } else if (knob == SIM_SANDBOX_SERVICE) {
        static const char *const states[] = {"true", "false", "null"};

        text = xasprintf("{spec: {service: %s}}", states[roll(users, knob, ARRAY_LEN(states))]);
    } else {
        wall_text(users, sim_between(users->sim, knob, 0, 15 * NS_PER_S), at);
        text = xasprintf("{spec: {shutdownTime: '%s', shutdownPolicy: %s}}", at,
                         roll(users, knob, 2) ? "Delete" : "Retain");
        if (roll(users, knob, 4) == 0) { /* lives on */
            free(text);
            text = xstrdup("{spec: {shutdownTime: null}}");
        }
    }
    patch(users, KUBE_SANDBOX, sandbox, text);
}

/* ---- hands on our children ---- */

static const KubeKindId children[] = {KUBE_POD,    KUBE_SERVICE, KUBE_PVC,
                                      KUBE_NETPOL, KUBE_SANDBOX, KUBE_POD};

static void delete_child(Users *users, SimKnob knob)
{
    KubeKindId kind = children[roll(users, knob, ARRAY_LEN(children))];
    const json_t *child = any(users, knob, kind);

    if (child) {
        drop(users, kind, child);
    }
}

static void edit_child(Users *users, SimKnob knob)
{
    static const struct {
        KubeKindId kind;
        const char *patch;
    } edits[] = {
        {KUBE_POD, "{metadata: {labels: {agents.x-k8s.io/sandbox-name-hash: null}}}"},
        {KUBE_POD, "{metadata: {labels: {agents.x-k8s.io/sandbox-name-hash: wrong}}}"},
        {KUBE_POD, "{metadata: {labels: {app: changed, mine: 'true'}}}"},
        {KUBE_POD, "{metadata: {ownerReferences: null}}"},
        {KUBE_SERVICE, "{metadata: {labels: {agents.x-k8s.io/sandbox-name-hash: null}}}"},
        {KUBE_SERVICE, "{spec: {selector: {app: other}}}"},
        {KUBE_SERVICE, "{spec: {ports: null}}"},
        {KUBE_SERVICE, "{metadata: {ownerReferences: null}}"},
        {KUBE_PVC, "{metadata: {ownerReferences: null}}"},
        {KUBE_NETPOL, "{spec: {podSelector: {}}}"},
        {KUBE_NETPOL, "{metadata: {ownerReferences: null}}"},
        {KUBE_SANDBOX, "{metadata: {labels: {agents.x-k8s.io/warm-pool-sandbox: null}}}"},
        {KUBE_SANDBOX, "{metadata: {ownerReferences: null}}"},
        {KUBE_SANDBOX, "{metadata: {annotations: {agents.x-k8s.io/pod-name: elsewhere}}}"},
        {KUBE_CLAIM, "{metadata: {annotations: {agents.x-k8s.io/sandbox-name: null}}}"},
        {KUBE_CLAIM, "{metadata: {annotations: {agents.x-k8s.io/sandbox-name: s0}}}"},
        {KUBE_CLAIM, "{metadata: {annotations: {cofferdam.dev/rebind: 'true'}}}"},
    };
    size_t i = roll(users, knob, ARRAY_LEN(edits));
    const json_t *child = any(users, knob, edits[i].kind);

    if (child) {
        patch(users, edits[i].kind, child, edits[i].patch);
    }
}

/* ---- strangers ---- */

static void create_stranger(Users *users, SimKnob knob)
{
    static const struct {
        const char *api_version;
        KubeKindId kind;
        const char *spec;
    } kinds[] = {
        {"v1", KUBE_POD, "{containers: [{name: c, image: i}]}"},
        {"v1", KUBE_SERVICE, "{clusterIP: None}"},
        {"agents.x-k8s.io/v1beta1", KUBE_SANDBOX,
         "{podTemplate: {spec: {containers: [{name: c, image: i}]}}}"},
        {"networking.k8s.io/v1", KUBE_NETPOL, "{podSelector: {}}"},
    };
    static const char *const owners[] = {
        "", ", labels: {agents.x-k8s.io/adoptable: 'true'}",
        (", ownerReferences: [{apiVersion: apps/v1, kind: ReplicaSet, name: r, uid: stranger, "
         "controller: true}]")};
    size_t i = roll(users, knob, ARRAY_LEN(kinds));
    const char *ns = namespaces[roll(users, knob, ARRAY_LEN(namespaces))];
    const char *plural = kube_kind(kinds[i].kind)->plural;
    char name[64];
    AUTO(mem) char *text = NULL;

    if (kinds[i].kind == KUBE_NETPOL) {
        (void)snprintf(name, sizeof(name), "t%d-network-policy", (int)roll(users, knob, TEMPLATES));
    } else if (kinds[i].kind == KUBE_SANDBOX || roll(users, knob, 2)) {
        (void)snprintf(name, sizeof(name), "k%d", (int)roll(users, knob, CLAIM_NAMES));
    } else {
        (void)snprintf(name, sizeof(name), "s%d", (int)roll(users, knob, SANDBOX_NAMES));
    }
    text = xasprintf("{apiVersion: %s, kind: %s, metadata: {name: %s, namespace: %s%s}, spec: %s}",
                     kinds[i].api_version, kube_kind(kinds[i].kind)->kind, name, ns,
                     owners[roll(users, knob, ARRAY_LEN(owners))], kinds[i].spec);
    if (!fakeapi_get(users->sim->api, kinds[i].kind, ns, name)) {
        create(users, text);
        vec_push(&users->strangers, xasprintf("%s %s %s", plural, ns, name));
    }
}

void users_race(Users *users, const FakeCall *call)
{
    AUTO(mem) char *ns = xstrndup(call->ns.ptr, call->ns.len);
    AUTO(mem) char *name = xstrndup(call->name.ptr ? call->name.ptr : "", call->name.len);
    const char *spec = call->kind->id == KUBE_SERVICE ? "{clusterIP: None}"
                                                      : "{containers: [{name: c, image: i}]}";
    AUTO(mem) char *text = NULL;

    if ((call->kind->id != KUBE_SERVICE && call->kind->id != KUBE_POD) ||
        fakeapi_get(users->sim->api, call->kind->id, ns, name)) {
        return;
    }
    text = xasprintf("{apiVersion: v1, kind: %s, metadata: {name: %s, namespace: %s, "
                     "ownerReferences: [{apiVersion: apps/v1, kind: ReplicaSet, name: r, uid: "
                     "stranger, controller: true}]}, spec: %s}",
                     call->kind->kind, name, ns, spec);
    create(users, text);
    vec_push(&users->strangers, xasprintf("%s %s %s", call->kind->plural, ns, name));
}

/* A second Sandbox that names the claim as its owner, as a controller with an old cache, or a
 * restored backup, may leave behind. */
static void create_extra(Users *users, SimKnob knob)
{
    const json_t *claim = any(users, knob, KUBE_CLAIM);
    AUTO(mem) char *text = NULL;

    if (!claim) {
        return;
    }
    text = xasprintf(
        "{apiVersion: agents.x-k8s.io/v1beta1, kind: Sandbox, metadata: {name: x%d, namespace: "
        "%s, ownerReferences: [{apiVersion: extensions.agents.x-k8s.io/v1beta1, kind: "
        "SandboxClaim, name: %s, uid: %s, controller: true, blockOwnerDeletion: true}]}, spec: "
        "{podTemplate: {spec: {containers: [{name: c, image: i}]}}}}",
        (int)roll(users, knob, 100), jx_get_str(claim, "metadata", "namespace").ptr,
        jx_get_str(claim, "metadata", "name").ptr, jx_get_str(claim, "metadata", "uid").ptr);
    create(users, text);
    /* It may become the claim's own, and is given its template's metadata at the next look. */
    users->sim->lazy = true;
}

/* ---- a namespace goes ---- */

static void wipe(Users *users, const char *ns)
{
    for (int k = 0; k < KUBE_LEASE; k++) {
        Pick pick = {.kind = (KubeKindId)k};

        fakeapi_each(users->sim->api, pick.kind, collect, &pick);
        for (size_t i = 0; i < pick.n; i++) {
            json_incref((json_t *)pick.objects[i]);
        }
        for (size_t i = 0; i < pick.n; i++) {
            AUTO(json) json_t *object = (json_t *)pick.objects[i];

            if (str_eq(jx_get_str(object, "metadata", "namespace"), str_from(ns))) {
                drop(users, pick.kind, object);
            }
        }
    }
}

/* ---- acting ---- */

void users_act(Users *users, SimKnob knob)
{
    const json_t *object;

    switch (knob) {
    case SIM_CLAIM_CREATE:
        create_claim(users, knob);
        break;
    case SIM_CLAIM_BURST:
        create_burst(users, knob);
        break;
    case SIM_CLAIM_EXPIRE:
        expire_claim(users, knob);
        break;
    case SIM_CLAIM_DELETE:
    case SIM_SANDBOX_DELETE: {
        KubeKindId kind = knob == SIM_CLAIM_DELETE ? KUBE_CLAIM : KUBE_SANDBOX;

        object = any(users, knob, kind);
        if (object) {
            drop(users, kind, object);
        }
        break;
    }
    case SIM_POOL_SCALE:
        scale_pool(users, knob);
        break;
    case SIM_POOL_REPLACE:
        replace(users, knob, KUBE_WARMPOOL);
        break;
    case SIM_TEMPLATE_EDIT:
        edit_template(users, knob);
        break;
    case SIM_TEMPLATE_REPLACE:
        replace(users, knob, KUBE_TEMPLATE);
        break;
    case SIM_SANDBOX_CREATE:
        create_sandbox(users, knob);
        break;
    case SIM_CHILD_DELETE:
        delete_child(users, knob);
        break;
    case SIM_CHILD_EDIT:
        edit_child(users, knob);
        break;
    case SIM_EXTRA_SANDBOX:
        create_extra(users, knob);
        break;
    case SIM_STRANGER:
        create_stranger(users, knob);
        break;
    case SIM_NAMESPACE:
        wipe(users, namespaces[roll(users, knob, ARRAY_LEN(namespaces))]);
        break;
    default:
        edit_sandbox(users, knob);
        break;
    }
}

/* Templates and pools, where they are missing. */
static void settle_in(Users *users)
{
    for (size_t n = 0; n < ARRAY_LEN(namespaces); n++) {
        for (uint64_t i = 0; i < 2; i++) {
            create_template(users, SIM_TEMPLATE_REPLACE, namespaces[n], i);
            create_pool(users, SIM_POOL_REPLACE, namespaces[n], i);
        }
    }
}

/* A stranger that was taken over is none any more. */
static bool is_still_strange(const json_t *object)
{
    const json_t *owner = json_array_get(jx_get(object, "metadata", "ownerReferences"), 0);

    return !owner || str_eq(jx_get_str(owner, "uid"), STR("stranger"));
}

/* Children that were made nobody's by hand and that nobody may take over. */
static void drop_lost(Users *users, KubeKindId kind)
{
    Pick pick = {.kind = kind};

    fakeapi_each(users->sim->api, kind, collect, &pick);
    for (size_t i = 0; i < pick.n; i++) {
        json_incref((json_t *)pick.objects[i]);
    }
    for (size_t i = 0; i < pick.n; i++) {
        AUTO(json) json_t *object = (json_t *)pick.objects[i];

        if (json_array_size(jx_get(object, "metadata", "ownerReferences")) == 0 &&
            (kind == KUBE_NETPOL ||
             !jx_get(object, "metadata", "labels", "agents.x-k8s.io/sandbox-name-hash"))) {
            drop(users, kind, object);
        }
    }
}

void users_heal(Users *users)
{
    drop_lost(users, KUBE_NETPOL);
    drop_lost(users, KUBE_POD);
    drop_lost(users, KUBE_SERVICE);
    drop_lost(users, KUBE_PVC);
    vec_foreach (&users->strangers, it) {
        Str name;
        Str plural = str_cut(str_from(*it), ' ', &name);
        Str ns = str_cut(name, ' ', &name);
        AUTO(mem) char *space = xstrndup(ns.ptr, ns.len);

        for (int k = 0; k < KUBE_LEASE; k++) {
            const KubeKind *kind = kube_kind((KubeKindId)k);
            const json_t *live;

            if (!str_eq(str_from(kind->plural), plural)) {
                continue;
            }
            live = fakeapi_get(users->sim->api, kind->id, space, name.ptr);
            if (live && is_still_strange(live)) {
                drop(users, kind->id, live);
            }
        }
    }
    settle_in(users);
}

Users *users_new(Sim *sim)
{
    Users *users = xcalloc(1, sizeof(*users));

    users->sim = sim;
    settle_in(users);
    return users;
}

Users *users_free(Users *users)
{
    vec_foreach (&users->strangers, it) {
        free(*it);
    }
    vec_free(&users->strangers);
    free(users);
    return NULL;
}
