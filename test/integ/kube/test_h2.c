/* SPDX-License-Identifier: Apache-2.0 */
/*
 * HTTP/2 that goes wrong (h2rude.py). This libcurl takes some reset streams for complete answers;
 * what comes out of the API layer must be right all the same. H2_SCRIPT has the behaviours in the
 * order in which the server will show them: each twice, for a read and for a write.
 */
#include <stdio.h>
#include <stdlib.h>

#include "base/mem.h"
#include "test/integ/kube/client.h"

typedef struct Expect {
    const char *behaviour;
    KubeReason read;
    KubeReason write;
} Expect;

static const Expect EXPECT[] = {
    {"ok", KUBE_REASON_NONE, KUBE_REASON_NONE},
    {"early", KUBE_REASON_BAD_ANSWER, KUBE_REASON_UNKNOWN_OUTCOME},
    {"reset", KUBE_REASON_NETWORK, KUBE_REASON_UNKNOWN_OUTCOME},
    {"reset_quietly", KUBE_REASON_MAX_, KUBE_REASON_UNKNOWN_OUTCOME},
    {"drop", KUBE_REASON_MAX_, KUBE_REASON_UNKNOWN_OUTCOME},
    {"goaway", KUBE_REASON_MAX_, KUBE_REASON_UNKNOWN_OUTCOME},
    {"leave", KUBE_REASON_NONE, KUBE_REASON_NONE},
    {"garbage", KUBE_REASON_NETWORK, KUBE_REASON_UNKNOWN_OUTCOME},
    {"hang", KUBE_REASON_NETWORK, KUBE_REASON_UNKNOWN_OUTCOME},
};

static const Expect *expect_of(Str behaviour)
{
    for (size_t i = 0; i < ARRAY_LEN(EXPECT); i++) {
        if (str_eq(str_from(EXPECT[i].behaviour), behaviour)) {
            return &EXPECT[i];
        }
    }
    T_FAIL("no expectation for " STR_FMT, STR_ARG(behaviour));
}

static KubeConfig *h2_config(void)
{
    AUTO(mem) char *path = xasprintf("%s/ca.pem", getenv("RUDE_DIR"));
    KubeConfig *config = xcalloc(1, sizeof(*config));

    config->server = xasprintf("https://127.0.0.1:%s", getenv("H2_PORT"));
    config->ns = xstrdup("default");
    config->context = xstrdup("h2");
    config->ca_file = TAKE(path);
    return config;
}

static KubeReason call(Client *client, Answer *answer, bool write)
{
    const KubeKey key = {STR("n"), STR("x")};
    const KubeCallOptions options = {.timeout_ns = 500 * NS_PER_MS};

    answer_reset(answer);
    if (write) {
        kube_api_patch(client->api, kube_kind(KUBE_POD), key, NULL, STR("{}"), &options, on_answer,
                       answer);
    } else {
        kube_api_get(client->api, kube_kind(KUBE_POD), key, &options, on_answer, answer);
    }
    return client_wait(client, answer);
}

T_TEST(rude_h2_streams_that_break_cost_their_request)
{
    AUTO(client) Client client;
    AUTO(answer) Answer answer = {.done = false};
    Str script = str_from(getenv("H2_SCRIPT"));

    T_CHECK(script.len > 0);
    client_init(&client, h2_config(), NULL);
    while (script.ptr) {
        const Expect *expect = expect_of(str_cut(script, ' ', &script));
        KubeReason read;

        t_row(expect->behaviour);
        read = call(&client, &answer, false);
        if (expect->read ==
            KUBE_REASON_MAX_) { /* never a success; which failure is libcurl's guess */
            T_CHECK(read == KUBE_REASON_NETWORK || read == KUBE_REASON_BAD_ANSWER);
            T_CHECK(!answer.obj);
        } else {
            T_EQ_INT(read, expect->read);
        }
        T_EQ_INT(call(&client, &answer, true), expect->write);
    }
    t_row(NULL);
    T_EQ_INT(call(&client, &answer, false), KUBE_REASON_NONE);
}
