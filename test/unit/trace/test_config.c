/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>

#include "base/clock.h"
#include "test/harness/t.h"
#include "trace/config.h"

#define VARS_MAX 8

static const char *vars[VARS_MAX][2];
static size_t n_vars;

static const char *env(const char *name)
{
    for (size_t i = 0; i < n_vars; i++) {
        if (strcmp(vars[i][0], name) == 0) {
            return vars[i][1];
        }
    }
    return NULL;
}

static void set(const char *name, const char *value)
{
    vars[n_vars][0] = name;
    vars[n_vars++][1] = value;
}

static int load(TraceConfig *config, Err *err)
{
    int r = trace_config_load("service", env, config, err);

    n_vars = 0;
    return r;
}

static void check_refused(const char *word)
{
    AUTO(trace_config) TraceConfig config;
    Err err = ERR_INIT;

    T_EQ_INT(load(&config, &err), -EINVAL);
    T_CONTAINS(err.msg, word);
}

static void check_noted(const char *word)
{
    AUTO(trace_config) TraceConfig config;
    Err err = ERR_INIT;

    T_OK(load(&config, &err));
    T_CONTAINS(config.note, word);
}

T_TEST(defaults_of_the_specification)
{
    AUTO(trace_config) TraceConfig config;

    T_OK(load(&config, NULL));
    T_EQ_STR(config.url, "http://localhost:4318/v1/traces");
    T_EQ_INT(config.protocol, TRACE_PROTOBUF);
    T_EQ_INT(config.sampler, TRACE_ALWAYS_ON);
    T_CHECK(config.parent_based);
    T_EQ_INT(config.timeout_ns, 10 * NS_PER_S);
    T_EQ_INT(config.delay_ns, 5 * NS_PER_S);
    T_EQ_INT(config.queue_max, 2048);
    T_EQ_INT(config.batch_max, 512);
    T_EQ_STR(config.resource[0].key, "service.name");
    T_EQ_STR(config.resource[0].text, "service");
    T_EQ_STR(config.note, "");
    T_CHECK(!trace_env_asks(env));
}

T_TEST(endpoints)
{
    static const struct {
        const char *name, *value, *url;
    } rows[] = {
        {"OTEL_EXPORTER_OTLP_ENDPOINT", "http://c:4318", "http://c:4318/v1/traces"},
        {"OTEL_EXPORTER_OTLP_ENDPOINT", "https://c/", "https://c/v1/traces"},
        {"OTEL_EXPORTER_OTLP_ENDPOINT", " http://c/base// ", "http://c/base/v1/traces"},
        {"OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "http://c/as/it/is", "http://c/as/it/is"},
        {"OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "HTTP://[::1]:9", "HTTP://[::1]:9"},
    };

    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        AUTO(trace_config) TraceConfig config;

        t_row(rows[i].value);
        set(rows[i].name, rows[i].value);
        T_CHECK(trace_env_asks(env));
        T_OK(load(&config, NULL));
        T_EQ_STR(config.url, rows[i].url);
        T_EQ_STR(config.note, "");
    }
}

T_TEST(endpoints_that_are_none)
{
    static const char *const rows[] = {"c:4318",  "http:c",     "http://",      "http:///v1",
                                       "ftp://c", "http://c d", "http://c\x01", "/v1/traces"};

    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        t_row(rows[i]);
        set("OTEL_EXPORTER_OTLP_ENDPOINT", rows[i]);
        check_refused("no http:// or https:// URL");
    }
}

T_TEST(grpc_is_answered_with_what_to_set)
{
    set("OTEL_EXPORTER_OTLP_PROTOCOL", "grpc");
    check_refused("set http/protobuf");
    set("OTEL_EXPORTER_OTLP_TRACES_PROTOCOL", "grpc");
    set("OTEL_EXPORTER_OTLP_PROTOCOL", "http/json");
    check_refused("4318");
    set("OTEL_EXPORTER_OTLP_ENDPOINT", "http://c:4317/");
    check_noted("4318");
}

T_TEST(headers_and_resource)
{
    AUTO(trace_config) TraceConfig config;

    set("OTEL_EXPORTER_OTLP_HEADERS", " a = b%20c , Authorization=Basic%20eA==,");
    set("OTEL_RESOURCE_ATTRIBUTES", "k=v%2c,service.name=mine,k=second");
    T_OK(load(&config, NULL));
    T_EQ_INT(config.n_headers, 2);
    T_EQ_STR(config.headers[0], "a: b c");
    T_EQ_STR(config.headers[1], "Authorization: Basic eA==");
    T_EQ_INT(config.n_resource, 3);
    T_EQ_STR(config.resource[0].text, "v,");
    T_EQ_STR(config.resource[1].text, "mine");
    T_EQ_STR(config.resource[2].key, "service.version");
    T_EQ_STR(config.note, "");
}

T_TEST(the_name_of_the_service_wins_over_the_resource)
{
    AUTO(trace_config) TraceConfig config;

    set("OTEL_SERVICE_NAME", "given");
    set("OTEL_RESOURCE_ATTRIBUTES", "service.name=mine");
    T_OK(load(&config, NULL));
    T_EQ_STR(config.resource[0].text, "given");
    T_EQ_INT(config.n_resource, 2);
}

T_TEST(what_makes_no_sense_is_ignored_and_named)
{
    static const struct {
        const char *name, *value;
    } rows[] = {
        {"OTEL_EXPORTER_OTLP_TIMEOUT", "soon"},  {"OTEL_BSP_MAX_QUEUE_SIZE", "-1"},
        {"OTEL_BSP_SCHEDULE_DELAY", "0"},        {"OTEL_TRACES_SAMPLER", "sometimes"},
        {"OTEL_EXPORTER_OTLP_HEADERS", "a"},     {"OTEL_EXPORTER_OTLP_HEADERS", "=b"},
        {"OTEL_EXPORTER_OTLP_HEADERS", "a=%zz"}, {"OTEL_EXPORTER_OTLP_HEADERS", "a=x%0d%0aevil: 1"},
        {"OTEL_EXPORTER_OTLP_HEADERS", "a b=x"}, {"OTEL_RESOURCE_ATTRIBUTES", "nothing"},
    };

    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        t_row(rows[i].value);
        set(rows[i].name, rows[i].value);
        check_noted(rows[i].name);
    }
    set("OTEL_TRACES_SAMPLER", "traceidratio");
    set("OTEL_TRACES_SAMPLER_ARG", "1.5");
    check_noted("OTEL_TRACES_SAMPLER_ARG");
}

/* A value that was refused may be a secret. */
T_TEST(the_note_shows_no_header)
{
    AUTO(trace_config) TraceConfig config;

    set("OTEL_EXPORTER_OTLP_HEADERS", "k=%zzsecret");
    T_OK(load(&config, NULL));
    T_CHECK(!strstr(config.note, "secret"));
    T_EQ_INT(config.n_headers, 0);
}

T_TEST(limits_have_a_ceiling)
{
    AUTO(trace_config) TraceConfig config;
    AUTO(strbuf) StrBuf list = STRBUF_INIT(TRACE_ENV_MAX);

    for (int i = 0; i < 2 * TRACE_HEADERS_MAX; i++) {
        strbuf_printf(&list, "h%d=1,", i);
    }
    set("OTEL_BSP_MAX_QUEUE_SIZE", "99999999");
    set("OTEL_BSP_MAX_EXPORT_BATCH_SIZE", "99999999");
    set("OTEL_BSP_SCHEDULE_DELAY", "99999999");
    set("OTEL_EXPORTER_OTLP_TIMEOUT", "99999999");
    set("OTEL_EXPORTER_OTLP_HEADERS", list.ptr);
    T_OK(load(&config, NULL));
    T_EQ_INT(config.queue_max, TRACE_QUEUE_MAX);
    T_EQ_INT(config.batch_max, TRACE_BATCH_MAX);
    T_EQ_INT(config.delay_ns, TRACE_DELAY_MAX_MS * NS_PER_MS);
    T_EQ_INT(config.timeout_ns, 600 * NS_PER_S);
    T_EQ_INT(config.n_headers, TRACE_HEADERS_MAX);
    T_CONTAINS(config.note, "OTEL_EXPORTER_OTLP_HEADERS");
}

T_TEST(a_batch_is_no_larger_than_the_queue)
{
    AUTO(trace_config) TraceConfig config;

    set("OTEL_BSP_MAX_QUEUE_SIZE", "10");
    T_OK(load(&config, NULL));
    T_EQ_INT(config.batch_max, 10);
}

T_TEST(off_by_the_environment)
{
    AUTO(trace_config) TraceConfig config;

    set("OTEL_SDK_DISABLED", "TRUE");
    T_EQ_INT(load(&config, NULL), TRACE_E_OFF);
    set("OTEL_TRACES_EXPORTER", "none");
    T_EQ_INT(load(&config, NULL), TRACE_E_OFF);
    set("OTEL_SDK_DISABLED", "1"); /* only "true" counts */
    set("OTEL_TRACES_EXPORTER", "otlp");
    T_OK(load(&config, NULL));
    trace_config_deinit(&config);
}

T_TEST(samplers_by_name)
{
    static const struct {
        const char *name, *arg;
        TraceSampler sampler;
        bool parent_based;
        uint64_t threshold;
    } rows[] = {
        {"always_on", NULL, TRACE_ALWAYS_ON, false, 0},
        {"always_off", NULL, TRACE_ALWAYS_OFF, false, 0},
        {"traceidratio", "0.5", TRACE_RATIO, false, 1ull << 62},
        {"traceidratio", NULL, TRACE_RATIO, false, 1ull << 63},
        {"parentbased_always_on", NULL, TRACE_ALWAYS_ON, true, 0},
        {"parentbased_always_off", NULL, TRACE_ALWAYS_OFF, true, 0},
        {"parentbased_traceidratio", "0", TRACE_RATIO, true, 0},
    };

    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        AUTO(trace_config) TraceConfig config;

        t_row(rows[i].name);
        set("OTEL_TRACES_SAMPLER", rows[i].name);
        set("OTEL_TRACES_SAMPLER_ARG", rows[i].arg);
        T_OK(load(&config, NULL));
        T_EQ_INT(config.sampler, rows[i].sampler);
        T_EQ_INT(config.parent_based, rows[i].parent_based);
        T_EQ_INT(config.threshold, rows[i].threshold);
        T_EQ_STR(config.note, "");
    }
}
