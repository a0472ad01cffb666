/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/* A real loop with the libcurl transport, for both halves of this suite. */
#include "base/loop.h"
#include "kube/api.h"
#include "kube/config.h"
#include "kube/curl.h"
#include "test/harness/t.h"

typedef struct Client {
    Loop *loop;
    KubeConfig *config;
    KubeCurl *curl;
    KubeApi *api;
} Client;

typedef struct Answer {
    bool done;
    KubeReason reason;
    KubeError error;
    KubeObj *obj;
    uint64_t took_ns;
    uint64_t began_ns;
} Answer;

/* Takes config over. */
void client_init(Client *client, KubeConfig *config, const KubeCurlOptions *options);
void client_deinit(Client *client);
/* Runs the loop until *flag or the time is over; returns *flag. */
bool client_run(Client *client, const bool *flag, uint64_t max_ns);
void client_sleep(Client *client, uint64_t ns);

void answer_reset(Answer *answer);
void on_answer(void *ctx, const KubeError *error, KubeObj *obj);
/* Waits for the answer and gives its reason. */
KubeReason client_wait(Client *client, Answer *answer);

DEFINE_AUTO(client, Client, client_deinit)
DEFINE_AUTO(answer, Answer, answer_reset)
