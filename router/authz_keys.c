/* SPDX-License-Identifier: Apache-2.0 */
/* See authz_keys.h. A mounted Secret is swapped by a link, which shows as another inode. */
#include "router/authz_keys.h"

#include <pthread.h>
#include <stdlib.h>

#include "base/check.h"
#include "base/filemark.h"
#include "base/mem.h"

struct AuthzKeys {
    AuthzKeysConfig config;
    pthread_rwlock_t lock;
    TokenKeys *keys; /* under the lock */
    LoopTimer timer;
    FileMark seen[2];
    CounterFamily *reloads;
};

static int load(const AuthzKeysConfig *config, TokenKeys **ret, Err *reterr)
{
    AUTO(token_keys) TokenKeys *keys = token_keys_new();
    int r = 0;

    if (config->secret_file[0]) {
        r = token_keys_add_secret_file(keys, config->secret_file, false, reterr);
        r = r < 0 ? err_wrap(reterr, "--authz-scoped-token-secret-file: ") : 0;
    }
    if (r == 0 && config->set_file[0]) {
        r = token_keys_add_set_file(keys, config->set_file, reterr);
        r = r < 0 ? err_wrap(reterr, "--authz-scoped-token-verification-keys-file: ") : 0;
    }
    if (r == 0) {
        *ret = TAKE(keys);
    }
    return r;
}

static bool changed(const char *path, FileMark *mark)
{
    return path[0] && file_mark_changed(mark, path);
}

static bool any_changed(AuthzKeys *keys)
{
    bool secret = changed(keys->config.secret_file, &keys->seen[0]);

    return changed(keys->config.set_file, &keys->seen[1]) || secret;
}

static void look(LoopTimer *timer)
{
    AuthzKeys *keys = container_of(timer, AuthzKeys, timer);
    TokenKeys *fresh = NULL;
    Err err = ERR_INIT;

    loop_timer_arm(keys->config.loop, timer, loop_now(keys->config.loop) + AUTHZ_KEYS_LOOK_NS);
    if (!any_changed(keys)) {
        return;
    }
    if (load(&keys->config, &fresh, &err) < 0) {
        counter_inc(counter_with(keys->reloads, STR("error")));
        LOG_ERROR(keys->config.log, "keys of scoped tokens are wrong, the old ones stay",
                  F_ERR(&err));
        return;
    }
    pthread_rwlock_wrlock(&keys->lock);
    TokenKeys *old = keys->keys;

    keys->keys = fresh;
    pthread_rwlock_unlock(&keys->lock);
    token_keys_free(old);
    counter_inc(counter_with(keys->reloads, STR("success")));
    LOG_INFO(keys->config.log, "keys of scoped tokens were read again");
}

int authz_keys_new(const AuthzKeysConfig *config, AuthzKeys **ret_keys, Err *reterr)
{
    static const char *const labels[] = {"outcome", NULL};
    MetricSpec reloads = {.name = "sandbox_router_authz_key_reloads_total",
                          .help = "Times the keys of scoped tokens were read again.",
                          .labels = labels};
    AuthzKeys *keys = xcalloc(1, sizeof(*keys));
    int r;

    keys->config = *config;
    any_changed(keys); /* before they are read: a change in between is seen later */
    r = load(config, &keys->keys, reterr);
    if (r < 0) {
        free(keys);
        return r;
    }
    CHECK(pthread_rwlock_init(&keys->lock, NULL) == 0);
    keys->reloads = metrics_counter(config->metrics, &reloads);
    loop_timer_init(&keys->timer, look);
    loop_timer_arm(config->loop, &keys->timer, loop_now(config->loop) + AUTHZ_KEYS_LOOK_NS);
    *ret_keys = keys;
    return 0;
}

AuthzKeys *authz_keys_free(AuthzKeys *keys)
{
    if (keys) {
        loop_timer_disarm(&keys->timer);
        pthread_rwlock_destroy(&keys->lock);
        token_keys_free(keys->keys);
        free(keys);
    }
    return NULL;
}

TokenVerdict authz_keys_verify(AuthzKeys *keys, Str token, int64_t now_s, TokenClaims *ret_claims)
{
    TokenVerdict verdict;

    pthread_rwlock_rdlock(&keys->lock);
    verdict = token_verify(keys->keys, token, now_s, ret_claims);
    pthread_rwlock_unlock(&keys->lock);
    return verdict;
}
