/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What everything has to look like when faults and users have stopped and the controller has had
 * its time: an independent, slow description of what the four kinds promise.
 */
#include "base/hash.h"
#include "base/mem.h"
#include "base/timefmt.h"
#include "controller/keys.h"
#include "test/sim/oracle.h"

#define NAME_ARG(object) STR_ARG(meta(object, "namespace")), STR_ARG(meta(object, "name"))

static void wrong(Sim *sim, const char *kind, const json_t *object, const char *what)
{
    const json_t *tree = jx_get(object, "status");
    AUTO(mem) char *status = tree ? jx_dump_compact(tree) : NULL;

    sim_fail(sim, "at rest %s " STR_FMT "/" STR_FMT " %s; status %.300s", kind, NAME_ARG(object),
             what, status ? status : "none");
}

static const json_t *get(const Sim *sim, KubeKindId kind, const json_t *beside, Str name)
{
    Str ns = meta(beside, "namespace");
    AUTO(mem) char *space = xstrndup(ns.ptr, ns.len);
    AUTO(mem) char *text = xstrndup(name.ptr ? name.ptr : "", name.len);

    return fakeapi_get(sim->api, kind, space, text);
}

static Str reason_of(const json_t *object)
{
    return jx_get_str(condition_of(object, "Ready"), "reason");
}

static bool time_is_over(const Sim *sim, Str text)
{
    int64_t at;

    return text.len > 0 && timefmt_parse(text, &at) == 0 && at <= sim->clock.now_wall_ns;
}

static bool is_any(const json_t *object)
{
    UNUSED(object);
    return true;
}

/* ---- Sandboxes ---- */

static bool has_our_label(const json_t *sandbox, const json_t *child)
{
    char hash[HASH_HEX_SIZE];

    hash_name(meta(sandbox, "name"), hash);
    return str_eq(jx_get_str(child, "metadata", "labels", LABEL_SANDBOX_NAME_HASH), str_from(hash));
}

/* Something under a name that the Sandbox needs is not its own: it may not become Ready. */
static bool is_blocked(const Sim *sim, const json_t *sandbox)
{
    const json_t *pod = get(sim, KUBE_POD, sandbox, meta(sandbox, "name"));
    const json_t *service = get(sim, KUBE_SERVICE, sandbox, meta(sandbox, "name"));

    return (pod && !owned_by(pod, meta(sandbox, "uid"))) ||
           (service && !owned_by(service, meta(sandbox, "uid")) &&
            json_is_true(jx_get(sandbox, "spec", "service")));
}

typedef struct FirstPod {
    Str uid;
    const json_t *pod;
} FirstPod;

static void find_pod(void *ctx, const json_t *pod)
{
    FirstPod *first = ctx;

    if (owned_by(pod, first->uid)) {
        first->pod = pod;
    }
}

static const char *check_running(Sim *sim, const json_t *sandbox)
{
    FirstPod first = {meta(sandbox, "uid"), NULL};
    bool wants_service = jx_bool(jx_get(sandbox, "spec", "service"), false);
    Str reason = reason_of(sandbox);
    Str phase;

    fakeapi_each(sim->api, KUBE_POD, find_pod, &first);
    if (!first.pod) {
        return "has no Pod";
    }
    if (count_owned(sim, KUBE_POD, first.uid, is_any) != 1) {
        return "has more than one Pod";
    }
    if (!has_our_label(sandbox, first.pod)) {
        return "has a Pod without its label";
    }
    phase = jx_get_str(first.pod, "status", "phase");
    if (str_eq(phase, STR("Failed"))) {
        return str_eq(reason, STR("PodFailed")) ? NULL : "does not tell that its Pod failed";
    }
    if (str_eq(phase, STR("Succeeded"))) {
        return str_eq(reason, STR("PodSucceeded")) ? NULL : "does not tell that its Pod is done";
    }
    if (!str_eq(phase, STR("Running"))) {
        return "has a Pod that does not run";
    }
    if (wants_service && !get(sim, KUBE_SERVICE, sandbox, meta(sandbox, "name"))) {
        return "has no Service";
    }
    if (!condition_is(sandbox, "Ready", "True")) {
        return "is not Ready";
    }
    if (!json_equal(jx_get(first.pod, "spec", "nodeName"), jx_get(sandbox, "status", "nodeName"))) {
        return "tells another node than its Pod";
    }
    return NULL;
}

static const char *check_volumes(const Sim *sim, const json_t *sandbox)
{
    json_t *list = jx_get(sandbox, "spec", "volumeClaimTemplates");
    size_t i;
    json_t *claim;

    json_array_foreach(list, i, claim)
    {
        AUTO(mem)
        char *name = xasprintf(STR_FMT "-" STR_FMT, STR_ARG(jx_get_str(claim, "metadata", "name")),
                               STR_ARG(meta(sandbox, "name")));
        const json_t *pvc = get(sim, KUBE_PVC, sandbox, str_from(name));

        if (!pvc || !owned_by(pvc, meta(sandbox, "uid"))) {
            return "has no volume claim of its own";
        }
    }
    return NULL;
}

static const char *check_service(const Sim *sim, const json_t *sandbox)
{
    const json_t *wanted = jx_get(sandbox, "spec", "service");
    const json_t *service = get(sim, KUBE_SERVICE, sandbox, meta(sandbox, "name"));
    char hash[HASH_HEX_SIZE];

    if (!service || !owned_by(service, meta(sandbox, "uid"))) {
        return NULL;
    }
    hash_name(meta(sandbox, "name"), hash);
    if (json_is_false(wanted)) {
        return "keeps a Service that it shall not have";
    }
    if (!str_eq(jx_get_str(service, "spec", "selector", LABEL_SANDBOX_NAME_HASH), str_from(hash)) ||
        json_object_size(jx_get(service, "spec", "selector")) != 1) {
        return "has a Service that selects something else";
    }
    return has_our_label(sandbox, service) ? NULL : "has a Service without its label";
}

static const char *check_active(Sim *sim, const json_t *sandbox)
{
    bool suspended = str_eq(jx_get_str(sandbox, "spec", "operatingMode"), STR("Suspended"));
    const char *what = check_volumes(sim, sandbox);

    what = what ? what : check_service(sim, sandbox);
    if (what || !suspended) {
        return what ? what : check_running(sim, sandbox);
    }
    if (count_owned(sim, KUBE_POD, meta(sandbox, "uid"), is_any) > 0) {
        return "is suspended and has a Pod";
    }
    if (!str_eq(reason_of(sandbox), STR("SandboxSuspended")) ||
        !condition_is(sandbox, "Suspended", "True")) {
        return "does not tell that it is suspended";
    }
    return NULL;
}

static const char *check_expired(const Sim *sim, const json_t *sandbox)
{
    if (str_eq(jx_get_str(sandbox, "spec", "shutdownPolicy"), STR("Delete"))) {
        return "has expired and is still there";
    }
    if (count_owned(sim, KUBE_POD, meta(sandbox, "uid"), is_any) > 0 ||
        count_owned(sim, KUBE_SERVICE, meta(sandbox, "uid"), is_any) > 0) {
        return "has expired and keeps its children";
    }
    return str_eq(reason_of(sandbox), STR("SandboxExpired")) ? NULL
                                                             : "does not tell that it has expired";
}

static void check_sandbox(void *ctx, const json_t *sandbox)
{
    Sim *sim = ctx;
    const json_t *ready = condition_of(sandbox, "Ready");
    const char *what = NULL;

    if (is_deleting(sandbox)) {
        what = "is still being deleted";
    } else if (time_is_over(sim, jx_get_str(sandbox, "spec", "shutdownTime"))) {
        what = check_expired(sim, sandbox);
    } else if (jx_i64(jx_get(ready, "observedGeneration"), 0) !=
               jx_i64(jx_get(sandbox, "metadata", "generation"), -1)) {
        what = "has a status of an older generation";
    } else if (is_blocked(sim, sandbox)) {
        what = condition_is(sandbox, "Ready", "True") ? "is Ready with what is not its own" : NULL;
    } else if (str_eq(reason_of(sandbox), STR("InvalidConfiguration"))) {
        what = sim_is_on(sim, SIM_INVALID) ? NULL : "was never refused and says so";
    } else {
        what = check_active(sim, sandbox);
    }
    if (what) {
        wrong(sim, "Sandbox", sandbox, what);
    }
}

/* ---- claims ---- */

/* No Sandbox, with a reason that nobody but a user can take away. */
static const char *check_unbound(const Sim *sim, const json_t *claim)
{
    Str reason = reason_of(claim);
    const json_t *other = get(sim, KUBE_SANDBOX, claim, meta(claim, "name"));
    Str bound = jx_get_str(claim, "status", "sandbox", "name");

    if (condition_is(claim, "Ready", "True")) {
        return "is Ready and has no Sandbox";
    }
    if (str_eq(reason, STR("SandboxMissing")) && bound.len > 0) {
        return NULL;
    }
    if (other && str_eq(reason, STR("ReconcilerError"))) {
        return NULL;
    }
    /* Env and volumes that the template's policy does not allow. */
    if (str_eq(reason, STR("EnvVarsInjectionRejected")) ||
        str_eq(reason, STR("VolumeClaimTemplatesError"))) {
        return NULL;
    }
    return "has no Sandbox";
}

typedef struct FirstSandbox {
    Str uid;
    const json_t *sandbox;
    size_t n;
} FirstSandbox;

static void find_sandbox(void *ctx, const json_t *sandbox)
{
    FirstSandbox *first = ctx;

    if (owned_by(sandbox, first->uid) && !is_deleting(sandbox)) {
        first->sandbox = sandbox;
        first->n++;
    }
}

static const char *check_live_claim(Sim *sim, const json_t *claim)
{
    FirstSandbox first = {meta(claim, "uid"), NULL, 0};

    fakeapi_each(sim->api, KUBE_SANDBOX, find_sandbox, &first);
    if (first.n == 0) {
        return check_unbound(sim, claim);
    }
    if (first.n > 1) {
        return "has more than one Sandbox";
    }
    if (!str_eq(jx_get_str(claim, "status", "sandbox", "name"), meta(first.sandbox, "name"))) {
        return "does not name its Sandbox";
    }
    if (condition_is(claim, "Ready", "True") != condition_is(first.sandbox, "Ready", "True")) {
        return "is not as ready as its Sandbox";
    }
    if (jx_get_str(first.sandbox, "metadata", "labels", LABEL_WARM_POOL_SANDBOX).len > 0) {
        return "has a Sandbox that looks like a pool's";
    }
    return NULL;
}

static const char *check_expired_claim(const Sim *sim, const json_t *claim)
{
    if (!str_eq(jx_get_str(claim, "spec", "lifecycle", "shutdownPolicy"), STR("Retain"))) {
        return "has expired and is still there";
    }
    if (!str_eq(reason_of(claim), STR("ClaimExpired"))) {
        return "does not tell that it has expired";
    }
    return count_owned(sim, KUBE_SANDBOX, meta(claim, "uid"), is_any) > 0
               ? "has expired and keeps its Sandbox"
               : NULL;
}

static void check_claim(void *ctx, const json_t *claim)
{
    Sim *sim = ctx;
    const char *what = NULL;

    if (is_deleting(claim)) {
        what = "is still being deleted";
    } else if (time_is_over(sim, jx_get_str(claim, "spec", "lifecycle", "shutdownTime"))) {
        what = check_expired_claim(sim, claim);
    } else if (condition_is(claim, "Finished", "True") && jx_get(claim, "spec", "lifecycle")) {
        what = NULL; /* a ttl that may be on its way */
    } else {
        what = check_live_claim(sim, claim);
    }
    if (what) {
        wrong(sim, "claim", claim, what);
    }
}

/* ---- pools and templates ---- */

static bool is_ready_member(const json_t *sandbox)
{
    return !is_deleting(sandbox) && condition_is(sandbox, "Ready", "True");
}

static void check_pool(void *ctx, const json_t *pool)
{
    Sim *sim = ctx;
    size_t members = count_owned(sim, KUBE_SANDBOX, meta(pool, "uid"), is_there);
    size_t ready = count_owned(sim, KUBE_SANDBOX, meta(pool, "uid"), is_ready_member);
    char text[128];

    if ((int64_t)members != jx_i64(jx_get(pool, "spec", "replicas"), -1)) {
        (void)snprintf(text, sizeof(text), "has %d members, wanted are %d", (int)members,
                       (int)jx_i64(jx_get(pool, "spec", "replicas"), -1));
        wrong(sim, "pool", pool, text);
    } else if ((int64_t)members != jx_i64(jx_get(pool, "status", "replicas"), 0) ||
               (int64_t)ready != jx_i64(jx_get(pool, "status", "readyReplicas"), 0)) {
        wrong(sim, "pool", pool, "counts other members than there are");
    } else if (ready != members && !sim_is_on(sim, SIM_INVALID)) {
        wrong(sim, "pool", pool, "has members that are not Ready");
    }
}

static void check_template(void *ctx, const json_t *template)
{
    Sim *sim = ctx;
    AUTO(mem)
    char *name = xasprintf(STR_FMT "-network-policy", STR_ARG(meta(template, "name")));
    const json_t *policy = get(sim, KUBE_NETPOL, template, str_from(name));
    bool own = policy && owned_by(policy, meta(template, "uid"));
    bool managed =
        !str_eq(jx_get_str(template, "spec", "networkPolicyManagement"), STR("Unmanaged"));

    if (own != managed && (own || !policy)) {
        wrong(sim, "template", template, managed ? "has no policy" : "keeps its policy");
    } else if (own && json_object_size(jx_get(policy, "spec", "podSelector", "matchLabels")) == 0) {
        wrong(sim, "template", template, "has a policy that selects every Pod");
    }
}

void oracle_check_rest(Sim *sim)
{
    fakeapi_each(sim->api, KUBE_TEMPLATE, check_template, sim);
    fakeapi_each(sim->api, KUBE_WARMPOOL, check_pool, sim);
    fakeapi_each(sim->api, KUBE_SANDBOX, check_sandbox, sim);
    fakeapi_each(sim->api, KUBE_CLAIM, check_claim, sim);
}
