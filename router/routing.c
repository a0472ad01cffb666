/* SPDX-License-Identifier: Apache-2.0 */
/*
 * See routing.h. An empty header means the default, as in the Go router. A routing header that is
 * there twice is refused: two parties could believe different ones, and no client sends two.
 */
#include "router/routing.h"

#include <errno.h>
#include <string.h>

#include "base/clock.h"

#define TIMEOUT_MAX_S 1e9

typedef struct Values {
    Str id;
    Str ns;
    Str port;
    Str pod_ip;
    Str timeout;
    bool seen[HTTP_TOKEN_MAX_];
} Values;

bool routing_is_label(Str s)
{
    if (s.len == 0 || s.len > ROUTING_LABEL_MAX || s.ptr[0] == '-' || s.ptr[s.len - 1] == '-') {
        return false;
    }
    for (size_t i = 0; i < s.len; i++) {
        char c = s.ptr[i];

        if (!((c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-')) {
            return false;
        }
    }
    return true;
}

static const char *repeated_text(HttpToken id)
{
    switch (id) {
    case HTTP_TOKEN_X_SANDBOX_ID:
        return "X-Sandbox-ID header is repeated.";
    case HTTP_TOKEN_X_SANDBOX_NAMESPACE:
        return "X-Sandbox-Namespace header is repeated.";
    case HTTP_TOKEN_X_SANDBOX_PORT:
        return "X-Sandbox-Port header is repeated.";
    case HTTP_TOKEN_X_SANDBOX_POD_IP:
        return "X-Sandbox-Pod-IP header is repeated.";
    case HTTP_TOKEN_X_SANDBOX_TIMEOUT:
        return "X-Sandbox-Timeout header is repeated.";
    default:
        return "X-Sandbox-UID header is repeated.";
    }
}

static int collect(const HttpHead *head, Values *values, const char **ret_detail)
{
    for (size_t i = 0; i < head->n_headers; i++) {
        const HttpHeader *field = &head->headers[i];

        if (!(http_token_flags(field->id) & HTTP_TOKEN_ROUTING)) {
            continue;
        }
        if (values->seen[field->id]) {
            *ret_detail = repeated_text(field->id);
            return -EINVAL;
        }
        values->seen[field->id] = true;
        if (field->id == HTTP_TOKEN_X_SANDBOX_ID) {
            values->id = field->value;
        } else if (field->id == HTTP_TOKEN_X_SANDBOX_NAMESPACE) {
            values->ns = field->value;
        } else if (field->id == HTTP_TOKEN_X_SANDBOX_PORT) {
            values->port = field->value;
        } else if (field->id == HTTP_TOKEN_X_SANDBOX_POD_IP) {
            values->pod_ip = field->value;
        } else if (field->id == HTTP_TOKEN_X_SANDBOX_TIMEOUT) {
            values->timeout = field->value;
        }
    }
    return 0;
}

/* As strconv.Atoi: an optional sign and any number of leading zeros. */
static int parse_port(Str text, uint16_t *ret)
{
    uint32_t value = 0;

    if (text.len > 0 && text.ptr[0] == '+') {
        text = str_drop(text, 1);
    }
    if (text.len == 0) {
        return -EINVAL;
    }
    for (size_t i = 0; i < text.len; i++) {
        if (text.ptr[i] < '0' || text.ptr[i] > '9') {
            return -EINVAL;
        }
        value = value * 10 + (uint32_t)(text.ptr[i] - '0');
        if (value > UINT16_MAX) {
            return -EINVAL;
        }
    }
    if (value == 0) {
        return -EINVAL;
    }
    *ret = (uint16_t)value;
    return 0;
}

/* What cannot be used is as good as absent: the router's own limit applies. */
static uint64_t parse_timeout(Str text)
{
    double seconds;

    if (text.len == 0 || str_to_double(text, &seconds) < 0 || !(seconds > 0)) {
        return 0;
    }
    seconds = seconds < TIMEOUT_MAX_S ? seconds : TIMEOUT_MAX_S;
    uint64_t ns = (uint64_t)(seconds * (double)NS_PER_S);

    return ns > 0 ? ns : 1;
}

int routing_take_prefix(Str prefix, HttpHead *head, RoutingForm *ret_form, const char **ret_detail)
{
    RoutingForm form = {.set = true};
    Str rest = str_drop(head->path, prefix.len);

    ret_form->set = false;
    if (prefix.len == 0 || !str_starts(head->path, prefix) || rest.len == 0 || rest.ptr[0] != '/') {
        return 0;
    }
    form.ns = str_cut(str_drop(rest, 1), '/', &rest);
    form.id = str_cut(rest, '/', &rest);
    form.port = str_cut(rest, '/', &rest);
    if (!rest.ptr || form.ns.len == 0 || form.id.len == 0 || form.port.len == 0) {
        *ret_detail = "Path-routed request must have the form <prefix>/<namespace>/<id>/<port>/...";
        return -EINVAL;
    }
    head->path = (Str){rest.ptr - 1, rest.len + 1};
    *ret_form = form;
    return 0;
}

int routing_parse(const HttpHead *head, const RoutingForm *form, bool allow_loopback, Routing *ret,
                  const char **ret_detail)
{
    Values values = {0};
    Routing routing = {.port = ROUTING_PORT_DEFAULT};

    if (collect(head, &values, ret_detail) < 0) {
        return -EINVAL;
    }
    if (form && form->set) {
        values.id = form->id;
        values.ns = form->ns;
        values.port = form->port;
    }
    if (values.id.len == 0) {
        *ret_detail = "X-Sandbox-ID header is required.";
        return -EINVAL;
    }
    if (values.ns.len == 0) {
        values.ns = STR("default");
    }
    if (!routing_is_label(values.id)) {
        *ret_detail = "Invalid sandbox ID format.";
        return -EINVAL;
    }
    if (!routing_is_label(values.ns)) {
        *ret_detail = "Invalid namespace format.";
        return -EINVAL;
    }
    if (values.port.len > 0 && parse_port(values.port, &routing.port) < 0) {
        *ret_detail = "Invalid port format.";
        return -EINVAL;
    }
    if (values.pod_ip.len > 0 && (address_parse(values.pod_ip, &routing.pod_ip) < 0 ||
                                  address_is_forbidden(&routing.pod_ip, allow_loopback))) {
        *ret_detail = "Invalid target IP address.";
        return -EINVAL;
    }
    routing.port_named = values.port.len > 0;
    memcpy(routing.id, values.id.ptr, values.id.len);
    memcpy(routing.ns, values.ns.ptr, values.ns.len);
    routing.id_len = (uint8_t)values.id.len;
    routing.ns_len = (uint8_t)values.ns.len;
    routing.timeout_ns = parse_timeout(values.timeout);
    *ret = routing;
    return 0;
}

int routing_ports_parse(Str text, RoutingPorts *ret, Err *reterr)
{
    RoutingPorts ports = {.n = 0};

    while (text.len > 0) {
        Str last, one = str_trim(str_cut(text, ',', &text));
        Str first = str_cut(one, '-', &last);
        uint16_t from, to;

        if (parse_port(first, &from) < 0 || parse_port(last.ptr ? last : first, &to) < 0 ||
            from > to) {
            return err_set(reterr, EINVAL, "--allowed-ports: \"" STR_FMT "\" is no port or range",
                           STR_ARG(str_take(one, 64)));
        }
        if (ports.n == ROUTING_PORTS_MAX) {
            return err_set(reterr, EINVAL, "--allowed-ports: more than %d ranges",
                           ROUTING_PORTS_MAX);
        }
        ports.ranges[ports.n].from = from;
        ports.ranges[ports.n++].to = to;
    }
    *ret = ports;
    return 0;
}

bool routing_port_allowed(const RoutingPorts *ports, uint16_t port)
{
    for (size_t i = 0; i < ports->n; i++) {
        if (port >= ports->ranges[i].from && port <= ports->ranges[i].to) {
            return true;
        }
    }
    return ports->n == 0;
}
