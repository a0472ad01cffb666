/* SPDX-License-Identifier: Apache-2.0 */
/* Any bytes as a kubeconfig: refused with a text, or a configuration that keeps its promises. */
#include "kube/config.h"
#include "kube/kubeconfig.h"
#include "test/fuzz/fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    AUTO(kube_config) KubeConfig *config = NULL;
    Err err = ERR_INIT;

    if (kube_config_parse(fuzz_str(data, size), "/dir", NULL, &config, &err) < 0) {
        CHECK(err.msg[0] && !config);
        return 0;
    }
    CHECK(config->server && kubeconfig_check_server(config->server, NULL) == 0);
    CHECK(config->ns && config->context);
    CHECK((config->cert_pem || config->cert_file) == (config->key_pem || config->key_file));
    CHECK(!config->ca_pem || strstr(config->ca_pem, "-----BEGIN "));
    CHECK(!config->key_file || config->key_file[0] == '/');
    CHECK(!config->token_file || config->token_file[0] == '/');
    return 0;
}
