/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <stdio.h>

#include "base/clock.h"
#include "kube/reason.h"
#include "test/harness/t.h"

static KubeReason reason_of(KubeMethod method, int http, const char *status_reason)
{
    char body[256];
    KubeError error;
    KubeResult result = {.http_status = http, .sent = true};

    snprintf(body, sizeof(body),
             "{\"kind\":\"Status\",\"reason\":\"%s\",\"message\":\"m\",\"code\":%d}", status_reason,
             http);
    result.body = str_from(body);
    return kube_error_from_result(&result, method, &error);
}

T_TEST(reason_of_answers)
{
    static const struct {
        int http;
        const char *status;
        KubeMethod method;
        KubeReason want;
        KubePolicy policy;
    } ROWS[] = {
        {200, "", KUBE_GET, KUBE_REASON_NONE, KUBE_POLICY_DONE},
        {201, "", KUBE_POST, KUBE_REASON_NONE, KUBE_POLICY_DONE},
        {404, "NotFound", KUBE_GET, KUBE_REASON_NOT_FOUND, KUBE_POLICY_REREAD},
        {409, "AlreadyExists", KUBE_POST, KUBE_REASON_ALREADY_EXISTS, KUBE_POLICY_REREAD},
        {409, "Conflict", KUBE_PATCH, KUBE_REASON_CONFLICT, KUBE_POLICY_REREAD},
        {409, "", KUBE_PATCH, KUBE_REASON_CONFLICT, KUBE_POLICY_REREAD},
        {410, "Expired", KUBE_GET, KUBE_REASON_GONE, KUBE_POLICY_REREAD},
        {422, "Invalid", KUBE_POST, KUBE_REASON_INVALID, KUBE_POLICY_TERMINAL},
        {400, "BadRequest", KUBE_POST, KUBE_REASON_INVALID, KUBE_POLICY_TERMINAL},
        {403, "Forbidden", KUBE_POST, KUBE_REASON_FORBIDDEN, KUBE_POLICY_RETRY},
        {401, "Unauthorized", KUBE_GET, KUBE_REASON_UNAUTHORIZED, KUBE_POLICY_RETRY},
        {413, "RequestEntityTooLarge", KUBE_POST, KUBE_REASON_TOO_LARGE, KUBE_POLICY_TERMINAL},
        {429, "TooManyRequests", KUBE_POST, KUBE_REASON_TOO_MANY, KUBE_POLICY_RETRY},
        {500, "InternalError", KUBE_POST, KUBE_REASON_SERVER, KUBE_POLICY_RETRY},
        {503, "ServiceUnavailable", KUBE_POST, KUBE_REASON_UNAVAILABLE, KUBE_POLICY_RETRY},
        {504, "Timeout", KUBE_GET, KUBE_REASON_UNAVAILABLE, KUBE_POLICY_RETRY},
        {504, "Timeout", KUBE_POST, KUBE_REASON_UNKNOWN_OUTCOME, KUBE_POLICY_REREAD},
        {302, "", KUBE_GET, KUBE_REASON_REJECTED, KUBE_POLICY_RETRY},
        {418, "", KUBE_GET, KUBE_REASON_REJECTED, KUBE_POLICY_RETRY},
    };

    for (size_t i = 0; i < ARRAY_LEN(ROWS); i++) {
        t_row(ROWS[i].status);
        T_EQ_INT(reason_of(ROWS[i].method, ROWS[i].http, ROWS[i].status), ROWS[i].want);
        T_EQ_INT(kube_reason_policy(ROWS[i].want), ROWS[i].policy);
    }
}

T_TEST(reason_of_a_namespace_that_is_being_deleted)
{
    static const char body[] = "{\"kind\":\"Status\",\"reason\":\"Forbidden\",\"message\":\"pods "
                               "is forbidden\",\"details\":"
                               "{\"causes\":[7,{\"reason\":\"Other\"},{\"reason\":"
                               "\"NamespaceTerminating\"}]},\"code\":403}";
    const KubeResult result = {.http_status = 403, .sent = true, .body = str_from(body)};
    KubeError error;

    T_EQ_INT(kube_error_from_result(&result, KUBE_POST, &error), KUBE_REASON_TERMINATING);
    T_EQ_STR(kube_reason_name(error.reason), "NamespaceTerminating");
    T_EQ_STR(error.msg, "pods is forbidden");
    T_EQ_INT(kube_reason_policy(error.reason), KUBE_POLICY_RETRY);
}

T_TEST(reason_of_silence)
{
    static const struct {
        KubeMethod method;
        bool sent;
        int err;
        KubeReason want;
    } ROWS[] = {
        {KUBE_GET, true, -ECONNRESET, KUBE_REASON_NETWORK},
        {KUBE_GET, true, -EBADMSG, KUBE_REASON_BAD_ANSWER},
        {KUBE_GET, true, -E2BIG, KUBE_REASON_BAD_ANSWER},
        {KUBE_POST, false, -ECONNREFUSED, KUBE_REASON_NETWORK},
        {KUBE_POST, true, -ECONNRESET, KUBE_REASON_UNKNOWN_OUTCOME},
        {KUBE_DELETE, true, -ETIMEDOUT, KUBE_REASON_UNKNOWN_OUTCOME},
        {KUBE_PATCH, true, -EBADMSG, KUBE_REASON_UNKNOWN_OUTCOME},
    };

    for (size_t i = 0; i < ARRAY_LEN(ROWS); i++) {
        KubeResult result = {.err = ROWS[i].err, .sent = ROWS[i].sent};
        KubeError error;

        T_EQ_INT(kube_error_from_result(&result, ROWS[i].method, &error), ROWS[i].want);
        T_EQ_STR(error.msg, "no answer");
    }
    T_CHECK(kube_reason_is_unknown_outcome(KUBE_REASON_UNKNOWN_OUTCOME));
    T_CHECK(!kube_reason_is_unknown_outcome(KUBE_REASON_NETWORK));
}

T_TEST(reason_texts_are_one_clean_line)
{
    KubeResult result = {.http_status = 500};
    KubeError error;
    char body[2048] = "{\"message\":\"a\\n\\u001b[31mb ";
    size_t n = strlen(body);

    while (n < 1000) {
        memcpy(body + n, "\xc3\xa9", 2);
        n += 2;
    }
    memcpy(body + n, "\"}", 3);
    result.body = str_from(body);
    kube_error_from_result(&result, KUBE_GET, &error);
    T_EQ_STR(str_take(str_from(error.msg), 8), "a  [31mb");
    T_CHECK(strlen(error.msg) < sizeof(error.msg) && str_is_utf8(str_from(error.msg)));
    result.body = STR("<html>");
    kube_error_from_result(&result, KUBE_GET, &error);
    T_EQ_STR(error.msg, "the API server answered 500");
}

T_TEST(reason_retry_after_comes_from_header_or_status)
{
    KubeResult result = {.http_status = 429, .retry_after_ns = 2 * NS_PER_S};
    KubeError error;

    result.body = STR("{\"details\":{\"retryAfterSeconds\":5}}");
    kube_error_from_result(&result, KUBE_GET, &error);
    T_EQ_INT(error.retry_after_ns, 5 * NS_PER_S);
    result.body = STR("{\"details\":{\"retryAfterSeconds\":99999999999}}");
    kube_error_from_result(&result, KUBE_GET, &error);
    T_EQ_INT(error.retry_after_ns, 3600 * NS_PER_S);
    result.body = STR("");
    kube_error_from_result(&result, KUBE_GET, &error);
    T_EQ_INT(error.retry_after_ns, 2 * NS_PER_S);
}
