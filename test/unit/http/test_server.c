/* SPDX-License-Identifier: Apache-2.0 */
/* The server over real loopback sockets: one loop runs the server, the test plays the client. */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/mem.h"
#include "http/server.h"
#include "test/harness/t.h"

#define BIG_SIZE (3 * 1024 * 1024)

typedef struct Fixture {
    Loop *loop;
    HttpServer *server;
    StrBuf body;     /* what /echo received */
    int closes;      /* on_close calls */
    int close_error; /* of the last one */
    size_t big_sent;
    HttpExchange *held; /* of /hold */
    bool drained;
} Fixture;

static Fixture fix;

static void echo_data(HttpExchange *x, Str piece, bool end)
{
    strbuf_append(&fix.body, piece);
    if (end) {
        http_exchange_respond(x, 200, "text/plain", strbuf_str(&fix.body));
    }
}

static void note_close(HttpExchange *x, int error)
{
    UNUSED(x);
    fix.closes++;
    fix.close_error = error;
    fix.held = NULL;
}

static void big_more(HttpExchange *x)
{
    static char block[10000];
    bool room = true;

    memset(block, 'b', sizeof(block));
    while (room && fix.big_sent < BIG_SIZE) {
        size_t n = BIG_SIZE - fix.big_sent;

        n = n > sizeof(block) ? sizeof(block) : n;
        room = http_exchange_write(x, (Str){block, n});
        fix.big_sent += n;
    }
    T_CHECK(http_exchange_queued(x) < HTTP_SERVER_OUT_HIGH + sizeof(block) + 32);
    if (fix.big_sent == BIG_SIZE) {
        http_exchange_end(x);
    }
}

static const HttpExchangeOps echo_ops = {.on_data = echo_data, .on_close = note_close};
static const HttpExchangeOps hold_ops = {.on_close = note_close};
static const HttpExchangeOps big_ops = {.on_writable = big_more, .on_close = note_close};

static void on_request(HttpExchange *x, void *ctx)
{
    Str path = http_exchange_head(x)->path;
    HttpField evil = {STR("X-Evil"), STR("a\r\nSet-Cookie: b")};

    UNUSED(ctx);
    strbuf_clear(&fix.body);
    if (str_eq(path, STR("/hello"))) {
        http_exchange_respond(x, 200, "text/plain", STR("hello\n"));
    } else if (str_eq(path, STR("/echo"))) {
        http_exchange_set_ops(x, &echo_ops, &fix);
    } else if (str_eq(path, STR("/small"))) {
        http_exchange_limit_body(x, 4);
        http_exchange_set_ops(x, &echo_ops, &fix);
    } else if (str_eq(path, STR("/hold")) || str_eq(path, STR("/pause"))) {
        http_exchange_set_ops(x, str_eq(path, STR("/hold")) ? &hold_ops : &echo_ops, &fix);
        http_exchange_pause(x);
        fix.held = x;
    } else if (str_eq(path, STR("/stream"))) {
        http_exchange_begin(x, 200, NULL, 0, HTTP_LENGTH_UNKNOWN);
        http_exchange_write(x, STR("ab"));
        http_exchange_write(x, STR(""));
        http_exchange_write(x, STR("c"));
        http_exchange_end(x);
    } else if (str_eq(path, STR("/big"))) {
        http_exchange_set_ops(x, &big_ops, &fix);
        http_exchange_begin(x, 200, NULL, 0, BIG_SIZE);
        big_more(x);
    } else if (str_eq(path, STR("/short"))) {
        http_exchange_begin(x, 200, NULL, 0, 10);
        http_exchange_write(x, STR("abc"));
        http_exchange_end(x);
    } else if (str_eq(path, STR("/evil"))) {
        http_exchange_respond_fields(x, 200, &evil, 1, STR("x"));
    } else if (str_eq(path, STR("/owned"))) {
        http_exchange_respond_owned(x, 200, NULL, 0, xstrdup("owned"), 5);
    }
}

static void setup(HttpServerConfig config)
{
    Err err = ERR_INIT;

    memset(&fix, 0, sizeof(fix));
    strbuf_init(&fix.body, 64 * 1024 * 1024);
    T_OK(loop_new(clock_system(), &fix.loop));
    config.loop = fix.loop;
    config.handler = on_request;
    fix.server = http_server_new(&config);
    T_OK(http_server_listen(fix.server, STR("127.0.0.1:0"), &err));
}

static void teardown(void)
{
    http_server_free(fix.server);
    loop_free(fix.loop);
    strbuf_deinit(&fix.body);
}

static int client_connect(void)
{
    struct sockaddr_in addr = {.sin_family = AF_INET,
                               .sin_port = htons(http_server_port(fix.server)),
                               .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

    T_CHECK(connect(fd, (struct sockaddr *)&addr, sizeof(addr)) == 0);
    T_CHECK(fcntl(fd, F_SETFL, O_NONBLOCK) == 0);
    return fd;
}

static void tick(void)
{
    T_OK(loop_step(fix.loop, NS_PER_MS));
}

/* Reads what is there; false once the server closed. */
static bool client_read(int fd, StrBuf *out)
{
    char buf[65536];
    ssize_t n;

    while ((n = recv(fd, buf, sizeof(buf), 0)) > 0) {
        strbuf_append(out, (Str){buf, (size_t)n});
    }
    return n < 0 && errno == EAGAIN;
}

static void client_send(int fd, Str bytes)
{
    while (bytes.len > 0) {
        ssize_t n = send(fd, bytes.ptr, bytes.len, MSG_NOSIGNAL);

        if (n < 0) {
            T_CHECK(errno == EAGAIN);
            tick();
            continue;
        }
        bytes = str_drop(bytes, (size_t)n);
    }
}

/* Sends the request in pieces and reads until the server closes; the result is freed by the caller.
 */
static Str talk(Str request, size_t step)
{
    StrBuf out = STRBUF_INIT(16 * 1024 * 1024);
    int fd = client_connect();
    bool open = true;

    while (open && request.len > 0) {
        client_send(fd, str_take(request, step));
        request = str_drop(request, step);
        tick();
        open = client_read(fd, &out);
    }
    for (int i = 0; open && i < 3000; i++) {
        tick();
        open = client_read(fd, &out);
    }
    T_CHECK(!open);
    close(fd);
    tick();
    Str text = {NULL, out.len};

    text.ptr = strbuf_take(&out);
    return text;
}

static void check_talk(Str request, const char *start, const char *end)
{
    for (size_t step = 1; step <= request.len;
         step += step < 16 ? 1 : request.len - step + (step == request.len)) {
        Str got = talk(request, step);

        if (!str_starts(got, str_from(start)) || !str_ends(got, str_from(end))) {
            T_FAIL("step %zu: got \"" STR_FMT "\"", step, STR_ARG(got));
        }
        free((char *)(uintptr_t)got.ptr);
    }
}

#define C "Host: h\r\nConnection: close\r\n"

T_TEST(replies_however_the_request_is_split)
{
    setup((HttpServerConfig){0});
    check_talk(STR("GET /hello HTTP/1.1\r\n" C "\r\n"), "HTTP/1.1 200 OK\r\nDate: ",
               "Content-Length: 6\r\nConnection: close\r\n\r\nhello\n");
    check_talk(STR("HEAD /hello HTTP/1.1\r\n" C "\r\n"), "HTTP/1.1 200 OK\r\n",
               "Content-Length: 6\r\nConnection: close\r\n\r\n");
    check_talk(STR("POST /echo HTTP/1.1\r\n" C "Content-Length: 5\r\n\r\n12345"),
               "HTTP/1.1 200 OK\r\n", "\r\n\r\n12345");
    check_talk(STR("POST /echo HTTP/1.1\r\n" C "Transfer-Encoding: chunked\r\n\r\n"
                   "2\r\nab\r\n1;x\r\nc\r\n0\r\nT: v\r\n\r\n"),
               "HTTP/1.1 200 OK\r\n", "\r\n\r\nabc");
    check_talk(STR("GET /echo HTTP/1.1\r\n" C "Transfer-Encoding: chunked\r\n\r\n0\r\n\r\n"),
               "HTTP/1.1 200 OK\r\n", "Content-Length: 0\r\nConnection: close\r\n\r\n");
    check_talk(STR("GET /stream HTTP/1.1\r\n" C "\r\n"), "HTTP/1.1 200 OK\r\n",
               "\r\n\r\n2\r\nab\r\n1\r\nc\r\n0\r\n\r\n");
    check_talk(STR("GET /stream HTTP/1.0\r\n\r\n"), "HTTP/1.1 200 OK\r\n", "\r\n\r\nabc");
    check_talk(STR("GET /owned HTTP/1.0\r\n\r\n"), "HTTP/1.1 200 OK\r\n", "\r\n\r\nowned");
    check_talk(STR("GET /none HTTP/1.1\r\n" C "\r\n"), "HTTP/1.1 500 Internal", "no reply\n");
    teardown();
}

T_TEST(bad_requests_get_a_status_and_the_connection_ends)
{
    setup((HttpServerConfig){0});
    check_talk(STR("GET /hello HTTP/1.1\nHost: a\n\n"), "HTTP/1.1 400 Bad Request\r\n",
               "{\"detail\":\"line does not end with CRLF\"}\n");
    check_talk(STR("GET / HTTP/3.0\r\n\r\n"), "HTTP/1.1 505 ", "}\n");
    check_talk(STR("POST /echo HTTP/1.1\r\n" C "Transfer-Encoding: chunked\r\n\r\nx\r\n"),
               "HTTP/1.1 400 ", "{\"detail\":\"Malformed request body.\"}\n");
    T_EQ_INT(fix.close_error, -EBADMSG);
    teardown();
}

T_TEST(a_body_over_the_limit_gets_413)
{
    setup((HttpServerConfig){0});
    check_talk(STR("POST /small HTTP/1.1\r\n" C "Content-Length: 5\r\n\r\n12345"), "HTTP/1.1 413 ",
               "}\n");
    T_EQ_INT(fix.close_error, -EFBIG);
    check_talk(STR("POST /small HTTP/1.1\r\n" C "Transfer-Encoding: chunked\r\n\r\n"
                   "3\r\nabc\r\n2\r\nde\r\n0\r\n\r\n"),
               "HTTP/1.1 413 ", "}\n");
    check_talk(STR("POST /small HTTP/1.1\r\n" C "Content-Length: 4\r\n\r\n1234"), "HTTP/1.1 200 ",
               "\r\n\r\n1234");
    teardown();
}

T_TEST(a_value_that_would_split_the_head_is_left_out)
{
    setup((HttpServerConfig){0});
    Str got = talk(STR("GET /evil HTTP/1.1\r\n" C "\r\n"), 100);

    T_CHECK(memmem(got.ptr, got.len, "Set-Cookie", 10) == NULL);
    T_CHECK(memmem(got.ptr, got.len, "X-Evil", 6) == NULL);
    free((char *)(uintptr_t)got.ptr);
    teardown();
}

T_TEST(pipelined_requests_are_answered_in_order)
{
    setup((HttpServerConfig){0});
    Str got = talk(STR("GET /hello HTTP/1.1\r\nHost: h\r\n\r\n"
                       "POST /echo HTTP/1.1\r\nHost: h\r\nContent-Length: 2\r\n\r\nhi"
                       "POST /hello HTTP/1.1\r\nHost: h\r\nContent-Length: 6\r\n\r\nunread"
                       "GET /stream HTTP/1.1\r\n" C "\r\n"),
                   1000);
    const char *order[] = {"\r\n\r\nhello\n", "\r\n\r\nhi", "\r\n\r\nhello\n", "\r\n\r\n2\r\nab"};
    Str rest = got;

    for (size_t i = 0; i < ARRAY_LEN(order); i++) {
        const char *at = memmem(rest.ptr, rest.len, order[i], strlen(order[i]));

        t_row(order[i]);
        T_CHECK(at != NULL);
        rest = str_drop(rest, (size_t)(at - rest.ptr) + strlen(order[i]));
    }
    t_row(NULL);
    T_EQ_INT(fix.closes, 1);
    T_EQ_INT(fix.close_error, 0);
    free((char *)(uintptr_t)got.ptr);
    teardown();
}

T_TEST(expect_continue_is_answered_only_when_the_body_is_wanted)
{
    StrBuf out = STRBUF_INIT(4096);

    setup((HttpServerConfig){0});
    int fd = client_connect();

    client_send(
        fd, STR("POST /echo HTTP/1.1\r\n" C "Expect: 100-continue\r\nContent-Length: 2\r\n\r\n"));
    for (int i = 0; i < 1000 && out.len == 0; i++) {
        tick();
        client_read(fd, &out);
    }
    T_EQ_STR(strbuf_str(&out), "HTTP/1.1 100 Continue\r\n\r\n");
    client_send(fd, STR("ok"));
    for (int i = 0; i < 1000 && client_read(fd, &out); i++) {
        tick();
    }
    T_CHECK(str_ends(strbuf_str(&out), STR("\r\n\r\nok")));
    close(fd);
    strbuf_deinit(&out);
    Str got = talk(STR("POST /hello HTTP/1.1\r\nHost: h\r\nExpect: 100-continue\r\n"
                       "Content-Length: 2\r\n\r\n"),
                   1000);

    T_CONTAINS(got, "Connection: close\r\n");
    T_CHECK(memmem(got.ptr, got.len, "100 Continue", 12) == NULL);
    free((char *)(uintptr_t)got.ptr);
    teardown();
}

T_TEST(a_client_that_goes_away_ends_its_exchange)
{
    setup((HttpServerConfig){0});
    int fd = client_connect();

    client_send(fd, STR("GET /hold HTTP/1.1\r\nHost: h\r\n\r\n"));
    for (int i = 0; i < 1000 && !fix.held; i++) {
        tick();
    }
    T_CHECK(fix.held != NULL);
    close(fd);
    for (int i = 0; i < 1000 && fix.closes == 0; i++) {
        tick();
    }
    T_EQ_INT(fix.closes, 1);
    T_EQ_INT(fix.close_error, -ECONNRESET);
    T_EQ_INT(http_server_conns(fix.server), 0);
    teardown();
}

T_TEST(an_abort_truncates_the_reply)
{
    setup((HttpServerConfig){0});
    Str got = talk(STR("GET /short HTTP/1.1\r\nHost: h\r\n\r\n"), 1000);

    T_CHECK(!str_ends(got, STR("0123456789")));
    free((char *)(uintptr_t)got.ptr);
    teardown();
}

T_TEST(a_large_reply_waits_for_a_slow_reader)
{
    StrBuf out = STRBUF_INIT(2 * BIG_SIZE);

    setup((HttpServerConfig){0});
    int fd = client_connect();

    client_send(fd, STR("GET /big HTTP/1.1\r\n" C "\r\n"));
    for (int i = 0; i < 200; i++) {
        tick();
    }
    T_CHECK(fix.big_sent < BIG_SIZE || http_server_conns(fix.server) == 1);
    for (int i = 0; i < 10000 && client_read(fd, &out); i++) {
        tick();
    }
    T_CHECK(out.len > BIG_SIZE && out.len < BIG_SIZE + 300);
    T_EQ_INT(fix.close_error, 0);
    close(fd);
    strbuf_deinit(&out);
    teardown();
}

T_TEST(a_paused_body_is_not_delivered_until_resume)
{
    setup((HttpServerConfig){0});
    int fd = client_connect();
    StrBuf out = STRBUF_INIT(1 << 20);
    AUTO(strbuf) StrBuf body = STRBUF_INIT(1 << 20);

    for (int i = 0; i < 100000; i++) {
        strbuf_append_char(&body, (char)('a' + i % 26));
    }
    client_send(fd, STR("POST /pause HTTP/1.1\r\n" C "Content-Length: 100000\r\n\r\n"));
    client_send(fd, strbuf_str(&body));
    for (int i = 0; i < 100; i++) {
        tick();
    }
    T_EQ_INT(fix.body.len, 0);
    T_CHECK(fix.held != NULL);
    http_exchange_resume(fix.held);
    for (int i = 0; i < 1000 && client_read(fd, &out); i++) {
        tick();
    }
    T_CHECK(str_ends(strbuf_str(&out), strbuf_str(&body)));
    close(fd);
    strbuf_deinit(&out);
    teardown();
}

static void on_drained(HttpServer *server, void *ctx)
{
    UNUSED(server);
    UNUSED(ctx);
    fix.drained = true;
}

T_TEST(drain_closes_idle_connections_and_waits_for_running_ones)
{
    StrBuf out = STRBUF_INIT(4096);

    setup((HttpServerConfig){0});
    int idle = client_connect();
    int busy = client_connect();

    client_send(busy, STR("GET /hold HTTP/1.1\r\nHost: h\r\n\r\n"));
    for (int i = 0; i < 1000 && !fix.held; i++) {
        tick();
    }
    http_server_drain(fix.server, on_drained, NULL);
    tick();
    T_CHECK(!fix.drained);
    T_CHECK(!client_read(idle, &out));
    http_exchange_respond(fix.held, 200, NULL, STR(""));
    for (int i = 0; i < 3000 && client_read(busy, &out); i++) {
        tick();
    }
    T_CONTAINS(strbuf_str(&out), "Connection: close\r\n");
    close(idle);
    close(busy);
    for (int i = 0; i < 3000 && !fix.drained; i++) {
        tick();
    }
    T_CHECK(fix.drained);
    strbuf_deinit(&out);
    teardown();
}

T_TEST(slow_heads_and_idle_connections_time_out)
{
    StrBuf out = STRBUF_INIT(4096);

    setup((HttpServerConfig){.head_timeout_ns = 30 * NS_PER_MS,
                             .idle_timeout_ns = 20 * NS_PER_MS,
                             .body_timeout_ns = 20 * NS_PER_MS});
    int fd = client_connect();

    for (int i = 0; i < 3000 && client_read(fd, &out); i++) { /* never says a word */
        tick();
    }
    T_EQ_INT(out.len, 0);
    close(fd);
    Str got = talk(STR("GET /hello HTTP/1.1\r\nHost:"), 1000);

    T_CHECK(str_starts(got, STR("HTTP/1.1 408 ")));
    free((char *)(uintptr_t)got.ptr);
    got = talk(STR("GET /hello HTTP/1.1\r\nHost: h\r\n\r\n"), 1000);
    T_CHECK(str_ends(got, STR("hello\n")));
    free((char *)(uintptr_t)got.ptr);
    got = talk(STR("POST /echo HTTP/1.1\r\nHost: h\r\nContent-Length: 5\r\n\r\n12"), 1000);
    T_EQ_INT(got.len, 0);
    T_EQ_INT(fix.close_error, -ETIMEDOUT);
    free((char *)(uintptr_t)got.ptr);
    strbuf_deinit(&out);
    teardown();
}

T_TEST(more_connections_than_allowed_get_503)
{
    StrBuf out = STRBUF_INIT(4096);

    setup((HttpServerConfig){.conns_max = 1});
    int first = client_connect();

    tick();
    int second = client_connect();

    for (int i = 0; i < 1000 && client_read(second, &out); i++) {
        tick();
    }
    T_CHECK(str_starts(strbuf_str(&out), STR("HTTP/1.1 503 ")));
    close(first);
    close(second);
    strbuf_deinit(&out);
    teardown();
}

T_TEST(a_head_of_many_kilobytes_leaves_room_for_the_body)
{
    AUTO(strbuf) StrBuf request = STRBUF_INIT(1 << 20);

    setup((HttpServerConfig){0});
    for (size_t size = 16000; size < 66000; size += 331) {
        strbuf_clear(&request);
        strbuf_append_cstr(&request, "POST /echo HTTP/1.1\r\n" C "Content-Length: 30000\r\nX: ");
        while (request.len + 4 < (size > HTTP_HEAD_MAX ? HTTP_HEAD_MAX : size)) {
            strbuf_append_char(&request, 'x');
        }
        strbuf_append_cstr(&request, "\r\n\r\n");
        for (int i = 0; i < 30000; i++) {
            strbuf_append_char(&request, 'b');
        }
        Str got = talk(strbuf_str(&request), 1 << 20);

        T_CHECK(str_starts(got, STR("HTTP/1.1 200 ")));
        T_CHECK(got.len > 30000);
        free((char *)(uintptr_t)got.ptr);
    }
    teardown();
}

T_TEST(a_bad_listen_address_is_explained)
{
    Err err = ERR_INIT;

    setup((HttpServerConfig){0});
    T_EQ_INT(http_server_listen(fix.server, STR("localhost:80"), &err), -EINVAL);
    T_CONTAINS(err.msg, "localhost:80");
    T_EQ_INT(http_server_listen(fix.server, STR(":x"), &err), -EINVAL);
    T_OK(http_server_listen(fix.server, STR(":0"), &err));
    T_OK(http_server_listen(fix.server, STR("[::1]:0"), &err));
    teardown();
}

/* ---- fairness ---- */

static int greedy_calls;

/* A client that takes whatever is written, at once. */
static ssize_t greedy_write(HttpStream *stream, const struct iovec *iov, int n)
{
    ssize_t len = 0;

    UNUSED(stream);
    for (int i = 0; i < n; i++) {
        len += (ssize_t)iov[i].iov_len;
    }
    return len;
}

static const HttpStreamOps *socket_ops;

static ssize_t greedy_read(HttpStream *stream, void *buf, size_t len)
{
    return socket_ops->read(stream, buf, len);
}

static int greedy_shutdown(HttpStream *stream)
{
    return socket_ops->shutdown(stream);
}

static int greedy_watch(HttpStream *stream, uint32_t events)
{
    return socket_ops->watch(stream, events);
}

static void greedy_close(HttpStream *stream)
{
    socket_ops->close(stream);
}

static int greedy_open(HttpStream *stream, void *ctx, Loop *loop, int fd, HttpStreamFn fn)
{
    static const HttpStreamOps ops = {greedy_read, greedy_write, greedy_shutdown, greedy_watch,
                                      greedy_close};

    UNUSED(ctx);
    http_stream_init_fd(stream, loop, fd, fn);
    socket_ops = stream->ops;
    stream->ops = &ops;
    return 0;
}

static void endless(HttpExchange *x)
{
    static char block[HTTP_SERVER_OUT_HIGH];

    greedy_calls++;
    T_CHECK(greedy_calls < 1000); /* or it never comes back */
    http_exchange_write(x, (Str){block, sizeof(block)});
}

static void on_endless(HttpExchange *x, void *ctx)
{
    static const HttpExchangeOps ops = {.on_writable = endless};

    UNUSED(ctx);
    http_exchange_set_ops(x, &ops, NULL);
    http_exchange_begin(x, 200, NULL, 0, HTTP_LENGTH_UNKNOWN);
    endless(x);
}

T_TEST(a_client_that_takes_everything_leaves_the_others_their_turn)
{
    HttpServerConfig config = {.handler = on_endless, .stream_open = greedy_open};
    Err err = ERR_INIT;
    int fd;

    memset(&fix, 0, sizeof(fix));
    strbuf_init(&fix.body, 1);
    greedy_calls = 0;
    T_OK(loop_new(clock_system(), &fix.loop));
    config.loop = fix.loop;
    fix.server = http_server_new(&config);
    T_OK(http_server_listen(fix.server, STR("127.0.0.1:0"), &err));
    fd = client_connect();
    T_CHECK(write(fd, "GET / HTTP/1.1\r\nHost: h\r\n\r\n", 27) == 27);
    for (int i = 0; i < 100 && greedy_calls == 0; i++) {
        T_OK(loop_step(fix.loop, 50 * NS_PER_MS));
    }
    for (int i = 0; i < 20; i++) {
        int before = greedy_calls;

        T_OK(loop_step(fix.loop, 0));
        T_EQ_INT(greedy_calls - before, 1);
    }
    close(fd);
    teardown();
}

T_TEST(pipelined_requests_leave_the_others_their_turn)
{
    static const char request[] = "GET /hello HTTP/1.1\r\nHost: h\r\n\r\n";
    char buf[65536];
    int fd, replies = 0, turns = 0;

    setup((HttpServerConfig){0});
    fd = client_connect();
    for (int i = 0; i < 200; i++) {
        T_CHECK(write(fd, request, sizeof(request) - 1) == (ssize_t)sizeof(request) - 1);
    }
    while (replies < 200 && turns < 10000) {
        int now = 0;
        ssize_t n;

        tick();
        turns++;
        n = read(fd, buf, sizeof(buf));
        for (char *at = buf; n > 0 && (at = memmem(at, (size_t)(buf + n - at), "hello\n", 6));
             at++) {
            now++;
        }
        T_CHECK(now <= 2 * HTTP_SERVER_ROUNDS_MAX);
        replies += now;
    }
    T_EQ_INT(replies, 200);
    close(fd);
    teardown();
}
