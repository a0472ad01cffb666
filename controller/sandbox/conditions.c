/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The status of a Sandbox, computed whole from one pass. Texts are compared byte for byte by
 * clients and test suites: tables, and nothing added.
 */
#include "controller/sandbox/sandbox.h"
#include "kube/meta.h"

typedef struct ConditionText {
    const char *status;
    const char *reason;
    const char *message;
} ConditionText;

static Str pod_phase(const KubeObj *pod)
{
    return jnode_str(jnode_at(kube_obj_status(pod), "phase"));
}

static bool phase_is(const KubeObj *pod, const char *phase)
{
    return pod && str_eq(pod_phase(pod), str_from(phase));
}

static bool pod_is_owned(const SandboxPass *pass)
{
    return pass->pod && pass->pod_ownership == SANDBOX_OWNED;
}

static void set_condition(const SandboxPass *pass, json_t *conditions, const char *type,
                          ConditionText text, Str message)
{
    const KubeCondition condition = {
        .type = type,
        .status = text.status,
        .reason = text.reason,
        .message = message.ptr ? message : str_from(text.message),
        .observed_generation = kube_obj_generation(pass->sandbox),
    };

    (void)kube_condition_set(conditions, &condition, pass->view->now_wall_ns);
}

/* ---- Suspended ---- */

static ConditionText suspended_text(const SandboxPass *pass)
{
    if (!pass->suspended) {
        return (ConditionText){"False", "NotSuspended", "Sandbox is not suspended"};
    }
    if (!pass->pod && pass->pod_error) {
        return (ConditionText){"Unknown", "PodStateUnknown",
                               "Pod state is unknown. Sandbox suspension cannot be confirmed"};
    }
    if (!pass->pod) {
        return (ConditionText){"True", "PodTerminated",
                               "Pod has been terminated. Sandbox is suspended"};
    }
    if (pass->pod_ownership != SANDBOX_OWNED) {
        return (ConditionText){"False", "PodNotOwned",
                               "Refused to delete pod because it is not owned by this sandbox"};
    }
    return (ConditionText){"False", "PodTerminating", "Pod is terminating. Sandbox is suspending"};
}

/* ---- Ready ---- */

static bool pod_is_ready(const KubeObj *pod, const char **ret_text)
{
    if (!phase_is(pod, "Running")) {
        return false;
    }
    if (!kube_obj_condition_is(pod, STR("Ready"), STR("True"))) {
        *ret_text = "Pod is Running but not Ready";
        return false;
    }
    if (jnode_len(jnode_at(kube_obj_status(pod), "podIPs")) == 0) {
        *ret_text = "Pod is Ready but has no podIPs yet";
        return false;
    }
    *ret_text = "Pod is Ready";
    return true;
}

static ConditionText dependencies_text(const SandboxPass *pass)
{
    const char *pod_text = "Pod does not exist";
    const char *service_text = "";
    bool ready = false;

    if (pass->pod) {
        pod_text = arena_printf(pass->arena, "Pod exists with phase: " STR_FMT,
                                STR_ARG(pod_phase(pass->pod)));
        ready = pod_is_ready(pass->pod, &pod_text);
    }
    if (pass->service_required) {
        service_text = pass->service_in_use ? "; Service Exists" : "; Service does not exist";
        ready = ready && pass->service_in_use;
    }
    return (ConditionText){
        ready ? "True" : "False",
        ready ? "DependenciesReady" : REASON_NOT_READY,
        arena_printf(pass->arena, "%s%s", pod_text, service_text),
    };
}

static const char *errors_text(const SandboxPass *pass)
{
    AUTO(strbuf) StrBuf text = STRBUF_INIT(16384);

    (void)strbuf_append_cstr(&text, "Error seen: ");
    for (size_t i = 0; i < pass->n_errors; i++) {
        (void)strbuf_printf(&text, "%s%s", i ? "\n" : "", pass->errors[i]);
    }
    return arena_dup(pass->arena, strbuf_str(&text));
}

static ConditionText ready_text(const SandboxPass *pass)
{
    if (pass->many_pods) {
        return (ConditionText){"False", REASON_MULTIPLE_PODS, pass->many_pods};
    }
    if (pass->invalid) {
        return (ConditionText){"False", REASON_INVALID, pass->invalid};
    }
    if (pass->n_errors > 0) {
        return (ConditionText){"False", REASON_RECONCILER_ERROR, errors_text(pass)};
    }
    if (pass->suspended) {
        return (ConditionText){"False", "SandboxSuspended",
                               pass->pod ? "Sandbox is suspending" : "Sandbox is suspended"};
    }
    if (phase_is(pass->pod, "Succeeded")) {
        return (ConditionText){"False", "PodSucceeded", "Pod completed successfully"};
    }
    if (phase_is(pass->pod, "Failed")) {
        return (ConditionText){"False", "PodFailed", "Pod failed"};
    }
    return dependencies_text(pass);
}

/* ---- Finished, PodScheduled ---- */

static void compute_finished(const SandboxPass *pass, json_t *conditions)
{
    static const struct {
        const char *phase;
        ConditionText text;
    } table[] = {
        {"Succeeded", {"True", "PodSucceeded", "Pod completed successfully"}},
        {"Failed", {"True", "PodFailed", "Pod failed"}},
    };

    for (size_t i = 0; i < ARRAY_LEN(table); i++) {
        if (pod_is_owned(pass) && phase_is(pass->pod, table[i].phase)) {
            set_condition(pass, conditions, CONDITION_FINISHED, table[i].text, STR_NULL);
            return;
        }
    }
    (void)kube_condition_remove(conditions, CONDITION_FINISHED);
}

static void compute_scheduled(const SandboxPass *pass, json_t *conditions)
{
    JNode live;
    Str reason;
    Str status;
    bool scheduled;

    if (!pass->pod && pass->pod_error) {
        const ConditionText text = {"Unknown", "PodSchedulingUnknown",
                                    "Pod state is unknown. Pod scheduling cannot be determined"};

        set_condition(pass, conditions, CONDITION_POD_SCHEDULED, text, STR_NULL);
        return;
    }
    if (!pod_is_owned(pass)) {
        (void)kube_condition_remove(conditions, CONDITION_POD_SCHEDULED);
        return;
    }
    live = kube_obj_condition(pass->pod, STR("PodScheduled"));
    if (!jnode_exists(live)) {
        const ConditionText text = {"Unknown", "PodSchedulingUnknown",
                                    "Pod has not reported a PodScheduled condition yet"};

        set_condition(pass, conditions, CONDITION_POD_SCHEDULED, text, STR_NULL);
        return;
    }
    status = jnode_str(jnode_get(live, STR("status")));
    reason = jnode_str(jnode_get(live, STR("reason")));
    scheduled = str_eq(status, STR("True"));
    if (reason.len == 0) {
        reason = scheduled ? STR("PodScheduled") : STR("PodSchedulingUnknown");
    }
    set_condition(
        pass, conditions, CONDITION_POD_SCHEDULED,
        (ConditionText){arena_dup(pass->arena, status), arena_dup(pass->arena, reason), ""},
        jnode_str(jnode_get(live, STR("message"))));
}

/* ---- the fields beside the conditions ---- */

static void compute_pod_fields(const SandboxPass *pass, json_t *status)
{
    json_t *ips = NULL;
    Str node = STR_NULL;

    if (pass->pod) {
        jx_set(status, "selector", jx_stringf_new("%s=%s", LABEL_SANDBOX_NAME_HASH, pass->hash));
    }
    if (pod_is_owned(pass)) {
        JIter it = jnode_iter(jnode_at(kube_obj_status(pass->pod), "podIPs"));
        JNode ip;

        while (jiter_next(&it, NULL, &ip)) {
            if (!ips) {
                ips = jx_array_new();
            }
            jx_append(ips, jx_string_new(jnode_str(jnode_get(ip, STR("ip")))));
        }
        node = jnode_str(jnode_at(kube_obj_spec(pass->pod), "nodeName"));
    }
    jx_set(status, "podIPs", ips);
    jx_set(status, "nodeName", node.len > 0 ? jx_string_new(node) : NULL);
}

static void compute_service_fields(const SandboxPass *pass, json_t *status)
{
    const KubeObj *sandbox = pass->sandbox;

    if (!pass->service_in_use) {
        jx_set(status, "service", NULL);
        jx_set(status, "serviceFQDN", NULL);
        return;
    }
    jx_set_str(status, "service", sandbox->name);
    jx_set(status, "serviceFQDN",
           jx_stringf_new(STR_FMT "." STR_FMT ".svc.%s", STR_ARG(sandbox->name),
                          STR_ARG(sandbox->ns), pass->view->options->cluster_domain));
}

static json_t *status_now(const SandboxPass *pass)
{
    json_t *status = jnode_to_jansson(kube_obj_status(pass->sandbox));

    if (!json_is_object(status)) {
        json_decref(status);
        status = jx_object_new();
    }
    return status;
}

json_t *sandbox_status_compute(const SandboxPass *pass)
{
    json_t *status = status_now(pass);
    json_t *conditions = jx_arr(status, "conditions");

    compute_pod_fields(pass, status);
    if (!pass->many_pods) {
        compute_service_fields(pass, status);
    }
    set_condition(pass, conditions, CONDITION_SUSPENDED, suspended_text(pass), STR_NULL);
    set_condition(pass, conditions, CONDITION_READY, ready_text(pass), STR_NULL);
    compute_finished(pass, conditions);
    compute_scheduled(pass, conditions);
    return status;
}

json_t *sandbox_status_expired(const SandboxPass *pass)
{
    json_t *status = status_now(pass);
    json_t *conditions = jx_arr(status, "conditions");
    const ConditionText text = {"False", REASON_EXPIRED, "Sandbox has expired"};

    set_condition(pass, conditions, CONDITION_READY, text, STR_NULL);
    (void)kube_condition_remove(conditions, CONDITION_POD_SCHEDULED);
    return status;
}
