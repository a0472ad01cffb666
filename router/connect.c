/* SPDX-License-Identifier: Apache-2.0 */
/*
 * From a name to a connection: the table (or, in the profile that trusts clients, what the client
 * says, then DNS), the pool, dialling with retries. Nothing of the request has been sent while an
 * exchange is here, so trying again is always safe.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/timefmt.h"
#include "router/activity.h"
#include "router/exchange.h"
#include "router/fair.h"
#include "router/rewrite.h"
#include "router/waking.h"

/* Builds what the sandbox gets to see and takes the raw head out of the client's buffer. */
static int build_head(Exchange *x)
{
    Worker *worker = x->worker;
    Client *client = x->client;
    RewriteRequest options = {.host = str_from(x->host),
                              .peer = str_from(client->peer),
                              .https = client_is_tls(client),
                              .upgrade = x->upgrade};
    Str raw = str_take(buf_str(&client->in), x->head_len);
    const char *detail;
    RoutingForm form;
    int r;

    if (x->span) {
        options.traceparent = str_from(x->span->parent);
        options.drop_state = x->span->state_bad;
    }
    if (!x->head_hot) { /* others have used the worker's head meanwhile: read ours again */
        http_head_init(&worker->head);
        r = http_request_parse(&worker->head, raw.ptr, raw.len);
        if (r < 0) {
            return r;
        }
        routing_take_prefix(str_from(worker->shared->path_prefix), &worker->head, &form, &detail);
    }
    buf_consume(&worker->scratch, buf_len(&worker->scratch));
    r = rewrite_request(&worker->head, &options, &worker->bufs, &worker->scratch);
    if (r == 0) {
        x->head = buf_dup(&worker->bufs, buf_str(&worker->scratch));
        if (worker->scratch.cap > BUF_SIZE) {
            buf_release(&worker->bufs, &worker->scratch);
        }
        buf_consume(&client->in, x->head_len);
        buf_trim(&worker->bufs, &client->in);
        x->head_raw = false;
    }
    return r;
}

static void resolved(Exchange *x, const Address *address, const char *source)
{
    exchange_leave_waiters(x);
    if (!fair_enter_sandbox(x)) {
        return;
    }
    x->target = *address;
    x->target.port = x->routing.port;
    x->source = source;
    x->state = EXCHANGE_DIAL;
    if (!x->host[0]) {
        address_format(&x->target, x->host);
    }
    if (build_head(x) < 0) {
        exchange_reply(x, 431, "Request head is too large.");
    }
}

static void on_dns(void *ctx, int error, const Address *address)
{
    Exchange *x = ctx;

    x->query = NULL;
    x->dns_done = true;
    x->dns_error = error;
    if (error == 0) {
        x->target = *address;
    }
    client_step(x->client);
}

static const char *dns_trouble(const Exchange *x)
{
    return !x->dns_done              ? "the name is too long"
           : x->dns_error == -EAGAIN ? "the name server did not answer"
                                     : "there is no such name";
}

static void resolve_dns(Exchange *x)
{
    char name[DNS_NAME_MAX + 1];
    int n = snprintf(name, sizeof(name), "%s.%s.svc.%s", x->routing.id, x->routing.ns,
                     x->worker->shared->cluster_domain);

    if (x->dns_done && x->dns_error == 0) {
        Address address = x->target;

        snprintf(x->host, sizeof(x->host), "%s:%u", name, x->routing.port);
        resolved(x, &address, "dns");
    } else if (x->dns_done || n < 0 || n > DNS_NAME_MAX) {
        exchange_bad_gateway(x, "dial", dns_trouble(x));
    } else if (!x->query) {
        x->query = dns_query(x->worker->dns, str_from(name), on_dns, x);
        if (!x->query) {
            exchange_bad_gateway(x, "dial", "too many names are being looked up");
        }
    }
}

static void wait_for_table(Exchange *x)
{
    Worker *worker = x->worker;

    if (list_node_is_linked(&x->waiter)) {
        return;
    }
    if (worker->n_waiters >= WORKER_WAITERS_MAX) {
        x->retry_after_s = 1;
        exchange_reply(x, 503, "Too many requests wait for unknown sandboxes.");
        return;
    }
    list_push_back(&worker->waiters, &x->waiter);
    worker->n_waiters++;
}

/* The host did not answer a moment ago. Where names have another source that one is asked, else
 * this is the answer. */
static bool is_suspect(Exchange *x, const Address *host)
{
    Worker *worker = x->worker;
    uint64_t now = exchange_now(x);
    uint64_t wait_ns = suspects_ask(&worker->suspects, host, now, worker->tuning.dial_ns);
    char detail[240];

    if (wait_ns == 0 || worker->shared->trust_pod_ip) {
        return wait_ns > 0;
    }
    snprintf(detail, sizeof(detail),
             "Sandbox %s/%s does not answer, its host is left alone for a moment "
             "(--dead-host-backoff).",
             x->routing.ns, x->routing.id);
    observe_upstream_error(worker->shared->observe, routing_ns(&x->routing), "dial");
    x->retry_after_s = (uint32_t)(wait_ns / NS_PER_S) + 1;
    x->error = "--dead-host-backoff";
    exchange_reply(x, 503, detail);
    return true;
}

void exchange_resolve(Exchange *x)
{
    const RouterShared *shared = x->worker->shared;
    const Route *route = NULL;

    if (shared->trust_pod_ip && x->routing.pod_ip.set) {
        resolved(x, &x->routing.pod_ip, "pod-ip");
        return;
    }
    if (x->worker->table) {
        route =
            route_table_find(x->worker->table, routing_ns(&x->routing), routing_id(&x->routing));
    }
    x->known |= route != NULL;
    if (!authz_is_bound_to(x, route)) {
        exchange_reply(x, 403, "forbidden");
        return;
    }
    if (route && is_suspect(x, &route->address)) {
        route = NULL;
        if (!shared->trust_pod_ip) {
            return;
        }
    }
    if (route) {
        if (shared->note_use && x->may_wake && !x->route) {
            x->route = activity_begin(route);
        }
        resolved(x, &route->address, "cache-name");
    } else if (shared->trust_pod_ip) {
        resolve_dns(x);
    } else {
        if (x->worker->waking && waking_resolve(x)) {
            return;
        }
        wait_for_table(x); /* exchange_deadline() ends it with 404 */
    }
}

/* ---- dialling ---- */

static bool may_repeat(const Exchange *x)
{
    return x->req.in == HTTP_BODY_NONE && http_method_is_idempotent(x->method);
}

void exchange_dial(Exchange *x)
{
    Upstreams *upstreams = &x->worker->upstreams;
    uint64_t now = exchange_now(x);

    if (!x->back) {
        if (x->retry_ns > now) {
            return;
        }
        if (x->attempts == 0 && !x->restarted) {
            x->back = upstreams_take(upstreams, &x->target, x->grpc, !may_repeat(x));
        }
        if (!x->back) {
            x->back = upstreams_dial(upstreams, &x->target, x->grpc);
            x->back->out = x->unsent;
            x->unsent = (Buf){0};
            x->dial_ns = now + x->worker->tuning.dial_ns;
        }
        x->back->exchange = x;
        x->back->in_max = HTTP_HEAD_MAX + BUF_SIZE;
    }
    if (x->back->error) {
        exchange_dial_failed(x, x->back->error);
    } else if (x->back->connected) {
        suspects_clear(&x->worker->suspects, &x->target);
        x->state = EXCHANGE_RELAY;
        x->sent_ns = x->progress_ns = now;
    }
}

/* Nobody answered: 504. Somebody said no: 502. */
static void give_up(Exchange *x, int error)
{
    char duration[TIMEFMT_SIZE], detail[240];

    if (error != -ETIMEDOUT) {
        exchange_bad_gateway(x, "dial",
                             error == -ECONNREFUSED ? "connection refused"
                             : error == -EHOSTUNREACH || error == -ENETUNREACH ? "no route to host"
                             : error == -ECONNRESET                            ? "connection reset"
                                                                               : "cannot connect");
        return;
    }
    timefmt_duration((int64_t)x->worker->tuning.dial_ns, duration);
    x->error = "--dial-timeout";
    observe_upstream_error(x->worker->shared->observe,
                           x->known ? routing_ns(&x->routing) : STR("-"), "dial");
    snprintf(detail, sizeof(detail),
             "Timed out connecting to the backend sandbox: %s (--dial-timeout, %s, %d attempts)",
             x->routing.id, duration, x->attempts + 1);
    exchange_reply(x, 504, detail);
}

/* Only for addresses of the table: what clients name and what DNS says is theirs. */
static void blame(Exchange *x, int error)
{
    bool dead = error == -ETIMEDOUT || error == -EHOSTUNREACH || error == -ENETUNREACH;
    uint64_t wait_ns = x->worker->tuning.dead_host_ns;

    if (dead && wait_ns > 0 && x->known && strcmp(x->source, "cache-name") == 0 &&
        suspects_blame(&x->worker->suspects, &x->target, exchange_now(x), wait_ns)) {
        observe_invalidation(x->worker->shared->observe, routing_ns(&x->routing));
    }
}

void exchange_dial_failed(Exchange *x, int error)
{
    const Tuning *limits = &x->worker->tuning;
    uint64_t delay = limits->retry_min_ns;

    exchange_drop_back(x);
    blame(x, error);
    if (x->attempts >= limits->dial_retries) {
        give_up(x, error);
        return;
    }
    for (int i = 0; i < x->attempts && delay < limits->retry_max_ns; i++) {
        delay *= 2;
    }
    x->attempts++;
    x->retry_ns = exchange_now(x) + (delay < limits->retry_max_ns ? delay : limits->retry_max_ns);
    observe_upstream_retry(x->worker->shared->observe,
                           x->known ? routing_ns(&x->routing) : STR("-"));
}

bool exchange_restart(Exchange *x)
{
    Back *back = x->back;
    bool untouched = x->head_sent == 0;

    if (x->restarted || !back->reused || back->got_bytes || x->replied ||
        (!untouched && !may_repeat(x))) {
        return false;
    }
    x->unsent = back->out; /* body bytes taken from the client already */
    back->out = (Buf){0};
    exchange_drop_back(x);
    x->restarted = true;
    x->req_dead = false;
    x->head_sent = 0;
    x->state = EXCHANGE_DIAL;
    return true;
}
