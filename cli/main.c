/* SPDX-License-Identifier: Apache-2.0 */
/* sandboxctl: one file a verb, found in a table. */
#include <stdio.h>
#include <string.h>

#include "base/attr.h"
#include "base/version.h"
#include "cli/token.h"
#include "cli/verb.h"

static const struct {
    const char *name;
    int (*run)(int argc, char **argv);
} verbs[] = {
    {"token", token_verb},
};

static void usage(FILE *out)
{
    fputs("usage: sandboxctl VERB [flags]\n\n"
          "  token mint      print a scoped token for one sandbox\n"
          "  token inspect   show a token's claims and whether it verifies\n"
          "  token keygen    make a key pair for tokens v2\n\n"
          "sandboxctl --version prints the version.\n\n",
          out);
    token_usage(out);
}

int main(int argc, char **argv)
{
    const char *word = argc > 1 ? argv[1] : "";

    if (strcmp(word, "--version") == 0) {
        version_print(stdout, "sandboxctl");
        return VERB_OK;
    }
    if (strcmp(word, "--help") == 0 || strcmp(word, "-h") == 0) {
        usage(stdout);
        return VERB_OK;
    }
    for (size_t i = 0; i < ARRAY_LEN(verbs); i++) {
        if (strcmp(verbs[i].name, word) == 0) {
            return verbs[i].run(argc - 1, argv + 1);
        }
    }
    usage(stderr);
    return VERB_USAGE;
}
