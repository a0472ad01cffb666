/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Replays files through a fuzz target without libFuzzer, so that gcc and every sanitizer can run
 * the corpora as a test: fuzz_X DIR|FILE... Each file is handed over as a heap copy of exactly its
 * size and counts as passed when the target returns; a target that disagrees aborts, which names
 * its file. Ends with "N passed, N failed".
 */
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/mem.h"
#include "test/fuzz/fuzz.h"

static int passed, failed;

static void replay_file(const char *path)
{
    FILE *file = fopen(path, "re");
    AUTO(mem) uint8_t *data = xmalloc(FUZZ_INPUT_MAX);

    if (!file) {
        printf("%s: cannot be read\n", path);
        failed++;
        return;
    }
    size_t len = fread(data, 1, FUZZ_INPUT_MAX, file);
    fclose(file);
    AUTO(mem) uint8_t *copy = xmemdup(data, len);
    fprintf(stderr, "%s\n", path); /* the last line before a crash */
    LLVMFuzzerTestOneInput(copy, len);
    passed++;
}

static int not_hidden(const struct dirent *entry)
{
    return entry->d_name[0] != '.';
}

static void replay(const char *path)
{
    struct dirent **names = NULL;
    struct stat info;

    if (stat(path, &info) == 0 && S_ISREG(info.st_mode)) {
        replay_file(path);
        return;
    }
    int n = scandir(path, &names, not_hidden, alphasort);
    if (n < 0) {
        printf("%s: cannot be listed\n", path);
        failed++;
    }
    for (int i = 0; i < n; i++) {
        AUTO(mem) char *below = xasprintf("%s/%s", path, names[i]->d_name);
        replay_file(below);
        free(names[i]);
    }
    free(names);
}

int main(int argc, char **argv)
{
    for (int i = 1; i < argc; i++) {
        replay(argv[i]);
    }
    if (passed + failed == 0) {
        printf("nothing to replay\n");
        failed = 1;
    }
    printf("%d passed, %d failed\n", passed, failed);
    return failed > 0;
}
