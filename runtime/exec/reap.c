/* SPDX-License-Identifier: Apache-2.0 */
#include "runtime/exec/reap.h"

#include <stdlib.h>
#include <sys/wait.h>

#include "base/mem.h"

struct Reaper {
    HMap entries; /* by pid */
};

Reaper *reaper_new(void)
{
    Reaper *reaper = xcalloc(1, sizeof(*reaper));

    hmap_init(&reaper->entries);
    return reaper;
}

Reaper *reaper_free(Reaper *reaper)
{
    if (reaper) {
        hmap_deinit(&reaper->entries);
        free(reaper);
    }
    return NULL;
}

void reaper_add(Reaper *reaper, ReapEntry *entry, pid_t pid, ReapFn fn)
{
    entry->reaper = reaper;
    entry->pid = pid;
    entry->fn = fn;
    hmap_insert(&reaper->entries, &entry->node, (uint64_t)pid);
}

void reaper_remove(ReapEntry *entry)
{
    if (entry->reaper) {
        hmap_remove(&entry->reaper->entries, &entry->node);
        entry->reaper = NULL;
    }
}

size_t reaper_collect(Reaper *reaper)
{
    size_t count = 0;
    int status;

    for (pid_t pid; (pid = waitpid(-1, &status, WNOHANG)) > 0; count++) {
        HMapNode *node = hmap_first(&reaper->entries, (uint64_t)pid);

        if (node) {
            ReapEntry *entry = container_of(node, ReapEntry, node);

            reaper_remove(entry);
            entry->fn(entry, status);
        }
    }
    return count;
}
