/* SPDX-License-Identifier: Apache-2.0 */
/* Streams: the memory pair that tests are built on, and sockets, behave alike. */
#include <errno.h>
#include <fcntl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "http/stream.h"
#include "test/harness/t.h"

typedef struct Peer {
    HttpStream stream;
    StrBuf got;
    int calls;
    bool eof;
} Peer;

static Peer a, b;

static void collect(HttpStream *stream, uint32_t events)
{
    Peer *peer = container_of(stream, Peer, stream);
    char buf[64];
    ssize_t n;

    peer->calls++;
    if (events & EPOLLIN) {
        n = http_stream_read(stream, buf, sizeof(buf));
        if (n > 0) {
            strbuf_append(&peer->got, (Str){buf, (size_t)n});
        } else if (n == 0) {
            peer->eof = true;
            http_stream_watch(stream, 0);
        }
    }
}

static ssize_t put(Peer *peer, const char *text)
{
    struct iovec iov[2] = {{(void *)(uintptr_t)text, 1},
                           {(void *)(uintptr_t)(text + 1), strlen(text) - 1}};

    return http_stream_write(&peer->stream, iov, 2);
}

static void reset(void)
{
    memset(&a, 0, sizeof(a));
    memset(&b, 0, sizeof(b));
    strbuf_init(&a.got, 1 << 20);
    strbuf_init(&b.got, 1 << 20);
}

static void talk(Loop *loop)
{
    T_OK(http_stream_watch(&a.stream, EPOLLIN));
    T_OK(http_stream_watch(&b.stream, EPOLLIN));
    T_EQ_INT(put(&a, "hello"), 5);
    T_EQ_INT(b.calls, 0); /* never from inside a write */
    for (int i = 0; i < 20 && b.got.len < 5; i++) {
        T_OK(loop_step(loop, NS_PER_MS));
    }
    T_EQ_STR(strbuf_str(&b.got), "hello");
    T_EQ_INT(put(&b, "yo"), 2);
    T_OK(http_stream_shutdown(&b.stream));
    for (int i = 0; i < 20 && !a.eof; i++) {
        T_OK(loop_step(loop, NS_PER_MS));
    }
    T_EQ_STR(strbuf_str(&a.got), "yo");
    T_CHECK(a.eof);
    T_EQ_INT(put(&a, "still"), 5); /* only one direction is over */
    for (int i = 0; i < 20 && b.got.len < 10; i++) {
        T_OK(loop_step(loop, NS_PER_MS));
    }
    T_EQ_STR(strbuf_str(&b.got), "hellostill");
    http_stream_close(&b.stream);
    http_stream_close(&b.stream); /* twice is fine */
    T_CHECK(!http_stream_is_open(&b.stream));
    http_stream_close(&a.stream);
    strbuf_deinit(&a.got);
    strbuf_deinit(&b.got);
}

T_TEST(a_memory_pair)
{
    FakeClock clock;
    Loop *loop;

    for (size_t step = 0; step < 4; step++) {
        HttpMemPair *pair = http_mem_pair_new(16, step);

        reset();
        fake_clock_init(&clock, 0, 0);
        T_OK(loop_new_virtual(&clock.clock, &loop));
        http_stream_init_mem(&a.stream, loop, pair, 0, collect);
        http_stream_init_mem(&b.stream, loop, pair, 1, collect);
        talk(loop);
        http_mem_pair_free(pair);
        loop_free(loop);
    }
}

T_TEST(a_socket_pair)
{
    Loop *loop;
    int fds[2];

    reset();
    T_OK(loop_new(clock_system(), &loop));
    T_OK(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, fds));
    http_stream_init_fd(&a.stream, loop, fds[0], collect);
    http_stream_init_fd(&b.stream, loop, fds[1], collect);
    T_EQ_INT(http_stream_fd(&a.stream), fds[0]);
    talk(loop);
    loop_free(loop);
}

T_TEST(a_full_memory_pipe_takes_no_more_until_it_is_read)
{
    FakeClock clock;
    Loop *loop;
    HttpMemPair *pair = http_mem_pair_new(4, 0);

    reset();
    fake_clock_init(&clock, 0, 0);
    T_OK(loop_new_virtual(&clock.clock, &loop));
    http_stream_init_mem(&a.stream, loop, pair, 0, collect);
    http_stream_init_mem(&b.stream, loop, pair, 1, collect);
    T_EQ_INT(put(&a, "abcdef"), 4);
    T_EQ_INT(put(&a, "ef"), -EAGAIN);
    T_OK(http_stream_watch(&a.stream, EPOLLOUT));
    T_OK(loop_step(loop, 0));
    T_EQ_INT(a.calls, 0);
    T_OK(http_stream_watch(&b.stream, EPOLLIN));
    T_OK(loop_step(loop, 0));
    T_OK(loop_step(loop, 0));
    T_CHECK(a.calls > 0);
    http_stream_close(&b.stream);
    T_EQ_INT(put(&a, "ef"), -EPIPE);
    http_stream_close(&a.stream);
    http_mem_pair_free(pair);
    loop_free(loop);
    strbuf_deinit(&a.got);
    strbuf_deinit(&b.got);
}

T_TEST(a_descriptor_can_be_taken_out)
{
    Loop *loop;
    int fds[2];

    reset();
    T_OK(loop_new(clock_system(), &loop));
    T_OK(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, fds));
    http_stream_init_fd(&a.stream, loop, fds[0], collect);
    T_OK(http_stream_watch(&a.stream, EPOLLIN));
    T_EQ_INT(http_stream_take_fd(&a.stream), fds[0]);
    T_CHECK(!http_stream_is_open(&a.stream));
    T_EQ_INT(http_stream_take_fd(&a.stream), -1);
    T_CHECK(fcntl(fds[0], F_GETFD) >= 0);
    close(fds[0]);
    close(fds[1]);
    loop_free(loop);
}
