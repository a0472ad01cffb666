/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The headless Service of a Sandbox. Its ports are those of the containers and of native sidecars
 * (init containers that restart always), one per (port, protocol), with stable names.
 */
#include <stdio.h>
#include <stdlib.h>
#include <strings.h>

#include "controller/sandbox/sandbox.h"
#include "kube/meta.h"

typedef struct ServicePort {
    int64_t port;
    Str protocol;
    Str name; /* explicit, STR_NULL = none */
    char made_name[40];
} ServicePort;

typedef struct ServicePorts {
    ServicePort ports[SANDBOX_PORTS_MAX];
    size_t n;
} ServicePorts;

static bool name_is_used(const ServicePorts *ports, Str name)
{
    for (size_t i = 0; i < ports->n; i++) {
        if (ports->ports[i].name.ptr && str_eq(ports->ports[i].name, name)) {
            return true;
        }
    }
    return false;
}

/* The first explicit name of a (port, protocol) wins; a name that another one has is dropped. */
static void add_port(ServicePorts *ports, JNode container_port)
{
    int64_t number = jnode_i64(jnode_at(container_port, "containerPort"), 0);
    Str protocol = jnode_str(jnode_at(container_port, "protocol"));
    Str name = jnode_str(jnode_at(container_port, "name"));
    ServicePort *port = NULL;

    protocol = protocol.len > 0 ? protocol : STR("TCP");
    for (size_t i = 0; i < ports->n && !port; i++) {
        if (ports->ports[i].port == number && str_eq(ports->ports[i].protocol, protocol)) {
            port = &ports->ports[i];
        }
    }
    if (!port) {
        if (ports->n == SANDBOX_PORTS_MAX) {
            return;
        }
        port = &ports->ports[ports->n++];
        *port = (ServicePort){.port = number, .protocol = protocol};
    }
    if (name.len > 0 && !port->name.ptr && !name_is_used(ports, name)) {
        port->name = name;
    }
}

static void add_container(ServicePorts *ports, JNode container)
{
    JIter it = jnode_iter(jnode_at(container, "ports"));
    JNode port;

    while (jiter_next(&it, NULL, &port)) {
        add_port(ports, port);
    }
}

static int compare_ports(const void *a, const void *b)
{
    const ServicePort *x = a;
    const ServicePort *y = b;

    if (x->port != y->port) {
        return x->port < y->port ? -1 : 1;
    }
    return str_cmp(x->protocol, y->protocol);
}

/* "p-<port>-<protocol>", with a number behind it when a container uses that very name. */
static void make_name(const ServicePorts *ports, ServicePort *port)
{
    char protocol[16] = "";

    for (size_t i = 0; i < port->protocol.len && i < sizeof(protocol) - 1; i++) {
        char c = port->protocol.ptr[i];

        protocol[i] = (char)(c >= 'A' && c <= 'Z' ? c - 'A' + 'a' : c);
    }
    (void)snprintf(port->made_name, sizeof(port->made_name), "p-%d-%s", (int)port->port, protocol);
    for (int i = 2; name_is_used(ports, str_from(port->made_name)); i++) {
        (void)snprintf(port->made_name, sizeof(port->made_name), "p-%d-%s-%d", (int)port->port,
                       protocol, i);
    }
}

static void collect_ports(const KubeObj *sandbox, ServicePorts *ret_ports)
{
    JNode spec = jnode_at(kube_obj_spec(sandbox), "podTemplate", "spec");
    JIter it = jnode_iter(jnode_at(spec, "containers"));
    JNode container;

    ret_ports->n = 0;
    while (jiter_next(&it, NULL, &container)) {
        add_container(ret_ports, container);
    }
    it = jnode_iter(jnode_at(spec, "initContainers"));
    while (jiter_next(&it, NULL, &container)) {
        if (str_eq(jnode_str(jnode_at(container, "restartPolicy")), STR("Always"))) {
            add_container(ret_ports, container);
        }
    }
    for (size_t i = 0; i < ret_ports->n; i++) {
        if (!ret_ports->ports[i].name.ptr) {
            make_name(ret_ports, &ret_ports->ports[i]);
        }
    }
    if (ret_ports->n > 1) {
        qsort(ret_ports->ports, ret_ports->n, sizeof(ret_ports->ports[0]), compare_ports);
    }
}

/* NULL when there are none. */
static json_t *desired_ports(const KubeObj *sandbox)
{
    ServicePorts *ports = xcalloc(1, sizeof(*ports));
    json_t *result = NULL;

    collect_ports(sandbox, ports);
    for (size_t i = 0; i < ports->n; i++) {
        const ServicePort *port = &ports->ports[i];
        json_t *entry = jx_object_new();

        jx_set_str(entry, "name", port->name.ptr ? port->name : str_from(port->made_name));
        jx_set_i64(entry, "port", port->port);
        jx_set_str(entry, "protocol", port->protocol);
        jx_set_i64(entry, "targetPort", port->port);
        if (!result) {
            result = jx_array_new();
        }
        jx_append(result, entry);
    }
    free(ports);
    return result;
}

json_t *sandbox_service_desired(const KubeObj *sandbox)
{
    json_t *service = kube_meta_new(kube_kind(KUBE_SERVICE), sandbox->ns, sandbox->name);
    char hash[HASH_HEX_SIZE];

    hash_name(sandbox->name, hash);
    kube_meta_set_label(service, LABEL_SANDBOX_NAME_HASH, str_from(hash));
    kube_meta_set_owner(service, sandbox);
    jx_set_path(service, jx_string_new(STR("None")), "spec", "clusterIP");
    jx_set_path(service, jx_string_new(str_from(hash)), "spec", "selector",
                LABEL_SANDBOX_NAME_HASH);
    jx_set(jx_obj(service, "spec"), "ports", desired_ports(sandbox));
    return service;
}

/* Compares the members that we set; the server adds others. */
static bool ports_equal(JNode live, const json_t *want)
{
    static const char *const strings[] = {"name", "protocol"};
    static const char *const numbers[] = {"port", "targetPort"};

    if (jnode_len(live) != json_array_size(want)) {
        return false;
    }
    for (size_t i = 0; i < json_array_size(want); i++) {
        JNode have = jnode_index(live, i);
        const json_t *port = json_array_get(want, i);

        for (size_t k = 0; k < ARRAY_LEN(strings); k++) {
            if (!str_eq(jnode_str(jnode_get(have, str_from(strings[k]))),
                        jx_str(json_object_get(port, strings[k])))) {
                return false;
            }
            if (jnode_i64(jnode_get(have, str_from(numbers[k])), -1) !=
                jx_i64(json_object_get(port, numbers[k]), -2)) {
                return false;
            }
        }
    }
    return true;
}

/* Only our key may be in the selector; others are taken out. */
static void patch_selector(json_t *patch, JNode selector, const char *hash)
{
    JIter it = jnode_iter(selector);
    Str key;
    JNode value;

    while (jiter_next(&it, &key, &value)) {
        if (!str_eq(key, STR(LABEL_SANDBOX_NAME_HASH))) {
            (void)json_object_setn_new(jx_obj(patch, "spec", "selector"), key.ptr, key.len,
                                       json_null());
        }
    }
    value = jnode_get(selector, STR(LABEL_SANDBOX_NAME_HASH));
    if (!str_eq(jnode_str(value), str_from(hash))) {
        jx_set_path(patch, jx_string_new(str_from(hash)), "spec", "selector",
                    LABEL_SANDBOX_NAME_HASH);
    }
}

json_t *sandbox_service_patch(const KubeObj *sandbox, const KubeObj *service, bool ports)
{
    AUTO(json)
    json_t *patch = sandbox_ownership(sandbox, service) == SANDBOX_UNOWNED
                        ? sandbox_adopt_patch(sandbox, service)
                        : jx_object_new();
    AUTO(json) json_t *want = desired_ports(sandbox);
    char hash[HASH_HEX_SIZE];

    hash_name(sandbox->name, hash);
    if (!str_eq(kube_obj_label(service, STR(LABEL_SANDBOX_NAME_HASH)), str_from(hash))) {
        kube_meta_set_label(patch, LABEL_SANDBOX_NAME_HASH, str_from(hash));
    }
    patch_selector(patch, jnode_at(kube_obj_spec(service), "selector"), hash);
    if (ports && !ports_equal(jnode_at(kube_obj_spec(service), "ports"), want)) {
        jx_set(jx_obj(patch, "spec"), "ports", want ? TAKE(want) : json_null());
    }
    return json_object_size(patch) > 0 ? TAKE(patch) : NULL;
}
