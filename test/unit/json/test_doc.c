/* SPDX-License-Identifier: Apache-2.0 */
#include "json/doc.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "base/mem.h"
#include "test/harness/t.h"
#include "json/jx.h"
#include "json/scan.h"
#include "json/write.h"

#define TEXT_MAX (4 << 20)

static JDoc *parse(const char *text)
{
    AUTO(mem) char *copy = xmemdup(text, strlen(text)); /* no NUL behind it */
    JDoc *doc = NULL;
    Err err = ERR_INIT;

    if (jdoc_parse((Str){copy, strlen(text)}, NULL, TEXT_MAX, &doc, &err) < 0) {
        T_FAIL("%s: %s", text, err.msg);
    }
    return doc;
}

static char *dump(JNode node)
{
    StrBuf buf = STRBUF_INIT(TEXT_MAX);
    JWriter w;

    jw_init(&w, &buf);
    jw_node(&w, node);
    return strbuf_take(&buf);
}

T_TEST(a_document_is_read_by_keys)
{
    AUTO(jdoc)
    JDoc *doc = parse("{\"metadata\":{\"name\":\"x\",\"labels\":{\"a.b/c\":\"\"}},"
                      "\"spec\":{\"n\":-3,\"on\":true,\"off\":false,\"r\":2.5,\"z\":null,"
                      "\"list\":[\"p\",{\"q\":7},[]]}}");
    JNode root = jdoc_root(doc), spec = jnode_at(root, "spec");

    T_EQ_STR(jnode_str(jnode_at(root, "metadata", "name")), "x");
    Str empty = jnode_str(jnode_at(root, "metadata", "labels", "a.b/c"));
    T_CHECK(empty.ptr && empty.len == 0);
    T_EQ_INT(jnode_i64(jnode_get(spec, STR("n")), 0), -3);
    T_CHECK(jnode_bool(jnode_get(spec, STR("on")), false));
    T_CHECK(!jnode_bool(jnode_get(spec, STR("off")), true));
    T_CHECK(jnode_f64(jnode_get(spec, STR("r")), 0) == 2.5);
    T_CHECK(jnode_f64(jnode_get(spec, STR("n")), 0) == -3.0);
    T_EQ_INT(jnode_type(jnode_get(spec, STR("z"))), JTYPE_NULL);
    T_CHECK(jnode_exists(jnode_get(spec, STR("z"))));
    JNode list = jnode_get(spec, STR("list"));
    T_EQ_INT(jnode_len(list), 3);
    T_EQ_STR(jnode_str(jnode_index(list, 0)), "p");
    T_EQ_INT(jnode_i64(jnode_at(jnode_index(list, 1), "q"), 0), 7);
    T_EQ_INT(jnode_type(jnode_index(list, 2)), JTYPE_ARRAY);
    T_CHECK(!jnode_exists(jnode_index(list, 3)));
}

T_TEST(absent_and_wrong_types_give_the_default)
{
    AUTO(jdoc) JDoc *doc = parse("{\"s\":\"5\",\"r\":1.0,\"a\":[1]}");
    JNode root = jdoc_root(doc), none = jnode_at(root, "no", "such", "path");

    T_EQ_INT(jnode_type(none), JTYPE_ABSENT);
    T_CHECK(jnode_str(none).ptr == NULL);
    T_EQ_INT(jnode_i64(none, 42), 42);
    T_CHECK(jnode_bool(none, true));
    T_EQ_INT(jnode_len(none), 0);
    T_EQ_INT(jnode_i64(jnode_at(root, "s"), 42), 42);
    T_EQ_INT(jnode_i64(jnode_at(root, "r"), 42), 42);
    T_CHECK(!jnode_exists(jnode_at(root, "a", "0")));
    T_CHECK(!jnode_exists(jnode_index(root, 0)));
    T_CHECK(jnode_str(jnode_at(root, "a")).ptr == NULL);
    T_CHECK(!jnode_exists(jdoc_root(NULL)));
    T_CHECK(jnode_to_jansson(none) == NULL);
    jdoc_unref(NULL);
}

T_TEST(iteration_is_in_document_order)
{
    AUTO(jdoc) JDoc *doc = parse("{\"b\":[10,20],\"a\":{\"x\":{}},\"c\":5000000000}");
    JIter it = jnode_iter(jdoc_root(doc));
    Str key;
    JNode value;

    T_CHECK(jiter_next(&it, &key, &value));
    T_EQ_STR(key, "b");
    JIter inner = jnode_iter(value);
    T_CHECK(jiter_next(&inner, &key, &value));
    T_CHECK(key.ptr == NULL);
    T_EQ_INT(jnode_i64(value, 0), 10);
    T_CHECK(jiter_next(&inner, NULL, &value));
    T_CHECK(!jiter_next(&inner, NULL, &value));
    T_CHECK(jiter_next(&it, &key, &value));
    T_EQ_STR(key, "a");
    T_CHECK(jiter_next(&it, &key, &value));
    T_EQ_INT(jnode_i64(value, 0), 5000000000);
    T_CHECK(!jiter_next(&it, &key, &value));
    it = jnode_iter(value);
    T_CHECK(!jiter_next(&it, &key, &value));
}

T_TEST(numbers_keep_their_value)
{
    static const struct {
        const char *text;
        JType type;
        double value;
    } ROWS[] = {
        {"0", JTYPE_INT, 0},
        {"-0", JTYPE_INT, 0},
        {"2147483647", JTYPE_INT, 2147483647.0},
        {"2147483648", JTYPE_INT, 2147483648.0},
        {"-2147483648", JTYPE_INT, -2147483648.0},
        {"-2147483649", JTYPE_INT, -2147483649.0},
        {"9223372036854775808", JTYPE_REAL, 9223372036854775808.0},
        {"18446744073709551615", JTYPE_REAL, 18446744073709551615.0},
        {"1.0", JTYPE_REAL, 1},
        {"1e-999", JTYPE_REAL, 0},
        {"-1.7976931348623157e308", JTYPE_REAL, -1.7976931348623157e308},
        {"0.1", JTYPE_REAL, 0.1},
    };

    for (size_t i = 0; i < ARRAY_LEN(ROWS); i++) {
        t_row(ROWS[i].text);
        AUTO(jdoc) JDoc *doc = parse(ROWS[i].text);
        T_EQ_INT(jnode_type(jdoc_root(doc)), ROWS[i].type);
        T_CHECK(jnode_f64(jdoc_root(doc), NAN) == ROWS[i].value);
    }
    t_row(NULL);
    AUTO(jdoc) JDoc *doc = parse("[9223372036854775807,-9223372036854775808]");
    T_EQ_INT(jnode_i64(jnode_index(jdoc_root(doc), 0), 0), INT64_MAX);
    T_EQ_INT(jnode_i64(jnode_index(jdoc_root(doc), 1), 0), INT64_MIN);
}

static void refused(Str text, size_t max, int code, const char *message)
{
    AUTO(mem) char *copy = xmemdup(text.ptr, text.len);
    JDoc *doc = NULL;
    Err err = ERR_INIT;

    T_EQ_INT(jdoc_parse((Str){copy, text.len}, NULL, max, &doc, &err), code);
    T_CHECK(doc == NULL);
    T_CONTAINS(err.msg, message);
}

T_TEST(bad_texts_are_refused_with_the_place)
{
    refused(STR(""), TEXT_MAX, -EINVAL, "unexpected end at byte 0");
    refused(STR("{\"a\":1"), TEXT_MAX, -EINVAL, "unexpected end at byte 6");
    refused(STR("{} x"), TEXT_MAX, -EINVAL, "data after the value at byte 3");
    refused(STR("[\"\xc3(\"]"), TEXT_MAX, -EINVAL, "not UTF-8 at byte 2");
    refused(STR("[1e999]"), TEXT_MAX, -EINVAL, "number too large at byte 1");
    refused(STR("{\"a\":1,\"b\":2,\"a\":3}"), TEXT_MAX, -EINVAL, "duplicate key");
    refused(STR("{\"a\":1,\"\\u0061\":3}"), TEXT_MAX, -EINVAL, "duplicate key");
    refused(STR("[12345]"), 6, -E2BIG, "7 bytes is longer than 6");
}

T_TEST(a_number_of_absurd_length_is_refused)
{
    char text[2000];

    memset(text, '9', sizeof(text));
    refused((Str){text, sizeof(text)}, TEXT_MAX, -EINVAL, "number too long at byte 0");
    refused((Str){text, 400}, TEXT_MAX, -EINVAL, "number too large at byte 0");
    AUTO(jdoc) JDoc *doc = NULL;
    T_OK(jdoc_parse((Str){text, 300}, NULL, TEXT_MAX, &doc, NULL));
}

T_TEST(depth_is_limited)
{
    char text[100000];
    JDoc *doc = NULL;

    memset(text, '[', sizeof(text));
    refused((Str){text, sizeof(text)}, TEXT_MAX, -E2BIG, "nested too deeply at byte 64");
    memset(text + JSON_DEPTH_MAX, ']', JSON_DEPTH_MAX);
    T_OK(jdoc_parse((Str){text, 2 * JSON_DEPTH_MAX}, NULL, TEXT_MAX, &doc, NULL));
    jdoc_unref(doc);
}

T_TEST(objects_with_many_members_work_and_duplicates_are_found)
{
    AUTO(strbuf) StrBuf buf = STRBUF_INIT(TEXT_MAX);

    strbuf_append_char(&buf, '{');
    for (int i = 0; i < 20000; i++) {
        strbuf_printf(&buf, "\"key-%d\":%d,", i, i);
    }
    size_t len = buf.len;
    strbuf_append_cstr(&buf, "\"last\":true}");
    AUTO(jdoc) JDoc *doc = parse(buf.ptr);
    T_EQ_INT(jnode_len(jdoc_root(doc)), 20001);
    T_EQ_INT(jnode_i64(jnode_at(jdoc_root(doc), "key-19999"), -1), 19999);
    AUTO(jdoc) JDoc *same = parse(buf.ptr);
    T_CHECK(jnode_equal(jdoc_root(doc), jdoc_root(same)));
    buf.len = len;
    strbuf_append_cstr(&buf, "\"key-77\":true}");
    refused(strbuf_str(&buf), TEXT_MAX, -EINVAL, "duplicate key");
}

T_TEST(big_documents_leave_the_stack_buffers)
{
    AUTO(strbuf) StrBuf buf = STRBUF_INIT(TEXT_MAX);
    AUTO(mem) char *text = xmalloc(1 << 20);

    memset(text, 'x', 1 << 20);
    strbuf_append_cstr(&buf, "[\"");
    strbuf_append(&buf, (Str){text, 1 << 20});
    strbuf_append_cstr(&buf, "\"");
    for (int i = 0; i < 100000; i++) {
        strbuf_append_cstr(&buf, ",{\"a\":[]}");
    }
    strbuf_append_cstr(&buf, "]");
    AUTO(jdoc) JDoc *doc = parse(buf.ptr);
    T_EQ_INT(jnode_len(jdoc_root(doc)), 100001);
    T_EQ_INT(jnode_str(jnode_index(jdoc_root(doc), 0)).len, 1 << 20);
    T_EQ_INT(jnode_type(jnode_at(jnode_index(jdoc_root(doc), 100000), "a")), JTYPE_ARRAY);
}

T_TEST(strings_are_decoded_and_may_hold_nul)
{
    AUTO(jdoc) JDoc *doc = parse("[\"\\u0000\",\"a\\tb\",\"a\\tb\",\"\"]");
    JNode root = jdoc_root(doc);

    T_EQ_INT(jnode_str(jnode_index(root, 0)).len, 1);
    T_EQ_STR(jnode_str(jnode_index(root, 1)), "a\tb");
    T_EQ_STR(jnode_str(jnode_index(root, 2)), "a\tb");
    T_EQ_INT(jnode_str(jnode_index(root, 3)).len, 0);
}

T_TEST(repeated_strings_are_stored_once)
{
    AUTO(jdoc) JDoc *once = parse("[\"a longer string value\",0]");
    AUTO(jdoc) JDoc *twice = parse("[\"a longer string value\",\"a longer string value\"]");

    T_EQ_INT(jdoc_size(once), jdoc_size(twice));
}

T_TEST(references_keep_a_document_alive)
{
    JDoc *doc = parse("\"kept\"");
    JDoc *other = jdoc_ref(doc);

    jdoc_unref(doc);
    T_EQ_STR(jnode_str(jdoc_root(other)), "kept");
    jdoc_unref(other);
}

T_TEST(equality_ignores_the_order_of_members_only)
{
    static const struct {
        const char *a, *b;
        bool equal;
    } ROWS[] = {
        {"{\"a\":1,\"b\":[true,null]}", "{\"b\":[true,null],\"a\":1}", true},
        {"[1,2]", "[2,1]", false},
        {"[1]", "[1,2]", false},
        {"{\"a\":1}", "{\"a\":1,\"b\":1}", false},
        {"{\"a\":1}", "{\"b\":1}", false},
        {"1", "1.0", false},
        {"1.5", "1.50", true},
        {"\"a\"", "\"\\u0061\"", true},
        {"\"a\"", "\"b\"", false},
        {"null", "false", false},
        {"true", "false", false},
        {"{}", "[]", false},
        {"4294967296", "4294967296", true},
    };

    for (size_t i = 0; i < ARRAY_LEN(ROWS); i++) {
        t_row(ROWS[i].a);
        AUTO(jdoc) JDoc *a = parse(ROWS[i].a);
        AUTO(jdoc) JDoc *b = parse(ROWS[i].b);
        T_EQ_INT(jnode_equal(jdoc_root(a), jdoc_root(b)), ROWS[i].equal);
        T_CHECK(jnode_equal(jdoc_root(a), jdoc_root(a)));
        T_CHECK(!jnode_equal(jdoc_root(a), JNODE_ABSENT));
    }
    t_row(NULL);
    T_CHECK(jnode_equal(JNODE_ABSENT, JNODE_ABSENT));
}

T_TEST(a_document_becomes_the_same_jansson_tree)
{
    const char *text = "{\"s\":\"\\u0000\xc3\xa9\",\"i\":-5,\"w\":5000000000,\"r\":0.25,\"t\":true,"
                       "\"f\":false,\"n\":null,\"a\":[[],{}]}";
    AUTO(jdoc) JDoc *doc = parse(text);
    AUTO(json) json_t *got = jnode_to_jansson(jdoc_root(doc));
    AUTO(json) json_t *want = json_loads(text, JSON_ALLOW_NUL, NULL);

    T_CHECK(got && want && json_equal(got, want));
}

/* ---- projection ---- */

static const JProj ADDRESS[] = {JPROJ_KEEP("ip"), JPROJ_END};
static const JProj SHAPE[] = {
    JPROJ_LIST("shared", ADDRESS),
    JPROJ_TREE("metadata", JPROJ_DROP("managedFields"), JPROJ_REST),
    JPROJ_TREE("spec", JPROJ_KEEP("nodeName"),
               JPROJ_TREE("containers", JPROJ_KEEP("name"), JPROJ_TREE("r", JPROJ_KEEP("cpu")))),
    JPROJ_TREE("byName", JPROJ_DROP("hidden"), JPROJ_EACH(JPROJ_KEEP("ip"))),
    JPROJ_KEEP("kind"),
    JPROJ_END,
};

static void projected(const char *text, const char *want)
{
    AUTO(jdoc) JDoc *doc = NULL;

    T_OK(jdoc_parse(str_from(text), SHAPE, TEXT_MAX, &doc, NULL));
    AUTO(mem) char *got = dump(jdoc_root(doc));
    T_EQ_STR(got, want);
}

T_TEST(a_projection_keeps_what_it_names)
{
    projected("{\"kind\":\"Pod\",\"apiVersion\":\"v1\"}", "{\"kind\":\"Pod\"}");
    projected(
        "{\"metadata\":{\"name\":\"x\",\"managedFields\":[{\"a\":1}],\"labels\":{\"l\":\"v\"}}}",
        "{\"metadata\":{\"name\":\"x\",\"labels\":{\"l\":\"v\"}}}");
    projected(
        "{\"spec\":{\"containers\":[{\"name\":\"a\",\"image\":\"i\",\"r\":{\"cpu\":1,\"m\":2}},"
        "{\"image\":\"j\"}],\"nodeName\":\"n\",\"x\":[1]}}",
        "{\"spec\":{\"containers\":[{\"name\":\"a\",\"r\":{\"cpu\":1}},{}],\"nodeName\":\"n\"}}");
    projected("{\"byName\":{\"a\":{\"ip\":1,\"x\":2},\"hidden\":{\"ip\":3},\"b\":{}}}",
              "{\"byName\":{\"a\":{\"ip\":1},\"b\":{}}}");
    projected("{\"spec\":null,\"kind\":{\"any\":[1]}}", "{\"spec\":null,\"kind\":{\"any\":[1]}}");
    projected("{\"shared\":[{\"ip\":1,\"x\":2}]}", "{\"shared\":[{\"ip\":1}]}");
    projected("[{\"kind\":1,\"x\":2}]", "[{\"kind\":1}]");
    projected("7", "7");
    projected("{}", "{}");
}

T_TEST(a_projection_sees_decoded_keys)
{
    projected("{\"\\u006bind\":1,\"\\u0078\":2,\"kin\\u0064s\":3}", "{\"kind\":1}");
}

T_TEST(what_is_dropped_is_still_validated)
{
    JDoc *doc = NULL;

    T_EQ_INT(jdoc_parse(STR("{\"x\":[1,\"\xff\"]}"), SHAPE, TEXT_MAX, &doc, NULL), -EINVAL);
    T_EQ_INT(jdoc_parse(STR("{\"x\":{\"y\":01}}"), SHAPE, TEXT_MAX, &doc, NULL), -EINVAL);
    T_EQ_INT(jdoc_parse(STR("{\"x\":tru}"), SHAPE, TEXT_MAX, &doc, NULL), -EINVAL);
}

T_TEST(a_duplicate_of_a_kept_key_is_refused)
{
    JDoc *doc = NULL;

    T_EQ_INT(jdoc_parse(STR("{\"kind\":1,\"kind\":2}"), SHAPE, TEXT_MAX, &doc, NULL), -EINVAL);
}

static const JProj POD_EVENT[] = {
    JPROJ_KEEP("type"),
    JPROJ_TREE("object",
               JPROJ_TREE("metadata", JPROJ_KEEP("name"), JPROJ_KEEP("namespace"),
                          JPROJ_KEEP("uid"), JPROJ_KEEP("resourceVersion"), JPROJ_KEEP("labels"),
                          JPROJ_KEEP("annotations"), JPROJ_KEEP("ownerReferences"),
                          JPROJ_KEEP("creationTimestamp"), JPROJ_KEEP("deletionTimestamp")),
               JPROJ_TREE("spec", JPROJ_KEEP("nodeName")),
               JPROJ_TREE("status", JPROJ_KEEP("phase"), JPROJ_KEEP("podIP"), JPROJ_KEEP("podIPs"),
                          JPROJ_TREE("conditions", JPROJ_KEEP("type"), JPROJ_KEEP("status"),
                                     JPROJ_KEEP("reason"), JPROJ_KEEP("message"),
                                     JPROJ_KEEP("lastTransitionTime")))),
    JPROJ_END,
};

T_TEST(a_projected_pod_fits_in_a_kilobyte_and_a_half)
{
    Str text = t_read_file("test/golden/pod-event.json");
    AUTO(jdoc) JDoc *doc = NULL;

    T_OK(jdoc_parse(text, POD_EVENT, TEXT_MAX, &doc, NULL));
    JNode pod = jnode_at(jdoc_root(doc), "object");
    T_EQ_STR(jnode_str(jnode_at(pod, "metadata", "namespace")), "agent-sandbox");
    T_EQ_STR(jnode_str(jnode_at(pod, "spec", "nodeName")), "worker-03");
    T_EQ_INT(jnode_len(jnode_at(pod, "status", "conditions")), 5);
    T_CHECK(!jnode_exists(jnode_at(pod, "metadata", "managedFields")));
    T_CHECK(jdoc_size(doc) <= 1536);
}

T_TEST(a_whole_pod_equals_what_jansson_reads)
{
    Str text = t_read_file("test/golden/pod-event.json");
    AUTO(jdoc) JDoc *doc = NULL;

    T_OK(jdoc_parse(text, NULL, TEXT_MAX, &doc, NULL));
    AUTO(json) json_t *got = jnode_to_jansson(jdoc_root(doc));
    AUTO(json) json_t *want = json_loadb(text.ptr, text.len, 0, NULL);
    T_CHECK(json_equal(got, want));
}
