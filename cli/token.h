/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
#include <stdio.h>

/* sandboxctl token mint|inspect|keygen: scoped tokens, offline. Exit codes as in verb.h. */
int token_verb(int argc, char **argv);
void token_usage(FILE *out);
