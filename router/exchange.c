/* SPDX-License-Identifier: Apache-2.0 */
/* Life of a request: admission, replies of the router's own, time limits, the end. See exchange.h.
 */
#include "router/exchange.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/timefmt.h"
#include "http/status.h"
#include "router/activity.h"
#include "router/call.h"
#include "router/fair.h"
#include "router/h2_back.h"
#include "router/waking.h"

uint64_t exchange_now(const Exchange *x)
{
    return loop_now(x->worker->loop);
}

static size_t copy_log(Str from, char *to, size_t max)
{
    size_t n = from.len < max ? from.len : max;

    memcpy(to, from.ptr, n);
    return n;
}

/* ---- replies of the router's own ---- */

static void reply_bytes(Exchange *x, int status, Str body)
{
    char head[256], later[40] = "";

    if (x->retry_after_s > 0) {
        snprintf(later, sizeof(later), "Retry-After: %u\r\n", x->retry_after_s);
    } else if (status == 401) {
        snprintf(later, sizeof(later), "WWW-Authenticate: Bearer\r\n");
    }
    int n = snprintf(
        head, sizeof(head),
        "HTTP/1.1 %d %s\r\nContent-Type: application/json\r\nContent-Length: %zu\r\n%s%s\r\n",
        status, http_status_reason(status), body.len, later,
        x->close    ? "Connection: close\r\n"
        : x->minor0 ? "Connection: keep-alive\r\n"
                    : "");

    body = x->method == HTTP_METHOD_HEAD ? STR("") : body;
    x->client->ops->own(x->client, (Str){head, (size_t)n}, body);
    x->bytes_out = body.len;
}

/* Whatever is under way towards the sandbox ends; a reply of the router goes out instead. */
static void begin_reply(Exchange *x, int status)
{
    bool skip = x->req.in != HTTP_BODY_LENGTH || x->req.left <= EXCHANGE_SKIP_MAX;

    exchange_leave_waiters(x);
    exchange_drop_back(x);
    if (x->head_raw) {
        buf_consume(&x->client->in, x->head_len);
        x->head_raw = false;
    }
    x->close |= !x->req.done && (x->expect || !skip);
    x->close |= x->worker->draining;
    x->status = status;
    x->replied = true;
    x->state = EXCHANGE_FLUSH;
    x->progress_ns = exchange_now(x);
}

static void reply_json(Exchange *x, int status, Str body)
{
    begin_reply(x, status);
    reply_bytes(x, status, body);
}

void exchange_reply(Exchange *x, int status, const char *detail)
{
    char body[400];

    if (x->grpc) {
        begin_reply(x, status);
        call_refuse(x, status, detail);
        return;
    }
    int n = snprintf(body, sizeof(body), "{\"detail\":\"%s\"}\n", detail);

    reply_json(x, status, (Str){body, (size_t)n});
}

void exchange_bad_gateway(Exchange *x, const char *reason, const char *why)
{
    char detail[240];

    x->error = why;
    observe_upstream_error(x->worker->shared->observe,
                           x->known ? routing_ns(&x->routing) : STR("-"), reason);
    snprintf(detail, sizeof(detail), "Could not connect to the backend sandbox: %s (%s)",
             x->routing.id, why);
    exchange_reply(x, 502, detail);
}

void exchange_refuse_body(Exchange *x)
{
    char detail[120];

    snprintf(detail, sizeof(detail), "Request body is too large (--max-request-body-bytes, %llu).",
             (unsigned long long)x->worker->tuning.body_max);
    exchange_reply(x, 413, detail);
}

static void reply_timeout(Exchange *x)
{
    char duration[TIMEFMT_SIZE], detail[240];

    observe_upstream_error(x->worker->shared->observe,
                           x->known ? routing_ns(&x->routing) : STR("-"), "timeout");
    x->error = x->limit_name;
    timefmt_duration((int64_t)x->limit_ns, duration);
    snprintf(detail, sizeof(detail), "Timed out waiting for the backend sandbox: %s (%s, %s)",
             x->routing.id, x->limit_name, duration);
    exchange_reply(x, 504, detail);
}

/* ---- admission ---- */

static void choose_limit(Exchange *x)
{
    const Tuning *limits = &x->worker->tuning;

    x->limit_ns = limits->response_header_ns;
    x->limit_name = "--response-header-timeout";
    if (x->routing.timeout_ns > 0) {
        x->limit_ns = x->routing.timeout_ns;
        x->limit_name = "X-Sandbox-Timeout";
    }
    if (x->limit_ns > limits->proxy_ns) {
        x->limit_ns = limits->proxy_ns;
        x->limit_name = "--proxy-timeout";
    }
    if (x->call_end_ns > 0 && x->call_end_ns - x->start_ns < limits->proxy_ns) {
        x->limit_ns = x->call_end_ns - x->start_ns;
        x->limit_name = "grpc-timeout";
    }
}

/* Headers, then authorization, then the size: the order clients see refusals in. */
static void admit(Exchange *x, HttpHead *head)
{
    const RouterShared *shared = x->worker->shared;
    RoutingForm form;
    const char *detail;

    if (str_eq(head->path, STR("/healthz"))) {
        x->healthz = true;
        reply_json(x, 200, STR("{\"status\":\"ok\"}\n"));
        return;
    }
    if (routing_take_prefix(str_from(shared->path_prefix), head, &form, &detail) < 0 ||
        routing_parse(head, &form, shared->allow_loopback, &x->routing, &detail) < 0) {
        exchange_reply(x, 400, detail);
        return;
    }
    x->routed = true;
    if (!routing_port_allowed(&shared->ports, x->routing.port)) {
        exchange_reply(x, 403, "X-Sandbox-Port is not one of --allowed-ports.");
        return;
    }
    if (x->grpc && !call_admit(x, head)) {
        return;
    }
    if (!fair_admit(x, head)) {
        return;
    }
    x->may_wake = (x->worker->waking || x->worker->shared->note_use) && waking_is_meant(head);
    choose_limit(x);
    x->resolve_ns = x->start_ns + x->worker->tuning.resolve_ns;
    x->too_large =
        x->worker->tuning.body_max > 0 && head->content_length > x->worker->tuning.body_max;
    if (authz_begin(x, head) && x->too_large) {
        exchange_refuse_body(x);
    }
}

/* Plain payload comes without framing: where it ends is said by Content-Length, or by the client.
 */
static void init_request_body(Exchange *x, const HttpHead *head)
{
    bool chunked = head->body == HTTP_BODY_CHUNKED;
    HttpBody in = chunked && !x->client->framed ? HTTP_BODY_EOF : head->body;

    body_init(&x->req, in, head->content_length, chunked && !x->grpc, x->worker->tuning.body_max);
}

Exchange *exchange_new(Client *client, size_t head_len)
{
    Exchange *x = xcalloc(1, sizeof(*x));
    Worker *worker = client->worker;
    HttpHead *head = &worker->head;

    x->client = client;
    x->worker = worker;
    x->source = "";
    x->error = "";
    x->state = EXCHANGE_RESOLVE;
    x->start_ns = x->sent_ns = x->progress_ns = loop_now(worker->loop);
    x->method = head->method_id;
    x->method_len = (uint8_t)copy_log(head->method, x->method_log, sizeof(x->method_log));
    x->path_len = (uint16_t)copy_log(head->path, x->path_log, sizeof(x->path_log));
    x->limit_ns = worker->tuning.proxy_ns;
    atomic_fetch_add_explicit(&worker->shared->observe->inflight, 1, memory_order_relaxed);
    if (head_len == 0) {
        return x; /* there was no request: only a refusal follows */
    }
    Str agent = http_head_get(head, HTTP_TOKEN_USER_AGENT);

    x->agent_len = agent.ptr ? (uint8_t)copy_log(agent, x->agent_log, sizeof(x->agent_log)) : 0;
    x->minor0 = head->minor == 0;
    x->close = !head->keep_alive || !client->framed; /* nothing follows on a stream */
    x->expect = head->expect_continue;
    x->upgrade = head->upgrade && head->body == HTTP_BODY_NONE;
    x->head_len = head_len;
    x->head_raw = x->head_hot = true;
    x->grpc = call_is(client, head);
    init_request_body(x, head);
    if (worker->shared->tracer) {
        x->span =
            span_begin(worker->shared->tracer, &worker->rng, head, loop_wall_now(worker->loop));
    }
    admit(x, head);
    return x;
}

/* ---- the end ---- */

void exchange_drop_back(Exchange *x)
{
    if (x->back) {
        back_close(TAKE(x->back));
    }
}

void exchange_leave_waiters(Exchange *x)
{
    if (list_node_is_linked(&x->waiter)) {
        list_remove(&x->waiter);
        x->worker->n_waiters--;
    }
    waking_leave(x);
    authz_leave(x);
    if (x->query) {
        dns_cancel(TAKE(x->query));
    }
}

void exchange_free(Exchange *x)
{
    Observe *observe = x->worker->shared->observe;
    const HttpTlsIdentity *identity = client_identity(x->client);
    ObserveRequest request = {
        .method_id = x->method,
        .method = {x->method_log, x->method_len},
        .path = {x->path_log, x->path_len},
        .status = x->replied ? x->status : EXCHANGE_CLIENT_ABORT,
        .duration_ns = exchange_now(x) - x->start_ns,
        .client_ip = str_from(x->client->peer),
        .sandbox_id = x->routed ? routing_id(&x->routing) : STR(""),
        .sandbox_namespace = x->routed ? routing_ns(&x->routing) : STR(""),
        .known = x->known,
        .quiet = x->healthz,
        .bytes_out = x->bytes_out + x->res.total,
        .user_agent = {x->agent_log, x->agent_len},
        .source = x->source,
        .error = x->error,
        .identity = identity ? str_from(identity->name) : STR(""),
    };

    if (x->status == 101) {
        atomic_fetch_sub_explicit(&observe->upgrades, 1, memory_order_relaxed);
    }
    atomic_fetch_sub_explicit(&observe->inflight, 1, memory_order_relaxed);
    if (x->worker->shared->census && x->known && x->source[0]) {
        census_count(x->worker->shared->census, routing_ns(&x->routing), routing_id(&x->routing),
                     request.status, x->req.total, request.bytes_out);
    }
    x->worker->bytes_in += x->req.total;
    x->worker->bytes_out += request.bytes_out;
    if (x->span) {
        request.trace_id = span_trace_id(x->span);
        request.span_id = span_span_id(x->span);
    }
    access_request(&x->worker->access, &request);
    if (x->span) {
        span_end(x->span, x->worker->shared->tracer, &request);
    }
    exchange_leave_waiters(x);
    exchange_drop_back(x);
    fair_leave(x);
    if (x->route) {
        activity_end(x->route, loop_wall_now(x->worker->loop));
    }
    buf_release(&x->worker->bufs, &x->head);
    buf_release(&x->worker->bufs, &x->unsent);
    free(x);
}

/* ---- time ---- */

static uint64_t tunnel_deadline(const Exchange *x)
{
    uint64_t idle_ns = x->worker->tuning.upgrade_idle_ns;
    uint64_t lifetime_ns = x->worker->tuning.upgrade_lifetime_ns;
    uint64_t idle = idle_ns > 0 ? x->progress_ns + idle_ns : LOOP_NEVER;
    uint64_t end = lifetime_ns > 0 ? x->start_ns + lifetime_ns : LOOP_NEVER;

    return idle < end ? idle : end;
}

static uint64_t state_deadline(const Exchange *x)
{
    uint64_t answer = x->sent_ns + x->limit_ns;

    switch (x->state) {
    case EXCHANGE_AUTHORIZE:
        return answer;
    case EXCHANGE_RESOLVE:
        return x->query || x->resolve_ns > answer ? answer : x->resolve_ns;
    case EXCHANGE_DIAL: {
        uint64_t step = x->back ? x->dial_ns : x->retry_ns;

        return step < answer ? step : answer;
    }
    case EXCHANGE_RELAY:
        return x->replied ? x->progress_ns + x->worker->tuning.proxy_ns : answer;
    case EXCHANGE_TUNNEL:
        return tunnel_deadline(x);
    default:
        return x->progress_ns + x->worker->tuning.proxy_ns;
    }
}

uint64_t exchange_deadline(const Exchange *x)
{
    uint64_t deadline = state_deadline(x);

    return x->call_end_ns > 0 && x->state != EXCHANGE_FLUSH && x->call_end_ns < deadline
               ? x->call_end_ns
               : deadline;
}

/* The deadline has passed. False: the client's connection must be cut. */
static bool expire(Exchange *x)
{
    bool over = x->call_end_ns > 0 && exchange_now(x) >= x->call_end_ns;
    bool late = over || exchange_now(x) >= x->sent_ns + x->limit_ns;
    bool client_is_slow = x->state == EXCHANGE_RELAY && !x->req.done &&
                          buf_len(&x->back->out) == 0 && x->head_sent == buf_len(&x->head);

    if (x->state == EXCHANGE_TUNNEL) {
        bool idle = x->worker->tuning.upgrade_idle_ns > 0 &&
                    exchange_now(x) >= x->progress_ns + x->worker->tuning.upgrade_idle_ns;

        observe_limited(x->worker->shared->observe, "upgrade", idle ? "idle" : "lifetime");
        x->error = idle ? "--upgrade-idle-timeout" : "--upgrade-max-lifetime";
        return exchange_end_tunnel(x);
    }
    if (x->grpc && x->state == EXCHANGE_RELAY && x->replied) {
        call_abort(x, 504, "The call took too long.");
        return true;
    }
    if (x->state == EXCHANGE_FLUSH || x->replied) {
        x->error = "--proxy-timeout";
        return false;
    }
    if (client_is_slow && !x->grpc) { /* a call's client may wait for its sandbox */
        x->close = true;
        exchange_reply(x, 408, "The request body did not arrive in time.");
    } else if (x->state == EXCHANGE_AUTHORIZE) {
        authz_give_up(x);
    } else if (late) {
        reply_timeout(x);
    } else if (x->state == EXCHANGE_RESOLVE) {
        waking_give_up(x);
    } else if (x->back) {
        exchange_dial_failed(x, -ETIMEDOUT);
    }
    return true;
}

/* ---- driving ---- */

bool exchange_ends_with_client(const Exchange *x)
{
    return x->state == EXCHANGE_AUTHORIZE || x->state == EXCHANGE_RESOLVE ||
           x->state == EXCHANGE_DIAL || x->state == EXCHANGE_RELAY;
}

/* The reply is complete here; a short rest of the request is read so that the connection can live.
 */
static ExchangeOutcome flush(Exchange *x)
{
    Client *client = x->client;

    if (!client_flush(client)) {
        return EXCHANGE_ABORT;
    }
    if (!x->req.done && !x->close) {
        x->req.discard = true;
        x->close |= body_move(&x->req, &x->worker->bufs, &client->in, &client->out) < 0;
        x->close |= x->req.total > EXCHANGE_SKIP_MAX || client->eof;
    }
    if (buf_len(&client->out) > 0 || (!x->req.done && !x->close)) {
        return EXCHANGE_PENDING;
    }
    return x->close || x->worker->draining ? EXCHANGE_CLOSE : EXCHANGE_DONE;
}

static ExchangeOutcome run_state(Exchange *x)
{
    switch (x->state) {
    case EXCHANGE_AUTHORIZE:
        return EXCHANGE_PENDING;
    case EXCHANGE_RESOLVE:
        exchange_resolve(x);
        return EXCHANGE_PENDING;
    case EXCHANGE_DIAL:
        exchange_dial(x);
        return EXCHANGE_PENDING;
    case EXCHANGE_RELAY:
        return exchange_relay(x);
    case EXCHANGE_TUNNEL:
        return exchange_tunnel(x);
    default:
        return flush(x);
    }
}

static ExchangeOutcome run_states(Exchange *x)
{
    ExchangeOutcome outcome;
    ExchangeState before;

    do {
        before = x->state;
        outcome = run_state(x);
    } while (outcome == EXCHANGE_PENDING && x->state != before);
    return outcome;
}

/* Progress first, the clock second: what arrived in time counts although it is looked at late. */
ExchangeOutcome exchange_run(Exchange *x)
{
    ExchangeOutcome outcome;

    if (x->client->eof && exchange_ends_with_client(x)) {
        return EXCHANGE_ABORT;
    }
    outcome = run_states(x);
    if (outcome == EXCHANGE_PENDING && exchange_now(x) >= exchange_deadline(x)) {
        outcome = expire(x) ? run_states(x) : EXCHANGE_ABORT;
    }
    x->head_hot = false;
    return outcome;
}

void exchange_watch(Exchange *x)
{
    if (x->back) {
        bool unsent = x->state == EXCHANGE_DIAL || x->head_sent < buf_len(&x->head) ||
                      buf_len(&x->back->out) > 0;

        if (x->back->h2 && x->state != EXCHANGE_DIAL) {
            unsent = h2_back_wants_write(x->back);
        }
        back_watch(x->back, unsent && !x->req_dead);
    }
}

void exchange_back_event(Back *back)
{
    Exchange *x = back->exchange;

    client_step(x->client);
}
