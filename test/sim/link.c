/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The network between one replica and the API server, as a KubeTransport in front of the API
 * server's own.
 *
 * A call has two ends: `inner` lives on the world's loop, `outer` belongs to the replica. What
 * comes back is queued and handed out by a timer of the replica's loop, so a paused process hears
 * nothing. When the replica cancels or dies, a request that is on its way may go on without it: a
 * ghost, which takes effect while nobody waits for the answer.
 */
#include <errno.h>

#include "base/mem.h"
#include "base/vec.h"
#include "test/sim/sim.h"

#define PIECE_MAX (16u << 20)
#define STUCK_MIN_NS (5 * NS_PER_S)
#define STUCK_MAX_NS (35 * NS_PER_S)

/* Data, or the end. */
typedef struct Piece {
    uint64_t due_ns;
    char *text;
    size_t len;
    bool end;
    KubeResult result; /* of the end; body is `text` */
} Piece;

struct SimCall {
    ListNode node; /* of the link, or of the ghosts */
    Sim *sim;
    Replica *replica;
    SimLink *link;      /* NULL: a ghost */
    KubeRequest *outer; /* NULL: nobody listens */
    KubeRequest inner;
    char *path;
    char *body;
    bool submitted;
    bool ended;        /* inner is done */
    bool stuck;        /* a watch that hangs */
    bool busy;         /* inside outer's callback */
    bool dead;         /* to be freed when no longer busy */
    LoopTimer submit;  /* the world's */
    LoopTimer deliver; /* the replica's, and the next */
    LoopTimer timeout;
    VEC(Piece) pieces;
    uint64_t last_due_ns;
};

struct SimLink {
    KubeTransport transport;
    Replica *replica;
    List calls;
};

/* ---- ends ---- */

static void call_free(SimCall *call)
{
    loop_timer_disarm(&call->submit);
    loop_timer_disarm(&call->deliver);
    loop_timer_disarm(&call->timeout);
    list_remove(&call->node);
    if (call->submitted && !call->ended) {
        kube_cancel(fakeapi_transport(call->sim->api), &call->inner);
    }
    vec_foreach (&call->pieces, it) {
        free(it->text);
    }
    vec_free(&call->pieces);
    free(call->path);
    free(call->body);
    free(call);
}

/* Nobody listens any more: it ends here, or goes on as a ghost. */
static void call_leave(SimCall *call, bool ghost)
{
    call->outer = NULL;
    if (call->busy) {
        call->dead = true;
        return;
    }
    if (!ghost || call->ended || call->inner.stream || call->inner.method == KUBE_GET) {
        call_free(call);
        return;
    }
    loop_timer_disarm(&call->deliver);
    loop_timer_disarm(&call->timeout);
    list_remove(&call->node);
    list_push_back(&call->sim->ghosts, &call->node);
    call->link = NULL;
}

void link_ghosts_free(Sim *sim)
{
    ListNode *node;

    while ((node = list_first(&sim->ghosts))) {
        call_free(list_entry(node, SimCall, node));
    }
}

/* ---- the replica's end ---- */

static void call_finish(SimCall *call, const KubeResult *result)
{
    KubeRequest *outer = call->outer;

    call->outer = NULL;
    outer->impl = NULL;
    call->busy = true;
    outer->on_done(outer, result);
    call->busy = false;
    call_leave(call, true);
}

static void call_fail(SimCall *call, int err)
{
    KubeResult result = {.err = err, .sent = true};

    (void)snprintf(result.msg, sizeof(result.msg), "%s", strerror(-err));
    call_finish(call, &result);
}

/* False when the call is over. */
static bool hand_out(SimCall *call, Piece *piece)
{
    int r;

    if (piece->end) {
        piece->result.body = (Str){piece->text, piece->len};
        call_finish(call, &piece->result);
        return false;
    }
    call->busy = true;
    r = call->outer->on_data(call->outer, (Str){piece->text, piece->len});
    call->busy = false;
    if (call->dead) {
        call_leave(call, false);
        return false;
    }
    if (r < 0) {
        call_fail(call, r);
        return false;
    }
    return true;
}

static void on_deliver(LoopTimer *timer)
{
    SimCall *call = container_of(timer, SimCall, deliver);
    Loop *loop = timer->loop ? timer->loop : replica_loop(call->replica);

    while (call->pieces.len > 0) {
        Piece piece = call->pieces.ptr[0];
        bool more;

        if (piece.due_ns > loop_now(loop)) {
            loop_timer_arm(loop, timer, piece.due_ns);
            return;
        }
        vec_remove(&call->pieces, 0);
        {
            AUTO(mem) char *text = piece.text;

            UNUSED(text);
            more = hand_out(call, &piece);
        }
        if (!more) {
            return;
        }
    }
}

static void on_timeout(LoopTimer *timer)
{
    call_fail(container_of(timer, SimCall, timeout), -ETIMEDOUT);
}

/* ---- the world's end ---- */

static void add_piece(SimCall *call, Piece piece, uint64_t late_ns)
{
    Loop *loop = replica_loop(call->replica);
    uint64_t due = call->sim->clock.now_mono_ns + late_ns;

    /* One stream: nothing overtakes. */
    piece.due_ns = due > call->last_due_ns ? due : call->last_due_ns;
    call->last_due_ns = piece.due_ns;
    vec_push(&call->pieces, piece);
    if (!loop_timer_is_armed(&call->deliver)) {
        loop_timer_arm(loop, &call->deliver, call->pieces.ptr[0].due_ns);
    }
}

static Piece text_piece(Str text)
{
    return (Piece){.text = xstrndup(text.ptr ? text.ptr : "", text.len), .len = text.len};
}

static int inner_on_data(KubeRequest *req, Str chunk)
{
    SimCall *call = container_of(req, SimCall, inner);
    uint64_t late = 0;

    if (!call->outer || call->stuck) {
        return 0;
    }
    if (req->stream && sim_chance(call->sim, SIM_WATCH_LATE)) {
        late = sim_between(call->sim, SIM_WATCH_LATE, NS_PER_MS, 6 * NS_PER_S);
    }
    add_piece(call, text_piece(chunk), late);
    if (req->stream && sim_chance(call->sim, SIM_WATCH_TWICE)) {
        add_piece(call, text_piece(chunk), 0);
    }
    return 0;
}

static void inner_on_done(KubeRequest *req, const KubeResult *result)
{
    SimCall *call = container_of(req, SimCall, inner);
    Piece piece = text_piece(result->body);
    uint64_t late = 0;

    call->ended = true;
    if (!call->outer) {
        free(piece.text);
        call_free(call);
        return;
    }
    if (!req->stream && sim_chance(call->sim, SIM_LATE_ANSWER)) {
        late = sim_between(call->sim, SIM_LATE_ANSWER, NS_PER_MS, 10 * NS_PER_S);
    }
    piece.end = true;
    piece.result = *result;
    if (call->stuck) {
        free(piece.text);
        return;
    }
    add_piece(call, piece, late);
}

static void on_submit(LoopTimer *timer)
{
    SimCall *call = container_of(timer, SimCall, submit);

    call->submitted = true;
    call->sim->submitting = call;
    kube_submit(fakeapi_transport(call->sim->api), &call->inner);
    call->sim->submitting = NULL;
}

/* ---- transport ---- */

static void link_submit(KubeTransport *transport, KubeRequest *req)
{
    SimLink *link = container_of(transport, SimLink, transport);
    Sim *sim = replica_sim(link->replica);
    Loop *loop = replica_loop(link->replica);
    SimCall *call = xcalloc(1, sizeof(*call));
    uint64_t late = 0;

    *call = (SimCall){.sim = sim, .replica = link->replica, .link = link, .outer = req};
    call->path = xstrdup(req->path);
    call->body = xstrndup(req->body.ptr ? req->body.ptr : "", req->body.len);
    call->inner = *req;
    call->inner.path = call->path;
    call->inner.body = (Str){call->body, req->body.len};
    call->inner.on_data = req->on_data ? inner_on_data : NULL;
    call->inner.on_done = inner_on_done;
    call->inner.node = (ListNode){0};
    call->inner.impl = NULL;
    loop_timer_init(&call->submit, on_submit);
    loop_timer_init(&call->deliver, on_deliver);
    loop_timer_init(&call->timeout, on_timeout);
    list_push_back(&link->calls, &call->node);
    req->impl = call;
    if (!req->stream) {
        uint64_t timeout = req->timeout_ns > 0 ? req->timeout_ns : KUBE_TIMEOUT_DEFAULT_NS;

        loop_timer_arm(loop, &call->timeout, loop_now(loop) + timeout);
        if (sim_chance(sim, SIM_LATE_REQUEST)) {
            late = sim_between(sim, SIM_LATE_REQUEST, NS_PER_MS, 10 * NS_PER_S);
        }
    }
    loop_timer_arm(sim->loop, &call->submit, sim->clock.now_mono_ns + late);
}

static void link_cancel(KubeTransport *transport, KubeRequest *req)
{
    SimCall *call = req->impl;

    UNUSED(transport);
    if (call) {
        req->impl = NULL;
        call_leave(call, sim_chance(call->sim, SIM_GHOST));
    }
}

SimLink *link_new(Replica *replica)
{
    SimLink *link = xcalloc(1, sizeof(*link));

    link->transport = (KubeTransport){link_submit, link_cancel};
    link->replica = replica;
    list_init(&link->calls);
    return link;
}

SimLink *link_free(SimLink *link)
{
    CHECK(list_is_empty(&link->calls)); /* whoever sent them has cancelled them */
    free(link);
    return NULL;
}

KubeTransport *link_transport(SimLink *link)
{
    return &link->transport;
}

const Replica *link_author(const KubeRequest *req)
{
    return container_of((KubeRequest *)req, SimCall, inner)->replica;
}

/* ---- watches ---- */

static void watch_end_at(SimCall *call, int err, uint64_t late_ns)
{
    Piece piece = text_piece(STR(""));

    piece.end = true;
    piece.result = (KubeResult){.err = -err, .http_status = err ? 0 : 200, .sent = true};
    if (err) {
        (void)snprintf(piece.result.msg, sizeof(piece.result.msg), "%s", strerror(err));
    }
    call->stuck = true; /* nothing more comes from the other end */
    add_piece(call, piece, late_ns);
}

void link_cut_watches(SimLink *link, int err)
{
    list_foreach (&link->calls, n) {
        SimCall *call = list_entry(n, SimCall, node);

        if (call->inner.stream && call->submitted && !call->ended && !call->stuck) {
            watch_end_at(call, err, 0);
        }
    }
}

void link_stall_watches(SimLink *link)
{
    list_foreach (&link->calls, n) {
        SimCall *call = list_entry(n, SimCall, node);

        if (call->inner.stream && call->submitted && !call->ended && !call->stuck) {
            watch_end_at(call, ETIMEDOUT,
                         sim_between(call->sim, SIM_WATCH_STUCK, STUCK_MIN_NS, STUCK_MAX_NS));
        }
    }
}

void link_reset(SimLink *link)
{
    list_foreach (&link->calls, n) {
        SimCall *call = list_entry(n, SimCall, node);

        if (call->inner.stream && call->stuck) {
            continue;
        }
        loop_timer_disarm(&call->submit); /* on its way: to a server that is not there any more */
        if (call->submitted && !call->ended) {
            kube_cancel(fakeapi_transport(call->sim->api), &call->inner);
        }
        call->ended = true;
        vec_foreach (&call->pieces, it) {
            free(it->text);
        }
        vec_free(&call->pieces);
        call->last_due_ns = 0;
        loop_timer_disarm(&call->deliver);
        watch_end_at(call, ECONNRESET, 0);
    }
}

/* ---- what becomes of a request ---- */

typedef struct Fate {
    SimKnob knob;
    bool writes_only;
    FakeVerdict verdict;
} Fate;

static const Fate fates[] = {
    {SIM_LOST_REQUEST, false, {.kind = FAKE_LOST_BEFORE}},
    {SIM_LOST_ANSWER, false, {.kind = FAKE_LOST_AFTER}},
    {SIM_NOT_SENT, false, {.kind = FAKE_NOT_SENT}},
    {SIM_CONFLICT, true, {.kind = FAKE_STATUS, .http = 409, .reason = "Conflict"}},
    {SIM_TOO_MANY,
     false,
     {.kind = FAKE_STATUS, .http = 429, .reason = "TooManyRequests", .retry_after_s = 1}},
    {SIM_SERVER_ERROR, false, {.kind = FAKE_STATUS, .http = 500, .reason = "InternalError"}},
    {SIM_FORBIDDEN, true, {.kind = FAKE_STATUS, .http = 403, .reason = "Forbidden"}},
    {SIM_INVALID, true, {.kind = FAKE_STATUS, .http = 422, .reason = "Invalid"}},
    {SIM_TRUNCATED, false, {.kind = FAKE_TRUNCATED}},
    {SIM_STALE_LIST, false, {.kind = FAKE_STALE, .lag = 1}},
    {SIM_CONTINUE_GONE, false, {.kind = FAKE_STATUS, .http = 410, .reason = "Expired"}},
};

/* Quotas and policies refuse new objects; a spec that was refused stays refused, which only a Pod
 * can be: nobody else's spec comes from users unchanged. */
static bool is_possible(const Fate *fate, const FakeCall *call)
{
    if (fate->writes_only && call->method == KUBE_GET) {
        return false;
    }
    if (fate->knob == SIM_STALE_LIST) {
        return call->method == KUBE_GET && !call->name.ptr && (!call->watch || call->streams);
    }
    if (fate->knob == SIM_CONTINUE_GONE) {
        return call->cont;
    }
    if (fate->knob == SIM_FORBIDDEN) {
        return call->method == KUBE_POST;
    }
    if (fate->knob == SIM_INVALID) {
        return call->method == KUBE_POST && call->kind->id == KUBE_POD;
    }
    return true;
}

/* Of so many versions, those that came within the time that a server may lag. */
static uint64_t lag_within(const Sim *sim, uint64_t lag)
{
    uint64_t rv = fakeapi_rv(sim->api);

    while (lag > 0 && (rv < lag || sim->changed_ns[(rv - lag + 1) % ARRAY_LEN(sim->changed_ns)] +
                                           SIM_LAG_MAX_NS <
                                       sim->clock.now_mono_ns)) {
        lag--;
    }
    return lag;
}

static FakeVerdict draw_fate(Sim *sim, const FakeCall *call, const char **ret_name)
{
    FakeVerdict verdict = {.kind = FAKE_PASS};

    for (size_t i = 0; i < ARRAY_LEN(fates); i++) {
        if (is_possible(&fates[i], call) && sim_chance(sim, fates[i].knob)) {
            *ret_name = sim_knob(fates[i].knob)->name;
            verdict = fates[i].verdict;
        }
    }
    if (verdict.http == 500) {
        static const int codes[] = {500, 502, 503, 504};

        verdict.http = codes[sim_between(sim, SIM_SERVER_ERROR, 0, 3)];
        verdict.reason = verdict.http == 503 ? "ServiceUnavailable" : "InternalError";
    }
    if (verdict.kind == FAKE_STALE) {
        verdict.lag = lag_within(sim, sim_between(sim, SIM_STALE_LIST, 1, SIM_LAG_MAX));
    }
    return verdict;
}

static void tell_request(const Sim *sim, const SimCall *sent, const FakeCall *call,
                         const char *fate)
{
    if (!sim_tells(sim) || (call->kind->id == KUBE_LEASE && !fate) ||
        (call->method == KUBE_GET && !fate)) {
        return;
    }
    sim_tell(sim, "%s%s %-6s %s%s" STR_FMT " " STR_FMT "/" STR_FMT "%s%s  " STR_FMT,
             replica_name(sent->replica), sent->outer ? "    " : " (ghost)",
             call->watch ? "WATCH" : kube_method_name(call->method), call->kind->plural,
             call->subresource.len > 0 ? "/" : "", STR_ARG(call->subresource),
             STR_ARG(call->ns.ptr ? call->ns : STR("*")),
             STR_ARG(call->name.ptr ? call->name : STR("")), fate ? "  -> " : "", fate ? fate : "",
             STR_ARG(str_take(call->body, 300)));
}

FakeVerdict link_judge(void *ctx, const FakeCall *call)
{
    Sim *sim = ctx;
    const SimCall *sent = sim->submitting;
    const char *fate = NULL;
    FakeVerdict verdict;
    bool write = call->method != KUBE_GET && call->kind->id != KUBE_LEASE;

    verdict = draw_fate(sim, call, &fate);
    if (write && verdict.kind == FAKE_PASS && sent->outer && replica_write_kills(sent->replica)) {
        verdict.kind = FAKE_LOST_AFTER;
        fate = "and it dies";
    }
    if (call->method == KUBE_POST && verdict.kind == FAKE_PASS && sim_chance(sim, SIM_NAME_RACE)) {
        users_race(sim->users, call);
    }
    oracle_on_request(sim->oracle, sent->replica, call, verdict.kind == FAKE_PASS && sent->outer);
    sim->result.requests++;
    sim->result.writes += write;
    sim_hash(sim, str_from(sent->path));
    sim_hash(sim, call->body);
    sim_hash_u64(sim, sim->clock.now_mono_ns);
    sim_hash_u64(sim, (uint64_t)verdict.kind);
    tell_request(sim, sent, call, fate);
    if (write) {
        oracle_on_write(sim->oracle, sent->replica, call);
    }
    return verdict;
}
