/* SPDX-License-Identifier: Apache-2.0 */
#include "router/frames.h"
#include "test/harness/t.h"

/* Passes the bytes in pieces of every size; the answer must be the same. */
static bool boundary(const char *bytes, size_t n)
{
    Frames whole = {.on = true};

    frames_pass(&whole, (Str){bytes, n});
    for (size_t piece = 1; piece <= n; piece++) {
        Frames frames = {.on = true};

        for (size_t at = 0; at < n; at += piece) {
            frames_pass(&frames, (Str){bytes + at, n - at < piece ? n - at : piece});
        }
        T_CHECK(frames_at_boundary(&frames) == frames_at_boundary(&whole));
        T_EQ_INT(frames.closed, whole.closed);
    }
    return frames_at_boundary(&whole);
}

#define BOUNDARY(literal) boundary(literal, sizeof(literal) - 1)

T_TEST(short_frames)
{
    T_CHECK(boundary("", 0));
    T_CHECK(BOUNDARY("\x81\x02hi"));
    T_CHECK(!BOUNDARY("\x81\x02h"));
    T_CHECK(!BOUNDARY("\x81"));
    T_CHECK(BOUNDARY("\x89\x00"));
    T_CHECK(BOUNDARY("\x01\x02hi\x80\x01!\x8a\x00"));
    T_CHECK(!BOUNDARY("\x01\x02hi\x80"));
}

T_TEST(masked_frames)
{
    T_CHECK(BOUNDARY("\x81\x82mmmmhi"));
    T_CHECK(!BOUNDARY("\x81\x82mmmmh"));
    T_CHECK(!BOUNDARY("\x81\x80mmm"));
    T_CHECK(BOUNDARY("\x81\x80mmmm"));
}

T_TEST(long_frames)
{
    char bytes[70000] = "\x82\x7e\x01\x00";

    T_CHECK(!boundary(bytes, 4));
    T_CHECK(!boundary(bytes, 4 + 255));
    T_CHECK(boundary(bytes, 4 + 256));
    Frames frames = {.on = true};
    char large[10 + 65536] = "\x82\x7f\0\0\0\0\0\1\0\0";

    frames_pass(&frames, (Str){large, sizeof(large) - 1});
    T_CHECK(!frames_at_boundary(&frames));
    frames_pass(&frames, (Str){large, 1});
    T_CHECK(frames_at_boundary(&frames));
}

T_TEST(no_boundary_after_a_close_frame)
{
    T_CHECK(!BOUNDARY("\x88\x02\x03\xe8"));
    T_CHECK(!BOUNDARY("\x88\x00"));
    T_CHECK(!BOUNDARY("\x88\x00\x81\x00"));
}

T_TEST(a_length_nobody_may_send)
{
    T_CHECK(!BOUNDARY("\x82\x7f\x80\0\0\0\0\0\0\0"));
    T_CHECK(!BOUNDARY("\x82\xff\xff\xff\xff\xff\xff\xff\xff\xff"
                      "mmmm"));
}

T_TEST(other_protocols_have_no_frames)
{
    Frames frames = {.on = false};

    T_CHECK(!frames_at_boundary(&frames));
    frames_pass(&frames, STR("anything"));
    T_CHECK(!frames_at_boundary(&frames));
}

T_TEST(the_routers_own_frame_is_one)
{
    Frames frames = {.on = true};

    frames_pass(&frames, FRAMES_GOING_AWAY);
    T_CHECK(frames.closed && frames.left == 0 && frames.have == 0);
}
