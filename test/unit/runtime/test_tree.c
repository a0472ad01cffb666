/* SPDX-License-Identifier: Apache-2.0 */
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "runtime/exec/tree.h"
#include "test/harness/t.h"

T_TEST(tree_parses_stat_lines)
{
    TreeProc p = {0};

    T_CHECK(tree_parse_stat("12 (sh) S 7 12 12 0\n", &p));
    T_CHECK(p.pid == 12 && p.parent == 7 && p.state == 'S');
    T_EQ_INT(p.session, 12);
    T_CHECK(tree_parse_stat("13 (a) b) R (x) Z 1 5 6", &p));
    T_CHECK(p.pid == 13 && p.parent == 1 && p.state == 'Z' && p.session == 6);
    T_CHECK(!tree_parse_stat("", &p));
    T_CHECK(!tree_parse_stat("12 (sh", &p));
    T_CHECK(!tree_parse_stat("12 (sh)", &p));
    T_CHECK(!tree_parse_stat("12 (sh) S", &p));
    T_CHECK(!tree_parse_stat("12 (sh) S 1 2", &p));
    T_CHECK(!tree_parse_stat("x (sh) S 1 2 3", &p));
    T_EQ_INT(p.pid, 13);
}

T_TEST(tree_finds_and_signals_descendants)
{
    AUTO(tree) Tree tree = {0};
    int ready[2], status;
    char byte;
    pid_t child;

    T_OK(pipe(ready));
    child = fork();
    if (child == 0) {
        fork(); /* parent and child both report and wait */
        (void)!write(ready[1], "x", 1);
        for (;;) {
            pause();
        }
    }
    T_EQ_INT(read(ready[0], &byte, 1), 1);
    T_EQ_INT(read(ready[0], &byte, 1), 1);
    T_OK(tree_scan(&tree, getpid()));
    T_EQ_INT(tree_alive(&tree), 2);
    T_EQ_INT(tree_signal(&tree, SIGKILL, &child, 1), 1); /* all but the child itself */
    T_OK(kill(child, SIGKILL));
    T_EQ_INT(waitpid(child, &status, 0), child);
    for (int i = 0; i < 100 && tree_alive(&tree) > 0; i++) {
        usleep(10000);
        T_OK(tree_scan(&tree, getpid()));
    }
    T_EQ_INT(tree_alive(&tree), 0);
    close(ready[0]);
    close(ready[1]);
}
