/* SPDX-License-Identifier: Apache-2.0 */
#include "kube/object.h"

#include <errno.h>
#include <stdlib.h>

#include "base/check.h"
#include "base/mem.h"
#include "base/timefmt.h"

static Str api_group_of(Str api_version)
{
    Str rest;
    Str first = str_cut(api_version, '/', &rest);

    return rest.ptr ? first : STR("");
}

static Str str_or_empty(Str s)
{
    return s.ptr ? s : STR("");
}

/* Items of typed lists carry neither kind nor apiVersion; what is stated must be right. */
static int obj_check(const KubeKind *kind, JNode root, Err *reterr)
{
    Str stated_kind = jnode_str(jnode_at(root, "kind"));
    Str stated_version = jnode_str(jnode_at(root, "apiVersion"));
    Str name = jnode_str(jnode_at(root, "metadata", "name"));
    Str ns = jnode_str(jnode_at(root, "metadata", "namespace"));

    if (jnode_type(root) != JTYPE_OBJECT) {
        return err_set(reterr, EINVAL, "%s: not a JSON object", kind->kind);
    }
    if ((stated_kind.ptr && !str_eq(stated_kind, str_from(kind->kind))) ||
        (stated_version.ptr && !str_eq(api_group_of(stated_version), str_from(kind->group)))) {
        return err_set(reterr, EINVAL, "expected %s, got " STR_FMT " " STR_FMT, kind->kind,
                       STR_ARG(str_take(str_or_empty(stated_version), 64)),
                       STR_ARG(str_take(str_or_empty(stated_kind), 64)));
    }
    if (name.len == 0) {
        return err_set(reterr, EINVAL, "%s without metadata.name", kind->kind);
    }
    if (kind->namespaced && ns.len == 0) {
        return err_set(reterr, EINVAL, "%s " STR_FMT " without a namespace", kind->kind,
                       STR_ARG(str_take(name, 64)));
    }
    return 0;
}

static int64_t created_ns_of(JNode meta)
{
    int64_t ns = 0;
    Str text = jnode_str(jnode_get(meta, STR("creationTimestamp")));

    return text.ptr && timefmt_parse(text, &ns) == 0 ? ns : 0;
}

int kube_obj_from_doc(const KubeKind *kind, JDoc *doc, JNode root, KubeObj **ret_obj, Err *reterr)
{
    JNode meta = jnode_at(root, "metadata");
    KubeObj *obj;
    int r = obj_check(kind, root, reterr);

    if (r < 0) {
        return r;
    }
    obj = xcalloc(1, sizeof(*obj));
    *obj = (KubeObj){
        .refs = 1,
        .kind = kind,
        .doc = jdoc_ref(doc),
        .root = root,
        .ns = str_or_empty(jnode_str(jnode_get(meta, STR("namespace")))),
        .name = jnode_str(jnode_get(meta, STR("name"))),
        .uid = str_or_empty(jnode_str(jnode_get(meta, STR("uid")))),
        .rv_text = str_or_empty(jnode_str(jnode_get(meta, STR("resourceVersion")))),
    };
    obj->rv = kube_rv_parse(obj->rv_text);
    obj->created_ns = created_ns_of(meta);
    *ret_obj = obj;
    return 0;
}

int kube_obj_from_text(const KubeKind *kind, Str text, KubeObj **ret_obj, Err *reterr)
{
    AUTO(jdoc) JDoc *doc = NULL;
    int r = jdoc_parse(text, kind->proj, KUBE_OBJ_TEXT_MAX, &doc, reterr);

    if (r < 0) {
        return r;
    }
    return kube_obj_from_doc(kind, doc, jdoc_root(doc), ret_obj, reterr);
}

KubeObj *kube_obj_ref(const KubeObj *obj)
{
    /* Immutable but for the counter, which is nobody's business. */
    KubeObj *shared = (KubeObj *)obj;

    CHECK(shared->refs > 0 && shared->refs < UINT32_MAX);
    shared->refs++;
    return shared;
}

KubeObj *kube_obj_unref(KubeObj *obj)
{
    if (obj) {
        CHECK(obj->refs > 0);
        if (--obj->refs == 0) {
            jdoc_unref(obj->doc);
            free(obj);
        }
    }
    return NULL;
}

int kube_key_cmp(KubeKey a, KubeKey b)
{
    int r = str_cmp(a.ns, b.ns);

    return r ? r : str_cmp(a.name, b.name);
}

JNode kube_obj_spec(const KubeObj *obj)
{
    return jnode_at(obj->root, "spec");
}

JNode kube_obj_status(const KubeObj *obj)
{
    return jnode_at(obj->root, "status");
}

Str kube_obj_label(const KubeObj *obj, Str key)
{
    return jnode_str(jnode_get(jnode_at(obj->root, "metadata", "labels"), key));
}

Str kube_obj_annotation(const KubeObj *obj, Str key)
{
    return jnode_str(jnode_get(jnode_at(obj->root, "metadata", "annotations"), key));
}

bool kube_obj_deleting(const KubeObj *obj)
{
    return jnode_str(jnode_at(obj->root, "metadata", "deletionTimestamp")).len > 0;
}

int64_t kube_obj_generation(const KubeObj *obj)
{
    return jnode_i64(jnode_at(obj->root, "metadata", "generation"), 0);
}

int64_t kube_obj_created_ns(const KubeObj *obj)
{
    return obj->created_ns;
}

bool kube_obj_controller(const KubeObj *obj, KubeOwner *ret_owner)
{
    JIter it = jnode_iter(jnode_at(obj->root, "metadata", "ownerReferences"));
    JNode ref;

    while (jiter_next(&it, NULL, &ref)) {
        if (jnode_bool(jnode_get(ref, STR("controller")), false)) {
            *ret_owner = (KubeOwner){
                .api_group = api_group_of(str_or_empty(jnode_str(jnode_at(ref, "apiVersion")))),
                .kind = str_or_empty(jnode_str(jnode_at(ref, "kind"))),
                .name = str_or_empty(jnode_str(jnode_at(ref, "name"))),
                .uid = str_or_empty(jnode_str(jnode_at(ref, "uid"))),
            };
            return true;
        }
    }
    return false;
}

bool kube_obj_controlled_by(const KubeObj *obj, Str uid)
{
    KubeOwner owner;

    return uid.len > 0 && kube_obj_controller(obj, &owner) && str_eq(owner.uid, uid);
}

JNode kube_obj_condition(const KubeObj *obj, Str type)
{
    JIter it = jnode_iter(jnode_at(obj->root, "status", "conditions"));
    JNode condition;

    while (jiter_next(&it, NULL, &condition)) {
        if (str_eq(jnode_str(jnode_get(condition, STR("type"))), type)) {
            return condition;
        }
    }
    return JNODE_ABSENT;
}

bool kube_obj_condition_is(const KubeObj *obj, Str type, Str status)
{
    Str is = jnode_str(jnode_get(kube_obj_condition(obj, type), STR("status")));

    return is.ptr && str_eq(is, status);
}

bool kube_rv_newer(uint64_t a, uint64_t b)
{
    return a == 0 || b == 0 || a > b;
}

uint64_t kube_rv_parse(Str text)
{
    uint64_t rv = 0;

    return str_to_u64(text, &rv) == 0 ? rv : 0;
}
