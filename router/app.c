/* SPDX-License-Identifier: Apache-2.0 */
/* See app.h. Setting up and taking down; what happens in between is lifecycle.c's. */
#include "router/app.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/rng.h"
#include "http/listen.h"
#include "http/url.h"
#include "metrics/process.h"
#include "router/cpus.h"
#include "router/lifecycle.h"

static Logger *new_logger(const RouterOptions *options, const char *name)
{
    Logger *log = logger_new(STDERR_FILENO, name, clock_system());

    logger_set_level(log, (LogLevel)options->log_level);
    logger_set_encoder(log, (LogEncoder)options->log_encoder);
    logger_set_time(log, (LogTime)options->log_time);
    return log;
}

static void fill_shared(App *app)
{
    const RouterOptions *options = app->options;
    Tuning tuning;
    uint64_t seed;

    tuning_from_options(options, &tuning);
    tuning_board_put(&app->tuning, &tuning);
    rng_os_fill(&seed, sizeof(seed));
    app->shared = (RouterShared){
        .tuning = &app->tuning,
        .limits = limits_new((size_t)options->limits.table_size, seed),
        .authz = {.mode = (AuthzMode)options->authz_mode,
                  .token = options->auth_token,
                  .require_token = options->review_require_token,
                  .trust_headers = options->trust_pod_ip},
        .path_prefix = options->path_prefix,
        .allow_loopback = options->allow_loopback,
        .trust_pod_ip = options->trust_pod_ip,
        .http2 = options->http2,
        .cluster_domain = options->cluster_domain,
        .board = &app->board,
        .dns = options->trust_pod_ip ? dns_new() : NULL,
        .observe = &app->observe,
        .log = app->log,
    };
}

static int init_loop(App *app, Err *reterr)
{
    static const int signos[] = {SIGTERM, SIGINT, SIGHUP, 0};
    int r = loop_new(clock_system(), &app->loop);

    r = r < 0 ? r : signals_init(&app->signals, app->loop, signos, lifecycle_on_signal);
    r = r < 0 ? r : loop_wake_init(app->loop, &app->done, lifecycle_on_done);
    return r < 0 ? err_set_errno(reterr, -r, "set up the event loop") : 0;
}

static int *socket_at(App *app, size_t i, bool tls)
{
    return tls ? &app->listeners[i].tls : &app->listeners[i].plain;
}

/* One listener for each worker on the same port; the first decides which one ":0" means. */
static int open_listeners(App *app, const char *bind_address, bool tls, Err *reterr)
{
    char fixed[128];
    Str address = str_from(bind_address);
    Str host;
    uint16_t port;

    for (size_t i = 0; address.len > 0 && i < app->n_workers; i++) {
        int r = http_listen(address, true, socket_at(app, i, tls), reterr);

        if (r < 0) {
            return r;
        }
        if (i == 0 && http_authority_split(address, &host, &port) == 0 && port == 0) {
            bool v6 = str_find(host, ':') >= 0;
            int n = snprintf(fixed, sizeof(fixed), "%s" STR_FMT "%s:%u", v6 ? "[" : "",
                             STR_ARG(str_take(host, 64)), v6 ? "]" : "",
                             http_listen_port(*socket_at(app, 0, tls)));

            address = (Str){fixed, (size_t)n};
        }
    }
    return 0;
}

static int init_kube(App *app, Err *reterr)
{
    KubeConfigSource source = {.path = app->options->kubeconfig};
    KubeCurlOptions curl = {.user_agent = "sandbox-router", .log = app->log};
    FeedConfig feed = {
        .ns = app->options->cache_namespace[0] ? app->options->cache_namespace : NULL,
        .board = &app->board,
        .on_publish = lifecycle_on_publish,
        .on_synced = lifecycle_on_synced,
        .on_trouble = lifecycle_on_trouble,
        .ctx = app,
    };
    int r = kube_config_load(&source, &app->kube_config, reterr);

    if (r < 0) {
        return err_wrap(reterr, "API server: ");
    }
    r = kube_curl_global_init();
    if (r < 0) {
        return err_set_errno(reterr, -r, "set up libcurl");
    }
    app->curl_ready = true;
    r = kube_curl_new(app->loop, app->kube_config, &curl, &app->curl, reterr);
    if (r < 0) {
        return err_wrap(reterr, "API server: ");
    }
    rng_os_fill(&feed.seed, sizeof(feed.seed));
    app->api = kube_api_new(app->loop, kube_curl_transport(app->curl), "sandbox-router");
    feed.api = app->api;
    if (app->options->cache_enabled) {
        app->feed = feed_new(&feed);
    }
    if (app->options->sandbox_lookup || app->options->wake_suspended) {
        WakeConfig wake = {.api = app->api,
                           .resume = app->options->wake_suspended,
                           .metrics = app->registry,
                           .log = app->log};

        app->shared.wake = wake_new(&wake);
    }
    if (app->options->activity_annotation[0]) {
        ActivityConfig activity = {.api = app->api,
                                   .board = &app->board,
                                   .annotation = app->options->activity_annotation,
                                   .interval_ns = (uint64_t)app->options->activity_interval_ns,
                                   .metrics = app->registry,
                                   .log = app->log,
                                   .on_idle = lifecycle_on_written,
                                   .ctx = app};

        app->shared.note_use = true;
        app->activity = activity_new(&activity);
    }
    return 0;
}

static void on_collector(void *ctx, const char *why)
{
    const App *app = ctx;

    if (why) {
        LOG_WARN(app->log, "spans do not reach the collector", F_CSTR("error", why));
    } else {
        LOG_INFO(app->log, "spans reach the collector");
    }
}

/* Tracing that cannot be set up is no reason not to serve. */
static void init_tracing(App *app)
{
    const TracerHooks hooks = {.on_state = on_collector, .ctx = app};
    Err note = ERR_INIT;
    int r;

    if (!app->options->enable_tracing) {
        return;
    }
    r = tracer_new_env(app->loop, "sandbox-router", NULL, &hooks, &app->tracer, &note);
    if (r == 0) {
        tracer_metrics_register(app->tracer, app->registry);
        app->shared.tracer = app->tracer;
    }
    if (r < 0) {
        LOG_WARN(app->log, "no tracing", F_CSTR("why", note.msg));
    } else if (note.msg[0]) {
        LOG_WARN(app->log, "tracing", F_CSTR("note", note.msg));
    }
}

static int init_authz(App *app, Err *reterr)
{
    const RouterOptions *options = app->options;
    ReviewConfig review = {.api = app->api,
                           .audiences = options->review_audiences,
                           .ttl_ns = (uint64_t)options->review_ttl_ns,
                           .cache_size = (size_t)options->review_cache_size,
                           .metrics = app->registry,
                           .log = app->log};
    AuthzKeysConfig keys = {.secret_file = options->token_secret_file,
                            .set_file = options->token_keys_file,
                            .loop = app->loop,
                            .metrics = app->registry,
                            .log = app->log};

    routing_ports_parse(str_from(options->allowed_ports), &app->shared.ports, NULL); /* checked */
    if (options->authz_mode == AUTHZ_TOKENREVIEW) {
        app->shared.authz.review = review_new(&review);
    }
    return options->authz_mode == AUTHZ_SCOPED_TOKEN
               ? authz_keys_new(&keys, &app->shared.authz.keys, reterr)
               : 0;
}

/* Each connection takes two descriptors; the soft limit of many environments is 1024. */
static void raise_descriptor_limit(void)
{
    struct rlimit limit;

    if (getrlimit(RLIMIT_NOFILE, &limit) == 0 && limit.rlim_cur < limit.rlim_max) {
        limit.rlim_cur = limit.rlim_max;
        setrlimit(RLIMIT_NOFILE, &limit); /* failing, it stays as it was */
    }
}

static void init_workers(App *app)
{
    int64_t asked = app->options->workers;

    app->n_workers = asked > 0 ? (size_t)asked : (size_t)cpus_available();
    app->workers = xcalloc(app->n_workers, sizeof(Worker *));
    app->listeners = xcalloc(app->n_workers, sizeof(WorkerSockets));
    for (size_t i = 0; i < app->n_workers; i++) {
        app->listeners[i] = (WorkerSockets){.plain = -1, .tls = -1};
    }
}

int app_init(App *app, const RouterOptions *options, Err *reterr)
{
    bool default_format =
        options->log_encoder == LOG_ENCODER_JSON && options->log_time == LOG_TIME_RFC3339;
    int r;

    *app = (App){.options = options};
    app->log = new_logger(options, "sandbox-router");
    app->access = options->access_log ? new_logger(options, "sandbox-router.access") : NULL;
    app->registry = metrics_new();
    observe_init(&app->observe, app->registry, app->access, default_format ? STDERR_FILENO : -1);
    gauges_register(app->registry, app);
    tlsport_register(app->registry, &app->tls);
    metrics_process_register(app->registry);
    route_board_init(&app->board);
    tuning_board_init(&app->tuning);
    loop_timer_init(&app->timer, lifecycle_on_timer);
    r = init_loop(app, reterr);
    if (r < 0) {
        return r;
    }
    raise_descriptor_limit();
    init_workers(app);
    fill_shared(app);
    app->shutdown_timeout_ns = (uint64_t)options->shutdown_timeout_ns;
    app->shutdown_delay_ns = (uint64_t)options->shutdown_delay_ns;
    app->reload = (Reload){.running = options,
                           .board = &app->tuning,
                           .loop = app->loop,
                           .log = app->log,
                           .on_change = lifecycle_on_reload,
                           .ctx = app};
    reload_init(&app->reload, app->registry);
    if (options->limits.sandbox_metrics > 0) {
        app->shared.census = census_new((size_t)options->limits.sandbox_metrics, app->registry);
    }
    init_tracing(app);
    app->probes.not_ready = "starting";
    r = probes_start(&app->probes, app->loop, app->registry, str_from(options->probe_bind_address),
                     str_from(options->metrics_bind_address), reterr);
    if (r == 0) {
        r = tlsport_start(&app->tls, options, app->loop, &app->observe, app->log, reterr);
        app->shared.tls = app->tls.tls;
    }
    r = r < 0 ? r : open_listeners(app, options->http_bind_address, false, reterr);
    r = r < 0 ? r : open_listeners(app, options->https_bind_address, true, reterr);
    if (r == 0 && (options->cache_enabled || options->authz_mode == AUTHZ_TOKENREVIEW)) {
        r = init_kube(app, reterr);
    }
    r = r < 0 ? r : init_authz(app, reterr);
    return r;
}

static void free_kube(App *app)
{
    app->feed = feed_free(app->feed);
    app->shared.wake = wake_free(app->shared.wake);
    app->shared.authz.review = review_free(app->shared.authz.review);
    app->shared.authz.keys = authz_keys_free(app->shared.authz.keys);
    app->activity = activity_free(app->activity);
    app->api = app->api ? kube_api_free(app->api) : NULL;
    app->curl = app->curl ? kube_curl_free(app->curl) : NULL;
    app->kube_config = kube_config_free(app->kube_config);
    if (app->curl_ready) {
        kube_curl_global_deinit();
    }
}

void app_free(App *app)
{
    for (size_t i = 0; i < app->n_workers; i++) {
        for (int tls = 0; tls < 2; tls++) {
            if (*socket_at(app, i, tls) >= 0) {
                close(*socket_at(app, i, tls));
            }
        }
    }
    free_kube(app);
    probes_stop(&app->probes);
    tlsport_stop(&app->tls);
    dns_free(app->shared.dns);
    tracer_free(app->tracer);
    loop_timer_disarm(&app->timer);
    if (app->reload.running) {
        reload_deinit(&app->reload);
    }
    loop_wake_deinit(&app->done);
    if (loop_io_is_added(&app->signals.io)) {
        signals_deinit(&app->signals);
    }
    limits_free(app->shared.limits);
    route_board_deinit(&app->board);
    tuning_board_deinit(&app->tuning);
    loop_free(app->loop);
    metrics_free(app->registry);
    census_free(app->shared.census);
    logger_free(app->access);
    logger_free(app->log);
    free(app->listeners);
    free(app->workers);
}
