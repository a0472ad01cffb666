/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Spans of a pass and of its requests. A pass continues the trace that its object carries in the
 * trace context annotation (a JSON map of W3C headers, written by the client or by an earlier pass)
 * or begins one; what the plan may write down of it is ExecTrace.annotation, which the view shows.
 */
#include <stdio.h>
#include <stdlib.h>

#include "base/mem.h"
#include "controller/engine/exec_internal.h"
#include "controller/keys.h"
#include "json/doc.h"

#define ANNOTATION_MAX (4u << 10) /* longer trace context annotations are ignored */

struct ExecTrace {
    Tracer *tracer;
    TraceContext context;
    uint8_t parent_id[TRACE_SPAN_ID_LEN];
    int64_t start_wall_ns;
    char state[TRACE_STATE_MAX + 1];
    char annotation[TRACE_PARENT_LEN + 20];
};

/* The parent that the object names; false when it names none that can be read. */
static bool read_parent(const KubeObj *obj, TraceContext *ret, char *ret_state)
{
    Str text = obj ? kube_obj_annotation(obj, STR(ANNOTATION_TRACE_CONTEXT)) : STR_NULL;
    AUTO(jdoc) JDoc *doc = NULL;
    Str state;

    if (text.len == 0 || jdoc_parse(text, NULL, ANNOTATION_MAX, &doc, NULL) < 0 ||
        trace_parent_parse(jnode_str(jnode_at(jdoc_root(doc), "traceparent")), ret) < 0) {
        return false;
    }
    state = jnode_str(jnode_at(jdoc_root(doc), "tracestate"));
    if (trace_state_is_valid(state)) {
        memcpy(ret_state, state.ptr, state.len);
        ret_state[state.len] = '\0';
    }
    return true;
}

void exec_trace_begin(ExecRun *run)
{
    Exec *exec = run->exec;
    const KubeStore *store = exec->config.stores[run->controller->reconciler->kind];
    char parent_text[TRACE_PARENT_LEN + 1];
    TraceContext parent;
    ExecTrace *trace;

    if (!exec->config.tracer) {
        return;
    }
    trace = run->trace = xcalloc(1, sizeof(*trace));
    trace->tracer = exec->config.tracer;
    trace->start_wall_ns = loop_wall_now(exec->config.loop);
    if (read_parent(store ? kube_store_get(store, run->key) : NULL, &parent, trace->state)) {
        memcpy(trace->parent_id, parent.span_id, TRACE_SPAN_ID_LEN);
        tracer_begin(trace->tracer, &exec->trace_rng, &parent, &trace->context);
    } else {
        tracer_begin(trace->tracer, &exec->trace_rng, NULL, &trace->context);
    }
    trace_parent_format(&trace->context, parent_text);
    (void)snprintf(trace->annotation, sizeof(trace->annotation), "{\"traceparent\":\"%s\"}",
                   parent_text);
}

Str exec_trace_annotation(const ExecRun *run)
{
    return run->trace ? str_from(run->trace->annotation) : STR_NULL;
}

void exec_trace_end(ExecRun *run, const char *outcome)
{
    ExecTrace *trace = run->trace;
    const KubeKind *kind = kube_kind(run->controller->reconciler->kind);
    const char *error = run->plan.error ? run->plan.error : run->error;
    bool failed = strcmp(outcome, "error") == 0;
    const TraceAttr attrs[] = {
        TRACE_TEXT("kind", str_from(kind->kind)),
        TRACE_TEXT("namespace", run->key.ns),
        TRACE_TEXT("name", run->key.name),
        TRACE_TEXT("outcome", str_from(outcome)),
        TRACE_TEXT("reason", str_from(run->plan.reason)),
        TRACE_NUMBER("actions", run->writes),
        TRACE_NUMBER("plans", run->plans),
    };
    char name[64];
    TraceSpan span = {
        .kind = TRACE_KIND_INTERNAL,
        .status = failed ? TRACE_STATUS_ERROR : TRACE_STATUS_UNSET,
        .message = failed ? str_from(error) : STR_NULL,
        .attrs = attrs,
        .n_attrs = ARRAY_LEN(attrs),
    };
    int n;

    if (!trace) {
        return;
    }
    n = snprintf(name, sizeof(name), "Reconcile%s", kind->kind);
    span.name = (Str){name, (size_t)n};
    span.context = trace->context;
    span.state = str_from(trace->state);
    span.start_wall_ns = trace->start_wall_ns;
    span.end_wall_ns = loop_wall_now(run->exec->config.loop);
    memcpy(span.parent_id, trace->parent_id, TRACE_SPAN_ID_LEN);
    tracer_record(trace->tracer, &span);
}

void exec_trace_free(ExecRun *run)
{
    free(run->trace);
    run->trace = NULL;
}

/* ---- requests ---- */

void exec_trace_call_begin(ExecCall *call)
{
    call->sent_wall_ns = call->run->trace ? loop_wall_now(call->run->exec->config.loop) : 0;
}

void exec_trace_call_end(ExecCall *call, const char *verb, const KubeError *error)
{
    const PlanAction *action = call->action;
    const ExecTrace *trace = call->run->trace;
    const char *kind = kube_kind(action->kind)->kind;
    const TraceAttr attrs[] = {
        TRACE_TEXT("kind", str_from(kind)),
        TRACE_TEXT("namespace", action->ns),
        TRACE_TEXT("name", action->name),
        TRACE_TEXT("verb", str_from(verb)),
        TRACE_NUMBER("http.status_code", error ? error->http : 0),
        TRACE_TEXT("reason", error ? str_from(kube_reason_name(error->reason)) : STR("")),
    };
    char name[64];
    TraceSpan span = {
        .kind = TRACE_KIND_CLIENT,
        .status = error ? TRACE_STATUS_ERROR : TRACE_STATUS_UNSET,
        .message = error ? str_from(error->msg) : STR_NULL,
        .attrs = attrs,
        .n_attrs = error ? ARRAY_LEN(attrs) : ARRAY_LEN(attrs) - 2,
    };
    int n;

    if (!trace || !trace_context_sampled(&trace->context)) {
        return;
    }
    n = snprintf(name, sizeof(name), "%s %s", verb, kind);
    span.name = (Str){name, (size_t)n};
    span.state = str_from(trace->state);
    span.start_wall_ns = call->sent_wall_ns;
    span.end_wall_ns = loop_wall_now(call->run->exec->config.loop);
    tracer_begin(trace->tracer, &call->run->exec->trace_rng, &trace->context, &span.context);
    memcpy(span.parent_id, trace->context.span_id, TRACE_SPAN_ID_LEN);
    tracer_record(trace->tracer, &span);
}
