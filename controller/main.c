/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sandbox-controller: reads the command line, finds the API server, and runs the manager until a
 * signal comes or the Lease is lost. Exit codes: 0 after SIGTERM or SIGINT, 1 for everything that
 * goes wrong, 2 for a command line that cannot be parsed.
 */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/memtrim.h"
#include "base/rng.h"
#include "base/signal.h"
#include "base/version.h"
#include "controller/admin.h"
#include "controller/manager.h"
#include "controller/metricstls.h"
#include "controller/restmeter.h"
#include "kube/config.h"
#include "kube/curl.h"
#include "kube/lease.h"
#include "metrics/process.h"

#define PROGRAM "sandbox-controller"
#define TRACE_SERVICE "agent-sandbox-controller" /* service.name, as dashboards know it */
#define EXIT_USAGE 2

#define FLUSH_NS (2 * NS_PER_S) /* of waiting spans, at the end */

/* What client libraries take for --kube-api-qps=0. */
#define KUBE_API_QPS_DEFAULT 5

/* The processes' sums of workers above this are likely a typing error. */
#define WORKERS_LIKELY_MAX 1000

typedef struct Program {
    ControllerOptions options;
    OptsResult given;
    Logger *log;
    Loop *loop;
    MemTrim memtrim;
    KubeConfig *config;
    KubeCurl *curl;
    Metrics *metrics;
    Tracer *tracer; /* NULL without tracing */
    RestMeter rest_meter;
    Admin *admin;
    MetricsTls metrics_tls;
    Manager *manager;
    Signals signals;
    bool has_signals;
    bool stopping;
    char identity[KUBE_LEASE_IDENTITY_MAX];
    const char *lease_ns;
} Program;

static void on_stopped(void *ctx)
{
    Program *program = ctx;

    loop_stop(program->loop, 0);
}

static void on_lost(void *ctx)
{
    Program *program = ctx;

    loop_stop(program->loop, 1);
}

static void on_signal(Signals *signals, int signo)
{
    Program *program = container_of(signals, Program, signals);

    if (program->stopping) {
        loop_stop(program->loop, 1); /* the second one does not wait */
        return;
    }
    LOG_INFO(program->log, "stopping", F_I64("signal", signo));
    program->stopping = true;
    manager_stop(program->manager, on_stopped, program);
}

/* ---- start ---- */

static void warn_about_flags(Program *program)
{
    const ControllerOptions *options = &program->options;
    int64_t workers = options->sandbox_workers + options->claim_workers + options->pool_workers +
                      options->template_workers;
    size_t n;
    const OptSpec *specs = options_specs(&n);

    for (size_t i = 0; i < n; i++) {
        if (specs[i].inert && opts_was_set(specs, n, &program->given, specs[i].name)) {
            LOG_WARN(program->log, "this flag has no effect here", F_CSTR("flag", specs[i].name),
                     F_CSTR("why", specs[i].help));
        }
    }
    if (options->kube_api_qps >= 0 && workers > options->kube_api_burst) {
        LOG_WARN(program->log, "--kube-api-burst is smaller than the number of workers",
                 F_I64("workers", workers), F_I64("burst", options->kube_api_burst));
    }
    if (workers > WORKERS_LIKELY_MAX) {
        LOG_WARN(program->log, "very many concurrent workers", F_I64("workers", workers));
    }
}

static int setup_log(Program *program)
{
    program->log = logger_new(STDERR_FILENO, NULL, clock_system());
    logger_set_level(program->log, (LogLevel)program->options.log_level);
    logger_set_encoder(program->log, (LogEncoder)program->options.log_encoder);
    logger_set_time(program->log, (LogTime)program->options.log_time);
    return 0;
}

static int setup_cluster(Program *program, Err *reterr)
{
    const KubeConfigSource source = {.path = program->options.kubeconfig};
    KubeCurlOptions curl = {0};
    uint64_t verbosity;
    int r;

    r = kube_config_load(&source, &program->config, reterr);
    if (r < 0) {
        return r;
    }
    program->lease_ns = program->options.leader_election_namespace;
    if (program->lease_ns[0] == '\0') {
        if (program->options.leader_elect &&
            !str_eq(str_from(program->config->context), STR("in-cluster"))) {
            return err_set(reterr, EINVAL,
                           "--leader-election-namespace is needed outside of a cluster");
        }
        program->lease_ns = program->config->ns;
    }
    /* A numeric level asks for everything. */
    if (str_to_u64(str_from(program->options.zap_log_level), &verbosity) == 0) {
        curl.log = program->log;
    }
    restmeter_init(&program->rest_meter, program->metrics, str_from(program->config->server));
    curl.on_result = restmeter_on_result;
    curl.ctx = &program->rest_meter;
    if (program->options.kube_api_qps >= 0) {
        curl.qps = program->options.kube_api_qps > 0 ? program->options.kube_api_qps
                                                     : KUBE_API_QPS_DEFAULT;
        curl.burst = (unsigned)program->options.kube_api_burst;
    }
    curl.shards = program->options.api_connections > KUBE_CURL_SHARDS_MAX
                      ? KUBE_CURL_SHARDS_MAX
                      : (unsigned)program->options.api_connections;
    return kube_curl_new(program->loop, program->config, &curl, &program->curl, reterr);
}

static void on_collector(void *ctx, const char *why)
{
    const Program *program = ctx;

    if (why) {
        LOG_WARN(program->log, "spans do not reach the collector", F_CSTR("error", why));
    } else {
        LOG_INFO(program->log, "spans reach the collector");
    }
}

static const char *env_of_process(const char *name)
{
    return getenv(name);
}

/* Tracing that cannot be set up is no reason not to reconcile. */
static void setup_tracing(Program *program)
{
    const TracerHooks hooks = {.on_state = on_collector, .ctx = program};
    size_t n;
    const OptSpec *specs = options_specs(&n);
    bool given = opts_was_set(specs, n, &program->given, "enable-tracing");
    Err note = ERR_INIT;
    int r;

    if (!(given ? program->options.enable_tracing : trace_env_asks(env_of_process))) {
        return;
    }
    r = tracer_new_env(program->loop, TRACE_SERVICE, env_of_process, &hooks, &program->tracer,
                       &note);
    if (r == 0) {
        tracer_metrics_register(program->tracer, program->metrics);
    }
    if (r < 0) {
        LOG_WARN(program->log, "no tracing", F_CSTR("why", note.msg));
    } else if (note.msg[0]) {
        LOG_WARN(program->log, "tracing", F_CSTR("note", note.msg));
    }
}

static int setup_manager(Program *program, Err *reterr)
{
    ManagerConfig config = {
        .loop = program->loop,
        .transport = kube_curl_transport(program->curl),
        .log = program->log,
        .metrics = program->metrics,
        .tracer = program->tracer,
        .options = &program->options,
        .lease_ns = program->lease_ns,
        .identity = program->identity,
        .on_lost = on_lost,
        .ctx = program,
    };

    kube_lease_identity(program->identity);
    rng_os_fill(&config.seed, sizeof(config.seed));
    return manager_new(&config, &program->manager, reterr);
}

static int setup(Program *program, Err *reterr)
{
    static const int signos[] = {SIGTERM, SIGINT, 0};
    int r;

    r = options_validate(&program->options, reterr);
    if (r == 0 && program->options.extensions) {
        r = options_load_label_domains(&program->options, OPTIONS_LABEL_DOMAINS_FILE, reterr);
    }
    if (r < 0) {
        return r;
    }
    setup_log(program);
    r = loop_new(clock_system(), &program->loop);
    if (r < 0) {
        return err_set_errno(reterr, -r, "event loop");
    }
    memtrim_start(&program->memtrim, program->loop);
    r = signals_init(&program->signals, program->loop, signos, on_signal);
    if (r < 0) {
        return err_set_errno(reterr, -r, "signals");
    }
    program->has_signals = true;
    program->metrics = metrics_new();
    metrics_process_register(program->metrics);
    setup_tracing(program);
    r = setup_cluster(program, reterr);
    if (r == 0) {
        r = setup_manager(program, reterr);
    }
    if (r == 0) {
        r = metricstls_start(&program->metrics_tls, &program->options, program->loop,
                             program->metrics, program->log, reterr);
    }
    if (r == 0) {
        const AdminConfig admin = {
            .loop = program->loop,
            .metrics = program->metrics,
            .metrics_address = program->options.metrics_bind_address,
            .metrics_tls = program->metrics_tls.tls,
            .probe_address = program->options.probe_bind_address,
            .profiles_wanted = program->options.enable_pprof || program->options.enable_pprof_debug,
        };

        r = admin_new(&admin, &program->admin, reterr);
    }
    return r;
}

static void teardown(Program *program)
{
    admin_free(program->admin);
    metricstls_stop(&program->metrics_tls);
    manager_free(program->manager);
    kube_curl_free(program->curl);
    tracer_free(program->tracer);
    kube_config_free(program->config);
    metrics_free(program->metrics);
    if (program->has_signals) {
        signals_deinit(&program->signals);
    }
    memtrim_stop(&program->memtrim);
    loop_free(program->loop);
    logger_free(program->log);
    options_deinit(&program->options);
}

static int run(Program *program)
{
    Err err = ERR_INIT;
    int r;

    r = setup(program, &err);
    if (r < 0) {
        if (program->log) {
            LOG_ERROR(program->log, "start failed", F_ERR(&err));
        } else {
            (void)fprintf(stderr, "%s: %s\n", PROGRAM, err.msg);
        }
        return 1;
    }
    LOG_INFO(program->log, "starting", F_CSTR("version", version_string()),
             F_CSTR("commit", version_commit()), F_CSTR("server", program->config->server),
             F_BOOL("extensions", program->options.extensions));
    warn_about_flags(program);
    manager_start(program->manager);
    r = loop_run(program->loop);
    if (program->tracer) {
        tracer_flush(program->tracer, FLUSH_NS);
    }
    LOG_INFO(program->log, "stopped", F_I64("code", r));
    return r == 0 ? 0 : 1;
}

static int usage(FILE *out)
{
    size_t n;
    const OptSpec *specs = options_specs(&n);

    (void)fprintf(out, "Usage of %s:\n", PROGRAM);
    opts_print(out, specs, n);
    return out == stdout ? 0 : EXIT_USAGE;
}

int main(int argc, char **argv)
{
    Program program = {0};
    Err err = ERR_INIT;
    int code;

    if (options_parse(argc, argv, &program.options, &program.given, &err) < 0) {
        (void)fprintf(stderr, "%s: %s\n", PROGRAM, err.msg);
        return usage(stderr);
    }
    if (program.given.help) {
        return usage(stdout);
    }
    if (program.options.version) {
        version_print(stdout, PROGRAM);
        return 0;
    }
    if (kube_curl_global_init() < 0) {
        (void)fprintf(stderr, "%s: libcurl cannot be initialised\n", PROGRAM);
        return 1;
    }
    code = run(&program);
    teardown(&program);
    kube_curl_global_deinit();
    return code;
}
