/* SPDX-License-Identifier: Apache-2.0 */
#include "router/authz.h"
#include "router/rewrite.h"
#include "test/harness/t.h"

static BufPool pool;
static HttpHead head;

static void check_request(Str in, bool upgrade, const char *want)
{
    RewriteRequest options = {
        .host = STR("1.2.3.4:80"), .peer = STR("9.8.7.6"), .upgrade = upgrade};
    Buf out = {0};

    http_head_init(&head);
    T_EQ_INT(http_request_parse(&head, in.ptr, in.len), in.len);
    T_OK(rewrite_request(&head, &options, &pool, &out));
    T_EQ_STR(buf_str(&out), want);
    buf_release(&pool, &out);
    buf_pool_deinit(&pool);
}

static void check_response(Str in, RewriteResponse options, HttpMethod method, const char *want)
{
    Buf out = {0};

    http_head_init(&head);
    T_EQ_INT(http_response_parse(&head, method, in.ptr, in.len), in.len);
    T_OK(rewrite_response(&head, &options, &pool, &out));
    T_EQ_STR(buf_str(&out), want);
    buf_release(&pool, &out);
    buf_pool_deinit(&pool);
}

#define FORWARDED "X-Forwarded-For: 9.8.7.6\r\nX-Forwarded-Host: h\r\nX-Forwarded-Proto: http\r\n"

T_TEST(requests)
{
    check_request(STR("GET /a?b HTTP/1.1\r\nHost: h\r\n\r\n"), false,
                  "GET /a?b HTTP/1.1\r\nHost: 1.2.3.4:80\r\n" FORWARDED "\r\n");
    check_request(STR("POST /? HTTP/1.1\r\nHost: h\r\nContent-Length:  007\r\n\r\n"), false,
                  "POST /? HTTP/1.1\r\nHost: 1.2.3.4:80\r\nContent-Length: 7\r\n" FORWARDED "\r\n");
    check_request(STR("POST / HTTP/1.1\r\nHost: h\r\ntransfer-encoding: CHUNKED\r\n\r\n"), false,
                  "POST / HTTP/1.1\r\nHost: 1.2.3.4:80\r\nTransfer-Encoding: chunked\r\n" FORWARDED
                  "\r\n");
    check_request(STR("GET / HTTP/1.1\r\nHost: h\r\nAuthorization: x\r\nForwarded: y\r\n"
                      "X-Sandbox-ID: a\r\nX-Sandbox-UID: u\r\nConnection: a, b\r\nA: 1\r\nb:2\r\n"
                      "C:3\r\nTE: trailers\r\nKeep-Alive: 1\r\nUpgrade: h2c\r\nOrigin: o\r\n\r\n"),
                  false,
                  "GET / HTTP/1.1\r\nHost: 1.2.3.4:80\r\nC: 3\r\nOrigin: o\r\n" FORWARDED
                  "TE: trailers\r\n\r\n");
    check_request(STR("GET / HTTP/1.1\r\nHost: h\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n"
                      "Origin: o\r\nSec-WebSocket-Version: 13\r\n\r\n"),
                  true,
                  "GET / HTTP/1.1\r\nHost: 1.2.3.4:80\r\nSec-WebSocket-Version: 13\r\n" FORWARDED
                  "Connection: Upgrade\r\nUpgrade: websocket\r\n\r\n");
}

T_TEST(responses)
{
    check_response(STR("HTTP/1.0 200 Fine\r\nContent-Length: 3\r\nConnection: x\r\nX: 1\r\n"
                       "Y: 2\r\n\r\n"),
                   (RewriteResponse){0}, HTTP_METHOD_GET,
                   "HTTP/1.1 200 Fine\r\nY: 2\r\nContent-Length: 3\r\n\r\n");
    check_response(STR("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nTrailer: T\r\n\r\n"),
                   (RewriteResponse){.chunked = true, .close = true}, HTTP_METHOD_GET,
                   "HTTP/1.1 200 OK\r\nTrailer: T\r\nTransfer-Encoding: chunked\r\n"
                   "Connection: close\r\n\r\n");
    check_response(STR("HTTP/1.1 204 No Content\r\nContent-Length: 0\r\n\r\n"),
                   (RewriteResponse){.keep_alive = true}, HTTP_METHOD_GET,
                   "HTTP/1.1 204 No Content\r\nConnection: keep-alive\r\n\r\n");
    check_response(STR("HTTP/1.1 304 Not Modified\r\nContent-Length: 8\r\n\r\n"),
                   (RewriteResponse){0}, HTTP_METHOD_GET,
                   "HTTP/1.1 304 Not Modified\r\nContent-Length: 8\r\n\r\n");
    check_response(STR("HTTP/1.1 200 OK\r\nContent-Length: 8\r\n\r\n"), (RewriteResponse){0},
                   HTTP_METHOD_HEAD, "HTTP/1.1 200 OK\r\nContent-Length: 8\r\n\r\n");
    check_response(STR("HTTP/1.1 101 Go\r\nConnection: upgrade\r\nUpgrade: foo\r\nZ: 1\r\n\r\n"),
                   (RewriteResponse){.upgrade = true}, HTTP_METHOD_GET,
                   "HTTP/1.1 101 Go\r\nZ: 1\r\nConnection: Upgrade\r\nUpgrade: foo\r\n\r\n");
}

static const char *authorize(const Authz *authz, const char *fields)
{
    AUTO(strbuf) StrBuf text = STRBUF_INIT(4096);

    strbuf_printf(&text, "GET / HTTP/1.1\r\nHost: h\r\n%s\r\n", fields);
    http_head_init(&head);
    T_EQ_INT(http_request_parse(&head, text.ptr, text.len), text.len);
    return authz_check(authz, &head);
}

T_TEST(bearer_tokens)
{
    Authz everybody = {0};
    Authz token = {.token = "tok"};

    T_CHECK(authorize(&everybody, "") == NULL);
    T_CHECK(authorize(&token, "Authorization: Bearer tok\r\n") == NULL);
    T_CHECK(authorize(&token, "authorization: BEARER  tok\r\n") == NULL);
    T_EQ_STR(authorize(&token, ""), "Missing or invalid Authorization header.");
    T_EQ_STR(authorize(&token, "Authorization: Bearer\r\n"),
             "Missing or invalid Authorization header.");
    T_EQ_STR(authorize(&token, "Authorization: Basic tok\r\n"),
             "Missing or invalid Authorization header.");
    T_EQ_STR(authorize(&token, "Authorization: Bearer to\r\n"), "Invalid token.");
    T_EQ_STR(authorize(&token, "Authorization: Bearer toktok\r\n"), "Invalid token.");
    T_CHECK(!authz_equal(STR("a"), STR("")));
    T_CHECK(!authz_equal(STR(""), STR("a")));
    T_CHECK(authz_equal(STR(""), STR("")));
}
