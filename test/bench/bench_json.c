/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What one Pod watch event costs: JDoc with the projection an informer uses, JDoc whole, Jansson.
 * Prints numbers, judges nothing: bench_json [FILE [ROUNDS]].
 */
#include <jansson.h>
#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/check.h"
#include "base/clock.h"
#include "json/doc.h"
#include "json/scan.h"

#define ROUNDS_DEFAULT 20000
#define TEXT_MAX (1 << 20)

static const JProj EVENT[] = {
    JPROJ_KEEP("type"),
    JPROJ_TREE("object",
               JPROJ_TREE("metadata", JPROJ_KEEP("name"), JPROJ_KEEP("namespace"),
                          JPROJ_KEEP("uid"), JPROJ_KEEP("resourceVersion"), JPROJ_KEEP("labels"),
                          JPROJ_KEEP("annotations"), JPROJ_KEEP("ownerReferences"),
                          JPROJ_KEEP("creationTimestamp"), JPROJ_KEEP("deletionTimestamp")),
               JPROJ_TREE("spec", JPROJ_KEEP("nodeName")),
               JPROJ_TREE("status", JPROJ_KEEP("phase"), JPROJ_KEEP("podIP"), JPROJ_KEEP("podIPs"),
                          JPROJ_TREE("conditions", JPROJ_KEEP("type"), JPROJ_KEEP("status"),
                                     JPROJ_KEEP("reason"), JPROJ_KEEP("message"),
                                     JPROJ_KEEP("lastTransitionTime")))),
    JPROJ_END,
};

static size_t run_jdoc(Str text, const JProj *proj)
{
    AUTO(jdoc) JDoc *doc = NULL;

    CHECK(jdoc_parse(text, proj, TEXT_MAX, &doc, NULL) == 0);
    return jdoc_size(doc);
}

static size_t run_projected(Str text)
{
    return run_jdoc(text, EVENT);
}

static size_t run_whole(Str text)
{
    return run_jdoc(text, NULL);
}

static size_t run_skip(Str text)
{
    JScan scan;

    jscan_init(&scan, text, JSON_DEPTH_MAX);
    CHECK(jscan_skip(&scan, NULL) == 0);
    return 0;
}

static size_t run_jansson(Str text)
{
    size_t before = mallinfo2().uordblks;
    json_t *value = json_loadb(text.ptr, text.len, 0, NULL);

    CHECK(value);
    size_t used = mallinfo2().uordblks - before;
    json_decref(value);
    return used;
}

static double measure(const char *name, size_t (*run)(Str), Str text, int rounds)
{
    const Clock *clock = clock_system();
    size_t size = run(text);
    uint64_t best = UINT64_MAX;

    for (int batch = 0; batch < 10; batch++) { /* the best batch: least disturbed by neighbours */
        uint64_t from = clock_mono_ns(clock);
        for (int i = 0; i < rounds / 10; i++) {
            run(text);
        }
        uint64_t spent = clock_mono_ns(clock) - from;
        best = spent < best ? spent : best;
    }
    double us = (double)best / 1e3 / (rounds / 10);
    printf("%-16s %8.2f us %8.0f MB/s %8zu bytes kept\n", name, us, (double)text.len / us, size);
    return us;
}

int main(int argc, char **argv)
{
    const char *path = argc > 1 ? argv[1] : "test/golden/pod-event.json";
    int rounds = argc > 2 ? (int)strtol(argv[2], NULL, 10) : ROUNDS_DEFAULT;
    FILE *file = fopen(path, "re");
    static char text[TEXT_MAX];

    if (!file || rounds < 10) {
        fprintf(stderr, "usage: bench_json [FILE [ROUNDS]]   (cannot read %s?)\n", path);
        return 1;
    }
    Str event = {text, fread(text, 1, sizeof(text), file)};
    fclose(file);
    printf("%s, %zu bytes, %d rounds\n", path, event.len, rounds);
    measure("scan only", run_skip, event, rounds);
    double projected = measure("jdoc, projected", run_projected, event, rounds);
    measure("jdoc, whole", run_whole, event, rounds);
    double jansson = measure("jansson", run_jansson, event, rounds);
    printf("jansson / jdoc projected = %.1f\n", jansson / projected);
    return 0;
}
