/* SPDX-License-Identifier: Apache-2.0 */
/* See config.h. */
#include "trace/config.h"

#include <errno.h>
#include <stdlib.h>

#include "base/clock.h"
#include "base/mem.h"
#include "base/version.h"
#include "http/chars.h"
#include "http/url.h"

#define ENDPOINT_DEFAULT "http://localhost:4318"
#define TRACES_PATH "/v1/traces"
#define TIMEOUT_DEFAULT_MS 10000
#define TIMEOUT_MAX_MS 600000
#define QUEUE_DEFAULT 2048
#define BATCH_DEFAULT 512
#define DELAY_DEFAULT_MS 5000
#define THRESHOLD_ALL (1ull << 63)

typedef struct Reader {
    TraceEnvFn env;
    TraceConfig *config;
} Reader;

/* An empty variable is an unset one. */
static Str read_env(const Reader *reader, const char *name)
{
    Str text = str_trim(str_from(reader->env(name)));

    return text.len > TRACE_ENV_MAX ? str_take(text, TRACE_ENV_MAX) : text;
}

/* OTEL_EXPORTER_OTLP_TRACES_X, then OTEL_EXPORTER_OTLP_X. */
static Str read_otlp(const Reader *reader, const char *suffix)
{
    AUTO(mem) char *of_traces = xasprintf("OTEL_EXPORTER_OTLP_TRACES_%s", suffix);
    AUTO(mem) char *general = xasprintf("OTEL_EXPORTER_OTLP_%s", suffix);
    Str text = read_env(reader, of_traces);

    return text.len > 0 ? text : read_env(reader, general);
}

static void note(const Reader *reader, const char *name, Str value)
{
    Err err = ERR_INIT;

    if (reader->config->note[0] == '\0') {
        err_set(&err, EINVAL, "%s=" STR_FMT " is not understood and was ignored", name,
                STR_ARG(str_take(value, 80)));
        memcpy(reader->config->note, err.msg, sizeof(err.msg));
    }
}

static uint64_t number_or(const Reader *reader, const char *name, Str text, uint64_t otherwise,
                          uint64_t max)
{
    uint64_t value;

    if (text.len == 0) {
        return otherwise;
    }
    if (str_to_u64(text, &value) < 0 || value == 0) {
        note(reader, name, text);
        return otherwise;
    }
    return value < max ? value : max;
}

static uint64_t read_number(const Reader *reader, const char *name, uint64_t otherwise,
                            uint64_t max)
{
    return number_or(reader, name, read_env(reader, name), otherwise, max);
}

/* ---- where to ---- */

static int read_protocol(Reader *reader, Err *reterr)
{
    Str protocol = read_otlp(reader, "PROTOCOL");

    if (protocol.len == 0 || str_eq(protocol, STR("http/protobuf"))) {
        reader->config->protocol = TRACE_PROTOBUF;
    } else if (str_eq(protocol, STR("http/json"))) {
        reader->config->protocol = TRACE_JSON;
    } else {
        return err_set(reterr, EINVAL,
                       "OTEL_EXPORTER_OTLP_PROTOCOL=" STR_FMT " is not spoken here: set "
                       "http/protobuf and the collector's HTTP port, usually 4318",
                       STR_ARG(str_take(protocol, 32)));
    }
    return 0;
}

static bool is_url(Str url)
{
    Str rest;
    Str scheme = str_cut(url, ':', &rest);

    for (size_t i = 0; i < url.len; i++) {
        if ((unsigned char)url.ptr[i] <= ' ' || url.ptr[i] == 0x7f) {
            return false;
        }
    }
    return (str_eq_nocase(scheme, STR("http")) || str_eq_nocase(scheme, STR("https"))) &&
           str_starts(rest, STR("//")) && rest.len > 2 && rest.ptr[2] != '/';
}

/* The port at which collectors speak gRPC only. */
static void warn_of_grpc(const Reader *reader, Str url)
{
    Str rest, path;
    Str authority;

    str_cut(url, ':', &rest);
    authority = str_cut(str_drop(rest, 2), '/', &path);
    if (str_ends(authority, STR(":4317")) && reader->config->note[0] == '\0') {
        Err err = ERR_INIT;

        err_set(&err, EINVAL,
                "the endpoint " STR_FMT " has the port of gRPC, which is not spoken "
                "here: use the collector's HTTP port, usually 4318",
                STR_ARG(str_take(url, 100)));
        memcpy(reader->config->note, err.msg, sizeof(err.msg));
    }
}

static int read_endpoint(Reader *reader, Err *reterr)
{
    Str whole = read_env(reader, "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT");
    Str base = read_env(reader, "OTEL_EXPORTER_OTLP_ENDPOINT");

    base = base.len > 0 ? base : STR(ENDPOINT_DEFAULT);
    if (!is_url(whole.len > 0 ? whole : base)) {
        return err_set(reterr, EINVAL,
                       "the collector's endpoint \"" STR_FMT "\" is no http:// or https:// URL",
                       STR_ARG(str_take(whole.len > 0 ? whole : base, 100)));
    }
    warn_of_grpc(reader, whole.len > 0 ? whole : base);
    if (whole.len > 0) {
        reader->config->url = xstrndup(whole.ptr, whole.len);
        return 0;
    }
    while (str_ends(base, STR("/"))) {
        base.len--;
    }
    reader->config->url = xasprintf(STR_FMT TRACES_PATH, STR_ARG(base));
    return 0;
}

/* ---- lists of key=value ---- */

/* The next pair of a list separated by commas, its value with percent escapes undone and freed by
 * the caller. False at the end; a pair that is none is noted and skipped. */
static bool next_pair(const Reader *reader, const char *name, Str *list, char **ret_key,
                      char **ret_value)
{
    while (list->len > 0) {
        Str value;
        Str pair = str_trim(str_cut(*list, ',', list));
        Str key = str_trim(str_cut(pair, '=', &value));
        AUTO(mem) char *text = NULL;
        size_t len;

        if (pair.len == 0) {
            continue;
        }
        value = str_trim(value);
        text = xstrndup(value.ptr ? value.ptr : "", value.len);
        if (key.len == 0 || !value.ptr || http_url_decode(value, text, &len) < 0) {
            note(reader, name, key); /* a value may be a secret */
            continue;
        }
        text[len] = '\0';
        *ret_key = xstrndup(key.ptr, key.len);
        *ret_value = TAKE(text);
        return true;
    }
    return false;
}

static bool is_header(Str name, Str value)
{
    return http_chars_all(name, HTTP_CHAR_TOKEN) && http_chars_all(value, HTTP_CHAR_VALUE);
}

static void read_headers(Reader *reader)
{
    static const char name[] = "OTEL_EXPORTER_OTLP_HEADERS";
    TraceConfig *config = reader->config;
    Str list = read_otlp(reader, "HEADERS");
    char *key, *value;

    while (next_pair(reader, name, &list, &key, &value)) {
        if (config->n_headers < TRACE_HEADERS_MAX && is_header(str_from(key), str_from(value))) {
            config->headers[config->n_headers++] = xasprintf("%s: %s", key, value);
        } else {
            note(reader, name, str_from(key));
        }
        free(key);
        free(value);
    }
}

/* Takes both. What is there already wins. */
static void add_resource(TraceConfig *config, char *key, char *value)
{
    bool known = config->n_resource == TRACE_ATTRS_MAX;

    for (size_t i = 0; i < config->n_resource; i++) {
        known |= str_eq(str_from(config->resource[i].key), str_from(key));
    }
    if (known) {
        free(key);
        free(value);
        return;
    }
    config->resource[config->n_resource++] = TRACE_TEXT(key, str_from(value));
    config->resource_text[config->n_resource_text++] = key;
    config->resource_text[config->n_resource_text++] = value;
}

static Str resource_service(const Reader *reader)
{
    Str list = read_env(reader, "OTEL_RESOURCE_ATTRIBUTES");

    while (list.len > 0) {
        Str value;
        Str key = str_cut(str_trim(str_cut(list, ',', &list)), '=', &value);

        if (str_eq(str_trim(key), STR("service.name"))) {
            return str_trim(value);
        }
    }
    return STR_NULL;
}

static void read_resource(Reader *reader, const char *service)
{
    static const char name[] = "OTEL_RESOURCE_ATTRIBUTES";
    Str list = read_env(reader, name);
    Str given = read_env(reader, "OTEL_SERVICE_NAME");
    char *key, *value;

    if (given.len > 0 || resource_service(reader).len == 0) {
        given = given.len > 0 ? given : str_from(service);
        add_resource(reader->config, xstrdup("service.name"), xstrndup(given.ptr, given.len));
    }
    while (next_pair(reader, name, &list, &key, &value)) {
        add_resource(reader->config, key, value);
    }
    add_resource(reader->config, xstrdup("service.version"), xstrdup(version_string()));
}

/* ---- which ---- */

static void read_ratio(Reader *reader)
{
    Str text = read_env(reader, "OTEL_TRACES_SAMPLER_ARG");
    double ratio = 1;

    if (text.len > 0 && (str_to_double(text, &ratio) < 0 || ratio < 0 || ratio > 1)) {
        note(reader, "OTEL_TRACES_SAMPLER_ARG", text);
        ratio = 1;
    }
    reader->config->threshold = (uint64_t)(ratio * (double)THRESHOLD_ALL);
}

static void read_sampler(Reader *reader)
{
    static const struct {
        const char *name;
        TraceSampler sampler;
        bool parent_based;
    } samplers[] = {
        {"parentbased_always_on", TRACE_ALWAYS_ON, true},
        {"parentbased_always_off", TRACE_ALWAYS_OFF, true},
        {"parentbased_traceidratio", TRACE_RATIO, true},
        {"always_on", TRACE_ALWAYS_ON, false},
        {"always_off", TRACE_ALWAYS_OFF, false},
        {"traceidratio", TRACE_RATIO, false},
    };
    Str text = read_env(reader, "OTEL_TRACES_SAMPLER");
    size_t at = 0;

    for (size_t i = 0; i < ARRAY_LEN(samplers); i++) {
        at = str_eq_nocase(text, str_from(samplers[i].name)) ? i : at;
    }
    if (text.len > 0 && !str_eq_nocase(text, str_from(samplers[at].name))) {
        note(reader, "OTEL_TRACES_SAMPLER", text);
    }
    reader->config->sampler = samplers[at].sampler;
    reader->config->parent_based = samplers[at].parent_based;
    if (reader->config->sampler == TRACE_RATIO) {
        read_ratio(reader);
    }
}

/* ---- all of it ---- */

static char *read_path(const Reader *reader, const char *suffix)
{
    Str path = read_otlp(reader, suffix);

    return path.len > 0 ? xstrndup(path.ptr, path.len) : NULL;
}

static void read_limits(Reader *reader)
{
    TraceConfig *config = reader->config;

    config->timeout_ns =
        NS_PER_MS * number_or(reader, "OTEL_EXPORTER_OTLP_TIMEOUT", read_otlp(reader, "TIMEOUT"),
                              TIMEOUT_DEFAULT_MS, TIMEOUT_MAX_MS);
    config->queue_max =
        read_number(reader, "OTEL_BSP_MAX_QUEUE_SIZE", QUEUE_DEFAULT, TRACE_QUEUE_MAX);
    config->batch_max =
        read_number(reader, "OTEL_BSP_MAX_EXPORT_BATCH_SIZE", BATCH_DEFAULT, TRACE_BATCH_MAX);
    if (config->batch_max > config->queue_max) {
        config->batch_max = config->queue_max;
    }
    config->delay_ns = NS_PER_MS * read_number(reader, "OTEL_BSP_SCHEDULE_DELAY", DELAY_DEFAULT_MS,
                                               TRACE_DELAY_MAX_MS);
}

bool trace_env_asks(TraceEnvFn env)
{
    const Reader reader = {.env = env};

    return read_otlp(&reader, "ENDPOINT").len > 0;
}

int trace_config_load(const char *service, TraceEnvFn env, TraceConfig *ret, Err *reterr)
{
    Reader reader = {.env = env, .config = ret};
    int r;

    *ret = (TraceConfig){0};
    if (str_eq_nocase(read_env(&reader, "OTEL_SDK_DISABLED"), STR("true")) ||
        str_eq(read_env(&reader, "OTEL_TRACES_EXPORTER"), STR("none"))) {
        return TRACE_E_OFF;
    }
    r = read_protocol(&reader, reterr);
    r = r < 0 ? r : read_endpoint(&reader, reterr);
    if (r < 0) {
        return r;
    }
    read_headers(&reader);
    read_resource(&reader, service);
    read_sampler(&reader);
    read_limits(&reader);
    ret->ca_file = read_path(&reader, "CERTIFICATE");
    ret->cert_file = read_path(&reader, "CLIENT_CERTIFICATE");
    ret->key_file = read_path(&reader, "CLIENT_KEY");
    return 0;
}

void trace_config_deinit(TraceConfig *config)
{
    free(config->url);
    for (size_t i = 0; i < config->n_headers; i++) {
        free(config->headers[i]);
    }
    for (size_t i = 0; i < config->n_resource_text; i++) {
        free(config->resource_text[i]);
    }
    free(config->ca_file);
    free(config->cert_file);
    free(config->key_file);
    *config = (TraceConfig){0};
}
