/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/* What is said to the API server about tokens and access, and what its answers mean. Pure. */
#include "base/str.h"
#include "router/review.h"

#define REVIEW_USER_MAX 65536 /* bytes of a user with groups and extras, as JSON */
#define REVIEW_ANSWER_MAX (256u << 10)

#define REVIEW_TOKEN_PATH "/apis/authentication.k8s.io/v1/tokenreviews"
#define REVIEW_ACCESS_PATH "/apis/authorization.k8s.io/v1/subjectaccessreviews"

/* Owned text. */
char *review_token_body(Str token, Str audiences);
char *review_access_body(const char *user, Str ns, Str name);

/* REVIEW_ALLOWED with *ret_user (owned; the user part of a SubjectAccessReview),
 * REVIEW_UNAUTHENTICATED, or REVIEW_UNAVAILABLE for what is no such answer. */
ReviewVerdict review_token_answer(Str text, Str audiences, char **ret_user);
ReviewVerdict review_access_answer(Str text);

/* `exp` of a JWT, seconds since 1970, signature unseen: good for nothing but believing less. 0 when
 * there is none. */
int64_t review_token_exp(Str token);
