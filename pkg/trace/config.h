/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * The environment variables of OpenTelemetry ("Environment Variable Specification" and "OTLP
 * Exporter Configuration") that mean something here. The ones of the signal (…_TRACES_…) win over
 * the general ones. A value that makes no sense is ignored, as the specification asks, and named in
 * `note`, so that somebody can be told.
 */
#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "trace/span.h"

#define TRACE_HEADERS_MAX 16     /* of OTEL_EXPORTER_OTLP_HEADERS */
#define TRACE_QUEUE_MAX 65536    /* ceiling of OTEL_BSP_MAX_QUEUE_SIZE */
#define TRACE_BATCH_MAX 4096     /* ceiling of OTEL_BSP_MAX_EXPORT_BATCH_SIZE */
#define TRACE_ENV_MAX 8192       /* bytes of one variable */
#define TRACE_DELAY_MAX_MS 60000 /* ceiling of OTEL_BSP_SCHEDULE_DELAY */

typedef enum TraceSampler {
    TRACE_ALWAYS_ON,
    TRACE_ALWAYS_OFF,
    TRACE_RATIO,
} TraceSampler;

typedef struct TraceConfig {
    char *url;
    TraceProtocol protocol;
    char *headers[TRACE_HEADERS_MAX]; /* "Name: value" */
    size_t n_headers;
    TraceAttr resource[TRACE_ATTRS_MAX]; /* service.name is the first */
    size_t n_resource;
    char *resource_text[2 * TRACE_ATTRS_MAX]; /* what they point to */
    size_t n_resource_text;
    char *ca_file; /* NULL = the system's */
    char *cert_file;
    char *key_file;
    uint64_t timeout_ns; /* of one request */
    TraceSampler sampler;
    bool parent_based;  /* a parent's decision wins */
    uint64_t threshold; /* TRACE_RATIO: sampled when the id's low 63 bits are below */
    size_t queue_max;
    size_t batch_max;
    uint64_t delay_ns;      /* longest wait of a span for company */
    char note[ERR_MSG_MAX]; /* the first thing that was ignored, "" = nothing */
} TraceConfig;

typedef const char *(*TraceEnvFn)(const char *name); /* getenv */

/* Whether the environment names a collector, which is how tracing is asked for without a flag. */
bool trace_env_asks(TraceEnvFn env);

/*
 * Reads all of it. service: name unless the environment has one. 0; TRACE_E_OFF when
 * OTEL_SDK_DISABLED or OTEL_TRACES_EXPORTER=none says so; -EINVAL for what cannot work (a protocol
 * that is not spoken here, an endpoint that is no URL) with a text that says what to set. The
 * configuration is to be freed in any case.
 */
enum { TRACE_E_OFF = 1 };
int trace_config_load(const char *service, TraceEnvFn env, TraceConfig *ret, Err *reterr);
void trace_config_deinit(TraceConfig *config);

DEFINE_AUTO(trace_config, TraceConfig, trace_config_deinit)
