/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Decisions about the children. Each looks at the view, adds at most what it wants done now, and
 * says in the pass what the status has to tell.
 *
 * A CREATE needs no question first: a name that is taken answers AlreadyExists, the executor reads
 * it and the next plan finds it in the view. Only the conclusion "there is none" needs a READ.
 */
#include <stdarg.h>

#include "controller/sandbox/sandbox.h"
#include "kube/meta.h"

void sandbox_pass_init(SandboxPass *pass, const View *view, const KubeObj *sandbox, Arena *arena,
                       Plan *plan)
{
    JNode ready = kube_obj_condition(sandbox, STR(CONDITION_READY));

    *pass = (SandboxPass){
        .view = view,
        .sandbox = sandbox,
        .arena = arena,
        .plan = plan,
        .owner = sandbox_owner_kind(sandbox),
        .suspended = sandbox_is_suspended(sandbox),
        .fresh_generation = jnode_i64(jnode_get(ready, STR("observedGeneration")), 0) !=
                            kube_obj_generation(sandbox),
    };
    hash_name(sandbox->name, pass->hash);
}

void sandbox_pass_error(SandboxPass *pass, const char *fmt, ...)
{
    AUTO(strbuf) StrBuf text = STRBUF_INIT(4096);
    va_list ap;

    va_start(ap, fmt);
    (void)strbuf_vprintf(&text, fmt, ap);
    va_end(ap);
    if (pass->n_errors < SANDBOX_ERRORS_MAX) {
        pass->errors[pass->n_errors++] = arena_dup(pass->arena, strbuf_str(&text));
    }
}

typedef enum ServiceMode {
    SERVICE_UNSET, /* keep what is ours, make nothing */
    SERVICE_ON,
    SERVICE_OFF,
} ServiceMode;

static ServiceMode service_mode(const KubeObj *sandbox)
{
    JNode service = jnode_at(kube_obj_spec(sandbox), "service");

    if (jnode_type(service) != JTYPE_BOOL) {
        return SERVICE_UNSET;
    }
    return jnode_bool(service, false) ? SERVICE_ON : SERVICE_OFF;
}

/* A Service that cannot be: nothing is started that could never become Ready. */
static bool name_is_unfit(SandboxPass *pass)
{
    if (service_mode(pass->sandbox) != SERVICE_ON || kube_name_is_label(pass->sandbox->name)) {
        return false;
    }
    pass->invalid = arena_printf(pass->arena,
                                 "\"" STR_FMT "\" cannot be the name of a Service: it must be a "
                                 "DNS label of at most %d characters",
                                 STR_ARG(pass->sandbox->name), KUBE_LABEL_MAX);
    return true;
}

/* An action that failed earlier in this pass becomes an error of the status. */
static bool failed_before(SandboxPass *pass, PlanVerb verb, KubeKindId kind, Str name)
{
    const ViewFailure *failure = view_failure(pass->view, verb, kind, pass->sandbox->ns, name);

    if (failure) {
        sandbox_pass_error(pass, "failed to %s %s \"" STR_FMT "\": %s", plan_verb_name(verb),
                           kube_kind(kind)->kind, STR_ARG(name), failure->error.msg);
    }
    return failure != NULL;
}

/* ---- PVCs ---- */

/* False stops the work on further templates. */
static bool plan_pvc(SandboxPass *pass, JNode claim)
{
    const KubeObj *sandbox = pass->sandbox;
    Str name = sandbox_pvc_name(sandbox, claim, pass->arena);
    const KubeObj *pvc = NULL;
    json_t *patch;

    if (view_lookup(pass->view, KUBE_PVC, sandbox->ns, name, &pvc) != VIEW_PRESENT) {
        if (!failed_before(pass, PLAN_CREATE, KUBE_PVC, name)) {
            plan_create(pass->plan, KUBE_PVC, sandbox->ns, name,
                        sandbox_pvc_desired(sandbox, claim));
            plan_more(pass->plan);
        }
        return true;
    }
    if (sandbox_ownership(sandbox, pvc) == SANDBOX_FOREIGN) {
        pass->volume_refused = true;
        sandbox_pass_error(pass, "PersistentVolumeClaim \"" STR_FMT "\" is controlled by %s",
                           STR_ARG(name), sandbox_owner_text(pvc, pass->arena));
        return false;
    }
    if (sandbox_ownership(sandbox, pvc) == SANDBOX_UNOWNED && !sandbox_may_adopt(pvc, pass->hash)) {
        pass->volume_refused = true;
        sandbox_pass_error(pass,
                           "PersistentVolumeClaim \"" STR_FMT "\" exists and is not adoptable",
                           STR_ARG(name));
        return true;
    }
    patch = sandbox_pvc_patch(sandbox, pvc);
    if (patch && failed_before(pass, PLAN_PATCH, KUBE_PVC, name)) {
        json_decref(patch);
    } else if (patch) {
        plan_patch(pass->plan, pvc, patch);
    }
    return true;
}

void sandbox_plan_pvcs(SandboxPass *pass)
{
    JIter it = jnode_iter(jnode_at(kube_obj_spec(pass->sandbox), "volumeClaimTemplates"));
    JNode claim;

    while (jiter_next(&it, NULL, &claim)) {
        if (!plan_pvc(pass, claim)) {
            return;
        }
    }
}

/* ---- Pod ---- */

/* The name a Pod of this Sandbox is tracked under: older releases recorded one. */
static Str tracked_name(const KubeObj *sandbox)
{
    Str recorded = kube_obj_annotation(sandbox, STR(ANNOTATION_POD_NAME));

    return recorded.len > 0 ? recorded : sandbox->name;
}

/* By name, the tracked one before the Sandbox's; *ret_unknown is a name that has to be read. */
static ViewPresence find_named(const SandboxPass *pass, const KubeObj **ret_pod, Str *ret_unknown)
{
    const KubeObj *sandbox = pass->sandbox;
    const Str names[] = {tracked_name(sandbox), sandbox->name};
    ViewPresence presence = VIEW_ABSENT;

    for (size_t i = ARRAY_LEN(names); i > 0; i--) {
        const KubeObj *found = NULL;
        ViewPresence one = view_lookup(pass->view, KUBE_POD, sandbox->ns, names[i - 1], &found);

        /* A record that names somebody else's Pod says nothing. */
        if (found && !str_eq(found->name, sandbox->name) &&
            sandbox_ownership(sandbox, found) == SANDBOX_FOREIGN) {
            continue;
        }
        if (one == VIEW_UNKNOWN) {
            *ret_unknown = names[i - 1];
        }
        if (found) {
            *ret_pod = found;
        }
        if (presence != VIEW_PRESENT && one != VIEW_ABSENT) {
            presence = one;
        }
    }
    return presence;
}

/*
 * Finds the Pod: the owned one (by uid, whatever its name), else whatever has the tracked name,
 * else whatever has the Sandbox's name. VIEW_UNKNOWN: a name has to be read before "none" is sure.
 */
static ViewPresence find_pod(SandboxPass *pass)
{
    const KubeObj *sandbox = pass->sandbox;
    const KubeObj **owned;
    size_t n =
        view_list(pass->view, VIEW_PODS_BY_OWNER, STR_NULL, sandbox->uid, pass->arena, &owned);
    const KubeObj *named = NULL;
    ViewPresence presence = find_named(pass, &named, &pass->unknown_pod);

    if (named && sandbox_ownership(sandbox, named) == SANDBOX_OWNED) {
        bool listed = false;

        for (size_t i = 0; i < n; i++) {
            listed |= str_eq(owned[i]->name, named->name);
        }
        n += !listed;
    } else if (n > 0) {
        named = owned[0];
    }
    if (n > 1) {
        pass->many_pods = arena_printf(pass->arena,
                                       "multiple Pods (%zu) are controlled by this Sandbox; "
                                       "refusing to choose or create a Pod",
                                       n);
    }
    pass->pod = named;
    if (named) {
        pass->pod_ownership = sandbox_ownership(sandbox, named);
        return VIEW_PRESENT;
    }
    return presence;
}

/* Before a Sandbox is called suspended for the first time, the API server is asked. */
static void plan_pod_suspended(SandboxPass *pass, ViewPresence presence)
{
    const KubeObj *sandbox = pass->sandbox;

    if (presence == VIEW_PRESENT) {
        if (pass->pod_ownership == SANDBOX_OWNED && !kube_obj_deleting(pass->pod) &&
            !failed_before(pass, PLAN_DELETE, KUBE_POD, pass->pod->name)) {
            plan_delete(pass->plan, pass->pod);
            plan_more(pass->plan);
        } else if (!view_store_holds(pass->pod)) {
            plan_requeue_at(pass->plan, pass->view->now_wall_ns + SANDBOX_LOOK_AGAIN_NS);
        }
        return;
    }
    if (presence == VIEW_UNKNOWN &&
        (pass->fresh_generation ||
         !kube_obj_condition_is(sandbox, STR(CONDITION_SUSPENDED), STR("True")))) {
        if (failed_before(pass, PLAN_READ, KUBE_POD, pass->unknown_pod)) {
            pass->pod_error = true;
        } else {
            plan_read(pass->plan, KUBE_POD, sandbox->ns, pass->unknown_pod);
        }
    }
}

/* The refusal of a spec stays until the spec changes. */
static bool refused_before(SandboxPass *pass)
{
    JNode ready = kube_obj_condition(pass->sandbox, STR(CONDITION_READY));

    if (pass->fresh_generation ||
        !str_eq(jnode_str(jnode_get(ready, STR("reason"))), STR(REASON_INVALID))) {
        return false;
    }
    pass->invalid = arena_dup(pass->arena, jnode_str(jnode_get(ready, STR("message"))));
    return true;
}

/* The Pod could not be made or may not be used: for the status there is none. */
static void pod_is_unknown(SandboxPass *pass)
{
    pass->pod = NULL;
    pass->pod_error = true;
}

static void plan_pod_create(SandboxPass *pass)
{
    const KubeObj *sandbox = pass->sandbox;
    const ViewFailure *failure =
        view_failure(pass->view, PLAN_CREATE, KUBE_POD, sandbox->ns, sandbox->name);

    if (failure) {
        pass->pod_create_failed = true;
        pod_is_unknown(pass);
        if (failure->error.reason == KUBE_REASON_INVALID) {
            pass->invalid = arena_dup(pass->arena, str_from(failure->error.msg));
        } else {
            (void)failed_before(pass, PLAN_CREATE, KUBE_POD, sandbox->name);
        }
        return;
    }
    if (name_is_unfit(pass)) {
        return;
    }
    /* Its Pod would mount what the owner of the volume did not give away. */
    if (pass->volume_refused || refused_before(pass)) {
        pod_is_unknown(pass);
        return;
    }
    plan_create(pass->plan, KUBE_POD, sandbox->ns, sandbox->name,
                sandbox_pod_desired(sandbox, pass->view->options->warm_pool_eviction));
    plan_more(pass->plan);
}

static void plan_pod_metadata(SandboxPass *pass)
{
    const ControllerOptions *options = pass->view->options;
    json_t *patch = sandbox_pod_patch(pass->sandbox, pass->pod, options->warm_pool_eviction);
    PlanAction *action;

    if (!patch) {
        return;
    }
    if (failed_before(pass, PLAN_PATCH, KUBE_POD, pass->pod->name)) {
        json_decref(patch);
        return;
    }
    action = plan_patch(pass->plan, pass->pod, patch);
    if (pass->pod_ownership == SANDBOX_UNOWNED) {
        plan_more(pass->plan);
    } else if (options->sandbox_write_behind_ns > 0 && view_store_holds(pass->pod)) {
        /* A Pod that the cache does not show is found anew by each pass, so nothing can wait. */
        action->coalesce_ns = (uint64_t)options->sandbox_write_behind_ns;
        if (action->coalesce_ns > SANDBOX_WRITE_BEHIND_MAX_NS) {
            action->coalesce_ns = SANDBOX_WRITE_BEHIND_MAX_NS;
        }
    }
}

/* Clients take a recorded name for the Pod's: one that is not, of an older release or of somebody
 * who hoped for another Pod, is put right. */
static void plan_recorded_name(SandboxPass *pass)
{
    const KubeObj *sandbox = pass->sandbox;
    Str recorded = kube_obj_annotation(sandbox, STR(ANNOTATION_POD_NAME));
    json_t *patch = NULL;

    if (recorded.len == 0 || str_eq(recorded, pass->pod->name) ||
        pass->pod_ownership != SANDBOX_OWNED ||
        failed_before(pass, PLAN_PATCH, KUBE_SANDBOX, sandbox->name)) {
        return;
    }
    kube_patch_annotation(&patch, ANNOTATION_POD_NAME, pass->pod->name);
    plan_patch(pass->plan, sandbox, patch);
}

void sandbox_plan_pod(SandboxPass *pass)
{
    ViewPresence presence = find_pod(pass);

    if (pass->many_pods) {
        pod_is_unknown(pass);
        return;
    }
    if (pass->suspended) {
        plan_pod_suspended(pass, presence);
        return;
    }
    if (presence != VIEW_PRESENT) {
        plan_pod_create(pass);
        return;
    }
    if (pass->pod_ownership == SANDBOX_FOREIGN) {
        sandbox_pass_error(pass, "Pod \"" STR_FMT "\" is controlled by %s",
                           STR_ARG(pass->pod->name), sandbox_owner_text(pass->pod, pass->arena));
        pod_is_unknown(pass);
        return;
    }
    if (pass->pod_ownership == SANDBOX_UNOWNED && !sandbox_may_adopt(pass->pod, pass->hash)) {
        sandbox_pass_error(pass, "Pod \"" STR_FMT "\" exists and is not adoptable",
                           STR_ARG(pass->pod->name));
        pod_is_unknown(pass);
        return;
    }
    plan_recorded_name(pass);
    /* A Pod on its way out needs no more than to be visible in the cache until it is gone. */
    if (!kube_obj_deleting(pass->pod) || !view_store_holds(pass->pod)) {
        plan_pod_metadata(pass);
    }
}

/* ---- Service ---- */

/*
 * Without spec.service there is nothing to make, so a Service that the cache does not show is asked
 * for once a generation, and when the status is about to lose it. The first generation can only
 * meet strangers: nobody is in a pool member's way, and with `false` strangers do not matter.
 */
static void plan_service_absent(SandboxPass *pass, ServiceMode mode, ViewPresence presence)
{
    const KubeObj *sandbox = pass->sandbox;
    bool told = jnode_str(jnode_at(kube_obj_status(sandbox), "service")).len > 0;
    bool first = kube_obj_generation(sandbox) <= 1 && !told;

    if (mode == SERVICE_ON) {
        pass->service_required = true;
        if (!name_is_unfit(pass) &&
            !failed_before(pass, PLAN_CREATE, KUBE_SERVICE, sandbox->name)) {
            plan_create(pass->plan, KUBE_SERVICE, sandbox->ns, sandbox->name,
                        sandbox_service_desired(sandbox));
            plan_more(pass->plan);
        }
        return;
    }
    if (presence == VIEW_ABSENT || (!pass->fresh_generation && !told) ||
        !kube_name_is_label(sandbox->name)) {
        return;
    }
    if (first && (mode == SERVICE_OFF || pass->owner == SANDBOX_BY_POOL)) {
        return;
    }
    if (!failed_before(pass, PLAN_READ, KUBE_SERVICE, sandbox->name)) {
        plan_read(pass->plan, KUBE_SERVICE, sandbox->ns, sandbox->name);
    }
}

static void plan_service_patch(SandboxPass *pass, const KubeObj *service, bool ports)
{
    json_t *patch = sandbox_service_patch(pass->sandbox, service, ports);

    if (!patch) {
        return;
    }
    if (failed_before(pass, PLAN_PATCH, KUBE_SERVICE, service->name)) {
        json_decref(patch);
        return;
    }
    plan_patch(pass->plan, service, patch);
    plan_more(pass->plan);
}

static void plan_service_unowned(SandboxPass *pass, const KubeObj *service)
{
    Str ip = jnode_str(jnode_at(kube_obj_spec(service), "clusterIP"));

    pass->service_required = true;
    if (!sandbox_may_adopt(service, pass->hash)) {
        sandbox_pass_error(pass, "Service \"" STR_FMT "\" exists and is not adoptable",
                           STR_ARG(service->name));
    } else if (ip.len > 0 && !str_eq(ip, STR("None"))) {
        sandbox_pass_error(pass,
                           "Service \"" STR_FMT "\" is not headless (clusterIP " STR_FMT
                           ") and cannot be adopted",
                           STR_ARG(service->name), STR_ARG(ip));
    } else {
        plan_service_patch(pass, service, true);
    }
}

static void plan_service_owned(SandboxPass *pass, ServiceMode mode, const KubeObj *service)
{
    if (mode == SERVICE_OFF) {
        if (!kube_obj_deleting(service) &&
            !failed_before(pass, PLAN_DELETE, KUBE_SERVICE, service->name)) {
            plan_delete(pass->plan, service);
            plan_more(pass->plan);
        }
        return;
    }
    pass->service_required = true;
    pass->service_in_use = true;
    plan_service_patch(pass, service, mode == SERVICE_ON);
}

void sandbox_plan_service(SandboxPass *pass)
{
    const KubeObj *sandbox = pass->sandbox;
    ServiceMode mode = service_mode(sandbox);
    const KubeObj *service = NULL;
    ViewPresence presence =
        view_lookup(pass->view, KUBE_SERVICE, sandbox->ns, sandbox->name, &service);

    if (presence != VIEW_PRESENT) {
        plan_service_absent(pass, mode, presence);
        return;
    }
    switch (sandbox_ownership(sandbox, service)) {
    case SANDBOX_OWNED:
        plan_service_owned(pass, mode, service);
        break;
    case SANDBOX_UNOWNED:
        if (mode == SERVICE_ON) {
            plan_service_unowned(pass, service);
        }
        break;
    case SANDBOX_FOREIGN:
        if (mode != SERVICE_OFF) {
            pass->service_required = mode == SERVICE_ON;
            sandbox_pass_error(pass, "Service \"" STR_FMT "\" is controlled by %s",
                               STR_ARG(service->name), sandbox_owner_text(service, pass->arena));
        }
        break;
    }
}
