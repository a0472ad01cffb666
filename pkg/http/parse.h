/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * Strict HTTP/1.x head parser: a security boundary. It refuses everything that two parsers could
 * read differently: bare LF or CR, obs-fold, white space before a colon, control bytes,
 * Content-Length together with Transfer-Encoding, a repeated Content-Length, any coding but exactly
 * "chunked".
 *
 * Nothing is copied or changed: all Str point into the caller's buffer and live as long as it does.
 * A call with more bytes goes on where the last one stopped, so a head fed byte by byte costs O(n),
 * and the result does not depend on how the bytes were split. The buffer may move between calls.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/str.h"
#include "http/token.h"

#define HTTP_HEAD_MAX (64 * 1024)   /* bytes of one head, the empty line included */
#define HTTP_HEADERS_MAX 128        /* fields of one head */
#define HTTP_TARGET_MAX (32 * 1024) /* bytes of a request target */
#define HTTP_METHOD_MAX 32
#define HTTP_TRAILERS_MAX (16 * 1024)

typedef enum HttpMethod {
    HTTP_METHOD_OTHER, /* any other token: forwarded as it is */
    HTTP_METHOD_GET,
    HTTP_METHOD_HEAD,
    HTTP_METHOD_POST,
    HTTP_METHOD_PUT,
    HTTP_METHOD_DELETE,
    HTTP_METHOD_PATCH,
    HTTP_METHOD_OPTIONS,
    HTTP_METHOD_TRACE,
    HTTP_METHOD_MAX_,
} HttpMethod;

typedef enum HttpBody {
    HTTP_BODY_NONE,
    HTTP_BODY_LENGTH,
    HTTP_BODY_CHUNKED,
    HTTP_BODY_EOF, /* responses only: until the peer closes */
} HttpBody;

typedef struct HttpHeader {
    Str name;
    Str value; /* without surrounding white space */
    HttpToken id;
} HttpHeader;

typedef struct HttpHead {
    /* request line */
    Str method;
    HttpMethod method_id;
    Str target; /* as sent */
    Str path;   /* raw, still percent-encoded, never empty ("*" for OPTIONS *) */
    Str query;  /* raw, without '?'; ptr NULL when there was no '?' */
    Str host;   /* authority of an absolute target, else the Host field; may be empty */
    /* status line */
    int status;
    Str reason;
    /* both */
    int minor; /* HTTP/1.minor: 0 or 1 */
    HttpBody body;
    uint64_t content_length; /* HTTP_BODY_LENGTH */
    bool keep_alive;         /* what the head says about the connection's future */
    bool upgrade;            /* Connection names upgrade and an Upgrade field is there */
    bool expect_continue;
    bool te_trailers;
    bool has_connection_names; /* Connection names fields besides close, keep-alive, upgrade, te */
    size_t n_headers;
    HttpHeader headers[HTTP_HEADERS_MAX];
    /* parser */
    const char *error; /* why the last call failed, static text */
    size_t scanned;    /* bytes already looked at */
    size_t line;       /* where the line being scanned starts */
    size_t lines;      /* complete lines seen */
    size_t start;      /* 2 after an empty line in front of a request */
} HttpHead;

/* Must precede the first call for a message. Does not touch headers[]. */
void http_head_init(HttpHead *head);

/*
 * 0: the head is not complete yet, call again with more. >0: length of the head. Errors, with
 * head->error set: -EBADMSG (400), -E2BIG (431), -ENAMETOOLONG (414), -EOPNOTSUPP (501),
 * -EPROTONOSUPPORT (505); http_parse_status() maps them.
 */
int http_request_parse(HttpHead *head, const char *buf, size_t len);
/* As above for a response; `method` is that of the request and decides whether a body follows. */
int http_response_parse(HttpHead *head, HttpMethod method, const char *buf, size_t len);
/* Field lines up to the empty line: trailers after the last chunk. Framing fields are refused. */
int http_trailers_parse(HttpHead *head, const char *buf, size_t len);

int http_parse_status(int error); /* HTTP status for a negative result */

/* First field with this id or name; NULL when there is none. */
const HttpHeader *http_head_find(const HttpHead *head, HttpToken id);
const HttpHeader *http_head_find_name(const HttpHead *head, Str name);
Str http_head_get(const HttpHead *head, HttpToken id); /* STR_NULL when there is none */
size_t http_head_count(const HttpHead *head, HttpToken id);
/* True when a Connection field of this head names the field (case-insensitive). */
bool http_head_connection_names(const HttpHead *head, Str name);

/* True when a comma-separated list contains the token, any case. */
bool http_list_has(Str list, Str token);
bool http_is_token(Str s); /* RFC 9110 token, not empty */
bool http_is_field_value(Str s);

/* Methods that may be sent a second time without harm (RFC 9110 9.2.2). */
bool http_method_is_idempotent(HttpMethod method);
Str http_method_name(HttpMethod method); /* "OTHER" for OTHER */
