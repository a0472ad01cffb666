/* SPDX-License-Identifier: Apache-2.0 */
/* See review_api.h. */
#include "router/review_api.h"

#include "base/mem.h"
#include "token/base64url.h"
#include "json/doc.h"
#include "json/jx.h"

#define JWT_CLAIMS_MAX 8192

char *review_token_body(Str token, Str audiences)
{
    AUTO(json) json_t *review = jx_object_new();
    json_t *list;

    jx_set_str(review, "apiVersion", STR("authentication.k8s.io/v1"));
    jx_set_str(review, "kind", STR("TokenReview"));
    jx_set_str(jx_obj(review, "spec"), "token", token);
    while (audiences.len > 0) {
        Str one = str_trim(str_cut(audiences, ',', &audiences));

        if (one.len > 0) {
            list = jx_arr(review, "spec", "audiences");
            jx_append(list, jx_string_new(one));
        }
    }
    return jx_dump_compact(review);
}

/* The server names the audiences that the token and we have in common. A server that does not know
 * the field names none, and then said nothing about ours. */
static bool is_for_us(JNode status, Str audiences)
{
    bool asked = false;

    while (audiences.len > 0) {
        Str one = str_trim(str_cut(audiences, ',', &audiences));
        JNode node;

        asked |= one.len > 0;
        for (JIter it = jnode_iter(jnode_get(status, STR("audiences")));
             one.len > 0 && jiter_next(&it, NULL, &node);) {
            if (str_eq(jnode_str(node), one)) {
                return true;
            }
        }
    }
    return !asked;
}

static char *user_of(JNode user)
{
    AUTO(json) json_t *spec = jx_object_new();
    JNode groups = jnode_get(user, STR("groups"));
    JNode extra = jnode_get(user, STR("extra"));

    jx_set_str(spec, "user", jnode_str(jnode_get(user, STR("username"))));
    if (jnode_str(jnode_get(user, STR("uid"))).len > 0) {
        jx_set_str(spec, "uid", jnode_str(jnode_get(user, STR("uid"))));
    }
    if (jnode_type(groups) == JTYPE_ARRAY) {
        jx_set(spec, "groups", jnode_to_jansson(groups));
    }
    if (jnode_type(extra) == JTYPE_OBJECT) {
        jx_set(spec, "extra", jnode_to_jansson(extra));
    }
    return jx_dump_compact(spec);
}

static bool is_kind(JNode root, Str kind)
{
    return str_eq(jnode_str(jnode_get(root, STR("kind"))), kind) &&
           jnode_type(jnode_get(root, STR("status"))) == JTYPE_OBJECT;
}

ReviewVerdict review_token_answer(Str text, Str audiences, char **ret_user)
{
    AUTO(jdoc) JDoc *doc = NULL;
    JNode status, user;

    if (jdoc_parse(text, NULL, REVIEW_ANSWER_MAX, &doc, NULL) < 0 ||
        !is_kind(jdoc_root(doc), STR("TokenReview"))) {
        return REVIEW_UNAVAILABLE;
    }
    status = jnode_get(jdoc_root(doc), STR("status"));
    user = jnode_get(status, STR("user"));
    if (!jnode_bool(jnode_get(status, STR("authenticated")), false) ||
        !is_for_us(status, audiences) || jnode_str(jnode_get(user, STR("username"))).len == 0) {
        return REVIEW_UNAUTHENTICATED;
    }
    *ret_user = user_of(user);
    if (strlen(*ret_user) > REVIEW_USER_MAX) {
        free(TAKE(*ret_user));
        return REVIEW_UNAVAILABLE;
    }
    return REVIEW_ALLOWED;
}

char *review_access_body(const char *user, Str ns, Str name)
{
    AUTO(json) json_t *review = jx_object_new();
    json_t *spec = NULL, *attributes;

    if (jx_parse(str_from(user), REVIEW_USER_MAX, &spec, NULL) < 0) {
        spec = jx_object_new(); /* without a user nothing is allowed */
    }
    jx_set_str(review, "apiVersion", STR("authorization.k8s.io/v1"));
    jx_set_str(review, "kind", STR("SubjectAccessReview"));
    jx_set(review, "spec", spec);
    attributes = jx_obj(review, "spec", "resourceAttributes");
    jx_set_str(attributes, "verb", STR("get"));
    jx_set_str(attributes, "group", STR("agents.x-k8s.io"));
    jx_set_str(attributes, "resource", STR("sandboxes"));
    jx_set_str(attributes, "subresource", STR("proxy"));
    jx_set_str(attributes, "namespace", ns);
    jx_set_str(attributes, "name", name);
    return jx_dump_compact(review);
}

ReviewVerdict review_access_answer(Str text)
{
    AUTO(jdoc) JDoc *doc = NULL;

    if (jdoc_parse(text, NULL, REVIEW_ANSWER_MAX, &doc, NULL) < 0 ||
        !is_kind(jdoc_root(doc), STR("SubjectAccessReview"))) {
        return REVIEW_UNAVAILABLE;
    }
    JNode status = jnode_get(jdoc_root(doc), STR("status"));

    return jnode_bool(jnode_get(status, STR("allowed")), false) &&
                   !jnode_bool(jnode_get(status, STR("denied")), false)
               ? REVIEW_ALLOWED
               : REVIEW_FORBIDDEN;
}

int64_t review_token_exp(Str token)
{
    char claims[JWT_CLAIMS_MAX];
    AUTO(jdoc) JDoc *doc = NULL;
    Str rest, payload, signature;
    int n;

    str_cut(token, '.', &rest);
    payload = str_cut(rest, '.', &signature);
    n = signature.len > 0 ? base64url_decode(payload, claims, sizeof(claims)) : -1;
    if (n <= 0 || jdoc_parse((Str){claims, (size_t)n}, NULL, sizeof(claims), &doc, NULL) < 0) {
        return 0;
    }
    double exp = jnode_f64(jnode_get(jdoc_root(doc), STR("exp")), 0);

    return exp > 0 && exp < 1e15 ? (int64_t)exp : 0;
}
