/* SPDX-License-Identifier: Apache-2.0 */
#include "router/authz.h"
#include "router/review_api.h"
#include "test/harness/t.h"

static Str bearer(const char *fields, HttpHead *head, StrBuf *buf)
{
    strbuf_clear(buf);
    strbuf_printf(buf, "GET / HTTP/1.1\r\nHost: h\r\n%s\r\n", fields);
    http_head_init(head);
    T_CHECK(http_request_parse(head, buf->ptr, buf->len) > 0);
    return authz_bearer(head);
}

T_TEST(what_a_bearer_token_is)
{
    AUTO(strbuf) StrBuf buf = STRBUF_INIT(4096);
    HttpHead head;

    T_EQ_STR(bearer("Authorization: Bearer abc\r\n", &head, &buf), "abc");
    T_EQ_STR(bearer("authorization: bEARER  abc \r\n", &head, &buf), "abc");
    T_CHECK(!bearer("", &head, &buf).ptr);
    T_CHECK(!bearer("Authorization: Bearer\r\n", &head, &buf).ptr);
    T_CHECK(!bearer("Authorization: Bearer  \r\n", &head, &buf).ptr);
    T_CHECK(!bearer("Authorization: Bearerabc\r\n", &head, &buf).ptr);
    T_CHECK(!bearer("Authorization: Basic abc\r\n", &head, &buf).ptr);
    T_CHECK(!bearer("Authorization: Bearer a\r\nAuthorization: Bearer a\r\n", &head, &buf).ptr);
}

T_TEST(answers_about_tokens)
{
    char *user = NULL;
    static const char *const refused[] = {
        "{\"kind\":\"TokenReview\",\"status\":{}}",
        "{\"kind\":\"TokenReview\",\"status\":{\"authenticated\":\"true\"}}",
        "{\"kind\":\"TokenReview\",\"status\":{\"authenticated\":false,\"user\":{\"username\":"
        "\"a\"}}}",
        "{\"kind\":\"TokenReview\",\"status\":{\"authenticated\":true,\"user\":{\"username\":\"\"}}"
        "}",
        "{\"kind\":\"TokenReview\",\"status\":{\"authenticated\":true}}",
    };
    static const char *const nothing[] = {
        "",
        "[]",
        "{}",
        "{\"kind\":\"Status\"}",
        "{\"kind\":\"TokenReview\"}",
        "{\"kind\":\"SubjectAccessReview\",\"status\":{\"authenticated\":true}}",
    };
    const char *good =
        "{\"kind\":\"TokenReview\",\"status\":{\"authenticated\":true,\"audiences\":[\"x\"],"
        "\"user\":{\"username\":\"a\",\"groups\":[\"g\"]}}}";

    for (size_t i = 0; i < ARRAY_LEN(refused); i++) {
        T_EQ_INT(review_token_answer(str_from(refused[i]), STR(""), &user), REVIEW_UNAUTHENTICATED);
    }
    for (size_t i = 0; i < ARRAY_LEN(nothing); i++) {
        T_EQ_INT(review_token_answer(str_from(nothing[i]), STR(""), &user), REVIEW_UNAVAILABLE);
    }
    T_EQ_INT(review_token_answer(str_from(good), STR("y"), &user), REVIEW_UNAUTHENTICATED);
    T_EQ_INT(review_token_answer(str_from(good), STR("y, x"), &user), REVIEW_ALLOWED);
    T_EQ_STR(user, "{\"user\":\"a\",\"groups\":[\"g\"]}");
    AUTO(mem) char *body = review_access_body(user, STR("ns"), STR("box"));

    T_EQ_STR(body,
             "{\"apiVersion\":\"authorization.k8s.io/v1\",\"kind\":\"SubjectAccessReview\","
             "\"spec\":{\"user\":\"a\",\"groups\":[\"g\"],\"resourceAttributes\":{\"verb\":\"get\","
             "\"group\":\"agents.x-k8s.io\",\"resource\":\"sandboxes\",\"subresource\":\"proxy\","
             "\"namespace\":\"ns\",\"name\":\"box\"}}}");
    free(user);
}

T_TEST(answers_about_access)
{
    T_EQ_INT(review_access_answer(STR("{\"kind\":\"TokenReview\",\"status\":{\"allowed\":true}}")),
             REVIEW_UNAVAILABLE);
    T_EQ_INT(review_access_answer(STR("[]")), REVIEW_UNAVAILABLE);
    T_EQ_INT(review_access_answer(
                 STR("{\"kind\":\"SubjectAccessReview\",\"status\":{\"allowed\":true}}")),
             REVIEW_ALLOWED);
    T_EQ_INT(
        review_access_answer(STR("{\"kind\":\"SubjectAccessReview\",\"status\":{\"allowed\":true,"
                                 "\"denied\":true}}")),
        REVIEW_FORBIDDEN);
    T_EQ_INT(review_access_answer(STR("{\"kind\":\"SubjectAccessReview\",\"status\":{}}")),
             REVIEW_FORBIDDEN);
}

T_TEST(exp_of_a_jwt)
{
    T_EQ_INT(review_token_exp(STR("e30.eyJleHAiOjUwMH0.c2ln")), 500);
    T_EQ_INT(review_token_exp(STR("e30.eyJleHAiOjUwMH0")), 0);
    T_EQ_INT(review_token_exp(STR("e30.e30.c2ln")), 0);
    T_EQ_INT(review_token_exp(STR("e30.!.c2ln")), 0);
    T_EQ_INT(review_token_exp(STR("")), 0);
}

T_TEST(comparing_takes_no_short_way)
{
    T_CHECK(authz_equal(STR("abc"), STR("abc")));
    T_CHECK(!authz_equal(STR("abc"), STR("abd")));
    T_CHECK(!authz_equal(STR("abc"), STR("abcabc")));
    T_CHECK(!authz_equal(STR("abc"), STR("")));
    T_CHECK(!authz_equal(STR(""), STR("a")));
}
