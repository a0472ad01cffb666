/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The table of kinds, their projections, and URL building.
 *
 * What a projection leaves out cannot leak into a write: writes are built from what we own, never
 * from a stored object. apiVersion and kind stay, so that a wrong object is noticed.
 */
#include "kube/kind.h"

#include <errno.h>

#include "base/check.h"
#include "kube/meta.h"

/* clang-format off */
#define META_TREE                                                                                  \
    JPROJ_KEEP("apiVersion"), JPROJ_KEEP("kind"),                                                  \
    JPROJ_TREE("metadata", JPROJ_DROP("managedFields"), JPROJ_DROP("selfLink"),                    \
               JPROJ_TREE("annotations",                                                           \
                          JPROJ_DROP("kubectl.kubernetes.io/last-applied-configuration"),          \
                          JPROJ_REST),                                                             \
               JPROJ_REST)

#define CONTAINER_STATE                                                                            \
    JPROJ_TREE("waiting", JPROJ_KEEP("reason"), JPROJ_KEEP("message")),                            \
    JPROJ_TREE("terminated", JPROJ_KEEP("reason"), JPROJ_KEEP("message"), JPROJ_KEEP("exitCode"))

#define CONTAINER_STATUSES(member)                                                                 \
    JPROJ_TREE(member, JPROJ_KEEP("name"), JPROJ_KEEP("ready"), JPROJ_KEEP("restartCount"),        \
               JPROJ_TREE("state", CONTAINER_STATE), JPROJ_TREE("lastState", CONTAINER_STATE))

/* Ours: everything. */
static const JProj WHOLE[] = {META_TREE, JPROJ_REST, JPROJ_END};
/* Children whose spec is compared or shown. */
static const JProj WITH_SPEC[] = {META_TREE, JPROJ_KEEP("spec"), JPROJ_END};
static const JProj PVC[] = {META_TREE, JPROJ_TREE("status", JPROJ_KEEP("phase")), JPROJ_END};
static const JProj EVENT[] = {META_TREE, JPROJ_END};
static const JProj POD[] = {
    JPROJ_KEEP("apiVersion"),
    JPROJ_KEEP("kind"),
    JPROJ_TREE("metadata", JPROJ_KEEP("name"), JPROJ_KEEP("namespace"), JPROJ_KEEP("uid"),
               JPROJ_KEEP("resourceVersion"), JPROJ_KEEP("labels"), JPROJ_KEEP("annotations"),
               JPROJ_KEEP("ownerReferences"), JPROJ_KEEP("creationTimestamp"),
               JPROJ_KEEP("deletionTimestamp"), JPROJ_KEEP("deletionGracePeriodSeconds")),
    JPROJ_TREE("spec", JPROJ_KEEP("nodeName")),
    JPROJ_TREE("status", JPROJ_KEEP("phase"), JPROJ_KEEP("reason"), JPROJ_KEEP("message"),
               JPROJ_KEEP("podIP"), JPROJ_KEEP("podIPs"), JPROJ_KEEP("startTime"),
               JPROJ_KEEP("conditions"), CONTAINER_STATUSES("containerStatuses"),
               CONTAINER_STATUSES("initContainerStatuses")),
    JPROJ_END,
};

#define EVENT_PROJ(list)                                                                           \
    (const JProj[]){JPROJ_KEEP("type"),                                                            \
                    {.key = JPROJ_KEY_("object"), .mode = JPROJ_MODE_TREE, .tree = (list)},        \
                    JPROJ_END}

#define AGENTS .group = "agents.x-k8s.io", .version = "v1beta1",                                   \
               .api_version = "agents.x-k8s.io/v1beta1"
#define EXTENSIONS .group = "extensions.agents.x-k8s.io", .version = "v1beta1",                    \
                   .api_version = "extensions.agents.x-k8s.io/v1beta1"
#define CORE .group = "", .version = "v1", .api_version = "v1"
#define PROJ(list) .proj = (list), .event_proj = EVENT_PROJ(list)

static const KubeKind KINDS[KUBE_KIND_MAX_] = {
    [KUBE_SANDBOX] = {KUBE_SANDBOX, AGENTS, .kind = "Sandbox", .plural = "sandboxes",
                      .namespaced = true, .has_status = true, PROJ(WHOLE)},
    [KUBE_CLAIM] = {KUBE_CLAIM, EXTENSIONS, .kind = "SandboxClaim", .plural = "sandboxclaims",
                    .namespaced = true, .has_status = true, PROJ(WHOLE)},
    [KUBE_TEMPLATE] = {KUBE_TEMPLATE, EXTENSIONS, .kind = "SandboxTemplate",
                       .plural = "sandboxtemplates", .namespaced = true, PROJ(WHOLE)},
    [KUBE_WARMPOOL] = {KUBE_WARMPOOL, EXTENSIONS, .kind = "SandboxWarmPool",
                       .plural = "sandboxwarmpools", .namespaced = true, .has_status = true,
                       PROJ(WHOLE)},
    [KUBE_POD] = {KUBE_POD, CORE, .kind = "Pod", .plural = "pods", .namespaced = true,
                  .has_status = true, PROJ(POD)},
    [KUBE_SERVICE] = {KUBE_SERVICE, CORE, .kind = "Service", .plural = "services",
                      .namespaced = true, .has_status = true, PROJ(WITH_SPEC),
                      .service_name = true},
    [KUBE_PVC] = {KUBE_PVC, CORE, .kind = "PersistentVolumeClaim",
                  .plural = "persistentvolumeclaims", .namespaced = true, .has_status = true,
                  PROJ(PVC)},
    [KUBE_NETPOL] = {KUBE_NETPOL, .group = "networking.k8s.io", .version = "v1",
                     .api_version = "networking.k8s.io/v1", .kind = "NetworkPolicy",
                     .plural = "networkpolicies", .namespaced = true, PROJ(WITH_SPEC)},
    [KUBE_EVENT] = {KUBE_EVENT, .group = "events.k8s.io", .version = "v1",
                    .api_version = "events.k8s.io/v1", .kind = "Event", .plural = "events",
                    .namespaced = true, PROJ(EVENT)},
    [KUBE_LEASE] = {KUBE_LEASE, .group = "coordination.k8s.io", .version = "v1",
                    .api_version = "coordination.k8s.io/v1", .kind = "Lease", .plural = "leases",
                    .namespaced = true, PROJ(WITH_SPEC)},
};
/* clang-format on */

const KubeKind *kube_kind(KubeKindId id)
{
    CHECK((unsigned)id < KUBE_KIND_MAX_);
    return &KINDS[id];
}

static bool kind_group_matches(const KubeKind *kind, Str group, Str version)
{
    return str_eq(str_from(kind->group), group) &&
           (!version.ptr || str_eq(str_from(kind->version), version));
}

const KubeKind *kube_kind_find(Str group, Str version, Str kind)
{
    for (size_t i = 0; i < ARRAY_LEN(KINDS); i++) {
        if (kind_group_matches(&KINDS[i], group, version) &&
            str_eq(str_from(KINDS[i].kind), kind)) {
            return &KINDS[i];
        }
    }
    return NULL;
}

const KubeKind *kube_kind_find_plural(Str group, Str version, Str plural)
{
    for (size_t i = 0; i < ARRAY_LEN(KINDS); i++) {
        if (kind_group_matches(&KINDS[i], group, version) &&
            str_eq(str_from(KINDS[i].plural), plural)) {
            return &KINDS[i];
        }
    }
    return NULL;
}

static int url_check(const KubeKind *kind, Str ns, Str name, const char *subresource, Err *reterr)
{
    if (ns.ptr && !(kind->namespaced && kube_name_is_label(ns))) {
        return err_set(reterr, EINVAL, "\"" STR_FMT "\" is not a namespace for %s",
                       STR_ARG(str_take(ns, KUBE_LABEL_MAX)), kind->plural);
    }
    if (name.ptr && !kube_name_is_subdomain(name)) {
        return err_set(reterr, EINVAL, "\"" STR_FMT "\" is not an object name",
                       STR_ARG(str_take(name, KUBE_LABEL_MAX)));
    }
    if (name.ptr && kind->namespaced && !ns.ptr) {
        return err_set(reterr, EINVAL, "%s " STR_FMT " without a namespace", kind->kind,
                       STR_ARG(str_take(name, KUBE_LABEL_MAX)));
    }
    if (subresource && (!name.ptr || !kind->has_status || strcmp(subresource, "status") != 0)) {
        return err_set(reterr, EINVAL, "%s has no subresource %s", kind->kind, subresource);
    }
    return 0;
}

int kube_kind_url(const KubeKind *kind, Str ns, Str name, const char *subresource, StrBuf *buf,
                  Err *reterr)
{
    int r = url_check(kind, ns, name, subresource, reterr);

    if (r < 0) {
        return r;
    }
    if (kind->group[0]) {
        strbuf_printf(buf, "/apis/%s/%s", kind->group, kind->version);
    } else {
        strbuf_printf(buf, "/api/%s", kind->version);
    }
    if (ns.ptr) {
        strbuf_printf(buf, "/namespaces/" STR_FMT, STR_ARG(ns));
    }
    strbuf_printf(buf, "/%s", kind->plural);
    if (name.ptr) {
        strbuf_printf(buf, "/" STR_FMT, STR_ARG(name));
    }
    if (subresource) {
        strbuf_printf(buf, "/%s", subresource);
    }
    return buf->error ? err_set(reterr, E2BIG, "the URL is too long") : 0;
}

static bool url_is_plain(unsigned char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' ||
           c == '_' || c == '.' || c == '~';
}

int kube_url_query(StrBuf *buf, const char *key, Str value)
{
    bool first = str_find(strbuf_str(buf), '?') < 0;

    strbuf_printf(buf, "%c%s=", first ? '?' : '&', key);
    for (size_t i = 0; i < value.len; i++) {
        unsigned char c = (unsigned char)value.ptr[i];

        if (url_is_plain(c)) {
            strbuf_append_char(buf, (char)c);
        } else {
            strbuf_printf(buf, "%%%02X", c);
        }
    }
    return buf->error;
}
