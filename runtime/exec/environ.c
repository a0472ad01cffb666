/* SPDX-License-Identifier: Apache-2.0 */
#include "runtime/exec/environ.h"

#include <errno.h>

#include "base/mem.h"

bool environ_name_ok(Str name)
{
    return name.len > 0 && str_find(name, '=') < 0 && str_find(name, '\0') < 0;
}

int environ_inherit(Argv *env, char *const *parent)
{
    for (; *parent; parent++) {
        Str entry = str_from(*parent);

        if (!str_starts(entry, STR("SANDBOX_")) && argv_push(env, entry) < 0) {
            return -E2BIG;
        }
    }
    return 0;
}

static char **find(const Argv *env, Str name)
{
    for (size_t i = 0; i < env->v.len; i++) {
        const char *entry = env->v.ptr[i];

        if (strncmp(entry, name.ptr, name.len) == 0 && entry[name.len] == '=') {
            return &env->v.ptr[i];
        }
    }
    return NULL;
}

int environ_set(Argv *env, Str name, Str value)
{
    char **slot = find(env, name);
    size_t size = name.len + 1 + value.len;
    AUTO(mem) char *entry = xmalloc(size + 1);

    memcpy(entry, name.ptr, name.len);
    entry[name.len] = '=';
    memcpy(entry + name.len + 1, value.len ? value.ptr : "", value.len);
    entry[size] = '\0';
    if (slot) {
        free(*slot);
        *slot = TAKE(entry);
        return 0;
    }
    return argv_push(env, (Str){entry, size});
}

Str environ_get(const Argv *env, Str name)
{
    char **slot = find(env, name);

    return slot ? str_from(*slot + name.len + 1) : STR_NULL;
}
