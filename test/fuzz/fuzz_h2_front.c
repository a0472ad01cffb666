/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A client that speaks HTTP/2: the first byte says in pieces of how many bytes the rest arrives
 * behind preface and SETTINGS. Requests find no sandbox and wait, or are refused, or are /healthz.
 * Whatever comes, what goes back are whole frames, of at most the default size, and everything the
 * worker held is given back when the client is gone.
 */
#include <sys/socket.h>
#include <unistd.h>

#include "test/fuzz/fuzz.h"
#include "test/fuzz/router_world.h"

static const char start[] = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\0\4\0\0\0\0\0";

typedef struct FrameReader {
    size_t left; /* of the payload being read */
    uint8_t head[9];
    size_t have; /* of head */
} FrameReader;

static void check_frames(FrameReader *frames, const uint8_t *bytes, size_t n)
{
    while (n > 0) {
        if (frames->left > 0) {
            size_t part = n < frames->left ? n : frames->left;

            frames->left -= part;
            bytes += part;
            n -= part;
            continue;
        }
        frames->head[frames->have++] = *bytes++;
        n--;
        if (frames->have == sizeof(frames->head)) {
            frames->have = 0;
            frames->left =
                (size_t)frames->head[0] << 16 | (size_t)frames->head[1] << 8 | frames->head[2];
            CHECK(frames->left <= 16384 && frames->head[3] <= 9);
        }
    }
}

static void drain(int fd, FrameReader *frames)
{
    uint8_t bytes[16384];
    ssize_t n;

    while ((n = recv(fd, bytes, sizeof(bytes), 0)) > 0) {
        check_frames(frames, bytes, (size_t)n);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    RouterWorld world;
    FrameReader frames = {0};
    size_t piece = size > 0 ? (size_t)data[0] * 16 + 1 : 1;
    int fd;

    router_world_init(&world, false);
    fd = router_world_connect(&world);
    CHECK(send(fd, start, sizeof(start) - 1, MSG_NOSIGNAL) == sizeof(start) - 1);
    router_world_step(&world);
    for (size_t at = 1; at < size; at += piece) {
        size_t n = size - at < piece ? size - at : piece;

        if (send(fd, data + at, n, MSG_NOSIGNAL) < (ssize_t)n) {
            break; /* it was hung up on, or is not read any more */
        }
        router_world_step(&world);
        drain(fd, &frames);
    }
    router_world_hang_up(&world, fd);
    router_world_deinit(&world);
    return 0;
}
