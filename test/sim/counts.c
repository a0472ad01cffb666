/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Metrics against what happened. A process that dies takes what it counted with it, after a last
 * look; a write whose answer was lost may go uncounted, but nothing may be counted that was not.
 */
#include "base/mem.h"
#include "test/sim/oracle.h"

#define TEXT_MAX (16u << 20)
#define CREATION "agent_sandbox_claim_creation_total{"

/* Sum of a family's series with this text among their labels. */
static uint64_t sum_of(Str text, const char *family, const char *label)
{
    uint64_t sum = 0;

    while (text.ptr && text.len > 0) {
        Str line = str_cut(text, '\n', &text);
        ptrdiff_t end = str_find(line, '}');
        double value = 0;

        if (!str_starts(line, str_from(family)) || end < 0 ||
            !memmem(line.ptr, (size_t)end, label, strlen(label))) {
            continue;
        }
        {
            AUTO(mem) char *number = xstrndup(line.ptr + end + 1, line.len - (size_t)end - 1);

            value = strtod(number, NULL);
        }
        sum += (uint64_t)value;
    }
    return sum;
}

void counts_take(Sim *sim, Metrics *metrics)
{
    AUTO(strbuf) StrBuf text = STRBUF_INIT(TEXT_MAX);

    if (metrics_write(metrics, &text) < 0) {
        sim_fail(sim, "the metrics cannot be written");
        return;
    }
    sim->counted.warm += sum_of(strbuf_str(&text), CREATION, "launch_type=\"warm\"");
    sim->counted.cold += sum_of(strbuf_str(&text), CREATION, "launch_type=\"cold\"");
    sim_hash(sim, (Str){(const char *)&sim->counted, sizeof(sim->counted)});
    if (sim->counted.warm > sim->happened.warm || sim->counted.cold > sim->happened.cold) {
        sim_fail(sim, "counted are %d warm and %d cold starts, there were %d and %d",
                 (int)sim->counted.warm, (int)sim->counted.cold, (int)sim->happened.warm,
                 (int)sim->happened.cold);
    }
}

/* A claim gets a Sandbox: one of a pool, one without an owner, or one made for it. */
void counts_on_change(Sim *sim, const FakeChange *change)
{
    bool was =
        change->before && owned_by_kind(change->before, API_GROUP_EXTENSIONS, KIND_SANDBOX_CLAIM);
    bool is =
        change->after && owned_by_kind(change->after, API_GROUP_EXTENSIONS, KIND_SANDBOX_CLAIM);

    if (change->kind->id == KUBE_SANDBOX && is && !was) {
        sim->happened.warm += change->before != NULL;
        sim->happened.cold += change->before == NULL;
    }
}
