/* SPDX-License-Identifier: Apache-2.0 */
#include "runtime/exec/tree.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "runtime/exec/fds.h"

static bool parse_pid(const char **at, pid_t *ret)
{
    char *end;
    long value = strtol(*at, &end, 10);

    if (end == *at) {
        return false;
    }
    *at = end;
    *ret = (pid_t)value;
    return true;
}

bool tree_parse_stat(const char *line, TreeProc *ret)
{
    TreeProc proc = {0};
    const char *close = strrchr(line, ')');
    pid_t group;

    /* PID (NAME) STATE PPID PGRP SESSION ...: only the last parenthesis ends the name. */
    if (!parse_pid(&line, &proc.pid) || !close || close[1] != ' ' || close[2] == '\0' ||
        close[3] != ' ') {
        return false;
    }
    proc.state = close[2];
    close += 4;
    if (!parse_pid(&close, &proc.parent) || !parse_pid(&close, &group) ||
        !parse_pid(&close, &proc.session)) {
        return false;
    }
    *ret = proc;
    return true;
}

static bool read_proc(int proc_fd, const char *name, TreeProc *ret)
{
    char path[64], line[512];
    AUTO(fd) int fd = -1;
    ssize_t n;

    snprintf(path, sizeof(path), "%.32s/stat", name);
    fd = openat(proc_fd, path, O_RDONLY | O_CLOEXEC);
    if (fd < 0) {
        return false; /* ended since the directory was read */
    }
    n = read(fd, line, sizeof(line) - 1);
    if (n <= 0) {
        return false;
    }
    line[n] = '\0';
    return tree_parse_stat(line, ret);
}

static int by_pid(const void *a, const void *b)
{
    pid_t left = ((const TreeProc *)a)->pid, right = ((const TreeProc *)b)->pid;

    return (left > right) - (left < right);
}

static TreeProc *find(Tree *tree, pid_t pid)
{
    TreeProc key = {.pid = pid};

    return bsearch(&key, tree->procs.ptr, tree->procs.len, sizeof(key), by_pid);
}

/* Pids may wrap around, so parents are not always before children: repeat until nothing changes. */
static void mark(Tree *tree, pid_t root)
{
    for (bool changed = true; changed;) {
        changed = false;
        vec_foreach (&tree->procs, it) {
            TreeProc *parent;

            if (it->member || it->pid == root) {
                continue;
            }
            parent = find(tree, it->parent);
            if (it->parent == root || (parent && parent->member)) {
                it->member = changed = true;
            }
        }
    }
}

int tree_scan(Tree *tree, pid_t root)
{
    DIR *dir = opendir("/proc");
    struct dirent *entry;

    if (!dir) {
        return -errno;
    }
    tree->procs.len = 0;
    while (tree->procs.len < TREE_PROCS_MAX && (entry = readdir(dir))) {
        TreeProc proc;

        if (entry->d_name[0] >= '1' && entry->d_name[0] <= '9' &&
            read_proc(dirfd(dir), entry->d_name, &proc)) {
            vec_push(&tree->procs, proc);
        }
    }
    closedir(dir);
    if (tree->procs.len > 0) {
        qsort(tree->procs.ptr, tree->procs.len, sizeof(TreeProc), by_pid);
    }
    mark(tree, root);
    return 0;
}

static bool runs(const TreeProc *proc)
{
    return proc->state != 'Z' && proc->state != 'X';
}

static bool is_alive(const TreeProc *proc)
{
    return proc->member && runs(proc);
}

size_t tree_alive(const Tree *tree)
{
    size_t count = 0;

    for (size_t i = 0; i < tree->procs.len; i++) {
        count += is_alive(&tree->procs.ptr[i]);
    }
    return count;
}

static bool is_listed(pid_t pid, const pid_t *list, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        if (list[i] == pid) {
            return true;
        }
    }
    return false;
}

size_t tree_signal(const Tree *tree, int signo, const pid_t *except, size_t n_except)
{
    size_t count = 0;

    for (size_t i = 0; i < tree->procs.len; i++) {
        const TreeProc *proc = &tree->procs.ptr[i];

        if (is_alive(proc) && !is_listed(proc->pid, except, n_except) &&
            kill(proc->pid, signo) == 0) {
            count++;
        }
    }
    return count;
}

void tree_deinit(Tree *tree)
{
    vec_free(&tree->procs);
}

static size_t kill_session_once(const Tree *tree, pid_t session)
{
    size_t count = 0;

    for (size_t i = 0; i < tree->procs.len; i++) {
        const TreeProc *proc = &tree->procs.ptr[i];

        if (proc->session == session && runs(proc)) {
            kill(proc->pid, SIGKILL);
            count++;
        }
    }
    return count;
}

size_t tree_kill_session(pid_t session)
{
    AUTO(tree) Tree tree = {0};
    struct timespec pause = {.tv_nsec = 200000};
    size_t found = 1;

    for (int i = 0; i < TREE_SESSION_SCANS && found > 0; i++) {
        if (tree_scan(&tree, getpid()) < 0) {
            break;
        }
        found = kill_session_once(&tree, session);
        if (found > 0) {
            nanosleep(&pause, NULL);
        }
    }
    return found;
}

static uint64_t now_ns(void)
{
    struct timespec ts;

    clock_gettime(CLOCK_MONOTONIC, &ts);
    return (uint64_t)ts.tv_sec * 1000000000u + (uint64_t)ts.tv_nsec;
}

static void collect(pid_t leader, int *ret_status, bool *ret_seen)
{
    int status;

    for (pid_t pid; (pid = waitpid(-1, &status, WNOHANG)) > 0;) {
        if (pid == leader) {
            *ret_seen = true;
            *ret_status = status;
        }
    }
}

/*
 * Direct children only, from one small file: quicker than a scan. A chain of processes that fork
 * and exit always has its living end here, and this loop is faster than its fork.
 */
static void kill_children(int children_fd, pid_t leader, int *ret_status, bool *ret_seen)
{
    char text[4096];

    for (int round = 0; round < 64; round++) {
        ssize_t n = pread(children_fd, text, sizeof(text) - 1, 0);
        char *at = text, *end;

        if (n <= 0) {
            return;
        }
        text[n] = '\0';
        for (long pid; (pid = strtol(at, &end, 10)) > 0; at = end) {
            if (*end == ' ' || *end == '\n') { /* else a number cut by the end of the buffer */
                kill((pid_t)pid, SIGKILL);
            }
        }
        collect(leader, ret_status, ret_seen);
    }
}

size_t tree_kill_own(pid_t leader, int *ret_leader_status, bool *ret_leader_seen)
{
    AUTO(tree) Tree tree = {0};
    AUTO(fd) int children_fd = -1;
    uint64_t deadline = now_ns() + TREE_KILL_NS;
    struct timespec pause = {.tv_nsec = 500000};
    char path[64];
    size_t alive;

    snprintf(path, sizeof(path), "/proc/self/task/%d/children", (int)getpid());
    children_fd = open(path, O_RDONLY | O_CLOEXEC);
    if (leader > 0) {
        kill(-leader, SIGKILL); /* the kernel stops forks of a group while it signals the group */
    }
    for (;;) {
        if (children_fd >= 0) {
            kill_children(children_fd, leader, ret_leader_status, ret_leader_seen);
        }
        collect(leader, ret_leader_status, ret_leader_seen);
        if (tree_scan(&tree, getpid()) < 0) {
            return 0;
        }
        alive = tree_alive(&tree);
        if (alive == 0 || now_ns() > deadline) {
            break;
        }
        tree_signal(&tree, SIGKILL, NULL, 0);
        collect(leader, ret_leader_status, ret_leader_seen);
        nanosleep(&pause, NULL);
        pause.tv_nsec = pause.tv_nsec < 16000000 ? pause.tv_nsec * 2 : pause.tv_nsec;
    }
    collect(leader, ret_leader_status, ret_leader_seen);
    return alive;
}
