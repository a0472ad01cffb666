/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a status may say, whatever it says: rules about the form of conditions and of a pool's
 * numbers, for every status that a controller writes.
 */
#include "base/mem.h"
#include "base/timefmt.h"
#include "test/sim/oracle.h"

#define MESSAGE_MAX 32768 /* metav1.Condition */
#define NAME_ARG(object) STR_ARG(meta(object, "namespace")), STR_ARG(meta(object, "name"))

static void wrong(Sim *sim, const FakeChange *change, Str type, const char *what)
{
    sim_fail(sim, "%s " STR_FMT "/" STR_FMT ": condition " STR_FMT " %s", change->kind->kind,
             NAME_ARG(change->after), STR_ARG(type), what);
}

/* metav1.Condition: ^[A-Za-z]([A-Za-z0-9_,:]*[A-Za-z0-9_])?$ */
static bool is_reason(Str reason)
{
    for (size_t i = 0; i < reason.len; i++) {
        char c = reason.ptr[i];
        bool letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
        bool other = (c >= '0' && c <= '9') || c == '_' || c == ',' || c == ':';

        if (!letter && (i == 0 || !other)) {
            return false;
        }
    }
    return reason.len > 0;
}

static bool is_status(Str status)
{
    return str_eq(status, STR("True")) || str_eq(status, STR("False")) ||
           str_eq(status, STR("Unknown"));
}

/* Whose absence a condition tells of: its name must be in the text. */
static bool names_the_object(const json_t *object, Str reason, Str message)
{
    Str name = jx_get_str(object, "spec", "warmPoolRef", "name");

    if (!str_eq(reason, STR("WarmPoolNotFound"))) {
        return true;
    }
    return name.len > 0 && memmem(message.ptr, message.len, name.ptr, name.len) != NULL;
}

/* A claim's Finished is its Sandbox's, with the Sandbox's generation. */
static bool is_borrowed(const FakeChange *change, const json_t *condition)
{
    return change->kind->id == KUBE_CLAIM && str_eq(jx_get_str(condition, "type"), STR("Finished"));
}

static const char *form_of(const json_t *object, const json_t *condition)
{
    Str reason = jx_get_str(condition, "reason");
    Str message = jx_get_str(condition, "message");
    int64_t at;

    if (!is_status(jx_get_str(condition, "status"))) {
        return "has no status that there is";
    }
    if (!is_reason(reason)) {
        return "has no usable reason";
    }
    if (message.len > MESSAGE_MAX) {
        return "has a message that is too long";
    }
    /* The scheduler's own condition, verbatim, has none when all is well. */
    if (message.len == 0 && !str_eq(jx_get_str(condition, "type"), STR("PodScheduled"))) {
        return "has no message";
    }
    if (timefmt_parse(jx_get_str(condition, "lastTransitionTime"), &at) < 0) {
        return "has no lastTransitionTime";
    }
    return names_the_object(object, reason, message) ? NULL : "does not name what it tells of";
}

static const char *step_of(const json_t *before, const json_t *after)
{
    bool same = str_eq(jx_get_str(before, "status"), jx_get_str(after, "status"));
    bool same_time =
        str_eq(jx_get_str(before, "lastTransitionTime"), jx_get_str(after, "lastTransitionTime"));

    if (same && !same_time) {
        return "has a new lastTransitionTime and the old status";
    }
    if (jx_i64(jx_get(after, "observedGeneration"), 0) <
        jx_i64(jx_get(before, "observedGeneration"), 0)) {
        return "has an older observedGeneration than before";
    }
    return NULL;
}

static void check_conditions(Sim *sim, const FakeChange *change, bool alone)
{
    json_t *list = jx_get(change->after, "status", "conditions");
    size_t i;
    json_t *condition;

    json_array_foreach(list, i, condition)
    {
        Str type = jx_get_str(condition, "type");
        AUTO(mem) char *text = xstrndup(type.ptr ? type.ptr : "", type.len);
        const json_t *old = condition_of(change->before, text);
        const char *what = form_of(change->after, condition);

        if (condition_of(change->after, text) != condition) {
            what = "is there twice";
        }
        if (!what && alone && !is_borrowed(change, condition)) {
            if (jx_i64(jx_get(condition, "observedGeneration"), 0) >
                jx_i64(jx_get(change->after, "metadata", "generation"), 0)) {
                what = "has seen a generation that is not there yet";
            } else if (old) {
                what = step_of(old, condition);
            }
        }
        if (what) {
            wrong(sim, change, type, what);
        }
    }
}

static void check_numbers(Sim *sim, const FakeChange *change, bool alone)
{
    const json_t *status = jx_get(change->after, "status");
    int64_t replicas = jx_i64(jx_get(status, "replicas"), 0);
    int64_t ready = jx_i64(jx_get(status, "readyReplicas"), 0);
    int64_t seen = jx_i64(jx_get(status, "observedGeneration"), 0);
    int64_t before = jx_i64(jx_get(change->before, "status", "observedGeneration"), 0);

    if (ready < 0 || ready > replicas) {
        sim_fail(sim, "pool " STR_FMT "/" STR_FMT " tells of %d ready of %d",
                 NAME_ARG(change->after), (int)ready, (int)replicas);
    } else if (alone && seen > jx_i64(jx_get(change->after, "metadata", "generation"), 0)) {
        sim_fail(sim, "pool " STR_FMT "/" STR_FMT " has seen a generation that is not there yet",
                 NAME_ARG(change->after));
    } else if (alone && seen < before) {
        sim_fail(sim, "pool " STR_FMT "/" STR_FMT " has an older observedGeneration than before",
                 NAME_ARG(change->after));
    } else if (jx_get_str(status, "selector").len == 0) {
        sim_fail(sim, "pool " STR_FMT "/" STR_FMT " has a status without a selector",
                 NAME_ARG(change->after));
    }
}

void words_on_change(Sim *sim, const FakeChange *change, bool alone)
{
    if (!change->before || !change->after ||
        json_equal(jx_get(change->before, "status"), jx_get(change->after, "status"))) {
        return;
    }
    if (change->kind->id == KUBE_SANDBOX || change->kind->id == KUBE_CLAIM) {
        check_conditions(sim, change, alone);
    } else if (change->kind->id == KUBE_WARMPOOL) {
        check_numbers(sim, change, alone);
    }
}
