/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * How much one client, or all clients of one sandbox, may have at once and ask for in a second.
 *
 * One table for all workers, so counts are exact for the process: LIMIT_SHARDS parts, each with a
 * lock that is held for one lookup. A key has an entry while it holds something, and afterwards
 * until the entry is wanted for another key (least recently used first): forgetting an idle key
 * costs at most that its token bucket is full again. When every entry of a part is in use, further
 * keys share one entry of that part and scope: they get one allowance together, memory stays
 * bounded, and limits_overflows() counts them.
 *
 * Nothing here is touched while no limit is on (limit_rule_is_off()).
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/str.h"

#define LIMIT_SHARDS 16
#define LIMIT_ENTRIES_MAX (1 << 20) /* of --limit-table-size */
#define LIMIT_KEY_MAX 128           /* longer keys are a bug of the caller */
#define LIMIT_RETRY_MAX_S 3600

typedef enum LimitScope {
    LIMIT_CLIENT,
    LIMIT_SANDBOX,
    LIMIT_SCOPES,
} LimitScope;

typedef enum LimitWhat {
    LIMIT_CONNECTIONS,
    LIMIT_REQUESTS,
    LIMIT_UPGRADES,
    LIMIT_COUNTS, /* number of the above */
    LIMIT_RATE = LIMIT_COUNTS,
} LimitWhat;

#define LIMIT_BIT(what) (1u << (what))

typedef struct LimitRule {
    LimitScope scope;
    int64_t most[LIMIT_COUNTS]; /* at once, 0 = any number */
    double rate;                /* a second, 0 = any */
    int64_t burst;              /* tokens saved up, 0 = one second's worth */
} LimitRule;

bool limit_rule_is_off(const LimitRule *rule);

/* What one connection or exchange has taken; zeroed = nothing. */
typedef struct LimitHold {
    struct LimitEntry *entry;
    uint32_t taken; /* LIMIT_BIT()s that leaving gives back */
} LimitHold;

typedef struct LimitRefusal {
    LimitWhat what;
    double value; /* of the limit */
    uint32_t retry_after_s;
} LimitRefusal;

typedef struct Limits Limits;

Limits *limits_new(size_t entries_max, uint64_t seed);
Limits *limits_free(Limits *limits); /* NULL is fine; nothing may be held */
/*
 * Takes all of `take` (LIMIT_BIT()s) for the key, or nothing. False: refused, the reason is in
 * *ret. Any thread. A hold that already has an entry takes more for that entry; the key is ignored.
 */
bool limits_enter(Limits *limits, const LimitRule *rule, Str key, uint32_t take, uint64_t now_ns,
                  LimitHold *hold, LimitRefusal *ret);
void limits_leave(LimitHold *hold); /* gives everything back; nothing held is fine */
size_t limits_entries(const Limits *limits);
uint64_t limits_overflows(const Limits *limits); /* entries that were shared for want of room */
const char *limits_flag(LimitScope scope, LimitWhat what); /* "--max-requests-per-client" */
