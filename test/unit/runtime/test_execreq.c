/* SPDX-License-Identifier: Apache-2.0 */
#include "runtime/serve/execreq.h"
#include "test/harness/t.h"

T_TEST(execreq_takes_what_clients_send)
{
    AUTO(exec_request) ExecRequest r = {0};
    AUTO(strbuf) StrBuf problem = STRBUF_INIT(4096);

    T_OK(exec_request_parse(STR("{\"command\":\"a 'b c'\",\"timeout_seconds\":2.5,\"cwd\":\"x\","
                                "\"env\":{\"A\":\"1\",\"B\":\"\"},\"other\":[1,{}]}"),
                            10, &r, &problem));
    T_EQ_INT(argv_len(&r.argv), 2);
    T_EQ_STR(r.argv.v.ptr[1], "b c");
    T_CHECK(r.has_timeout && r.timeout_s == 2.5);
    T_CHECK(r.has_cwd);
    T_EQ_STR(r.cwd.v.ptr[0], "x");
    T_EQ_INT(argv_len(&r.env), 4);
    T_EQ_STR(r.env.v.ptr[2], "B");
    T_CHECK(r.refuse == NULL);
}

T_TEST(execreq_null_means_absent)
{
    AUTO(exec_request) ExecRequest r = {0};
    AUTO(strbuf) StrBuf problem = STRBUF_INIT(4096);

    T_OK(exec_request_parse(
        STR("{\"command\":[\"a b\",\"\"],\"timeout_seconds\":null,\"cwd\":null,\"env\":null}"), 10,
        &r, &problem));
    T_EQ_INT(argv_len(&r.argv), 2);
    T_EQ_STR(r.argv.v.ptr[0], "a b");
    T_CHECK(!r.has_timeout && !r.has_cwd);
}

T_TEST(execreq_refuses_commands_that_cannot_run)
{
    static const struct {
        const char *body, *refuse;
    } ROWS[] = {
        {"{\"command\":\"\"}", "list index out of range"},
        {"{\"command\":[]}", "list index out of range"},
        {"{\"command\":\"'x\"}", "No closing quotation"},
        {"{\"command\":\"x\\\\\"}", "No escaped character"},
        {"{\"command\":\"a\\u0000b\"}", "embedded null byte"},
        {"{\"command\":[\"a\\u0000b\"]}", "embedded null byte"},
    };

    for (size_t i = 0; i < ARRAY_LEN(ROWS); i++) {
        AUTO(exec_request) ExecRequest r = {0};
        AUTO(strbuf) StrBuf problem = STRBUF_INIT(4096);

        t_row(ROWS[i].body);
        T_OK(exec_request_parse(str_from(ROWS[i].body), 10, &r, &problem));
        T_EQ_STR(r.refuse, ROWS[i].refuse);
    }
    t_row(NULL);
}

#define P(type, loc, msg)                                                                          \
    "{\"detail\":[{\"type\":\"" type "\",\"loc\":[" loc "],\"msg\":\"" msg "\"}]}"
#define NOT_STRING "Input should be a valid string"

T_TEST(execreq_says_what_is_wrong)
{
    static const struct {
        const char *body, *problem;
    } ROWS[] = {
        {"", P("missing", "\"body\"", "Field required")},
        {"{", P("json_invalid", "\"body\",1", "JSON decode error")},
        {"{\"command\":\"a\xff\"}", P("json_invalid", "\"body\",13", "JSON decode error")},
        {"[]", P("model_attributes_type", "\"body\"",
                 "Input should be a valid dictionary or object to extract fields from")},
        {"{}", P("missing", "\"body\",\"command\"", "Field required")},
        {"{\"command\":null}", P("string_type", "\"body\",\"command\"", NOT_STRING)},
        {"{\"command\":7}", P("string_type", "\"body\",\"command\"", NOT_STRING)},
        {"{\"command\":[\"a\",1]}", P("string_type", "\"body\",\"command\",1", NOT_STRING)},
        {"{\"command\":\"a\",\"timeout_seconds\":\"5\"}",
         P("float_type", "\"body\",\"timeout_seconds\"", "Input should be a valid number")},
        {"{\"command\":\"a\",\"timeout_seconds\":true}",
         P("float_type", "\"body\",\"timeout_seconds\"", "Input should be a valid number")},
        {"{\"command\":\"a\",\"timeout_seconds\":0}",
         P("greater_than", "\"body\",\"timeout_seconds\"", "Input should be greater than 0")},
        {"{\"command\":\"a\",\"timeout_seconds\":-1.5}",
         P("greater_than", "\"body\",\"timeout_seconds\"", "Input should be greater than 0")},
        {"{\"command\":\"a\",\"timeout_seconds\":10.5}",
         P("less_than_equal", "\"body\",\"timeout_seconds\"",
           "Input should be less than or equal to 10")},
        {"{\"command\":\"a\",\"env\":[]}",
         P("dict_type", "\"body\",\"env\"", "Input should be a valid dictionary")},
        {"{\"command\":\"a\",\"env\":{\"A\":1}}",
         P("string_type", "\"body\",\"env\",\"A\"", NOT_STRING)},
        {"{\"command\":\"a\",\"env\":{\"A=B\":\"\"}}",
         P("value_error", "\"body\",\"env\",\"A=B\"",
           "A name must not be empty nor contain '=' or NUL")},
        {"{\"command\":\"a\",\"env\":{\"\":\"\"}}",
         P("value_error", "\"body\",\"env\",\"\"",
           "A name must not be empty nor contain '=' or NUL")},
        {"{\"command\":\"a\",\"env\":{\"A\":\"\\u0000\"}}",
         P("value_error", "\"body\",\"env\",\"A\"", "A value must not contain NUL")},
        {"{\"command\":\"a\",\"cwd\":1}", P("string_type", "\"body\",\"cwd\"", NOT_STRING)},
        {"{\"command\":\"a\",\"cwd\":\"\\u0000\"}",
         P("value_error", "\"body\",\"cwd\"", "A path must not contain NUL")},
    };

    for (size_t i = 0; i < ARRAY_LEN(ROWS); i++) {
        AUTO(exec_request) ExecRequest r = {0};
        AUTO(strbuf) StrBuf problem = STRBUF_INIT(4096);

        t_row(ROWS[i].body);
        T_EQ_INT(exec_request_parse(str_from(ROWS[i].body), 10, &r, &problem), 1);
        T_EQ_STR(strbuf_str(&problem), ROWS[i].problem);
    }
    t_row(NULL);
}

T_TEST(execreq_bounds_the_environment)
{
    AUTO(exec_request) ExecRequest r = {0};
    AUTO(strbuf) StrBuf problem = STRBUF_INIT(4096), body = STRBUF_INIT(1 << 20);

    strbuf_append_cstr(&body, "{\"command\":\"a\",\"env\":{\"A\":\"\"");
    for (int i = 0; i < EXECREQ_ENV_MAX; i++) {
        strbuf_printf(&body, ",\"V%d\":\"\"", i);
    }
    strbuf_append_cstr(&body, "}}");
    T_EQ_INT(exec_request_parse(strbuf_str(&body), 10, &r, &problem), 1);
    T_CONTAINS(strbuf_str(&problem), "too_long");
}

T_TEST(execreq_refuses_deep_nesting)
{
    AUTO(exec_request) ExecRequest r = {0};
    AUTO(strbuf) StrBuf problem = STRBUF_INIT(4096), body = STRBUF_INIT(1 << 20);

    strbuf_append_cstr(&body, "{\"command\":\"a\",\"x\":");
    for (int i = 0; i < 100000; i++) {
        strbuf_append_char(&body, '[');
    }
    T_EQ_INT(exec_request_parse(strbuf_str(&body), 10, &r, &problem), 1);
    T_CONTAINS(strbuf_str(&problem), "json_invalid");
}
