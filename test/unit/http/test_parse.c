/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The head parser against tables: what is taken, what is refused and how. Every row is also fed
 * split at each position and byte by byte, and must give the same answer.
 */
#include <errno.h>
#include <stdlib.h>

#include "http/parse.h"
#include "test/harness/t.h"

typedef struct Row {
    const char *label;
    Str bytes;
    int want; /* -errno, 0 = incomplete, 1 = complete */
    HttpBody body;
    uint64_t length;
    bool keep_alive;
} Row;

#define H "Host: a\r\n"
#define END(name, text, result)                                                                    \
    {                                                                                              \
        .label = name, .bytes = STR(text), .want = result                                          \
    }
#define ROW(label, text, ...)                                                                      \
    {                                                                                              \
        label, STR(text), __VA_ARGS__                                                              \
    }

static int parse(HttpHead *head, bool response, const char *buf, size_t len)
{
    return response ? http_response_parse(head, HTTP_METHOD_GET, buf, len)
                    : http_request_parse(head, buf, len);
}

/* Feeds the first n bytes, then everything up to the end, from memory of exactly that size. */
static int feed_split(HttpHead *head, bool response, Str bytes, size_t n)
{
    char *first = malloc(n + 1);
    char *all = malloc(bytes.len + 1);
    int r;

    memcpy(first, bytes.ptr, n);
    memcpy(all, bytes.ptr, bytes.len);
    http_head_init(head);
    r = parse(head, response, first, n);
    if (r == 0) {
        r = parse(head, response, all, bytes.len);
    }
    free(first);
    free(all);
    return r;
}

static int feed_bytes(HttpHead *head, bool response, Str bytes)
{
    int r = 0;

    http_head_init(head);
    for (size_t n = 0; n <= bytes.len && r == 0; n++) {
        r = parse(head, response, bytes.ptr, n);
    }
    return r;
}

static void check_row(const Row *row, bool response)
{
    static HttpHead head, other;
    int r;

    t_row(row->label);
    http_head_init(&head);
    r = parse(&head, response, row->bytes.ptr, row->bytes.len);
    T_EQ_INT(r > 0 ? 1 : r, row->want);
    for (size_t n = 0; n <= row->bytes.len; n++) {
        T_EQ_INT(feed_split(&other, response, row->bytes, n), r);
    }
    T_EQ_INT(feed_bytes(&other, response, row->bytes), r);
    if (r < 0) {
        T_CHECK(head.error != NULL);
        T_EQ_STR(other.error, head.error);
        return;
    }
    if (r > 0) {
        T_EQ_INT(head.body, row->body);
        T_EQ_INT(head.keep_alive, row->keep_alive);
        T_EQ_INT(other.n_headers, head.n_headers);
        T_EQ_STR(other.target, head.target);
        if (row->body == HTTP_BODY_LENGTH) {
            T_EQ_INT(head.content_length, row->length);
        }
    }
}

#define CHECK_ROWS(rows, response)                                                                 \
    do {                                                                                           \
        for (size_t i_ = 0; i_ < ARRAY_LEN(rows); i_++) {                                          \
            check_row(&(rows)[i_], response);                                                      \
        }                                                                                          \
        t_row(NULL);                                                                               \
    } while (0)

static const Row good_requests[] = {
    ROW("plain", "GET / HTTP/1.1\r\n" H "\r\n", 1, HTTP_BODY_NONE, 0, true),
    ROW("bytes behind the head", "GET / HTTP/1.1\r\n" H "\r\nGET", 1, HTTP_BODY_NONE, 0, true),
    ROW("empty line in front", "\r\nGET / HTTP/1.1\r\n" H "\r\n", 1, HTTP_BODY_NONE, 0, true),
    ROW("length", "POST /x HTTP/1.1\r\n" H "Content-Length: 12\r\n\r\n", 1, HTTP_BODY_LENGTH, 12,
        true),
    ROW("zero length", "POST / HTTP/1.1\r\n" H "Content-Length: 0\r\n\r\n", 1, HTTP_BODY_NONE, 0,
        true),
    ROW("chunked", "POST / HTTP/1.1\r\n" H "Transfer-Encoding: Chunked\r\n\r\n", 1,
        HTTP_BODY_CHUNKED, 0, true),
    ROW("chunked GET", "GET / HTTP/1.1\r\n" H "transfer-encoding:chunked\r\n\r\n", 1,
        HTTP_BODY_CHUNKED, 0, true),
    ROW("close", "GET / HTTP/1.1\r\n" H "Connection: foo, CLOSE\r\n\r\n", 1, HTTP_BODY_NONE, 0,
        false),
    ROW("1.0", "GET / HTTP/1.0\r\n\r\n", 1, HTTP_BODY_NONE, 0, false),
    ROW("1.0 keep-alive", "GET / HTTP/1.0\r\nConnection: Keep-Alive\r\n\r\n", 1, HTTP_BODY_NONE, 0,
        true),
    ROW("absolute form", "GET http://b:80/p?q HTTP/1.1\r\n" H "\r\n", 1, HTTP_BODY_NONE, 0, true),
    ROW("asterisk", "OPTIONS * HTTP/1.1\r\n" H "\r\n", 1, HTTP_BODY_NONE, 0, true),
    ROW("any method token", "M-SEARCH / HTTP/1.1\r\n" H "\r\n", 1, HTTP_BODY_NONE, 0, true),
    ROW("raw UTF-8", "GET /\xc3\xbc?\xff HTTP/1.1\r\n" H "X: \xc3\xbc\r\n\r\n", 1, HTTP_BODY_NONE,
        0, true),
    ROW("odd paths", "GET //a/./../%2F%00?a=%zz&&? HTTP/1.1\r\n" H "\r\n", 1, HTTP_BODY_NONE, 0,
        true),
    ROW("empty value", "GET / HTTP/1.1\r\n" H "X:\r\nY: \t \r\n\r\n", 1, HTTP_BODY_NONE, 0, true),
    END("incomplete", "GET / HTTP/1.1\r\n" H "\r", 0),
    END("nothing", "", 0),
};

/* The smuggling list: everything two parsers could read differently. */
static const Row bad_requests[] = {
    END("CL and TE",
        "POST / HTTP/1.1\r\n" H "Content-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\n",
        -EBADMSG),
    END("TE and CL",
        "POST / HTTP/1.1\r\n" H "Transfer-Encoding: chunked\r\nContent-Length: 3\r\n\r\n",
        -EBADMSG),
    END("two CL differ", "POST / HTTP/1.1\r\n" H "Content-Length: 3\r\nContent-Length: 4\r\n\r\n",
        -EBADMSG),
    END("two CL agree", "POST / HTTP/1.1\r\n" H "Content-Length: 3\r\nContent-Length: 3\r\n\r\n",
        -EBADMSG),
    END("CL list", "POST / HTTP/1.1\r\n" H "Content-Length: 3, 3\r\n\r\n", -EBADMSG),
    END("CL sign", "POST / HTTP/1.1\r\n" H "Content-Length: +3\r\n\r\n", -EBADMSG),
    END("CL minus", "POST / HTTP/1.1\r\n" H "Content-Length: -1\r\n\r\n", -EBADMSG),
    END("CL hex", "POST / HTTP/1.1\r\n" H "Content-Length: 0x3\r\n\r\n", -EBADMSG),
    END("CL space", "POST / HTTP/1.1\r\n" H "Content-Length: 3 4\r\n\r\n", -EBADMSG),
    END("CL empty", "POST / HTTP/1.1\r\n" H "Content-Length:\r\n\r\n", -EBADMSG),
    END("CL overflow", "POST / HTTP/1.1\r\n" H "Content-Length: 99999999999999999999\r\n\r\n",
        -EBADMSG),
    END("CL above INT64_MAX", "POST / HTTP/1.1\r\n" H "Content-Length: 9223372036854775808\r\n\r\n",
        -EBADMSG),
    END("TE gzip", "POST / HTTP/1.1\r\n" H "Transfer-Encoding: gzip\r\n\r\n", -EOPNOTSUPP),
    END("TE gzip, chunked", "POST / HTTP/1.1\r\n" H "Transfer-Encoding: gzip, chunked\r\n\r\n",
        -EOPNOTSUPP),
    END("TE chunked, identity",
        "POST / HTTP/1.1\r\n" H "Transfer-Encoding: chunked, identity\r\n\r\n", -EOPNOTSUPP),
    END("TE xchunked", "POST / HTTP/1.1\r\n" H "Transfer-Encoding: xchunked\r\n\r\n", -EOPNOTSUPP),
    END("TE vertical tab", "POST / HTTP/1.1\r\n" H "Transfer-Encoding: \vchunked\r\n\r\n",
        -EBADMSG),
    END("TE twice",
        "POST / HTTP/1.1\r\n" H "Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n\r\n",
        -EBADMSG),
    END("TE in 1.0", "POST / HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n", -EBADMSG),
    END("space before colon", "GET / HTTP/1.1\r\n" H "Content-Length : 3\r\n\r\n", -EBADMSG),
    END("tab before colon", "GET / HTTP/1.1\r\n" H "X\t: 3\r\n\r\n", -EBADMSG),
    END("obs-fold", "GET / HTTP/1.1\r\n" H "X: a\r\n b\r\n\r\n", -EBADMSG),
    END("fold first", "GET / HTTP/1.1\r\n X: a\r\n" H "\r\n", -EBADMSG),
    END("bare LF", "GET / HTTP/1.1\n" H "\r\n", -EBADMSG),
    END("bare LF in fields", "GET / HTTP/1.1\r\n" H "X: a\nY: b\r\n\r\n", -EBADMSG),
    END("bare LF at the end", "GET / HTTP/1.1\r\n" H "\n", -EBADMSG),
    END("bare CR in a value", "GET / HTTP/1.1\r\n" H "X: a\rY: b\r\n\r\n", -EBADMSG),
    END("two CR", "GET / HTTP/1.1\r\n" H "X: a\r\r\n\r\n", -EBADMSG),
    END("NUL in a value", "GET / HTTP/1.1\r\n" H "X: a\0b\r\n\r\n", -EBADMSG),
    END("DEL in a value", "GET / HTTP/1.1\r\n" H "X: a\x7f\r\n\r\n", -EBADMSG),
    END("NUL in a name", "GET / HTTP/1.1\r\n" H "X\0: a\r\n\r\n", -EBADMSG),
    END("no name", "GET / HTTP/1.1\r\n" H ": a\r\n\r\n", -EBADMSG),
    END("no colon", "GET / HTTP/1.1\r\n" H "X\r\n\r\n", -EBADMSG),
    END("8-bit name", "GET / HTTP/1.1\r\n" H "\xc3\xbc: a\r\n\r\n", -EBADMSG),
    END("no Host", "GET / HTTP/1.1\r\n\r\n", -EBADMSG),
    END("two Hosts", "GET / HTTP/1.1\r\n" H H "\r\n", -EBADMSG),
    END("Host with path", "GET / HTTP/1.1\r\nHost: a/b\r\n\r\n", -EBADMSG),
    END("Host with user", "GET / HTTP/1.1\r\nHost: u@a\r\n\r\n", -EBADMSG),
    END("Host with space", "GET / HTTP/1.1\r\nHost: a b\r\n\r\n", -EBADMSG),
    END("two spaces", "GET  / HTTP/1.1\r\n" H "\r\n", -EBADMSG),
    END("tab separator", "GET\t/ HTTP/1.1\r\n" H "\r\n", -EBADMSG),
    END("space at the end", "GET / HTTP/1.1 \r\n" H "\r\n", -EBADMSG),
    END("space in target", "GET /a b HTTP/1.1\r\n" H "\r\n", -EBADMSG),
    END("control in target", "GET /a\x01 HTTP/1.1\r\n" H "\r\n", -EBADMSG),
    END("fragment", "GET /a#b HTTP/1.1\r\n" H "\r\n", -EBADMSG),
    END("no target", "GET HTTP/1.1\r\n" H "\r\n", -EBADMSG),
    END("relative target", "GET a HTTP/1.1\r\n" H "\r\n", -EBADMSG),
    END("other scheme", "GET ftp://a/ HTTP/1.1\r\n" H "\r\n", -EBADMSG),
    END("absolute without host", "GET http:///p HTTP/1.1\r\n" H "\r\n", -EBADMSG),
    END("absolute with user", "GET http://u@a/p HTTP/1.1\r\n" H "\r\n", -EBADMSG),
    END("asterisk with GET", "GET * HTTP/1.1\r\n" H "\r\n", -EBADMSG),
    END("CONNECT", "CONNECT a:443 HTTP/1.1\r\n" H "\r\n", -EOPNOTSUPP),
    END("0.9", "GET /\r\n\r\n", -EBADMSG),
    END("lower case version", "GET / http/1.1\r\n" H "\r\n", -EBADMSG),
    END("version 1.2", "GET / HTTP/1.2\r\n" H "\r\n", -EPROTONOSUPPORT),
    END("version 1.10", "GET / HTTP/1.10\r\n" H "\r\n", -EBADMSG),
    END("HTTP/2 preface", "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", -EPROTONOSUPPORT),
    END("method with control", "G\x01T / HTTP/1.1\r\n" H "\r\n", -EBADMSG),
    END("leading space", " GET / HTTP/1.1\r\n" H "\r\n", -EBADMSG),
    END("two empty lines", "\r\n\r\nGET / HTTP/1.1\r\n" H "\r\n", -EBADMSG),
    END("TLS hello", "\x16\x03\x01\x02", -EBADMSG),
    END("bad Connection", "GET / HTTP/1.1\r\n" H "Connection: a b\r\n\r\n", -EBADMSG),
};

T_TEST(good_requests_are_taken_however_they_are_split)
{
    CHECK_ROWS(good_requests, false);
}

T_TEST(smuggling_shapes_are_refused_however_they_are_split)
{
    CHECK_ROWS(bad_requests, false);
}

static const Row responses[] = {
    ROW("length", "HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\n", 1, HTTP_BODY_LENGTH, 3, true),
    ROW("no reason", "HTTP/1.1 200\r\nContent-Length: 0\r\n\r\n", 1, HTTP_BODY_NONE, 0, true),
    ROW("empty reason", "HTTP/1.1 200 \r\nContent-Length: 0\r\n\r\n", 1, HTTP_BODY_NONE, 0, true),
    ROW("until close", "HTTP/1.1 200 OK\r\n\r\n", 1, HTTP_BODY_EOF, 0, false),
    ROW("1.0", "HTTP/1.0 200 OK\r\nContent-Length: 1\r\n\r\n", 1, HTTP_BODY_LENGTH, 1, false),
    ROW("chunked", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n", 1, HTTP_BODY_CHUNKED, 0,
        true),
    ROW("204", "HTTP/1.1 204 No Content\r\n\r\n", 1, HTTP_BODY_NONE, 0, true),
    ROW("304 with length", "HTTP/1.1 304 Not Modified\r\nContent-Length: 9\r\n\r\n", 1,
        HTTP_BODY_NONE, 0, true),
    ROW("100", "HTTP/1.1 100 Continue\r\n\r\n", 1, HTTP_BODY_NONE, 0, true),
    END("incomplete", "HTTP/1.1 200 OK\r\nContent-", 0),
    END("CL and TE", "HTTP/1.1 200 OK\r\nContent-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\n",
        -EBADMSG),
    END("two CL", "HTTP/1.1 200 OK\r\nContent-Length: 3\r\nContent-Length: 3\r\n\r\n", -EBADMSG),
    END("bare LF", "HTTP/1.1 200 OK\nContent-Length: 3\r\n\r\n", -EBADMSG),
    END("status 2x0", "HTTP/1.1 2x0 OK\r\n\r\n", -EBADMSG),
    END("status 99", "HTTP/1.1 099 OK\r\n\r\n", -EBADMSG),
    END("status 2000", "HTTP/1.1 2000 OK\r\n\r\n", -EBADMSG),
    END("control in reason", "HTTP/1.1 200 O\0K\r\n\r\n", -EBADMSG),
    END("not HTTP", "SSH-2.0-OpenSSH\r\n", -EBADMSG),
    END("HTTP/2", "HTTP/2 200\r\n\r\n", -EBADMSG),
    END("empty line first", "\r\nHTTP/1.1 200 OK\r\n\r\n", -EBADMSG),
};

T_TEST(responses_of_an_untrusted_sandbox)
{
    CHECK_ROWS(responses, true);
}

T_TEST(a_reply_to_head_has_no_body)
{
    static HttpHead head;
    Str text = STR("HTTP/1.1 200 OK\r\nContent-Length: 7\r\n\r\n");

    http_head_init(&head);
    T_EQ_INT(http_response_parse(&head, HTTP_METHOD_HEAD, text.ptr, text.len), text.len);
    T_EQ_INT(head.body, HTTP_BODY_NONE);
    T_CHECK(head.keep_alive);
}

T_TEST(parts_of_a_request)
{
    static HttpHead head;
    Str text = STR("PUT /a%2Fb//c?x=1?2 HTTP/1.1\r\nHost: h:1\r\nExpect: 100-Continue\r\n"
                   "TE: trailers\r\nConnection: te, X-Hop, Upgrade\r\nUpgrade: websocket\r\n"
                   "Content-Length:  5 \t\r\nx-hop: 1\r\n\r\n");

    http_head_init(&head);
    T_EQ_INT(http_request_parse(&head, text.ptr, text.len), text.len);
    T_EQ_STR(head.method, "PUT");
    T_EQ_INT(head.method_id, HTTP_METHOD_PUT);
    T_EQ_STR(head.path, "/a%2Fb//c");
    T_EQ_STR(head.query, "x=1?2");
    T_EQ_STR(head.host, "h:1");
    T_EQ_INT(head.content_length, 5);
    T_CHECK(head.expect_continue && head.te_trailers && head.upgrade && head.keep_alive);
    T_CHECK(http_head_connection_names(&head, STR("x-HOP")));
    T_CHECK(!http_head_connection_names(&head, STR("host")));
    T_EQ_INT(http_head_count(&head, HTTP_TOKEN_HOST), 1);
    T_EQ_STR(http_head_get(&head, HTTP_TOKEN_UPGRADE), "websocket");
    T_CHECK(http_head_get(&head, HTTP_TOKEN_ORIGIN).ptr == NULL);
    T_EQ_STR(http_head_find_name(&head, STR("X-HOP"))->value, "1");
}

T_TEST(the_absolute_form_names_the_host)
{
    static HttpHead head;
    Str text = STR("GET https://b:8443?q HTTP/1.1\r\nHost: a\r\n\r\n");

    http_head_init(&head);
    T_CHECK(http_request_parse(&head, text.ptr, text.len) > 0);
    T_EQ_STR(head.host, "b:8443");
    T_EQ_STR(head.path, "/");
    T_EQ_STR(head.query, "q");
}

/* ---- limits ---- */

static int parse_filled(const char *before, char fill, size_t n, const char *after)
{
    static HttpHead head;
    StrBuf buf = STRBUF_INIT(4 * HTTP_HEAD_MAX);
    int whole, bytes;

    strbuf_append_cstr(&buf, before);
    for (size_t i = 0; i < n; i++) {
        strbuf_append_char(&buf, fill);
    }
    strbuf_append_cstr(&buf, after);
    http_head_init(&head);
    whole = http_request_parse(&head, buf.ptr, buf.len);
    bytes = feed_bytes(&head, false, strbuf_str(&buf));
    T_EQ_INT(bytes, whole);
    strbuf_deinit(&buf);
    return whole;
}

T_TEST(limits_are_reached_at_the_same_byte_however_the_head_arrives)
{
    T_EQ_INT(parse_filled("GET / HTTP/1.1\r\nHost: a\r\nX: ", 'x', HTTP_HEAD_MAX, ""), -E2BIG);
    T_CHECK(parse_filled("GET / HTTP/1.1\r\nHost: a\r\nX: ", 'x', HTTP_HEAD_MAX - 32, "\r\n\r\n") >
            0);
    T_EQ_INT(parse_filled("GET / HTTP/1.1\r\nHost: a\r\nX: ", 'x', HTTP_HEAD_MAX - 31, "\r\n\r\n"),
             -E2BIG);
    T_EQ_INT(parse_filled("GET /", 'x', HTTP_TARGET_MAX, " HTTP/1.1\r\nHost: a\r\n\r\n"),
             -ENAMETOOLONG);
    T_CHECK(parse_filled("GET /", 'x', HTTP_TARGET_MAX - 1, " HTTP/1.1\r\nHost: a\r\n\r\n") > 0);
    T_EQ_INT(parse_filled("GET /", 'x', 2 * HTTP_TARGET_MAX, ""), -ENAMETOOLONG);
    T_EQ_INT(parse_filled("", 'G', HTTP_METHOD_MAX + 1, " / HTTP/1.1\r\nHost: a\r\n\r\n"),
             -EBADMSG);
}

T_TEST(too_many_fields_are_refused_and_the_most_allowed_are_taken)
{
    static HttpHead head;
    StrBuf buf = STRBUF_INIT(HTTP_HEAD_MAX);

    strbuf_append_cstr(&buf, "GET / HTTP/1.1\r\n" H);
    for (int i = 1; i < HTTP_HEADERS_MAX; i++) {
        strbuf_printf(&buf, "X%d: y\r\n", i);
    }
    size_t most = buf.len;

    strbuf_append_cstr(&buf, "\r\n");
    http_head_init(&head);
    T_EQ_INT(http_request_parse(&head, buf.ptr, buf.len), buf.len);
    T_EQ_INT(head.n_headers, HTTP_HEADERS_MAX);
    buf.len = most;
    strbuf_append_cstr(&buf, "One-More: y\r\n\r\n");
    http_head_init(&head);
    T_EQ_INT(http_request_parse(&head, buf.ptr, buf.len), -E2BIG);
    strbuf_deinit(&buf);
}

T_TEST(trailers)
{
    static HttpHead head;
    static const struct {
        const char *label;
        Str bytes;
        int want;
    } rows[] = {
        {"none", STR("\r\n"), 2},
        {"one", STR("grpc-status: 0\r\n\r\n"), 18},
        {"framing", STR("Content-Length: 0\r\n\r\n"), -EBADMSG},
        {"coding", STR("Transfer-Encoding: chunked\r\n\r\n"), -EBADMSG},
        {"bare LF", STR("a: b\n\r\n"), -EBADMSG},
        {"fold", STR(" a: b\r\n\r\n"), -EBADMSG},
        {"incomplete", STR("a: b\r\n\r"), 0},
    };

    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        t_row(rows[i].label);
        http_head_init(&head);
        T_EQ_INT(http_trailers_parse(&head, rows[i].bytes.ptr, rows[i].bytes.len), rows[i].want);
    }
    t_row(NULL);
}

T_TEST(errors_have_a_status)
{
    T_EQ_INT(http_parse_status(-EBADMSG), 400);
    T_EQ_INT(http_parse_status(-E2BIG), 431);
    T_EQ_INT(http_parse_status(-ENAMETOOLONG), 414);
    T_EQ_INT(http_parse_status(-EOPNOTSUPP), 501);
    T_EQ_INT(http_parse_status(-EPROTONOSUPPORT), 505);
}

T_TEST(methods)
{
    T_CHECK(http_method_is_idempotent(HTTP_METHOD_DELETE));
    T_CHECK(!http_method_is_idempotent(HTTP_METHOD_POST));
    T_CHECK(!http_method_is_idempotent(HTTP_METHOD_PATCH));
    T_CHECK(!http_method_is_idempotent(HTTP_METHOD_OTHER));
    T_EQ_STR(http_method_name(HTTP_METHOD_OTHER), "OTHER");
}
