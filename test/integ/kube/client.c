/* SPDX-License-Identifier: Apache-2.0 */
#include "test/integ/kube/client.h"

#include <string.h>

__attribute__((constructor)) static void global_init(void)
{
    kube_curl_global_init();
}

__attribute__((destructor)) static void global_deinit(void)
{
    kube_curl_global_deinit();
}

void client_init(Client *client, KubeConfig *config, const KubeCurlOptions *options)
{
    Err err = ERR_INIT;

    *client = (Client){.config = config};
    T_OK(loop_new(clock_system(), &client->loop));
    if (kube_curl_new(client->loop, config, options, &client->curl, &err) < 0) {
        T_FAIL("%s", err.msg);
    }
    client->api = kube_api_new(client->loop, kube_curl_transport(client->curl), "integ");
}

void client_deinit(Client *client)
{
    client->api = kube_api_free(client->api);
    client->curl = kube_curl_free(client->curl);
    client->loop = loop_free(client->loop);
    client->config = kube_config_free(client->config);
}

bool client_run(Client *client, const bool *flag, uint64_t max_ns)
{
    uint64_t end = clock_mono_ns(clock_system()) + max_ns;
    uint64_t now;

    while (!*flag && (now = clock_mono_ns(clock_system())) < end) {
        T_OK(loop_step(client->loop, end - now));
    }
    return *flag;
}

void client_sleep(Client *client, uint64_t ns)
{
    bool never = false;

    client_run(client, &never, ns);
}

void answer_reset(Answer *answer)
{
    kube_obj_unref(answer->obj);
    *answer = (Answer){.began_ns = clock_mono_ns(clock_system())};
}

void on_answer(void *ctx, const KubeError *error, KubeObj *obj)
{
    Answer *answer = ctx;

    answer->done = true;
    answer->took_ns = clock_mono_ns(clock_system()) - answer->began_ns;
    if (error) {
        answer->reason = error->reason;
        answer->error = *error;
    }
    answer->obj = obj ? kube_obj_ref(obj) : NULL;
}

KubeReason client_wait(Client *client, Answer *answer)
{
    if (!client_run(client, &answer->done, 10 * NS_PER_S)) {
        T_FAIL("no answer in 10 s");
    }
    return answer->reason;
}
