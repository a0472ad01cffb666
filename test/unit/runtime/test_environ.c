/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/mem.h"
#include "runtime/exec/environ.h"
#include "runtime/exec/fds.h"
#include "runtime/exec/lookup.h"
#include "test/harness/t.h"

T_TEST(environ_is_inherited_without_our_own)
{
    static char path[] = "PATH=/bin", base[] = "SANDBOX_BASE_DIR=/x", a[] = "A=1=2";
    char *parent[] = {path, base, a, NULL};
    AUTO(argv) Argv env = {0};

    T_OK(environ_inherit(&env, parent));
    T_EQ_INT(argv_len(&env), 2);
    T_EQ_STR(environ_get(&env, STR("A")), "1=2");
    T_CHECK(environ_get(&env, STR("SANDBOX_BASE_DIR")).ptr == NULL);
    T_CHECK(environ_get(&env, STR("PAT")).ptr == NULL);
    T_OK(environ_set(&env, STR("A"), STR("new")));
    T_OK(environ_set(&env, STR("SANDBOX_X"), STR("")));
    T_EQ_INT(argv_len(&env), 3);
    T_EQ_STR(environ_get(&env, STR("A")), "new");
    T_EQ_STR(environ_get(&env, STR("SANDBOX_X")), "");
}

T_TEST(environ_names)
{
    T_CHECK(environ_name_ok(STR("A")) && environ_name_ok(STR("with space")));
    T_CHECK(!environ_name_ok(STR("")) && !environ_name_ok(STR("A=")) &&
            !environ_name_ok(STR("A\0")));
}

T_TEST(lookup_like_exec)
{
    AUTO(fd) int cwd = open(t_tmpdir(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    AUTO(mem) char *found = NULL, *slash = NULL, *relative = NULL;

    T_OK(mkdirat(cwd, "bin", 0755));
    T_OK(mkdirat(cwd, "bin/adir", 0755));
    close(openat(cwd, "bin/plain", O_WRONLY | O_CREAT, 0644));
    close(openat(cwd, "bin/tool", O_WRONLY | O_CREAT, 0755));
    T_OK(lookup_program(STR("sh"), STR("/nonexistent:/bin"), cwd, &found));
    T_EQ_STR(found, "/bin/sh");
    T_OK(lookup_program(STR("./x/y"), STR("/bin"), cwd, &slash));
    T_EQ_STR(slash, "./x/y");
    T_OK(lookup_program(STR("tool"), STR("bin:/bin"), cwd, &relative));
    T_EQ_STR(relative, "bin/tool");
    T_EQ_INT(lookup_program(STR("nope"), STR("/bin:/usr/bin"), cwd, &found), -ENOENT);
    T_EQ_INT(lookup_program(STR("nope"), STR_NULL, cwd, &found), -ENOENT);
    T_EQ_INT(lookup_program(STR("nope"), STR(""), cwd, &found), -ENOENT);
    T_EQ_INT(lookup_program(STR(""), STR("/bin"), cwd, &found), -ENOENT);
    T_EQ_INT(lookup_program(STR("plain"), STR("bin:/bin"), cwd, &found), -EACCES);
    T_EQ_INT(lookup_program(STR("adir"), STR("/bin:bin"), cwd, &found), -EACCES);
    T_EQ_STR(found, "/bin/sh");
}
