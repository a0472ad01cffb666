/* SPDX-License-Identifier: Apache-2.0 */
/* HTTP/2 fields to HTTP/1.1 heads and back. */
#include <errno.h>
#include <string.h>

#include "router/h2_head.h"
#include "test/harness/t.h"

static BufPool pool;

/* "name: value" lines, the way a block is written in this file. */
static void collect(H2Head *head, const char *lines, bool trailers)
{
    Str rest = str_from(lines);

    *head = (H2Head){0};
    while (rest.len > 0) {
        Str line = str_cut(rest, '|', &rest);
        size_t colon = 1;

        while (colon < line.len && line.ptr[colon] != ':') {
            colon++;
        }
        h2_head_add(head, &pool, str_take(line, colon), str_drop(line, colon + 1), trailers);
    }
}

static int request(const char *lines, bool ended, StrBuf *text)
{
    H2Head head;
    Buf out = {0};
    int r;

    collect(&head, lines, false);
    r = h2_head_request(&head, &pool, ended, &out);
    strbuf_clear(text);
    strbuf_append(text, buf_str(&out));
    buf_release(&pool, &out);
    h2_head_clear(&head, &pool);
    T_EQ_INT(pool.in_use, 0);
    return r;
}

#define GET ":method:GET|:scheme:http|:authority:h|:path:/"

T_TEST(requests_become_heads)
{
    static const struct {
        const char *lines;
        bool ended;
        const char *want;
    } rows[] = {
        {GET, true, "GET / HTTP/1.1\r\nhost: h\r\n\r\n"},
        {GET "|a:1|cookie:x=1|b:2|cookie:y=2", true,
         "GET / HTTP/1.1\r\nhost: h\r\na: 1\r\nb: 2\r\ncookie: x=1; y=2\r\n\r\n"},
        {":method:GET|:scheme:HTTPS|:path:/a%2f?b|host:h:80", true,
         "GET /a%2f?b HTTP/1.1\r\nhost: h:80\r\n\r\n"},
        {GET "|host:H", true, "GET / HTTP/1.1\r\nhost: h\r\n\r\n"},
        {":method:POST|:scheme:http|:authority:h|:path:/", true,
         "POST / HTTP/1.1\r\nhost: h\r\ncontent-length: 0\r\n\r\n"},
        {":method:POST|:scheme:http|:authority:h|:path:/", false,
         "POST / HTTP/1.1\r\nhost: h\r\ntransfer-encoding: chunked\r\n\r\n"},
        {":method:POST|:scheme:http|:authority:h|:path:/|content-length:5", false,
         "POST / HTTP/1.1\r\nhost: h\r\ncontent-length: 5\r\n\r\n"},
        {GET "|te:trailers", true, "GET / HTTP/1.1\r\nhost: h\r\nte: trailers\r\n\r\n"},
        {":method:OPTIONS|:scheme:http|:authority:h|:path:*", true,
         "OPTIONS * HTTP/1.1\r\nhost: h\r\n\r\n"},
    };
    StrBuf text = STRBUF_INIT(4096);

    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        t_row(rows[i].lines);
        T_OK(request(rows[i].lines, rows[i].ended, &text));
        T_EQ_STR(strbuf_str(&text), rows[i].want);
    }
    strbuf_deinit(&text);
}

T_TEST(what_could_become_structure_is_refused)
{
    static const struct {
        const char *lines;
        int want;
    } rows[] = {
        {GET "|a:1\r\nb: 2", -EBADMSG},
        {GET "|a:1\n", -EBADMSG},
        {GET "|a\r:1", -EBADMSG},
        {GET "|a b:1", -EBADMSG},
        {GET "|A:1", -EBADMSG},
        {GET "|connection:close", -EBADMSG},
        {GET "|keep-alive:1", -EBADMSG},
        {GET "|proxy-connection:close", -EBADMSG},
        {GET "|transfer-encoding:chunked", -EBADMSG},
        {GET "|upgrade:h2c", -EBADMSG},
        {GET "|te:gzip", -EBADMSG},
        {GET "|host:other", -EBADMSG},
        {GET "|host:h|host:h", -EBADMSG},
        {GET "|:path:/b", -EBADMSG},
        {GET "|:other:/b", -EBADMSG},
        {GET "|:status:200", -EBADMSG},
        {GET "|:protocol:websocket", -EBADMSG},
        {":method:GET|a:1|:scheme:http|:authority:h|:path:/", -EBADMSG},
        {":method:G T|:scheme:http|:authority:h|:path:/", -EBADMSG},
        {":method:|:scheme:http|:authority:h|:path:/", -EBADMSG},
        {":scheme:http|:authority:h|:path:/", -EBADMSG},
        {":method:GET|:authority:h|:path:/", -EBADMSG},
        {":method:GET|:scheme:ftp|:authority:h|:path:/", -EBADMSG},
        {":method:GET|:scheme:http|:path:/", -EBADMSG},
        {":method:GET|:scheme:http|:authority:h", -EBADMSG},
        {":method:GET|:scheme:http|:authority:h|:path:", -EBADMSG},
        {":method:GET|:scheme:http|:authority:h|:path:a", -EBADMSG},
        {":method:GET|:scheme:http|:authority:h|:path:http://x/", -EBADMSG},
        {":method:GET|:scheme:http|:authority:h|:path:/ HTTP/1.1\r\na: b", -EBADMSG},
        {":method:GET|:scheme:http|:authority:h|:path:/#a", -EBADMSG},
        {":method:GET|:scheme:http|:authority:u@h|:path:/", -EBADMSG},
        {":method:GET|:scheme:http|:authority:h\r\n|:path:/", -EBADMSG},
        {":method:CONNECT|:authority:h", -EOPNOTSUPP},
        {":method:CONNECT|:protocol:x|:scheme:http|:authority:h|:path:/", -EOPNOTSUPP},
    };
    StrBuf text = STRBUF_INIT(4096);

    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        t_row(rows[i].lines);
        T_EQ_INT(request(rows[i].lines, true, &text), rows[i].want);
        T_EQ_STR(strbuf_str(&text), "");
    }
    strbuf_deinit(&text);
}

T_TEST(a_websocket_becomes_a_handshake)
{
    StrBuf text = STRBUF_INIT(4096);
    HttpHead head;

    T_OK(request(":method:CONNECT|:protocol:websocket|:scheme:http|:authority:h|:path:/w", false,
                 &text));
    http_head_init(&head);
    T_EQ_INT(http_request_parse(&head, text.ptr, text.len), (int)text.len);
    T_EQ_STR(head.method, "GET");
    T_CHECK(head.upgrade && head.body == HTTP_BODY_NONE);
    T_EQ_INT(http_head_find_name(&head, STR("sec-websocket-key"))->value.len, 24);
    strbuf_deinit(&text);
}

T_TEST(limits_of_a_block)
{
    H2Head head = {0};
    char big[40000];

    memset(big, 'a', sizeof(big));
    h2_head_add(&head, &pool, STR("a"), (Str){big, sizeof(big)}, false);
    T_EQ_INT(head.error, 0);
    h2_head_add(&head, &pool, STR("b"), (Str){big, sizeof(big)}, false);
    T_EQ_INT(head.error, -E2BIG);
    h2_head_clear(&head, &pool);
    for (int i = 0; i < HTTP_HEADERS_MAX + H2_HEAD_PSEUDO_MAX_; i++) {
        h2_head_add(&head, &pool, STR("a"), STR("1"), false);
    }
    T_EQ_INT(head.error, 0);
    h2_head_add(&head, &pool, STR("a"), STR("1"), false);
    T_EQ_INT(head.error, -E2BIG);
    h2_head_clear(&head, &pool);
    T_EQ_INT(pool.in_use, 0);
}

T_TEST(trailers)
{
    static const struct {
        const char *lines;
        int want;
        const char *text;
    } rows[] = {
        {"a:1|b:2", 0, "a: 1\r\nb: 2\r\n\r\n"},      {":path:/", -EBADMSG, ""},
        {"content-length:1", -EBADMSG, ""},          {"host:h", -EBADMSG, ""},
        {"transfer-encoding:chunked", -EBADMSG, ""},
    };

    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        H2Head head;
        Buf out = {0};

        t_row(rows[i].lines);
        collect(&head, rows[i].lines, true);
        T_EQ_INT(h2_head_trailers(&head, &pool, &out), rows[i].want);
        T_EQ_STR(buf_str(&out), rows[i].text);
        buf_release(&pool, &out);
        h2_head_clear(&head, &pool);
    }
}

static void nv_text(const nghttp2_nv *nv, size_t n, StrBuf *ret)
{
    for (size_t i = 0; i < n; i++) {
        strbuf_append(ret, (Str){(const char *)nv[i].name, nv[i].namelen});
        strbuf_append(ret, STR("="));
        strbuf_append(ret, (Str){(const char *)nv[i].value, nv[i].valuelen});
        strbuf_append(ret, STR("|"));
    }
}

T_TEST(responses_become_pairs)
{
    static const struct {
        const char *text;
        bool upgraded;
        const char *want;
    } rows[] = {
        {"HTTP/1.1 200 OK\r\nA: 1\r\nContent-Length: 5\r\n\r\n", false,
         ":status=200|A=1|Content-Length=5|"},
        {"HTTP/1.1 200 OK\r\nConnection: x-a, close\r\nX-A: 1\r\nKeep-Alive: 1\r\nB: 2\r\n"
         "Transfer-Encoding: chunked\r\n\r\n",
         false, ":status=200|B=2|"},
        {"HTTP/1.1 204 No\r\nContent-Length: 0\r\n\r\n", false, ":status=204|"},
        {"HTTP/1.1 103 Hints\r\nLink: a\r\n\r\n", false, ":status=103|Link=a|"},
        {"HTTP/1.1 101 S\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
         "Sec-WebSocket-Accept: a\r\nSec-WebSocket-Protocol: p\r\n\r\n",
         true, ":status=200|Sec-WebSocket-Protocol=p|"},
    };
    StrBuf got = STRBUF_INIT(4096);

    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        HttpHead head;
        nghttp2_nv nv[H2_HEAD_NV_MAX];
        char status[3];

        t_row(rows[i].text);
        http_head_init(&head);
        T_CHECK(http_response_parse(&head, HTTP_METHOD_GET, rows[i].text, strlen(rows[i].text)) >
                0);
        strbuf_clear(&got);
        nv_text(nv, h2_head_response_nv(&head, rows[i].upgraded, status, nv), &got);
        T_EQ_STR(strbuf_str(&got), rows[i].want);
    }
    strbuf_deinit(&got);
}

T_TEST(responses_of_sandboxes_become_heads)
{
    H2Head head;
    Buf out = {0};

    collect(&head, ":status:200|content-type:application/grpc|cookie:a", false);
    T_CHECK(!h2_head_is_interim(&head));
    T_OK(h2_head_response(&head, &pool, &out));
    T_EQ_STR(buf_str(&out), "HTTP/1.1 200 \r\ncontent-type: application/grpc\r\ncookie: a\r\n\r\n");
    buf_release(&pool, &out);
    h2_head_clear(&head, &pool);
    collect(&head, ":status:103", false);
    T_CHECK(h2_head_is_interim(&head));
    h2_head_clear(&head, &pool);
    collect(&head, ":status:2000", false);
    T_EQ_INT(h2_head_response(&head, &pool, &out), -EBADMSG);
    h2_head_clear(&head, &pool);
    T_EQ_INT(pool.in_use, 0);
}

T_TEST(requests_for_sandboxes_become_pairs)
{
    static const char text[] = "POST /s.S/M?q HTTP/1.1\r\nHost: 10.0.0.1:9090\r\nTE: trailers\r\n"
                               "Transfer-Encoding: chunked\r\nX-Forwarded-For: 1.2.3.4\r\n\r\n";
    HttpHead head;
    nghttp2_nv nv[H2_HEAD_NV_MAX];
    StrBuf got = STRBUF_INIT(4096);

    http_head_init(&head);
    T_CHECK(http_request_parse(&head, text, sizeof(text) - 1) > 0);
    nv_text(nv, h2_head_request_nv(&head, nv), &got);
    T_EQ_STR(strbuf_str(&got), ":method=POST|:scheme=http|:authority=10.0.0.1:9090|:path=/s.S/M?q|"
                               "TE=trailers|X-Forwarded-For=1.2.3.4|");
    strbuf_deinit(&got);
}
