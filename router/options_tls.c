/* SPDX-License-Identifier: Apache-2.0 */
/* See options_tls.h. */
#include "router/options_tls.h"

#include <errno.h>

#include "http/tls.h"

const char *const options_mtls_modes[] = {"off", "optional", "required", NULL};

int options_tls_check(const RouterOptions *options, Err *reterr)
{
    bool https = options->https_bind_address[0];
    bool mtls = options->mtls_mode != HTTP_TLS_CLIENT_OFF;
    bool cert = options->tls_cert_file[0], key = options->tls_key_file[0];
    const struct {
        bool wrong;
        const char *text;
    } rules[] = {
        {!https && !options->http_bind_address[0],
         "--http-bind-address and --https-bind-address are both empty: nothing to listen on"},
        {https && !(cert && key), "--https-bind-address needs --tls-cert-file and --tls-key-file"},
        {cert != key, "--tls-cert-file and --tls-key-file belong together"},
        {mtls && !https, "--mtls-mode=optional and required need --https-bind-address"},
        {mtls && !options->tls_client_ca_file[0],
         "--mtls-mode=optional and required need --tls-client-ca-file"},
    };

    for (size_t i = 0; i < ARRAY_LEN(rules); i++) {
        if (rules[i].wrong) {
            return err_set(reterr, EINVAL, "%s", rules[i].text);
        }
    }
    return 0;
}
