/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * All descendants of a process, read from /proc, and a signal to each. A process cannot leave the
 * tree of its subreaper: a child of a dead parent is handed to the subreaper, whatever sessions and
 * groups it made. So "subreaper plus walk" finds also what a daemon hid with setsid and two forks.
 */
#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "base/vec.h"

typedef struct TreeProc {
    pid_t pid;
    pid_t parent;
    pid_t session;
    char state; /* 'Z' zombie, 'X' dead, as in /proc/PID/stat */
    bool member;
} TreeProc;

typedef struct Tree {
    VEC(TreeProc) procs;
} Tree;

#define TREE_PROCS_MAX 65536 /* processes read in one scan; more are found by the next */

/* Reads all processes and marks the descendants of `root`, itself excluded. 0 or -errno. */
int tree_scan(Tree *tree, pid_t root);
/* Members that are not dead yet. */
size_t tree_alive(const Tree *tree);
/* Sends `signo` to every living member but those in `except`. Returns how many got it. */
size_t tree_signal(const Tree *tree, int signo, const pid_t *except, size_t n_except);
void tree_deinit(Tree *tree);

/*
 * Kills all processes of a session, forking ones included; for a tree that has lost its subreaper.
 * Returns how many were alive at the last look.
 */
#define TREE_SESSION_SCANS 50
size_t tree_kill_session(pid_t session);

/* Parses a line of /proc/PID/stat. The name in parentheses may hold anything. False = malformed. */
bool tree_parse_stat(const char *line, TreeProc *ret);

/*
 * Kills all descendants of the calling process, which must be a subreaper (or PID 1) and the only
 * one that waits for its children. `leader` is a child not yet waited for, whose process group goes
 * first, or 0; when it is collected on the way, its wait status is stored and *ret_leader_seen is
 * set. Returns how many were still alive when time ran out.
 */
#define TREE_KILL_NS (5 * 1000000000ull)
size_t tree_kill_own(pid_t leader, int *ret_leader_status, bool *ret_leader_seen);

DEFINE_AUTO(tree, Tree, tree_deinit)
