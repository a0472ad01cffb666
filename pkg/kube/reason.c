/* SPDX-License-Identifier: Apache-2.0 */
#include "kube/reason.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>

#include "base/attr.h"
#include "base/check.h"
#include "base/clock.h"

#define RETRY_AFTER_MAX_S 3600
#define STATUS_TEXT_MAX (1u << 20)

static const struct {
    const char *name;
    KubePolicy policy;
} REASONS[KUBE_REASON_MAX_] = {
    [KUBE_REASON_NONE] = {"", KUBE_POLICY_DONE},
    [KUBE_REASON_NOT_FOUND] = {"NotFound", KUBE_POLICY_REREAD},
    [KUBE_REASON_ALREADY_EXISTS] = {"AlreadyExists", KUBE_POLICY_REREAD},
    [KUBE_REASON_CONFLICT] = {"Conflict", KUBE_POLICY_REREAD},
    [KUBE_REASON_GONE] = {"Gone", KUBE_POLICY_REREAD},
    [KUBE_REASON_INVALID] = {"Invalid", KUBE_POLICY_TERMINAL},
    [KUBE_REASON_FORBIDDEN] = {"Forbidden", KUBE_POLICY_RETRY},
    [KUBE_REASON_TERMINATING] = {"NamespaceTerminating", KUBE_POLICY_RETRY},
    [KUBE_REASON_UNAUTHORIZED] = {"Unauthorized", KUBE_POLICY_RETRY},
    [KUBE_REASON_TOO_LARGE] = {"TooLarge", KUBE_POLICY_TERMINAL},
    [KUBE_REASON_TOO_MANY] = {"TooManyRequests", KUBE_POLICY_RETRY},
    [KUBE_REASON_UNAVAILABLE] = {"Unavailable", KUBE_POLICY_RETRY},
    [KUBE_REASON_SERVER] = {"ServerError", KUBE_POLICY_RETRY},
    [KUBE_REASON_REJECTED] = {"Rejected", KUBE_POLICY_RETRY},
    [KUBE_REASON_NETWORK] = {"Network", KUBE_POLICY_RETRY},
    [KUBE_REASON_UNKNOWN_OUTCOME] = {"UnknownOutcome", KUBE_POLICY_REREAD},
    [KUBE_REASON_BAD_ANSWER] = {"BadAnswer", KUBE_POLICY_RETRY},
    [KUBE_REASON_BAD_REQUEST] = {"BadRequest", KUBE_POLICY_TERMINAL},
};

/* By the reason of a Status object; it knows more than the HTTP code. */
static const struct {
    const char *text;
    KubeReason reason;
} STATUS_REASONS[] = {
    {"AlreadyExists", KUBE_REASON_ALREADY_EXISTS},
    {"Conflict", KUBE_REASON_CONFLICT},
    {"Expired", KUBE_REASON_GONE},
    {"Gone", KUBE_REASON_GONE},
    {"Invalid", KUBE_REASON_INVALID},
    {"BadRequest", KUBE_REASON_INVALID},
    {"NotFound", KUBE_REASON_NOT_FOUND},
    {"Forbidden", KUBE_REASON_FORBIDDEN},
    {"Unauthorized", KUBE_REASON_UNAUTHORIZED},
    {"TooManyRequests", KUBE_REASON_TOO_MANY},
    {"ServiceUnavailable", KUBE_REASON_UNAVAILABLE},
    {"RequestEntityTooLarge", KUBE_REASON_TOO_LARGE},
};

static const struct {
    int http;
    KubeReason reason;
} HTTP_REASONS[] = {
    {400, KUBE_REASON_INVALID},     {401, KUBE_REASON_UNAUTHORIZED}, {403, KUBE_REASON_FORBIDDEN},
    {404, KUBE_REASON_NOT_FOUND},   {409, KUBE_REASON_CONFLICT},     {410, KUBE_REASON_GONE},
    {413, KUBE_REASON_TOO_LARGE},   {422, KUBE_REASON_INVALID},      {429, KUBE_REASON_TOO_MANY},
    {502, KUBE_REASON_UNAVAILABLE}, {503, KUBE_REASON_UNAVAILABLE},  {504, KUBE_REASON_UNAVAILABLE},
};

const char *kube_reason_name(KubeReason reason)
{
    CHECK((unsigned)reason < KUBE_REASON_MAX_);
    return REASONS[reason].name;
}

KubePolicy kube_reason_policy(KubeReason reason)
{
    CHECK((unsigned)reason < KUBE_REASON_MAX_);
    return REASONS[reason].policy;
}

bool kube_reason_is_unknown_outcome(KubeReason reason)
{
    return reason == KUBE_REASON_UNKNOWN_OUTCOME;
}

static KubeReason reason_of_http(int http)
{
    for (size_t i = 0; i < ARRAY_LEN(HTTP_REASONS); i++) {
        if (HTTP_REASONS[i].http == http) {
            return HTTP_REASONS[i].reason;
        }
    }
    return http >= 500 ? KUBE_REASON_SERVER : KUBE_REASON_REJECTED;
}

void kube_error_set(KubeError *ret_error, KubeReason reason, const char *fmt, ...)
{
    va_list ap;

    *ret_error = (KubeError){.reason = reason};
    va_start(ap, fmt);
    vsnprintf(ret_error->msg, sizeof(ret_error->msg), fmt, ap);
    va_end(ap);
}

/* One printable line; what does not fit is cut. */
static void error_set_text(KubeError *error, Str text)
{
    size_t n = text.len < sizeof(error->msg) - 1 ? text.len : sizeof(error->msg) - 1;

    while (n > 0 && n < text.len && ((unsigned char)text.ptr[n] & 0xc0) == 0x80) {
        n--; /* not inside a character */
    }
    for (size_t i = 0; i < n; i++) {
        unsigned char c = (unsigned char)text.ptr[i];

        error->msg[i] = c < ' ' || c == 0x7f ? ' ' : (char)c;
    }
    error->msg[n] = '\0';
}

/* A cause of this name in the details of a Status. */
static bool has_cause(JNode root, Str name)
{
    JIter it = jnode_iter(jnode_at(root, "details", "causes"));
    JNode cause;

    while (jiter_next(&it, NULL, &cause)) {
        if (str_eq(jnode_str(jnode_at(cause, "reason")), name)) {
            return true;
        }
    }
    return false;
}

KubeReason kube_error_from_node(int http, JNode root, KubeError *ret_error)
{
    KubeError error = {.http = http, .reason = reason_of_http(http)};
    Str reason = jnode_str(jnode_at(root, "reason"));
    Str message;
    int64_t wait_s;

    for (size_t i = 0; reason.ptr && i < ARRAY_LEN(STATUS_REASONS); i++) {
        if (str_eq(reason, str_from(STATUS_REASONS[i].text))) {
            error.reason = STATUS_REASONS[i].reason;
        }
    }
    if (error.reason == KUBE_REASON_FORBIDDEN && has_cause(root, STR("NamespaceTerminating"))) {
        error.reason = KUBE_REASON_TERMINATING;
    }
    wait_s = jnode_i64(jnode_at(root, "details", "retryAfterSeconds"), 0);
    if (wait_s > 0) {
        wait_s = wait_s > RETRY_AFTER_MAX_S ? RETRY_AFTER_MAX_S : wait_s;
        error.retry_after_ns = (uint64_t)wait_s * NS_PER_S;
    }
    message = jnode_str(jnode_at(root, "message"));
    if (message.len > 0) {
        error_set_text(&error, message);
    } else {
        snprintf(error.msg, sizeof(error.msg), "the API server answered %d", error.http);
    }
    *ret_error = error;
    return error.reason;
}

static KubeReason error_from_transport(const KubeResult *result, KubeMethod method,
                                       KubeError *ret_error)
{
    KubeReason reason = KUBE_REASON_NETWORK;

    if (method != KUBE_GET && result->sent) {
        reason = KUBE_REASON_UNKNOWN_OUTCOME;
    } else if (result->err == -EBADMSG || result->err == -E2BIG || result->err == -EINVAL) {
        reason = KUBE_REASON_BAD_ANSWER;
    }
    kube_error_set(ret_error, reason, "%s", result->msg[0] ? result->msg : "no answer");
    ret_error->http = result->http_status;
    return reason;
}

KubeReason kube_error_from_result(const KubeResult *result, KubeMethod method, KubeError *ret_error)
{
    AUTO(jdoc) JDoc *doc = NULL;
    KubeReason reason;

    if (result->err < 0) {
        return error_from_transport(result, method, ret_error);
    }
    if (result->http_status >= 200 && result->http_status < 300) {
        *ret_error = (KubeError){.http = result->http_status};
        return KUBE_REASON_NONE;
    }
    /* Proxies answer with HTML: then the code alone decides. */
    if (jdoc_parse(result->body, NULL, STATUS_TEXT_MAX, &doc, NULL) < 0) {
        doc = NULL;
    }
    reason = kube_error_from_node(result->http_status, jdoc_root(doc), ret_error);
    if (result->retry_after_ns > ret_error->retry_after_ns) {
        ret_error->retry_after_ns = result->retry_after_ns;
    }
    if (result->http_status == 504 && method != KUBE_GET) {
        reason = KUBE_REASON_UNKNOWN_OUTCOME; /* the server gave up waiting, not working */
    }
    ret_error->reason = reason;
    return reason;
}

const char *kube_method_name(KubeMethod method)
{
    static const char *const NAMES[KUBE_METHOD_MAX_] = {
        [KUBE_GET] = "GET",     [KUBE_POST] = "POST",     [KUBE_PUT] = "PUT",
        [KUBE_PATCH] = "PATCH", [KUBE_DELETE] = "DELETE",
    };

    CHECK((unsigned)method < KUBE_METHOD_MAX_);
    return NAMES[method];
}
