/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * The only place of the main process that waits for children. PID 1 (or the subreaper) inherits
 * every orphan of the sandbox, so it takes whatever has ended: children with an entry get their
 * callback, strangers are just collected.
 *
 * An entry is a field of its owner. Removing it before the child ends is fine: the child is then
 * collected as a stranger.
 */
#include <sys/types.h>

#include "base/hmap.h"
#include "base/loop.h"

typedef struct Reaper Reaper;
typedef struct ReapEntry ReapEntry;
/* status: as from waitpid. The entry is already removed. */
typedef void (*ReapFn)(ReapEntry *entry, int status);

struct ReapEntry {
    HMapNode node;
    Reaper *reaper; /* NULL = not added */
    pid_t pid;
    ReapFn fn;
};

Reaper *reaper_new(void);
Reaper *reaper_free(Reaper *reaper); /* NULL is fine; entries must be gone; returns NULL */

void reaper_add(Reaper *reaper, ReapEntry *entry, pid_t pid, ReapFn fn);
void reaper_remove(ReapEntry *entry); /* does nothing when not added */
/* Collects all that have ended. To be called on SIGCHLD. Returns how many. */
size_t reaper_collect(Reaper *reaper);

DEFINE_AUTO_PTR(reaper, Reaper, reaper_free)
