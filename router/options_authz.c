/* SPDX-License-Identifier: Apache-2.0 */
/* See options_authz.h. */
#include "router/options_authz.h"

#include <errno.h>

#include "router/review.h"
#include "router/routing.h"

static int check_review(const RouterOptions *options, Err *reterr)
{
    if (options->review_ttl_ns <= 0) {
        return err_set(reterr, EINVAL, "--authz-tokenreview-ttl must be positive");
    }
    if (options->review_cache_size <= 0 || options->review_cache_size > REVIEW_CACHE_MAX) {
        return err_set(reterr, EINVAL, "--authz-tokenreview-cache-size must be 1 to %d",
                       REVIEW_CACHE_MAX);
    }
    return 0;
}

int options_authz_check(const RouterOptions *options, Err *reterr)
{
    RoutingPorts ports;
    Str prefix = str_from(options->path_prefix);
    int r = check_review(options, reterr);

    if (r == 0 && prefix.len > 0 && (prefix.ptr[0] != '/' || str_ends(prefix, STR("/")))) {
        r = err_set(reterr, EINVAL, "--path-routing-prefix must begin with / and not end with it");
    }
    r = r < 0 ? r : routing_ports_parse(str_from(options->allowed_ports), &ports, reterr);
    if (r < 0) {
        return r;
    }
    if (options->authz_mode == AUTHZ_NONE_GIVEN) {
        return err_set(reterr, EINVAL,
                       "who may call must be said: --authz-mode=allow-all (network policy alone "
                       "decides), tokenreview or scoped-token, or ROUTER_AUTH_TOKEN=<token>, or "
                       "ALLOW_UNAUTHENTICATED_ROUTER=true");
    }
    if (options->authz_mode != AUTHZ_ALLOW_ALL && options->auth_token) {
        return err_set(reterr, EINVAL,
                       "ROUTER_AUTH_TOKEN and --authz-mode other than allow-all ask for two "
                       "different tokens in one header");
    }
    if (options->authz_mode == AUTHZ_SCOPED_TOKEN && !options->token_secret_file[0] &&
        !options->token_keys_file[0]) {
        return err_set(reterr, EINVAL,
                       "--authz-mode=scoped-token needs --authz-scoped-token-secret-file or "
                       "--authz-scoped-token-verification-keys-file");
    }
    return 0;
}
