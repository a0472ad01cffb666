/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>

#include "base/mem.h"
#include "kube/object.h"
#include "test/harness/t.h"

#define POD                                                                                        \
    "{\"kind\":\"Pod\",\"apiVersion\":\"v1\",\"metadata\":{\"name\":\"p\",\"namespace\":\"n\","    \
    "\"uid\":\"u-1\",\"resourceVersion\":\"42\",\"generation\":3,"                                 \
    "\"creationTimestamp\":\"2026-11-30T21:00:00Z\",\"labels\":{\"a.b/c\":\"d\"},"                 \
    "\"annotations\":{\"k\":\"v\"},\"managedFields\":[{\"manager\":\"x\"}],"                       \
    "\"ownerReferences\":[{\"apiVersion\":\"v1\",\"kind\":\"X\",\"name\":\"x\",\"uid\":\"x\"},"    \
    "{\"apiVersion\":\"agents.x-k8s.io/v1beta1\",\"kind\":\"Sandbox\",\"name\":\"s\","             \
    "\"uid\":\"u-9\",\"controller\":true}]},"                                                      \
    "\"spec\":{\"nodeName\":\"node\",\"containers\":[{\"name\":\"c\"}]},"                          \
    "\"status\":{\"phase\":\"Running\",\"podIP\":\"10.0.0.1\",\"qosClass\":\"BestEffort\","        \
    "\"conditions\":[{\"type\":\"Ready\",\"status\":\"True\"}],"                                   \
    "\"containerStatuses\":[{\"name\":\"c\",\"imageID\":\"sha\",\"state\":{\"waiting\":"           \
    "{\"reason\":\"ImagePullBackOff\",\"message\":\"no\"},\"running\":{\"startedAt\":\"x\"}}}]}}"

static KubeObj *decode(KubeKindId id, const char *text)
{
    KubeObj *obj = NULL;
    Err err = ERR_INIT;

    if (kube_obj_from_text(kube_kind(id), str_from(text), &obj, &err) < 0) {
        T_FAIL("%s", err.msg);
    }
    return obj;
}

T_TEST(object_members_are_found)
{
    AUTO(kube_obj) KubeObj *pod = decode(KUBE_POD, POD);
    KubeOwner owner;

    T_EQ_STR(pod->name, "p");
    T_EQ_STR(pod->ns, "n");
    T_EQ_STR(pod->uid, "u-1");
    T_EQ_INT(pod->rv, 42);
    T_EQ_STR(kube_obj_label(pod, STR("a.b/c")), "d");
    T_CHECK(!kube_obj_label(pod, STR("x")).ptr);
    T_EQ_STR(kube_obj_annotation(pod, STR("k")), "v");
    T_EQ_INT(kube_obj_created_ns(pod), 1796072400ll * 1000000000ll);
    T_CHECK(!kube_obj_deleting(pod));
    T_CHECK(kube_obj_controller(pod, &owner));
    T_EQ_STR(owner.api_group, "agents.x-k8s.io");
    T_EQ_STR(owner.kind, "Sandbox");
    T_EQ_STR(owner.name, "s");
    T_CHECK(kube_obj_controlled_by(pod, STR("u-9")));
    T_CHECK(!kube_obj_controlled_by(pod, STR("x")));
    T_CHECK(!kube_obj_controlled_by(pod, STR("")));
    T_CHECK(kube_obj_condition_is(pod, STR("Ready"), STR("True")));
    T_CHECK(!kube_obj_condition_is(pod, STR("Gone"), STR("True")));
}

T_TEST(object_projection_of_a_pod_drops_the_rest)
{
    AUTO(kube_obj) KubeObj *pod = decode(KUBE_POD, POD);
    JNode root = kube_obj_root(pod);
    JNode container = jnode_index(jnode_at(root, "status", "containerStatuses"), 0);

    T_EQ_STR(jnode_str(jnode_at(root, "spec", "nodeName")), "node");
    T_CHECK(!jnode_exists(jnode_at(root, "spec", "containers")));
    T_CHECK(!jnode_exists(jnode_at(root, "metadata", "managedFields")));
    T_CHECK(!jnode_exists(jnode_at(root, "status", "qosClass")));
    T_EQ_STR(jnode_str(jnode_at(container, "state", "waiting", "reason")), "ImagePullBackOff");
    T_CHECK(!jnode_exists(jnode_at(container, "state", "running", "startedAt")));
    T_CHECK(!jnode_exists(jnode_at(container, "imageID")));
}

T_TEST(object_of_ours_is_kept_whole_but_for_noise)
{
    AUTO(kube_obj)
    KubeObj *obj = decode(
        KUBE_SANDBOX,
        "{\"metadata\":{\"name\":\"s\",\"namespace\":\"n\",\"managedFields\":[],\"annotations\":{"
        "\"kubectl.kubernetes.io/last-applied-configuration\":\"{}\",\"a\":\"b\"}},"
        "\"spec\":{\"podTemplate\":{\"spec\":{\"x\":[1]}}},\"status\":{\"service\":\"s\"}}");
    JNode root = kube_obj_root(obj);

    T_EQ_INT(jnode_len(jnode_at(kube_obj_spec(obj), "podTemplate", "spec", "x")), 1);
    T_EQ_STR(jnode_str(jnode_at(kube_obj_status(obj), "service")), "s");
    T_CHECK(!jnode_exists(jnode_at(root, "metadata", "managedFields")));
    T_EQ_INT(jnode_len(jnode_at(root, "metadata", "annotations")), 1);
}

T_TEST(object_hostile_texts_are_refused)
{
    static const struct {
        const char *label;
        const char *text;
    } ROWS[] = {
        {"empty", ""},
        {"truncated", "{\"metadata\":{\"name\":\"a\",\"namespace\":\"n\""},
        {"array", "[]"},
        {"string", "\"x\""},
        {"no metadata", "{\"kind\":\"Pod\"}"},
        {"metadata is text", "{\"metadata\":\"x\"}"},
        {"no name", "{\"metadata\":{\"namespace\":\"n\"}}"},
        {"name is a number", "{\"metadata\":{\"namespace\":\"n\",\"name\":5}}"},
        {"empty name", "{\"metadata\":{\"namespace\":\"n\",\"name\":\"\"}}"},
        {"no namespace", "{\"metadata\":{\"name\":\"a\"}}"},
        {"other kind", "{\"kind\":\"Service\",\"metadata\":{\"name\":\"a\",\"namespace\":\"n\"}}"},
        {"other group", "{\"apiVersion\":\"x/v1\",\"kind\":\"Pod\",\"metadata\":{\"name\":\"a\","
                        "\"namespace\":\"n\"}}"},
        {"not UTF-8", "{\"metadata\":{\"name\":\"\xff\",\"namespace\":\"n\"}}"},
        {"html", "<html></html>"},
        {"trailing", "{\"metadata\":{\"name\":\"a\",\"namespace\":\"n\"}} x"},
    };
    KubeObj *obj = NULL;
    Err err;

    for (size_t i = 0; i < ARRAY_LEN(ROWS); i++) {
        t_row(ROWS[i].label);
        T_EQ_INT(kube_obj_from_text(kube_kind(KUBE_POD), str_from(ROWS[i].text), &obj, &err),
                 -EINVAL);
        T_CHECK(!obj && err.msg[0]);
    }
}

T_TEST(object_deep_and_huge_texts_are_refused)
{
    AUTO(strbuf) StrBuf buf = STRBUF_INIT(16u << 20);
    KubeObj *obj = NULL;

    for (int i = 0; i < 1000; i++) {
        strbuf_append_cstr(&buf, "{\"status\":");
    }
    T_CHECK(kube_obj_from_text(kube_kind(KUBE_SANDBOX), strbuf_str(&buf), &obj, NULL) < 0);
    strbuf_clear(&buf);
    strbuf_append_cstr(&buf, "{\"metadata\":{\"name\":\"a\",\"namespace\":\"n\"},\"spec\":\"");
    while (buf.len <= KUBE_OBJ_TEXT_MAX) {
        strbuf_append_cstr(&buf, "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa");
    }
    strbuf_append_cstr(&buf, "\"}");
    T_EQ_INT(kube_obj_from_text(kube_kind(KUBE_SANDBOX), strbuf_str(&buf), &obj, NULL), -E2BIG);
}

T_TEST(object_versions_compare_as_numbers)
{
    T_CHECK(kube_rv_newer(100, 99));
    T_CHECK(!kube_rv_newer(99, 100));
    T_CHECK(!kube_rv_newer(100, 100));
    T_CHECK(kube_rv_newer(0, 100));
    T_CHECK(kube_rv_newer(100, 0));
    T_EQ_INT(kube_rv_parse(STR("18446744073709551615")), (int64_t)UINT64_MAX);
    T_EQ_INT(kube_rv_parse(STR("1a")), 0);
    T_EQ_INT(kube_rv_parse(STR("")), 0);
    T_EQ_INT(kube_rv_parse(STR("99999999999999999999")), 0);
}
