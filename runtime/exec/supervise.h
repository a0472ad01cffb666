/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * One small process between this program and each command: a fork without exec that is the
 * subreaper of the command's tree. Whatever the command starts stays below it, so the tree can be
 * killed whole while the main loop serves others, and a tree never mixes with another command's.
 *
 * The supervisor starts the command, reports over a SOCK_SEQPACKET socket and waits for orders.
 * When the socket closes without an order, the main process is gone and the tree is killed.
 *
 *     main                    supervisor
 *       <- STARTED pid | FAILED errno
 *       <- EXITED wait-status                the command itself has ended
 *       -> RELEASE                           processes left behind may live on
 *       -> KILL                              SIGKILL to all of the tree
 *       <- KILLED survivors                  then it ends
 */
#include <stdint.h>
#include <sys/types.h>

typedef enum SuperviseKind {
    SUPERVISE_STARTED, /* value: pid of the command */
    SUPERVISE_FAILED,  /* value: errno of exec */
    SUPERVISE_EXITED,  /* value: status as from waitpid */
    SUPERVISE_KILLED,  /* value: processes still alive (unkillable) */
    SUPERVISE_RELEASE,
    SUPERVISE_KILL,
    SUPERVISE_KIND_MAX_,
} SuperviseKind;

typedef struct SuperviseMessage {
    int32_t kind;
    int32_t value;
} SuperviseMessage;

typedef struct SuperviseSpec {
    const char *program; /* path; relative to cwd_fd */
    char *const *argv;
    char *const *envp;
    int cwd_fd;
    int stdin_fd;
    int stdout_fd;
    int stderr_fd;
} SuperviseSpec;

/* Forks. 0 with the pid and our end of the socket, or -errno. The spec's descriptors stay open. */
int supervise_start(const SuperviseSpec *spec, pid_t *ret_pid, int *ret_socket);
