/* SPDX-License-Identifier: Apache-2.0 */
/* controller/claim/expiry.c
 *
 * Times that cannot be read count as absent: the schema lets none through.
 */
#include "controller/claim/expiry.h"

#include "base/attr.h"
#include "base/clock.h"
#include "base/timefmt.h"

static const char *const names[] = {
    [CLAIM_RETAIN] = "Retain",
    [CLAIM_DELETE] = "Delete",
    [CLAIM_DELETE_FOREGROUND] = "DeleteForeground",
};

static int64_t earlier(int64_t a, int64_t b)
{
    return a == 0 || (b != 0 && b < a) ? b : a;
}

static int64_t finished_expires_at(JNode spec, const json_t *finished)
{
    JNode ttl = jnode_at(spec, "lifecycle", "ttlSecondsAfterFinished");
    int64_t since;

    if (jnode_type(ttl) != JTYPE_INT || jnode_i64(ttl, -1) < 0 ||
        !str_eq(jx_get_str(finished, "status"), STR("True")) ||
        timefmt_parse(jx_get_str(finished, "lastTransitionTime"), &since) < 0) {
        return 0;
    }
    /* int32 seconds in nanoseconds cannot overflow together with any year that can be written. */
    return since + jnode_i64(ttl, 0) * (int64_t)NS_PER_S;
}

int64_t claim_expires_at(JNode spec, const json_t *finished)
{
    Str shutdown = jnode_str(jnode_at(spec, "lifecycle", "shutdownTime"));
    int64_t at = 0;

    if (shutdown.len > 0 && timefmt_parse(shutdown, &at) < 0) {
        at = 0;
    }
    return earlier(at, finished_expires_at(spec, finished));
}

ClaimShutdown claim_shutdown_policy(JNode spec)
{
    Str policy = jnode_str(jnode_at(spec, "lifecycle", "shutdownPolicy"));

    for (size_t i = 0; i < ARRAY_LEN(names); i++) {
        if (str_eq(policy, str_from(names[i]))) {
            return (ClaimShutdown)i;
        }
    }
    return CLAIM_RETAIN;
}

const char *claim_shutdown_name(ClaimShutdown policy)
{
    return names[policy];
}
