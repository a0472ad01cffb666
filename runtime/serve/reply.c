/* SPDX-License-Identifier: Apache-2.0 */
#include "runtime/serve/reply.h"

#include <errno.h>

#include "runtime/exec/pyrepr.h"
#include "runtime/serve/problem.h"

void reply_json(HttpExchange *x, int status, const StrBuf *body)
{
    http_exchange_respond(x, status, REPLY_JSON, strbuf_str(body));
}

void reply_detail(HttpExchange *x, int status, const char *detail)
{
    AUTO(strbuf) StrBuf body = STRBUF_INIT(REPLY_BODY_MAX);

    problem_detail(&body, detail);
    reply_json(x, status, &body);
}

void reply_message(HttpExchange *x, int status, Str message)
{
    AUTO(strbuf) StrBuf body = STRBUF_INIT(REPLY_BODY_MAX);

    problem_message(&body, message);
    reply_json(x, status, &body);
}

void reply_denied(HttpExchange *x)
{
    reply_message(x, 403, STR("Access denied"));
}

static int status_of(int r)
{
    switch (-r) {
    case EACCES:
    case EPERM:
    case EROFS:
        return 403;
    case ENOSPC:
    case EDQUOT:
    case EFBIG:
        return 507;
    case EISDIR:
    case ENOTDIR:
    case ENAMETOOLONG:
    case EINVAL:
    case ELOOP:
        return 400;
    case ENOTEMPTY:
    case EBUSY:
        return 409;
    default:
        return 500;
    }
}

void reply_errno(HttpExchange *x, int r, const char *what, const char *missing, Str path)
{
    AUTO(strbuf) StrBuf text = STRBUF_INIT(REPLY_BODY_MAX);

    if (r == -EXDEV) {
        reply_denied(x);
        return;
    }
    if (missing && (r == -ENOENT || r == -ENOTDIR || r == -ELOOP || r == -ENAMETOOLONG)) {
        reply_message(x, 404, str_from(missing));
        return;
    }
    strbuf_printf(&text, "%s failed: ", what);
    pyrepr_oserror(&text, -r, path);
    reply_message(x, status_of(r), strbuf_str(&text));
}
