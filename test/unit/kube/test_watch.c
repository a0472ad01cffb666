/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <stdio.h>

#include "base/clock.h"
#include "kube/watch.h"
#include "test/harness/t.h"

typedef struct Rig {
    KubeWatch watch;
    StrBuf log;
    uint64_t now;
} Rig;

static void on_event(KubeWatch *watch, KubeWatchEvent event, KubeObj *obj)
{
    static const char *const NAMES[] = {"INIT", "i", "DONE", "+", "-", "REWIND"};
    Rig *rig = container_of(watch, Rig, watch);

    strbuf_printf(&rig->log, "%s" STR_FMT " ", NAMES[event], STR_ARG(obj ? obj->name : STR("")));
}

static void rig_init(Rig *rig)
{
    Rng rng;

    rng_init(&rng, 3);
    rig->now = 1000 * NS_PER_S;
    strbuf_init(&rig->log, 1u << 20);
    kube_watch_init(&rig->watch, kube_kind(KUBE_POD), rng, on_event);
}

static void rig_deinit(Rig *rig)
{
    kube_watch_deinit(&rig->watch);
    strbuf_deinit(&rig->log);
}

DEFINE_AUTO(rig, Rig, rig_deinit)

static KubeWatchAction next(Rig *rig)
{
    KubeWatchAction action;

    kube_watch_next(&rig->watch, rig->now, &action);
    return action;
}

/* Waits out a back-off and gives what comes then. */
static KubeWatchAction next_after_wait(Rig *rig, uint64_t *ret_wait)
{
    KubeWatchAction action = next(rig);

    *ret_wait = 0;
    if (action.kind == KUBE_WATCH_DO_WAIT) {
        T_CHECK(action.at_ns > rig->now);
        *ret_wait = action.at_ns - rig->now;
        rig->now = action.at_ns;
        action = next(rig);
    }
    return action;
}

static void item(Rig *rig, const char *name)
{
    AUTO(kube_obj) KubeObj *obj = NULL;
    char text[128];

    snprintf(text, sizeof(text), "{\"metadata\":{\"name\":\"%s\",\"namespace\":\"n\"}}", name);
    T_OK(kube_obj_from_text(kube_kind(KUBE_POD), str_from(text), &obj, NULL));
    kube_watch_on_item(&rig->watch, obj);
}

#define EVENT(type, name, rv)                                                                      \
    "{\"type\":\"" type "\",\"object\":{\"kind\":\"Pod\",\"metadata\":{\"name\":\"" name           \
    "\",\"namespace\":\"n\",\"resourceVersion\":\"" rv "\"}}}\n"
#define BOOKMARK(rv)                                                                               \
    "{\"type\":\"BOOKMARK\",\"object\":{\"kind\":\"Pod\",\"metadata\":{\"resourceVersion\":\"" rv  \
    "\",\"creationTimestamp\":null}}}\n"
#define GONE                                                                                       \
    "{\"type\":\"ERROR\",\"object\":{\"kind\":\"Status\",\"code\":410,\"reason\":\"Expired\","     \
    "\"message\":\"too old\"}}\n"

/* Up to a running watch at version 10. */
static void start(Rig *rig)
{
    KubeWatchAction action;

    rig_init(rig);
    action = next(rig);
    T_EQ_INT(action.kind, KUBE_WATCH_DO_LIST);
    T_EQ_STR(action.cont, "");
    T_EQ_INT(next(rig).kind, KUBE_WATCH_DO_NOTHING);
    item(rig, "a");
    kube_watch_on_page(&rig->watch, STR("10"), STR(""), rig->now);
    action = next(rig);
    T_EQ_INT(action.kind, KUBE_WATCH_DO_WATCH);
    T_EQ_STR(action.rv, "10");
    T_CHECK(action.timeout_s >= 300 && action.timeout_s <= 600);
    T_EQ_STR(strbuf_str(&rig->log), "INIT ia DONE ");
    strbuf_clear(&rig->log);
}

static int data(Rig *rig, const char *text, KubeError *error)
{
    return kube_watch_on_data(&rig->watch, str_from(text), error);
}

T_TEST(watch_lists_in_pages_and_starts_from_the_first_version)
{
    AUTO(rig) Rig rig;
    KubeWatchAction action;

    rig_init(&rig);
    next(&rig);
    item(&rig, "a");
    kube_watch_on_page(&rig.watch, STR("10"), STR("more"), rig.now);
    action = next(&rig);
    T_EQ_INT(action.kind, KUBE_WATCH_DO_LIST);
    T_EQ_STR(action.cont, "more");
    item(&rig, "b");
    kube_watch_on_page(&rig.watch, STR("12"), STR(""), rig.now);
    T_EQ_STR(strbuf_str(&rig.log), "INIT ia ib DONE ");
    T_EQ_STR(next(&rig).rv, "10");
}

T_TEST(watch_events_and_bookmarks)
{
    AUTO(rig) Rig rig;
    KubeError error;

    start(&rig);
    T_OK(data(&rig, EVENT("ADDED", "b", "11") EVENT("MODIFIED", "b", "12"), &error));
    T_OK(data(&rig, EVENT("DELETED", "b", "13") "\n\r\n" BOOKMARK("50"), &error));
    T_EQ_STR(strbuf_str(&rig.log), "+b +b -b ");
    T_EQ_STR(kube_watch_rv(&rig.watch), "50");
    rig.now += 400 * NS_PER_S;
    kube_watch_on_eof(&rig.watch, rig.now);
    T_EQ_INT(next(&rig).kind, KUBE_WATCH_DO_PROBE); /* at once */
    kube_watch_on_probe(&rig.watch, STR("50"), 0, rig.now);
    T_EQ_STR(next(&rig).rv, "50");
}

T_TEST(watch_split_anywhere_gives_the_same)
{
    Str text = STR(EVENT("ADDED", "b", "11") BOOKMARK("12") EVENT("DELETED", "b", "13"));

    for (size_t i = 0; i <= text.len; i++) {
        AUTO(rig) Rig rig;
        KubeError error;

        start(&rig);
        T_OK(kube_watch_on_data(&rig.watch, str_take(text, i), &error));
        T_OK(kube_watch_on_data(&rig.watch, str_drop(text, i), &error));
        T_EQ_STR(strbuf_str(&rig.log), "+b -b ");
        T_EQ_STR(kube_watch_rv(&rig.watch), "13");
    }
}

T_TEST(watch_half_a_line_at_the_end_is_dropped)
{
    AUTO(rig) Rig rig;
    KubeError error;

    start(&rig);
    T_OK(data(&rig, EVENT("ADDED", "b", "11") "{\"type\":\"ADDED\",\"obj", &error));
    rig.now += 2 * NS_PER_S;
    kube_watch_on_eof(&rig.watch, rig.now);
    T_EQ_INT(next(&rig).kind, KUBE_WATCH_DO_PROBE);
    kube_watch_on_probe(&rig.watch, STR("11"), 0, rig.now);
    T_EQ_STR(next(&rig).rv, "11");
    T_OK(data(&rig, EVENT("ADDED", "c", "12"), &error));
    T_EQ_STR(strbuf_str(&rig.log), "+b +c ");
}

T_TEST(watch_410_lists_again)
{
    AUTO(rig) Rig rig;
    KubeError error;
    KubeWatchAction action;
    uint64_t wait;

    start(&rig);
    T_EQ_INT(data(&rig, GONE, &error), -EREMOTEIO);
    T_EQ_INT(error.reason, KUBE_REASON_GONE);
    T_EQ_STR(error.msg, "too old");
    kube_watch_on_fail(&rig.watch, &error, rig.now);
    action = next_after_wait(&rig, &wait);
    T_EQ_INT(action.kind, KUBE_WATCH_DO_LIST);
    T_CHECK(wait > 0); /* it did not live: no hot loop */
    kube_watch_on_page(&rig.watch, STR("60"), STR(""), rig.now);
    T_EQ_INT(next(&rig).kind, KUBE_WATCH_DO_WATCH);
    rig.now += 5 * NS_PER_S;
    kube_watch_on_fail(&rig.watch, &error, rig.now);
    T_EQ_INT(next(&rig).kind, KUBE_WATCH_DO_LIST); /* it did: at once */
    T_EQ_STR(strbuf_str(&rig.log), "INIT DONE INIT ");
}

T_TEST(watch_expired_continue_token_starts_over)
{
    AUTO(rig) Rig rig;
    KubeError error = {.reason = KUBE_REASON_GONE};
    KubeWatchAction action;
    uint64_t wait;

    rig_init(&rig);
    next(&rig);
    kube_watch_on_page(&rig.watch, STR("10"), STR("token"), rig.now);
    T_EQ_STR(next(&rig).cont, "token");
    kube_watch_on_fail(&rig.watch, &error, rig.now);
    action = next_after_wait(&rig, &wait);
    T_EQ_INT(action.kind, KUBE_WATCH_DO_LIST);
    T_EQ_STR(action.cont, "");
    T_EQ_STR(strbuf_str(&rig.log), "INIT INIT ");
}

T_TEST(watch_failed_page_is_asked_for_again)
{
    AUTO(rig) Rig rig;
    KubeError error = {.reason = KUBE_REASON_NETWORK};
    KubeWatchAction action;
    uint64_t wait;

    rig_init(&rig);
    next(&rig);
    kube_watch_on_page(&rig.watch, STR("10"), STR("token"), rig.now);
    next(&rig);
    kube_watch_on_fail(&rig.watch, &error, rig.now);
    action = next_after_wait(&rig, &wait);
    T_EQ_STR(action.cont, "token");
    T_CHECK(wait >= 400 * NS_PER_MS && wait <= 800 * NS_PER_MS);
}

T_TEST(watch_back_off_grows_to_its_cap_and_resets)
{
    AUTO(rig) Rig rig;
    KubeError error = {.reason = KUBE_REASON_NETWORK};
    uint64_t wait = 0;
    uint64_t most = 0;

    start(&rig);
    for (int i = 0; i < 12; i++) {
        kube_watch_on_fail(&rig.watch, &error, rig.now);
        T_EQ_INT(next_after_wait(&rig, &wait).kind, KUBE_WATCH_DO_PROBE);
        kube_watch_on_probe(&rig.watch, STR("10"), 0, rig.now);
        T_EQ_INT(next(&rig).kind, KUBE_WATCH_DO_WATCH);
        most = wait > most ? wait : most;
        T_CHECK(wait >= 400 * NS_PER_MS && wait <= 30 * NS_PER_S);
    }
    T_CHECK(most > 15 * NS_PER_S);
    rig.now += 100 * NS_PER_S;
    kube_watch_on_fail(&rig.watch, &error, rig.now);
    next_after_wait(&rig, &wait); /* a probe: what follows are probes that fail */
    T_CHECK(wait <= 800 * NS_PER_MS);
    error = (KubeError){.reason = KUBE_REASON_TOO_MANY, .retry_after_ns = 40 * NS_PER_S};
    kube_watch_on_fail(&rig.watch, &error, rig.now);
    next_after_wait(&rig, &wait);
    T_EQ_INT(wait, 40 * NS_PER_S);
    error.retry_after_ns = 4000 * NS_PER_S;
    kube_watch_on_fail(&rig.watch, &error, rig.now);
    next_after_wait(&rig, &wait);
    T_EQ_INT(wait, 300 * NS_PER_S);
}

T_TEST(watch_very_short_watches_back_off)
{
    AUTO(rig) Rig rig;
    uint64_t wait;

    start(&rig);
    kube_watch_on_eof(&rig.watch, rig.now + NS_PER_MS);
    next_after_wait(&rig, &wait);
    T_CHECK(wait >= 400 * NS_PER_MS);
}

T_TEST(watch_bad_events_cost_the_watch_then_a_list)
{
    static const char *const ROWS[] = {
        "garbage\n",
        "{}\n",
        "{\"type\":\"ADDED\"}\n",
        "{\"type\":\"ADDED\",\"object\":{}}\n",
        "{\"type\":\"ADDED\",\"object\":[]}\n",
        "{\"type\":\"MODIFIED\",\"object\":{\"metadata\":{\"name\":\"b\",\"namespace\":\"n\"}}}\n",
        "{\"type\":\"WHAT\",\"object\":{\"metadata\":{\"name\":\"b\",\"namespace\":\"n\"}}}\n",
        ("{\"type\":\"ADDED\",\"object\":{\"kind\":\"Service\",\"metadata\":{\"name\":\"b\","
         "\"namespace\":\"n\",\"resourceVersion\":\"4\"}}}\n"),
        "{\"type\":\"BOOKMARK\",\"object\":{}}\n",
        "{\"type\":\"ADDED\",\"object\":{\"metadata\":{\"name\":\"\xff\"}}}\n",
        "{\"type\":\"ERROR\"\n",
    };

    for (size_t i = 0; i < ARRAY_LEN(ROWS); i++) {
        AUTO(rig) Rig rig;
        KubeError error;
        uint64_t wait;

        t_row(ROWS[i]);
        start(&rig);
        T_OK(data(&rig, EVENT("ADDED", "x", "11"), &error));
        T_EQ_INT(data(&rig, ROWS[i], &error), -EBADMSG);
        T_EQ_INT(error.reason, KUBE_REASON_BAD_ANSWER);
        kube_watch_on_fail(&rig.watch, &error, rig.now);
        T_EQ_STR(next_after_wait(&rig, &wait).rv, "11");
        T_CHECK(wait > 0);
        T_EQ_INT(data(&rig, ROWS[i], &error), -EBADMSG);
        kube_watch_on_fail(&rig.watch, &error, rig.now);
        T_EQ_INT(next_after_wait(&rig, &wait).kind, KUBE_WATCH_DO_LIST);
    }
}

T_TEST(watch_error_without_status_is_an_error)
{
    AUTO(rig) Rig rig;
    KubeError error;

    start(&rig);
    T_EQ_INT(
        data(&rig, "{\"type\":\"ERROR\",\"object\":{\"code\":500,\"message\":\"no\"}}\n", &error),
        -EREMOTEIO);
    T_EQ_INT(error.reason, KUBE_REASON_SERVER);
    T_EQ_STR(error.msg, "no");
}

T_TEST(watch_line_limit)
{
    AUTO(rig) Rig rig;
    AUTO(strbuf) StrBuf chunk = STRBUF_INIT(1u << 17);
    KubeError error;
    int r = 0;

    start(&rig);
    while (chunk.len < (1u << 16)) {
        strbuf_append_cstr(&chunk, "aaaaaaaaaaaaaaaa");
    }
    for (size_t sent = 0; r == 0 && sent <= KUBE_WATCH_LINE_MAX; sent += chunk.len) {
        r = kube_watch_on_data(&rig.watch, strbuf_str(&chunk), &error);
    }
    T_EQ_INT(r, -EBADMSG);
    T_CONTAINS(error.msg, "longer");
}

T_TEST(watch_list_without_a_version_is_refused)
{
    AUTO(rig) Rig rig;
    char huge[KUBE_WATCH_CONT_MAX + 10];
    uint64_t wait;

    rig_init(&rig);
    next(&rig);
    kube_watch_on_page(&rig.watch, STR(""), STR(""), rig.now);
    T_EQ_INT(next_after_wait(&rig, &wait).kind, KUBE_WATCH_DO_LIST);
    memset(huge, 'a', sizeof(huge));
    kube_watch_on_page(&rig.watch, STR("5"), (Str){huge, sizeof(huge)}, rig.now);
    T_EQ_INT(next_after_wait(&rig, &wait).kind, KUBE_WATCH_DO_LIST);
    T_EQ_STR(strbuf_str(&rig.log), "INIT INIT INIT ");
}

/* ---- lists as streams ---- */

#define INITIAL_END(rv)                                                                            \
    "{\"type\":\"BOOKMARK\",\"object\":{\"kind\":\"Pod\",\"metadata\":{\"resourceVersion\":\"" rv  \
    "\",\"annotations\":{\"k8s.io/initial-events-end\":\"true\"}}}}\n"

static void stream_init(Rig *rig)
{
    rig_init(rig);
    kube_watch_stream(&rig->watch);
    T_EQ_INT(next(rig).kind, KUBE_WATCH_DO_STREAM);
}

T_TEST(watch_stream_is_list_and_watch_in_one)
{
    AUTO(rig) Rig rig;
    KubeError error;

    stream_init(&rig);
    T_OK(data(&rig, EVENT("ADDED", "b", "31") EVENT("ADDED", "a", "7"), &error));
    T_EQ_STR(kube_watch_rv(&rig.watch), ""); /* in no order of versions */
    T_OK(data(&rig, BOOKMARK("8") EVENT("DELETED", "b", "40") EVENT("MODIFIED", "a", "41"),
              &error)); /* a server may send what came in between */
    T_EQ_STR(strbuf_str(&rig.log), "INIT ib ia -b ia ");
    T_OK(data(&rig, INITIAL_END("50") EVENT("ADDED", "c", "51"), &error));
    T_EQ_STR(strbuf_str(&rig.log), "INIT ib ia -b ia DONE +c ");
    T_EQ_STR(kube_watch_rv(&rig.watch), "51");
    T_EQ_INT(next(&rig).kind, KUBE_WATCH_DO_NOTHING);
    rig.now += 400 * NS_PER_S;
    kube_watch_on_eof(&rig.watch, rig.now);
    T_EQ_INT(next(&rig).kind, KUBE_WATCH_DO_PROBE);
    kube_watch_on_probe(&rig.watch, STR("51"), 0, rig.now);
    T_EQ_STR(next(&rig).rv, "51"); /* resumed, not listed */
}

T_TEST(watch_stream_split_anywhere_gives_the_same)
{
    Str text = STR(EVENT("ADDED", "b", "11") INITIAL_END("12") EVENT("DELETED", "b", "13"));

    for (size_t i = 0; i <= text.len; i++) {
        AUTO(rig) Rig rig;
        KubeError error;

        stream_init(&rig);
        T_OK(kube_watch_on_data(&rig.watch, str_take(text, i), &error));
        T_OK(kube_watch_on_data(&rig.watch, str_drop(text, i), &error));
        T_EQ_STR(strbuf_str(&rig.log), "INIT ib DONE -b ");
        T_EQ_STR(kube_watch_rv(&rig.watch), "13");
    }
}

T_TEST(watch_refused_stream_is_a_paged_list_at_once)
{
    static const KubeReason ROWS[] = {KUBE_REASON_INVALID, KUBE_REASON_FORBIDDEN,
                                      KUBE_REASON_NOT_FOUND, KUBE_REASON_REJECTED};

    for (size_t i = 0; i < ARRAY_LEN(ROWS); i++) {
        AUTO(rig) Rig rig;
        KubeError error = {.reason = ROWS[i]};

        t_row(kube_reason_name(ROWS[i]));
        stream_init(&rig);
        T_CHECK(kube_watch_is_refusal(&rig.watch, &error));
        kube_watch_on_fail(&rig.watch, &error, rig.now);
        T_EQ_INT(next(&rig).kind, KUBE_WATCH_DO_LIST);
        T_CHECK(!kube_watch_is_refusal(&rig.watch, &error)); /* of the list it is an error */
        kube_watch_on_page(&rig.watch, STR("10"), STR(""), rig.now);
        T_EQ_STR(next(&rig).rv, "10");
        T_EQ_STR(strbuf_str(&rig.log), "INIT INIT DONE ");
    }
}

T_TEST(watch_broken_stream_backs_off_to_a_paged_list)
{
    static const KubeReason ROWS[] = {
        KUBE_REASON_NETWORK, KUBE_REASON_UNAVAILABLE, KUBE_REASON_TOO_MANY, KUBE_REASON_GONE,
        KUBE_REASON_SERVER,  KUBE_REASON_BAD_ANSWER,  KUBE_REASON_INVALID};

    for (size_t i = 0; i < ARRAY_LEN(ROWS); i++) {
        AUTO(rig) Rig rig;
        KubeError error = {.reason = ROWS[i], .retry_after_ns = 20 * NS_PER_S};
        uint64_t wait;

        t_row(kube_reason_name(ROWS[i]));
        stream_init(&rig);
        T_OK(data(&rig, EVENT("ADDED", "a", "7"), &error));
        T_CHECK(!kube_watch_is_refusal(&rig.watch, &error)); /* it had begun */
        kube_watch_on_fail(&rig.watch, &error, rig.now);
        T_EQ_INT(next_after_wait(&rig, &wait).kind, KUBE_WATCH_DO_LIST);
        T_EQ_INT(wait, 20 * NS_PER_S);
        kube_watch_on_page(&rig.watch, STR("10"), STR(""), rig.now);
        T_EQ_INT(next(&rig).kind, KUBE_WATCH_DO_WATCH);
        /* The next time it is tried again. */
        error = (KubeError){.reason = KUBE_REASON_GONE};
        kube_watch_on_fail(&rig.watch, &error, rig.now + 2 * NS_PER_S);
        T_EQ_INT(next(&rig).kind, KUBE_WATCH_DO_STREAM);
    }
}

T_TEST(watch_stream_that_stops_early_is_no_list)
{
    AUTO(rig) Rig rig;
    KubeError error;
    uint64_t wait;

    stream_init(&rig);
    T_OK(data(&rig, EVENT("ADDED", "a", "7") BOOKMARK("9"), &error));
    kube_watch_on_eof(&rig.watch, rig.now + 10 * NS_PER_S);
    T_EQ_INT(rig.watch.error.reason, KUBE_REASON_BAD_ANSWER);
    T_EQ_INT(next_after_wait(&rig, &wait).kind, KUBE_WATCH_DO_LIST);
    T_CHECK(wait > 0);
    T_EQ_STR(strbuf_str(&rig.log), "INIT ia INIT ");
}

T_TEST(watch_stream_with_a_bad_end_is_no_list)
{
    static const char *const ROWS[] = {
        INITIAL_END(""),
        INITIAL_END("0123456789012345678901234567890123456789012345678901234567890123456789"),
        "{\"type\":\"ADDED\",\"object\":{}}\n",
        "nonsense\n",
    };

    for (size_t i = 0; i < ARRAY_LEN(ROWS); i++) {
        AUTO(rig) Rig rig;
        KubeError error;
        uint64_t wait;

        t_row(ROWS[i]);
        stream_init(&rig);
        T_EQ_INT(data(&rig, ROWS[i], &error), -EBADMSG);
        kube_watch_on_fail(&rig.watch, &error, rig.now);
        T_EQ_INT(next_after_wait(&rig, &wait).kind, KUBE_WATCH_DO_LIST);
    }
}

/* ---- versions that go back ---- */

static void lose(Rig *rig)
{
    const KubeError error = {.reason = KUBE_REASON_NETWORK};
    uint64_t wait;

    kube_watch_on_fail(&rig->watch, &error, rig->now);
    T_EQ_INT(next_after_wait(rig, &wait).kind, KUBE_WATCH_DO_PROBE);
}

T_TEST(watch_goes_on_where_the_server_is_no_older)
{
    AUTO(rig) Rig rig;

    start(&rig);
    lose(&rig);
    kube_watch_on_probe(&rig.watch, STR("10"), 0, rig.now);
    T_EQ_STR(next(&rig).rv, "10");
    lose(&rig);
    kube_watch_on_probe(&rig.watch, STR("not a number"), 0, rig.now); /* says nothing */
    T_EQ_INT(next(&rig).kind, KUBE_WATCH_DO_WATCH);
    T_EQ_STR(strbuf_str(&rig.log), "");
}

T_TEST(watch_server_that_lags_is_given_time)
{
    AUTO(rig) Rig rig;
    uint64_t wait;

    start(&rig);
    lose(&rig);
    kube_watch_on_probe(&rig.watch, STR("9"), 0, rig.now);
    T_EQ_INT(next_after_wait(&rig, &wait).kind, KUBE_WATCH_DO_PROBE);
    T_EQ_INT(wait, KUBE_WATCH_CONFIRM_NS);
    kube_watch_on_probe(&rig.watch, STR("12"), 0, rig.now);
    T_EQ_STR(next(&rig).rv, "10");
    T_EQ_STR(strbuf_str(&rig.log), "");
}

T_TEST(watch_server_that_stays_behind_is_listed_anew)
{
    AUTO(rig) Rig rig;
    KubeError error;
    uint64_t wait;

    start(&rig);
    T_OK(data(&rig, EVENT("ADDED", "b", "40"), &error));
    strbuf_clear(&rig.log);
    lose(&rig);
    kube_watch_on_probe(&rig.watch, STR("20"), 0, rig.now);
    T_EQ_INT(next_after_wait(&rig, &wait).kind, KUBE_WATCH_DO_PROBE);
    kube_watch_on_probe(&rig.watch, STR("39"), 0, rig.now);
    T_EQ_INT(next(&rig).kind, KUBE_WATCH_DO_LIST);
    kube_watch_on_page(&rig.watch, STR("41"), STR(""), rig.now);
    T_EQ_STR(next(&rig).rv, "41");
    T_EQ_STR(strbuf_str(&rig.log), "REWIND INIT DONE ");
}

T_TEST(watch_list_from_the_past_is_asked_about)
{
    AUTO(rig) Rig rig;
    KubeError error;
    uint64_t wait;

    start(&rig);
    T_EQ_INT(data(&rig, GONE, &error), -EREMOTEIO);
    kube_watch_on_fail(&rig.watch, &error, rig.now);
    T_EQ_INT(next_after_wait(&rig, &wait).kind, KUBE_WATCH_DO_LIST);
    kube_watch_on_page(&rig.watch, STR("5"), STR(""), rig.now);
    T_EQ_INT(next(&rig).kind, KUBE_WATCH_DO_PROBE);
    kube_watch_on_probe(&rig.watch, STR("10"), 0, rig.now); /* only the list was old */
    T_EQ_STR(next(&rig).rv, "5");
    T_EQ_STR(strbuf_str(&rig.log), "INIT DONE ");
}

T_TEST(watch_stream_from_the_past_is_asked_about)
{
    AUTO(rig) Rig rig;
    KubeError error;
    uint64_t wait;

    start(&rig);
    kube_watch_stream(&rig.watch);
    T_EQ_INT(data(&rig, GONE, &error), -EREMOTEIO);
    kube_watch_on_fail(&rig.watch, &error, rig.now);
    T_EQ_INT(next_after_wait(&rig, &wait).kind, KUBE_WATCH_DO_STREAM);
    T_EQ_INT(data(&rig,
                  "{\"type\":\"BOOKMARK\",\"object\":{\"metadata\":{\"resourceVersion\":\"5\","
                  "\"annotations\":{\"k8s.io/initial-events-end\":\"true\"}}}}\n",
                  &error),
             -ESTALE);
    kube_watch_on_fail(&rig.watch, &error, rig.now);
    T_EQ_INT(next_after_wait(&rig, &wait).kind, KUBE_WATCH_DO_PROBE);
}

T_TEST(watch_failed_probe_is_repeated)
{
    AUTO(rig) Rig rig;

    start(&rig);
    lose(&rig);
    lose(&rig);
    kube_watch_on_probe(&rig.watch, STR("10"), 0, rig.now);
    T_EQ_INT(next(&rig).kind, KUBE_WATCH_DO_WATCH);
}

/* A version that only an answer to a write of ours has told. */
T_TEST(watch_probe_is_compared_with_what_writes_told)
{
    AUTO(rig) Rig rig;
    uint64_t wait;

    start(&rig);
    lose(&rig);
    kube_watch_on_probe(&rig.watch, STR("20"), 30, rig.now);
    T_EQ_INT(next_after_wait(&rig, &wait).kind, KUBE_WATCH_DO_PROBE);
    kube_watch_on_probe(&rig.watch, STR("29"), 50, rig.now);
    T_EQ_INT(next(&rig).kind, KUBE_WATCH_DO_LIST);
    T_EQ_STR(strbuf_str(&rig.log), "REWIND INIT ");
}

/* Behind what was written since is not behind what was known. */
T_TEST(watch_doubt_is_about_what_was_known_then)
{
    AUTO(rig) Rig rig;
    uint64_t wait;

    start(&rig);
    lose(&rig);
    kube_watch_on_probe(&rig.watch, STR("20"), 30, rig.now);
    T_EQ_INT(next_after_wait(&rig, &wait).kind, KUBE_WATCH_DO_PROBE);
    kube_watch_on_probe(&rig.watch, STR("31"), 50, rig.now);
    T_EQ_STR(next(&rig).rv, "10");
}
