/* SPDX-License-Identifier: Apache-2.0 */
/* controller/warmpool/member.c
 *
 * The alphabet is that of Kubernetes' generated names: no vowels, so no words.
 */
#include "controller/warmpool/member.h"

#include <stdio.h>

#include "base/attr.h"
#include "base/hash.h"
#include "controller/keys.h"
#include "kube/meta.h"

#define SUFFIX_LEN 8

static const char alphabet[] = "bcdfghjklmnpqrstvwxz2456789";

void member_name(Str pool_name, Str pool_uid, uint64_t slot, char ret[MEMBER_NAME_MAX + 1])
{
    uint64_t hash = hash_str(slot, pool_uid);
    Str base = str_take(pool_name, MEMBER_NAME_MAX - SUFFIX_LEN - 1);
    int len = snprintf(ret, MEMBER_NAME_MAX + 1, STR_FMT "-", STR_ARG(base));

    for (int i = 0; i < SUFFIX_LEN; i++) {
        ret[len + i] = alphabet[hash % (sizeof(alphabet) - 1)];
        hash /= sizeof(alphabet) - 1;
    }
    ret[len + SUFFIX_LEN] = '\0';
}

json_t *member_build(const KubeObj *pool, const KubeObj *template, const TemplateFacts *facts,
                     Str name)
{
    json_t *sandbox = kube_meta_new(kube_kind(KUBE_SANDBOX), pool->ns, name);
    char pool_hash[HASH_HEX_SIZE];

    hash_name(pool->name, pool_hash);
    kube_meta_set_label(sandbox, LABEL_WARM_POOL_SANDBOX, str_from(pool_hash));
    kube_meta_set_label(sandbox, LABEL_TEMPLATE_REF_HASH, str_from(facts->ref_hash));
    kube_meta_set_label(sandbox, LABEL_TEMPLATE_HASH, str_from(facts->hash));
    kube_meta_set_label(sandbox, LABEL_POD_TEMPLATE_HASH, str_from(facts->pod_hash));
    kube_meta_set_label(sandbox, LABEL_LAUNCH_TYPE, STR(LAUNCH_TYPE_WARM));
    kube_meta_set_label(sandbox, LABEL_CREATED_BY, STR(CREATED_BY_CONTROLLER));
    kube_meta_set_annotation(sandbox, ANNOTATION_TEMPLATE_REF, template->name);
    kube_meta_set_annotation(sandbox, ANNOTATION_POD_NAME, name);
    kube_meta_set_owner(sandbox, pool);
    jx_set(sandbox, "spec", jx_dup(facts->blueprint));
    return sandbox;
}
