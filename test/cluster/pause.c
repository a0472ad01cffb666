/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The sandbox container of every pod on the test node: holds the pod's namespaces, reaps what is
 * left to it in a shared process namespace, ends at once when told to. Static, so that its image
 * is this one file.
 */
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

int main(void)
{
    sigset_t set;
    int signal_number = 0;

    (void)sigemptyset(&set);
    (void)sigaddset(&set, SIGTERM);
    (void)sigaddset(&set, SIGINT);
    (void)sigaddset(&set, SIGCHLD);
    (void)sigprocmask(SIG_BLOCK, &set, NULL);
    while (sigwait(&set, &signal_number) == 0) {
        if (signal_number != SIGCHLD) {
            return 0;
        }
        while (waitpid(-1, NULL, WNOHANG) > 0) {
        }
    }
    return 1;
}
