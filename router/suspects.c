/* SPDX-License-Identifier: Apache-2.0 */
/* See suspects.h. */
#include "router/suspects.h"

#include <stdlib.h>

#include "base/check.h"
#include "base/mem.h"

typedef struct Suspect {
    HMapNode node;
    ListNode age;
    Address host; /* port 0 */
    uint64_t until_ns;
} Suspect;

void suspects_init(Suspects *suspects, uint64_t seed)
{
    *suspects = (Suspects){.seed = seed};
    hmap_init(&suspects->hosts);
    list_init(&suspects->ages);
}

static void forget(Suspects *suspects, Suspect *suspect)
{
    hmap_remove(&suspects->hosts, &suspect->node);
    list_remove(&suspect->age);
    suspects->n--;
    free(suspect);
}

void suspects_deinit(Suspects *suspects)
{
    ListNode *node;

    while ((node = list_first(&suspects->ages))) {
        forget(suspects, list_entry(node, Suspect, age));
    }
    hmap_deinit(&suspects->hosts);
}

static uint64_t hash(const Suspects *suspects, const Address *host)
{
    Address key = *host;

    key.port = 0;
    return address_hash(suspects->seed, &key);
}

static Suspect *find(const Suspects *suspects, const Address *host)
{
    if (suspects->n == 0) {
        return NULL;
    }
    for (HMapNode *n = hmap_first(&suspects->hosts, hash(suspects, host)); n; n = hmap_next(n)) {
        Suspect *suspect = container_of(n, Suspect, node);

        if (address_same_host(&suspect->host, host)) {
            return suspect;
        }
    }
    return NULL;
}

uint64_t suspects_ask(Suspects *suspects, const Address *host, uint64_t now_ns, uint64_t probe_ns)
{
    Suspect *suspect = find(suspects, host);

    if (!suspect) {
        return 0;
    }
    if (now_ns < suspect->until_ns) {
        return suspect->until_ns - now_ns;
    }
    suspect->until_ns = now_ns + probe_ns; /* the one that asks now finds out */
    return 0;
}

bool suspects_blame(Suspects *suspects, const Address *host, uint64_t now_ns, uint64_t wait_ns)
{
    Suspect *suspect = find(suspects, host);
    bool is_new = !suspect;

    if (is_new) {
        if (suspects->n >= SUSPECTS_MAX) {
            ListNode *oldest = list_first(&suspects->ages);

            CHECK(oldest); /* a full table has one */
            forget(suspects, list_entry(oldest, Suspect, age));
        }
        suspect = xcalloc(1, sizeof(*suspect));
        suspect->host = *host;
        suspect->host.port = 0;
        hmap_insert(&suspects->hosts, &suspect->node, hash(suspects, host));
        suspects->n++;
    }
    list_remove(&suspect->age);
    list_push_back(&suspects->ages, &suspect->age);
    suspect->until_ns = now_ns + wait_ns;
    return is_new;
}

void suspects_clear(Suspects *suspects, const Address *host)
{
    Suspect *suspect = find(suspects, host);

    if (suspect) {
        forget(suspects, suspect);
    }
}
