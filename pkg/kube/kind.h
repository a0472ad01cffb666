/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * The kinds this project reads or writes, as one static table: names, scope, and which members of
 * an object are kept in memory (metadata.managedFields never is). URLs are built here and nowhere
 * else; every path segment is validated before it becomes part of a URL.
 */
#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "base/str.h"
#include "json/proj.h"

typedef enum KubeKindId {
    KUBE_SANDBOX,
    KUBE_CLAIM,
    KUBE_TEMPLATE,
    KUBE_WARMPOOL,
    KUBE_POD,
    KUBE_SERVICE,
    KUBE_PVC,
    KUBE_NETPOL,
    KUBE_EVENT, /* events.k8s.io/v1 */
    KUBE_LEASE,
    KUBE_KIND_MAX_,
} KubeKindId;

typedef struct KubeKind {
    KubeKindId id;
    const char *group;       /* "" = core */
    const char *version;     /* "v1beta1" */
    const char *api_version; /* "agents.x-k8s.io/v1beta1", "v1" */
    const char *kind;        /* "Sandbox" */
    const char *plural;      /* "sandboxes" */
    bool namespaced;
    bool has_status;         /* serves the status subresource */
    const JProj *proj;       /* what is kept of an object */
    const JProj *event_proj; /* the same below "object" of a watch event */
    bool service_name;       /* names are DNS-1035 labels, not DNS-1123 subdomains */
} KubeKind;

#define KUBE_URL_MAX 4096

const KubeKind *kube_kind(KubeKindId id);
/* NULL when no such kind is in the table; any version of the group matches when version is NULL. */
const KubeKind *kube_kind_find(Str group, Str version, Str kind);
/* By the parts of a URL: NULL when unknown. */
const KubeKind *kube_kind_find_plural(Str group, Str version, Str plural);

/*
 * Appends the path of a collection (name.ptr == NULL) or an object: ns STR_NULL = all namespaces,
 * subresource NULL or "status". -EINVAL for a name that may not be in a URL, -E2BIG.
 */
int kube_kind_url(const KubeKind *kind, Str ns, Str name, const char *subresource, StrBuf *buf,
                  Err *reterr);
/* Appends "?key=value" or "&key=value" with the value percent-encoded. */
int kube_url_query(StrBuf *buf, const char *key, Str value);
