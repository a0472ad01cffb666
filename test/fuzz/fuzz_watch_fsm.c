/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Any bytes as the body of a watch: however they are cut, the same events, the same version and the
 * same end come out. The first byte seeds the cuts; its top bit makes the body a streamed list.
 */
#include "base/clock.h"
#include "kube/watch.h"
#include "test/fuzz/fuzz.h"

typedef struct Run {
    KubeWatch watch;
    StrBuf log;
    int result;
    KubeError error;
} Run;

static void on_event(KubeWatch *watch, KubeWatchEvent event, KubeObj *obj)
{
    Run *run = container_of(watch, Run, watch);

    CHECK(!obj || (obj->name.len > 0 && obj->ns.len > 0 && str_is_utf8(obj->name)));
    strbuf_printf(&run->log, "%d " STR_FMT " " STR_FMT "\n", (int)event,
                  STR_ARG(obj ? obj->name : STR("")), STR_ARG(obj ? obj->rv_text : STR("")));
}

static void run_init(Run *run, bool stream)
{
    KubeWatchAction action;
    Rng rng;

    *run = (Run){.result = 0};
    rng_init(&rng, 1);
    strbuf_init(&run->log, 16u << 20);
    kube_watch_init(&run->watch, kube_kind(KUBE_POD), rng, on_event);
    if (stream) {
        kube_watch_stream(&run->watch);
        kube_watch_next(&run->watch, NS_PER_S, &action);
        CHECK(action.kind == KUBE_WATCH_DO_STREAM);
        return;
    }
    kube_watch_next(&run->watch, NS_PER_S, &action);
    kube_watch_on_page(&run->watch, STR("1"), STR(""), NS_PER_S);
    kube_watch_next(&run->watch, NS_PER_S, &action);
    CHECK(action.kind == KUBE_WATCH_DO_WATCH);
}

static void run_feed(Run *run, Str chunk)
{
    if (run->result == 0) {
        run->result = kube_watch_on_data(&run->watch, chunk, &run->error);
    }
}

static void run_end(Run *run)
{
    KubeWatchAction action;

    if (run->result < 0) {
        CHECK(run->error.reason != KUBE_REASON_NONE && run->error.msg[0]);
        kube_watch_on_fail(&run->watch, &run->error, 2 * NS_PER_S);
    } else {
        kube_watch_on_eof(&run->watch, 2 * NS_PER_S);
    }
    kube_watch_next(&run->watch, 10000 * NS_PER_S, &action);
    if (action.kind == KUBE_WATCH_DO_PROBE) { /* between two watches: a server that is not behind */
        kube_watch_on_probe(&run->watch, STR("18446744073709551615"), 0, 10000 * NS_PER_S);
        kube_watch_next(&run->watch, 10000 * NS_PER_S, &action);
    }
    CHECK(action.kind == KUBE_WATCH_DO_WATCH || action.kind == KUBE_WATCH_DO_LIST);
    strbuf_printf(&run->log, "end %d %d " STR_FMT "\n", run->result, (int)action.kind,
                  STR_ARG(kube_watch_rv(&run->watch)));
}

static void run_deinit(Run *run)
{
    kube_watch_deinit(&run->watch);
    strbuf_deinit(&run->log);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    Run whole;
    Run cut;
    Rng rng;
    bool stream = size > 0 && data[0] >= 0x80;
    Str text = size > 0 ? fuzz_str(data + 1, size - 1) : STR("");

    rng_init(&rng, size > 0 ? data[0] : 0);
    run_init(&whole, stream);
    run_init(&cut, stream);
    run_feed(&whole, text);
    while (text.len > 0) {
        size_t n = 1 + rng_below(&rng, rng_below(&rng, 4) ? 8 : 400);

        run_feed(&cut, str_take(text, n));
        text = str_drop(text, n < text.len ? n : text.len);
    }
    run_end(&whole);
    run_end(&cut);
    CHECK(str_eq(strbuf_str(&whole.log), strbuf_str(&cut.log)));
    run_deinit(&whole);
    run_deinit(&cut);
    return 0;
}
