/* SPDX-License-Identifier: Apache-2.0 */
#include "kube/kubeconfig.h"

#include <arpa/inet.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/mem.h"

typedef struct Entry {
    json_t *body; /* borrowed: the member "cluster", "user" or "context" */
    const KubeconfigDoc *doc;
    Str name;
} Entry;

static int base64_digit(char c)
{
    static const char DIGITS[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    const char *at = c ? strchr(DIGITS, c) : NULL;

    return at ? (int)(at - DIGITS) : -1;
}

int kubeconfig_base64(Str text, size_t max, char **ret_bytes, size_t *ret_len)
{
    AUTO(mem) char *bytes = NULL;
    uint32_t bits = 0;
    size_t digits = 0;
    size_t pads = 0;
    size_t len = 0;

    if (text.len / 4 * 3 > max + 64) {
        return -E2BIG;
    }
    bytes = xmalloc(text.len / 4 * 3 + 4);
    for (size_t i = 0; i < text.len; i++) {
        int digit = base64_digit(text.ptr[i]);

        if (strchr(" \t\r\n", text.ptr[i]) && text.ptr[i]) {
            continue;
        }
        if (text.ptr[i] == '=') {
            pads++;
            continue;
        }
        if (digit < 0 || pads > 0) {
            return -EINVAL;
        }
        bits = bits << 6 | (uint32_t)digit;
        if (++digits % 4 == 0) {
            bytes[len++] = (char)(bits >> 16);
            bytes[len++] = (char)(bits >> 8);
            bytes[len++] = (char)bits;
        }
    }
    if ((digits + pads) % 4 != 0 || pads > 2 || digits % 4 == 1) {
        return -EINVAL;
    }
    if (digits % 4 == 2) {
        bytes[len++] = (char)(bits >> 4);
    } else if (digits % 4 == 3) {
        bytes[len++] = (char)(bits >> 10);
        bytes[len++] = (char)(bits >> 2);
    }
    if (len > max) {
        return -E2BIG;
    }
    bytes[len] = '\0';
    *ret_bytes = TAKE(bytes);
    *ret_len = len;
    return 0;
}

/* ---- server ---- */

static bool host_is_loopback(Str host)
{
    AUTO(mem) char *text = xstrndup(host.ptr, host.len);
    struct in_addr v4;
    struct in6_addr v6;

    if (str_eq(host, STR("localhost"))) {
        return true;
    }
    if (inet_pton(AF_INET, text, &v4) == 1) {
        return ntohl(v4.s_addr) >> 24 == 127;
    }
    return inet_pton(AF_INET6, text, &v6) == 1 && IN6_IS_ADDR_LOOPBACK(&v6);
}

/* Host of "host", "host:port", "[v6]", "[v6]:port"; STR_NULL when it is none of these. */
static Str authority_host(Str authority)
{
    Str host = authority;
    Str port = STR_NULL;
    uint64_t number = 1;

    if (str_starts(authority, STR("["))) {
        host = str_cut(str_drop(authority, 1), ']', &port);
        if (!port.ptr || (port.len > 0 && port.ptr[0] != ':')) {
            return STR_NULL;
        }
        port = port.len > 0 ? str_drop(port, 1) : STR_NULL;
    } else {
        host = str_cut(authority, ':', &port);
    }
    if (port.ptr && (str_to_u64(port, &number) < 0 || number == 0 || number > 65535)) {
        return STR_NULL;
    }
    for (size_t i = 0; i < host.len; i++) {
        unsigned char c = (unsigned char)host.ptr[i];

        if (c <= ' ' || c >= 0x7f || strchr("@?#\\\"<>%", c)) {
            return STR_NULL;
        }
    }
    return host.len > 0 ? host : STR_NULL;
}

int kubeconfig_check_server(const char *server, Err *reterr)
{
    Str text = str_from(server);
    bool plain = str_starts(text, STR("http://"));
    Str path;
    Str authority;
    Str host;

    if (!plain && !str_starts(text, STR("https://"))) {
        return err_set(reterr, EINVAL, "server \"%.100s\" is not an https:// URL", server);
    }
    authority = str_cut(str_drop(text, plain ? 7 : 8), '/', &path);
    host = authority_host(authority);
    for (size_t i = 0; i < path.len; i++) {
        if ((unsigned char)path.ptr[i] <= ' ' || strchr("?#\\\"", path.ptr[i])) {
            host = STR_NULL;
        }
    }
    if (!host.ptr) {
        return err_set(reterr, EINVAL, "server \"%.100s\" is not a usable URL", server);
    }
    if (plain && !host_is_loopback(host)) {
        return err_set(reterr, EINVAL,
                       "server \"%.100s\": http:// is only for loopback addresses, use https://",
                       server);
    }
    return 0;
}

/* ---- lookups ---- */

static int entry_find(const KubeconfigDoc *docs, size_t n, const char *list, const char *member,
                      Str name, Entry *ret_entry, Err *reterr)
{
    for (size_t d = 0; d < n; d++) {
        size_t i;
        json_t *item;

        json_array_foreach(jx_get(docs[d].root, list), i, item)
        {
            json_t *body = jx_get(item, member);

            if (str_eq(jx_get_str(item, "name"), name) && json_is_object(body)) {
                *ret_entry = (Entry){body, &docs[d], jx_get_str(item, "name")};
                return 0;
            }
        }
    }
    return err_set(reterr, EINVAL, "%s: no %s \"" STR_FMT "\"", docs[0].path, member,
                   STR_ARG(str_take(name, 100)));
}

static char *entry_dup(const Entry *entry, const char *member)
{
    Str s = jx_get_str(entry->body, member);

    return s.len > 0 ? xstrndup(s.ptr, s.len) : NULL;
}

/* A file name, made absolute. */
static char *entry_path(const Entry *entry, const char *member)
{
    Str s = jx_get_str(entry->body, member);

    if (s.len == 0) {
        return NULL;
    }
    if (s.ptr[0] == '/') {
        return xstrndup(s.ptr, s.len);
    }
    return xasprintf("%s/" STR_FMT, entry->doc->dir, STR_ARG(s));
}

/* "<member>-data": base64 of PEM text. */
static int entry_pem(const Entry *entry, const char *member, char **ret_pem, Err *reterr)
{
    Str s = jx_get_str(entry->body, member);
    size_t len = 0;
    int r;

    if (s.len == 0) {
        return 0;
    }
    r = kubeconfig_base64(s, KUBE_PEM_MAX, ret_pem, &len);
    if (r == 0 && (strlen(*ret_pem) != len || !strstr(*ret_pem, "-----BEGIN "))) {
        explicit_bzero(*ret_pem, len);
        free(TAKE(*ret_pem));
        r = -EINVAL;
    }
    if (r < 0) {
        return err_set(reterr, -r, "%s: %s of \"" STR_FMT "\" is not base64 of a PEM text",
                       entry->doc->path, member, STR_ARG(str_take(entry->name, 100)));
    }
    return 0;
}

/* ---- sections ---- */

static int refuse(const Entry *entry, const char *what, const char *member, const char *why,
                  Err *reterr)
{
    return err_set(reterr, EOPNOTSUPP, "%s: %s \"" STR_FMT "\" uses %s: %s", entry->doc->path, what,
                   STR_ARG(str_take(entry->name, 80)), member, why);
}

static int take_cluster(const Entry *entry, KubeConfig *config, Err *reterr)
{
    json_t *insecure = jx_get(entry->body, "insecure-skip-tls-verify");
    size_t len;
    int r;

    if (insecure && !json_is_false(insecure)) {
        return refuse(entry, "cluster", "insecure-skip-tls-verify",
                      "certificates are always verified; give certificate-authority-data", reterr);
    }
    if (jx_get_str(entry->body, "proxy-url").len > 0) {
        return refuse(entry, "cluster", "proxy-url", "proxies are not supported", reterr);
    }
    config->server = entry_dup(entry, "server");
    if (!config->server) {
        return err_set(reterr, EINVAL, "%s: cluster \"" STR_FMT "\" has no server",
                       entry->doc->path, STR_ARG(str_take(entry->name, 100)));
    }
    for (len = strlen(config->server); len > 0 && config->server[len - 1] == '/'; len--) {
        config->server[len - 1] = '\0';
    }
    r = kubeconfig_check_server(config->server, reterr);
    if (r < 0) {
        return r;
    }
    config->tls_server_name = entry_dup(entry, "tls-server-name");
    config->ca_file = entry_path(entry, "certificate-authority");
    return entry_pem(entry, "certificate-authority-data", &config->ca_pem, reterr);
}

static int check_user(const Entry *entry, Err *reterr)
{
    static const struct {
        const char *member;
        const char *why;
    } REFUSED[] = {
        {"exec", "credential plugins are not run; use a token, tokenFile or client certificate"},
        {"auth-provider", "plugins are not run; use a token, tokenFile or client certificate"},
        {"username", "basic authentication is not supported"},
        {"password", "basic authentication is not supported"},
        {"as", "impersonation is not supported"},
        {"as-uid", "impersonation is not supported"},
        {"as-groups", "impersonation is not supported"},
        {"as-user-extra", "impersonation is not supported"},
    };

    for (size_t i = 0; i < ARRAY_LEN(REFUSED); i++) {
        json_t *value = jx_get(entry->body, REFUSED[i].member);

        if (value && !json_is_null(value)) {
            return refuse(entry, "user", REFUSED[i].member, REFUSED[i].why, reterr);
        }
    }
    return 0;
}

static int take_user(const Entry *entry, KubeConfig *config, Err *reterr)
{
    int r = check_user(entry, reterr);

    if (r < 0) {
        return r;
    }
    config->token = entry_dup(entry, "token");
    config->token_file = entry_path(entry, "tokenFile");
    config->cert_file = entry_path(entry, "client-certificate");
    config->key_file = entry_path(entry, "client-key");
    r = entry_pem(entry, "client-certificate-data", &config->cert_pem, reterr);
    if (r == 0) {
        r = entry_pem(entry, "client-key-data", &config->key_pem, reterr);
    }
    if (r < 0) {
        return r;
    }
    if ((config->cert_pem || config->cert_file) != (config->key_pem || config->key_file)) {
        return err_set(reterr, EINVAL,
                       "%s: user \"" STR_FMT "\" needs both a client certificate and its key",
                       entry->doc->path, STR_ARG(str_take(entry->name, 100)));
    }
    if (config->token && strlen(config->token) > KUBE_TOKEN_MAX) {
        return err_set(reterr, E2BIG, "%s: the token of user \"" STR_FMT "\" is too long",
                       entry->doc->path, STR_ARG(str_take(entry->name, 100)));
    }
    return 0;
}

static Str current_context(const KubeconfigDoc *docs, size_t n)
{
    for (size_t d = 0; d < n; d++) {
        Str name = jx_get_str(docs[d].root, "current-context");

        if (name.len > 0) {
            return name;
        }
    }
    return STR_NULL;
}

int kubeconfig_resolve(const KubeconfigDoc *docs, size_t n, const char *context,
                       KubeConfig **ret_config, Err *reterr)
{
    AUTO(kube_config) KubeConfig *config = xcalloc(1, sizeof(*config));
    Str name = context && context[0] ? str_from(context) : current_context(docs, n);
    Entry entry;
    Entry cluster;
    Entry user;
    Str ns;
    int r;

    if (!name.ptr) {
        return err_set(reterr, EINVAL, "%s: current-context is not set", docs[0].path);
    }
    r = entry_find(docs, n, "contexts", "context", name, &entry, reterr);
    if (r == 0) {
        r = entry_find(docs, n, "clusters", "cluster", jx_get_str(entry.body, "cluster"), &cluster,
                       reterr);
    }
    if (r == 0) {
        r = take_cluster(&cluster, config, reterr);
    }
    if (r == 0 && jx_get_str(entry.body, "user").len > 0) {
        r = entry_find(docs, n, "users", "user", jx_get_str(entry.body, "user"), &user, reterr);
        if (r == 0) {
            r = take_user(&user, config, reterr);
        }
    }
    if (r < 0) {
        return r;
    }
    ns = jx_get_str(entry.body, "namespace");
    config->ns = ns.len > 0 ? xstrndup(ns.ptr, ns.len) : xstrdup("default");
    config->context = xstrndup(name.ptr, name.len);
    *ret_config = TAKE(config);
    return 0;
}
