/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A sandbox that speaks HTTP/2, or something else: the input is what it answers to a gRPC call of a
 * well-behaved client, in pieces as the first byte says. Whatever comes, the client is answered or
 * waits, and everything the worker held is given back when the client is gone.
 */
#include <arpa/inet.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "test/fuzz/fuzz.h"
#include "test/fuzz/router_world.h"

typedef struct Block {
    uint8_t bytes[1024];
    size_t len;
} Block;

/* A literal without index; both parts are shorter than 127 bytes. */
static void put(Block *block, const char *name, const char *value)
{
    const char *parts[] = {name, value};

    block->bytes[block->len++] = 0x10;
    for (int i = 0; i < 2; i++) {
        size_t n = strlen(parts[i]);

        block->bytes[block->len++] = (uint8_t)n;
        memcpy(block->bytes + block->len, parts[i], n);
        block->len += n;
    }
}

static void send_call(int fd, int port)
{
    static const char start[] = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\0\4\0\0\0\0\0";
    char port_text[12];
    Block block = {.len = 9};

    snprintf(port_text, sizeof(port_text), "%d", port);
    put(&block, ":method", "POST");
    put(&block, ":scheme", "http");
    put(&block, ":authority", "router");
    put(&block, ":path", "/t.T/M");
    put(&block, "content-type", "application/grpc");
    put(&block, "te", "trailers");
    put(&block, "x-sandbox-id", "box");
    put(&block, "x-sandbox-port", port_text);
    put(&block, "x-sandbox-pod-ip", "127.0.0.1");
    memcpy(block.bytes,
           (uint8_t[9]){0, (uint8_t)((block.len - 9) >> 8), (uint8_t)(block.len - 9), 1, 4, 0, 0, 0,
                        1},
           9);
    CHECK(send(fd, start, sizeof(start) - 1, MSG_NOSIGNAL) > 0);
    CHECK(send(fd, block.bytes, block.len, MSG_NOSIGNAL) > 0);
    CHECK(send(fd, "\0\0\5\0\1\0\0\0\1\0\0\0\0\0", 14, MSG_NOSIGNAL) > 0); /* one empty message */
}

static int listen_anywhere(int *ret_port)
{
    struct sockaddr_in addr = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t len = sizeof(addr);
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);

    CHECK(fd >= 0 && bind(fd, (struct sockaddr *)&addr, sizeof(addr)) == 0 && listen(fd, 4) == 0);
    CHECK(getsockname(fd, (struct sockaddr *)&addr, &len) == 0);
    *ret_port = ntohs(addr.sin_port);
    return fd;
}

static void drain(int fd)
{
    char bytes[16384];

    while (recv(fd, bytes, sizeof(bytes), MSG_DONTWAIT) > 0) {
    }
}

/* Ends like a broken one: no TIME_WAIT is left of the thousands of connections of a run. */
static void reset(int fd)
{
    const struct linger at_once = {.l_onoff = 1};

    setsockopt(fd, SOL_SOCKET, SO_LINGER, &at_once, sizeof(at_once));
    close(fd);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    RouterWorld world;
    size_t piece = size > 0 ? (size_t)data[0] * 16 + 1 : 1;
    int port, listener, client, sandbox;

    router_world_init(&world, true);
    listener = listen_anywhere(&port);
    client = router_world_connect(&world);
    send_call(client, port);
    router_world_step(&world);
    sandbox = accept(listener, NULL, NULL);
    CHECK(sandbox >= 0);
    router_world_step(&world);
    for (size_t at = 1; at < size; at += piece) {
        size_t n = size - at < piece ? size - at : piece;

        if (send(sandbox, data + at, n, MSG_NOSIGNAL | MSG_DONTWAIT) < (ssize_t)n) {
            break;
        }
        router_world_step(&world);
        drain(sandbox);
        drain(client);
    }
    reset(sandbox);
    router_world_step(&world);
    router_world_hang_up(&world, client);
    router_world_deinit(&world);
    close(listener);
    return 0;
}
