/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * The environment of a command: the container's, less every SANDBOX_* variable (those configure
 * this program), plus what the request gives. Names and values are checked by the caller.
 */
#include "base/str.h"
#include "runtime/exec/shlex.h"

/* True when `name` may be the name of a variable: not empty, no '=', no NUL. */
bool environ_name_ok(Str name);

/* Appends `parent` ("NAME=value" strings, NULL-terminated) without SANDBOX_*. */
int environ_inherit(Argv *env, char *const *parent);
/* Sets or replaces one variable; -E2BIG beyond ARGV_MAX. */
int environ_set(Argv *env, Str name, Str value);
/* Value of a variable, or STR_NULL. */
Str environ_get(const Argv *env, Str name);
