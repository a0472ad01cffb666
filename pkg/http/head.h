/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/* Private to parse.c and head.c: what fields mean once a head is cut into lines. */
#include "http/parse.h"

int http_head_fail(HttpHead *head, int code, const char *text);
HttpMethod http_head_method(Str name);
/* Framing, connection options and Host rules. 0 or as http_request_parse(). */
int http_head_finish_request(HttpHead *head);
int http_head_finish_response(HttpHead *head, HttpMethod method);
