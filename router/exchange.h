/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * One request on its way: authorize, resolve, dial, relay, maybe tunnel. A state machine that is
 * run whenever something happened to the client, to the sandbox, to the table or to the clock; it
 * moves as far as it can and returns.
 *
 * Nothing of a request is sent twice, unless the method is idempotent, there is no body, and the
 * connection it was sent on was a reused one that gave not a single byte back.
 */
#include "router/body.h"
#include "router/client.h"
#include "router/frames.h"
#include "router/routing.h"
#include "router/span.h"
#include "router/worker.h"

#define EXCHANGE_METHOD_LOG_MAX 32 /* bytes kept for the log */
#define EXCHANGE_PATH_LOG_MAX 512
#define EXCHANGE_AGENT_LOG_MAX 160
#define EXCHANGE_INTERIM_MAX 16        /* 1xx heads of one reply */
#define EXCHANGE_SKIP_MAX (256 * 1024) /* unread request body read to keep a connection */
#define EXCHANGE_CLIENT_ABORT 499      /* status in log and metrics */

typedef enum ExchangeOutcome {
    EXCHANGE_PENDING,
    EXCHANGE_DONE,  /* the connection may go on */
    EXCHANGE_CLOSE, /* the connection ends; everything was sent */
    EXCHANGE_ABORT, /* cut the connection: the reply must not look whole */
} ExchangeOutcome;

typedef enum ExchangeState {
    EXCHANGE_AUTHORIZE, /* who calls is being asked */
    EXCHANGE_RESOLVE,
    EXCHANGE_DIAL,
    EXCHANGE_RELAY,
    EXCHANGE_TUNNEL,
    EXCHANGE_FLUSH, /* the reply is complete, its last bytes go out */
} ExchangeState;

struct Exchange {
    Client *client;
    Worker *worker;
    Back *back;
    ExchangeState state;
    Routing routing;
    bool routed; /* routing is valid */
    bool known;  /* its namespace is one of the table's */
    bool healthz;
    bool grpc; /* a call: call.h */
    HttpMethod method;
    bool minor0;                 /* an HTTP/1.0 client */
    bool upgrade;                /* the client asked for one */
    bool expect;                 /* it waits for 100 before it sends the body */
    bool close;                  /* the client's connection ends with this exchange */
    bool head_raw;               /* the request's head still lies in client->in */
    bool head_hot;               /* ... and worker->head still describes it */
    bool back_keep;              /* the reply says the sandbox's connection may live on */
    bool replied;                /* a final status went to the client */
    bool res_open;               /* the body of the reply is being relayed */
    bool req_dead;               /* the sandbox takes no more of the request */
    bool restarted;              /* once already, after a stale connection */
    bool client_shut, back_shut; /* tunnel: FIN passed on */
    int interim;
    int status;
    const char *source;
    const char *error; /* why it failed, for the log; "" = it did not */
    size_t head_len;   /* of the raw head in client->in */
    Buf head;          /* what the sandbox gets to see, kept until nothing can be sent again */
    size_t head_sent;
    Buf unsent; /* body bytes on their way from a stale connection to a fresh one */
    Body req;
    Body res;
    const Route *route; /* in use: a reference, with shared->note_use only */
    Address target;
    char host[DNS_NAME_MAX + 8];
    DnsQuery *query;
    ReviewQuery *review_query;
    char bound_uid[AUTHZ_UID_MAX + 1]; /* of the Sandbox a token opens; "" = not bound to one */
    WakeQuery *wake_query;
    uint8_t wake_state; /* WakeState, once asked and answered */
    bool wake_asked;
    bool may_wake;  /* no probe: wakes a sandbox, and is use of one */
    bool too_large; /* its body, by Content-Length */
    int dns_error;
    bool dns_done;
    int attempts;
    uint64_t start_ns;
    uint64_t sent_ns;     /* last byte of the request that went out */
    uint64_t progress_ns; /* last byte in any direction */
    uint64_t resolve_ns;  /* deadline */
    uint64_t dial_ns;     /* deadline of this attempt */
    uint64_t retry_ns;    /* when the next attempt may start, 0 = now */
    uint64_t limit_ns;    /* until response headers */
    const char *limit_name;
    uint64_t call_end_ns; /* of grpc-timeout, 0 = none */
    Span *span;           /* NULL without tracing */
    ListNode waiter;
    Frames frames; /* of a tunnel, sandbox to client */
    LimitHold client_hold;
    LimitHold sandbox_hold;
    uint32_t retry_after_s; /* of a reply of the router itself, 0 = do not say */
    uint64_t bytes_out;
    uint16_t path_len;
    uint8_t method_len;
    uint8_t agent_len;
    char method_log[EXCHANGE_METHOD_LOG_MAX];
    char path_log[EXCHANGE_PATH_LOG_MAX];
    char agent_log[EXCHANGE_AGENT_LOG_MAX];
};

/* The head in worker->head was parsed from the first head_len bytes of client->in. */
Exchange *exchange_new(Client *client, size_t head_len);
/* Logs, counts, closes what is open. */
void exchange_free(Exchange *x);
ExchangeOutcome exchange_run(Exchange *x);
uint64_t exchange_deadline(const Exchange *x); /* LOOP_NEVER = none */
/* A client that closes its side now is gone; in a tunnel it is only half closed. */
bool exchange_ends_with_client(const Exchange *x);
/* Sets what is watched on the sandbox's side. */
void exchange_watch(Exchange *x);
void exchange_back_event(Back *back); /* BackFn of the pool */
/* A reply of the router itself. */
void exchange_reply(Exchange *x, int status, const char *detail);
void exchange_refuse_body(Exchange *x); /* 413 */

/* ---- between exchange.c, connect.c and relay.c ---- */
void exchange_resolve(Exchange *x); /* connect.c */
void exchange_dial(Exchange *x);
void exchange_dial_failed(Exchange *x, int error);
bool exchange_restart(Exchange *x);           /* true: tried again on a fresh connection */
ExchangeOutcome exchange_relay(Exchange *x);  /* relay.c */
ExchangeOutcome exchange_tunnel(Exchange *x); /* tunnel.c */
/* Ends a tunnel from the router's side: close frame 1001 where a WebSocket takes one now. False:
 * there is no such place, cut it. */
bool exchange_end_tunnel(Exchange *x);
bool exchange_flush_back(Exchange *x); /* true when bytes moved */
void exchange_drop_back(Exchange *x);
void exchange_leave_waiters(Exchange *x);
uint64_t exchange_now(const Exchange *x);
/* 502 with the text clients know and why; reason: label of the metric. */
void exchange_bad_gateway(Exchange *x, const char *reason, const char *why);
