/* SPDX-License-Identifier: Apache-2.0 */
#include "json/semantic.h"

#include <stdlib.h>

#include "base/mem.h"
#include "test/harness/t.h"

static json_t *tree(const char *text)
{
    json_t *value = NULL;

    T_OK(jx_parse(str_from(text), 100000, &value, NULL));
    return value;
}

typedef struct Row {
    const char *a, *b;
} Row;

static void check_rows(const Row *rows, size_t n, bool equal)
{
    for (size_t i = 0; i < n; i++) {
        AUTO(json) json_t *a = tree(rows[i].a);
        AUTO(json) json_t *b = tree(rows[i].b);
        t_row(rows[i].a);
        T_EQ_INT(jx_equal_semantic(a, b), equal);
        T_EQ_INT(jx_equal_semantic(b, a), equal);
        T_CHECK(jx_equal_semantic(a, a));
    }
    t_row(NULL);
}

T_TEST(what_go_cannot_tell_apart_is_equal)
{
    static const Row ROWS[] = {
        {"{}", "{\"a\":null,\"b\":[],\"c\":\"\"}"},
        {"{\"labels\":{}}", "{}"},
        {"{\"labels\":null}", "{\"labels\":{}}"},
        {"{\"metadata\":{\"creationTimestamp\":null}}", "{}"},
        {"{\"spec\":{\"podTemplate\":{\"metadata\":{\"labels\":{}}}}}", "{}"},
        {"{\"resources\":{}}", "{}"},
        {"{\"resources\":{\"limits\":{}}}", "{}"},
        {"{\"resources\":{\"limits\":{\"memory\":\"1024Mi\",\"cpu\":\"0.5\"}}}",
         "{\"resources\":{\"limits\":{\"cpu\":\"500m\",\"memory\":\"1Gi\"}}}"},
        {"{\"requests\":{\"cpu\":1}}", "{\"requests\":{\"cpu\":\"1\"}}"},
        {"{\"requests\":{\"cpu\":1.5}}", "{\"requests\":{\"cpu\":\"1500m\"}}"},
        {"{\"requests\":{\"storage\":\"10Gi\"}}", "{\"requests\":{\"storage\":\"10240Mi\"}}"},
        {"{\"emptyDir\":{\"sizeLimit\":\"1Gi\"}}", "{\"emptyDir\":{\"sizeLimit\":\"1024Mi\"}}"},
        {"{\"hostNetwork\":false,\"tty\":false,\"stdin\":false}", "{}"},
        {"{\"readinessProbe\":{\"initialDelaySeconds\":0,\"periodSeconds\":5}}",
         "{\"readinessProbe\":{\"periodSeconds\":5}}"},
        {"{\"volumeMounts\":[{\"name\":\"a\",\"readOnly\":false}]}",
         "{\"volumeMounts\":[{\"name\":\"a\"}]}"},
        {"{\"env\":[{\"name\":\"A\",\"value\":\"\"}]}", "{\"env\":[{\"name\":\"A\"}]}"},
        {"{\"a\":{\"x\":1,\"y\":2}}", "{\"a\":{\"y\":2,\"x\":1}}"},
        {"{\"status\":{}}", "{}"},
        {"null", "\"\""},
        {"[]", "null"},
    };

    check_rows(ROWS, ARRAY_LEN(ROWS), true);
}

T_TEST(what_go_tells_apart_is_different)
{
    static const Row ROWS[] = {
        {"{\"emptyDir\":{}}", "{}"},
        {"{\"volumes\":[{\"name\":\"v\",\"emptyDir\":{}}]}", "{\"volumes\":[{\"name\":\"v\"}]}"},
        {"{\"securityContext\":{}}", "{}"},
        {"{\"podSelector\":{}}", "{}"},
        {"{\"ingress\":[{}]}", "{\"ingress\":[]}"},
        {"{\"labels\":{\"a\":\"\"}}", "{\"labels\":{}}"},
        {"{\"annotations\":{\"limits\":\"1Gi\"}}", "{\"annotations\":{\"limits\":\"1024Mi\"}}"},
        {"{\"annotations\":{\"x\":\"1\"}}", "{\"annotations\":{\"x\":\"01\"}}"},
        {"{\"automountServiceAccountToken\":false}", "{}"},
        {"{\"replicas\":0}", "{}"},
        {"{\"terminationGracePeriodSeconds\":0}", "{}"},
        {"{\"targetPort\":80}", "{\"targetPort\":\"80\"}"},
        {"{\"limits\":{\"cpu\":\"1\"}}", "{\"limits\":{\"cpu\":\"1001m\"}}"},
        {"{\"limits\":{\"cpu\":\"0\"}}", "{\"limits\":{}}"},
        {"{\"limits\":{\"cpu\":\"abc\"}}", "{\"limits\":{\"cpu\":\"abd\"}}"},
        {"{\"command\":[\"a\",\"b\"]}", "{\"command\":[\"b\",\"a\"]}"},
        {"{\"command\":[\"a\",\"\"]}", "{\"command\":[\"a\"]}"},
        {"{\"other\":\"1Gi\"}", "{\"other\":\"1024Mi\"}"},
        {"{\"a\":1}", "{}"},
        {"{\"a\":1}", "null"},
        {"{}", "null"},
        {"{\"limits\":\"1Gi\"}", "{\"limits\":\"2Gi\"}"},
    };

    check_rows(ROWS, ARRAY_LEN(ROWS), false);
}

T_TEST(absence_equals_null)
{
    AUTO(json) json_t *empty = tree("{}");

    T_CHECK(jx_equal_semantic(NULL, NULL));
    T_CHECK(jx_equal_semantic(NULL, json_null()));
    T_CHECK(!jx_equal_semantic(NULL, empty));
}

T_TEST(the_normal_form_is_its_own_normal_form)
{
    Str text = t_read_file("test/golden/pod-event.json");
    json_t *parsed = NULL;

    T_OK(jx_parse(text, text.len, &parsed, NULL));
    AUTO(json) json_t *pod = parsed;
    AUTO(json) json_t *once = jx_normalize(pod);
    AUTO(json) json_t *twice = jx_normalize(once);
    T_CHECK(json_equal(once, twice));
    T_CHECK(!json_equal(pod, once));
    T_CHECK(jx_equal_semantic(pod, once));
    T_CHECK(jx_equal_semantic(jx_get(pod, "object", "spec"), jx_get(once, "object", "spec")));
}

T_TEST(every_name_of_the_field_table_is_found)
{
    /* the table is searched by halves: one name out of order would hide others */
    static const char *const STRUCTS[] = {"loadBalancer", "metadata", "podTemplate",
                                          "resources",    "spec",     "status"};
    static const char *const MAPS[] = {"annotations", "binaryData",      "data",
                                       "labels",      "matchLabels",     "nodeSelector",
                                       "stringData",  "volumeAttributes"};
    static const char *const AMOUNTS[] = {"allocatable", "allocatedResources", "capacity",
                                          "limits",      "overhead",           "requests"};
    static const char *const ZEROS[] = {"containerPort",
                                        "failureThreshold",
                                        "generation",
                                        "hostIPC",
                                        "hostNetwork",
                                        "hostPID",
                                        "hostPort",
                                        "initialDelaySeconds",
                                        "nodePort",
                                        "observedGeneration",
                                        "periodSeconds",
                                        "port",
                                        "publishNotReadyAddresses",
                                        "readOnly",
                                        "readyReplicas",
                                        "restartCount",
                                        "stdin",
                                        "stdinOnce",
                                        "successThreshold",
                                        "timeoutSeconds",
                                        "tty"};
    AUTO(json) json_t *object = jx_object_new();

    for (size_t i = 0; i < ARRAY_LEN(STRUCTS); i++) {
        jx_set(object, STRUCTS[i], jx_object_new());
    }
    for (size_t i = 0; i < ARRAY_LEN(MAPS); i++) {
        jx_set(object, MAPS[i], jx_object_new());
    }
    for (size_t i = 0; i < ARRAY_LEN(AMOUNTS); i++) {
        jx_set(object, AMOUNTS[i], jx_object_new());
    }
    for (size_t i = 0; i < ARRAY_LEN(ZEROS); i++) {
        jx_set_i64(object, ZEROS[i], 0);
    }
    jx_set_str(object, "divisor", STR("1000m"));
    jx_set_str(object, "sizeLimit", STR("1Ki"));
    AUTO(json) json_t *normal = jx_normalize(object);
    AUTO(mem) char *text = jx_dump_sorted(normal);
    T_EQ_STR(text, "{\"divisor\":\"1\",\"sizeLimit\":\"1024\"}");
}
