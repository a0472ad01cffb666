/* SPDX-License-Identifier: Apache-2.0 */
#include "kube/config.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/mem.h"
#include "kube/file.h"
#include "kube/kubeconfig.h"
#include "kube/meta.h"
#include "json/yaml.h"

#define ACCOUNT_DIR "/var/run/secrets/kubernetes.io/serviceaccount"

typedef struct Docs {
    KubeconfigDoc list[KUBE_CONFIG_FILES_MAX];
    char *paths[KUBE_CONFIG_FILES_MAX];
    size_t len;
} Docs;

static void docs_deinit(Docs *docs)
{
    for (size_t i = 0; i < docs->len; i++) {
        json_decref(docs->list[i].root);
        free(docs->list[i].dir);
        free(docs->paths[i]);
    }
}

DEFINE_AUTO(docs, Docs, docs_deinit)

static void wipe(char *secret)
{
    if (secret) {
        explicit_bzero(secret, strlen(secret));
        free(secret);
    }
}

KubeConfig *kube_config_free(KubeConfig *config)
{
    if (config) {
        free(config->server);
        free(config->ns);
        free(config->context);
        free(config->tls_server_name);
        free(config->ca_pem);
        free(config->ca_file);
        free(config->cert_pem);
        free(config->cert_file);
        wipe(config->key_pem);
        free(config->key_file);
        wipe(config->token);
        free(config->token_file);
        free(config);
    }
    return NULL;
}

static char *dir_of(const char *path)
{
    const char *slash = strrchr(path, '/');

    if (!slash) {
        return xstrdup(".");
    }
    return slash == path ? xstrdup("/") : xstrndup(path, (size_t)(slash - path));
}

/* -ENOENT is for the caller to judge. */
static int docs_add(Docs *docs, Str path, Err *reterr)
{
    AUTO(mem) char *name = xstrndup(path.ptr, path.len);
    AUTO(mem) char *text = NULL;
    AUTO(json) json_t *root = NULL;
    size_t len;
    int r;

    if (docs->len >= KUBE_CONFIG_FILES_MAX) {
        return err_set(reterr, E2BIG, "more than %d kubeconfig files", KUBE_CONFIG_FILES_MAX);
    }
    r = kube_file_read(name, KUBE_CONFIG_FILE_MAX, &text, &len, reterr);
    if (r < 0) {
        return r;
    }
    r = yaml_load((Str){text, len}, &root, reterr);
    explicit_bzero(text, len);
    if (r < 0) {
        err_wrap(reterr, "%s", name);
        return r;
    }
    if (!json_is_object(root)) {
        return err_set(reterr, EINVAL, "%s: not a kubeconfig", name);
    }
    docs->list[docs->len].root = TAKE(root);
    docs->list[docs->len].dir = dir_of(name);
    docs->list[docs->len].path = name;
    docs->paths[docs->len++] = TAKE(name);
    return 0;
}

int kube_config_parse(Str text, const char *dir, const char *context, KubeConfig **ret_config,
                      Err *reterr)
{
    AUTO(json) json_t *root = NULL;
    KubeconfigDoc doc = {.path = "kubeconfig", .dir = (char *)dir};
    int r;

    if (text.len > KUBE_CONFIG_FILE_MAX) {
        return err_set(reterr, E2BIG, "a kubeconfig of %zu bytes", text.len);
    }
    r = yaml_load(text, &root, reterr);
    if (r < 0) {
        return r;
    }
    if (!json_is_object(root)) {
        return err_set(reterr, EINVAL, "not a kubeconfig");
    }
    doc.root = root;
    return kubeconfig_resolve(&doc, 1, context, ret_config, reterr);
}

/* $KUBECONFIG: files of the list that do not exist are skipped, as kubectl does. */
static int load_list(Str list, const char *context, KubeConfig **ret_config, Err *reterr)
{
    AUTO(docs) Docs docs = {.len = 0};
    Str all = list;

    while (list.ptr) {
        Str path = str_cut(list, ':', &list);
        int r = path.len > 0 ? docs_add(&docs, path, reterr) : 0;

        if (r < 0 && r != -ENOENT) {
            return r;
        }
    }
    if (docs.len == 0) {
        return err_set(reterr, ENOENT, "KUBECONFIG: no file of \"" STR_FMT "\" exists",
                       STR_ARG(str_take(all, 120)));
    }
    return kubeconfig_resolve(docs.list, docs.len, context, ret_config, reterr);
}

static int load_file(const char *path, const char *context, KubeConfig **ret_config, Err *reterr)
{
    AUTO(docs) Docs docs = {.len = 0};
    int r = docs_add(&docs, str_from(path), reterr);

    return r < 0 ? r : kubeconfig_resolve(docs.list, docs.len, context, ret_config, reterr);
}

static int load_account(const char *host, const char *port, const char *dir,
                        KubeConfig **ret_config, Err *reterr)
{
    AUTO(kube_config) KubeConfig *config = xcalloc(1, sizeof(*config));
    AUTO(mem) char *ns_path = xasprintf("%s/namespace", dir);
    AUTO(mem) char *text = NULL;
    size_t len = 0;
    int r;

    config->server = xasprintf(strchr(host, ':') ? "https://[%s]:%s" : "https://%s:%s", host, port);
    config->context = xstrdup("in-cluster");
    config->token_file = xasprintf("%s/token", dir);
    config->ca_file = xasprintf("%s/ca.crt", dir);
    r = kubeconfig_check_server(config->server, reterr);
    if (r < 0) {
        return r;
    }
    if (kube_file_read(ns_path, KUBE_LABEL_MAX + 2, &text, &len, NULL) == 0) {
        Str ns = str_trim((Str){text, len});

        if (kube_name_is_label(ns)) {
            config->ns = xstrndup(ns.ptr, ns.len);
        }
    }
    if (!config->ns) {
        config->ns = xstrdup("default");
    }
    *ret_config = TAKE(config);
    return 0;
}

static const char *env_process(const char *name)
{
    return getenv(name);
}

static bool is_set(const char *s)
{
    return s && s[0];
}

int kube_config_load(const KubeConfigSource *source, KubeConfig **ret_config, Err *reterr)
{
    const char *(*env)(const char *) = source->env ? source->env : env_process;
    const char *dir = source->account_dir ? source->account_dir : ACCOUNT_DIR;
    const char *list = env("KUBECONFIG");
    const char *host = env("KUBERNETES_SERVICE_HOST");
    const char *port = env("KUBERNETES_SERVICE_PORT");
    const char *home = env("HOME");
    AUTO(mem) char *token = xasprintf("%s/token", dir);
    AUTO(mem) char *path = NULL;

    if (is_set(source->path)) {
        return load_file(source->path, source->context, ret_config, reterr);
    }
    if (is_set(list)) {
        return load_list(str_from(list), source->context, ret_config, reterr);
    }
    if (is_set(host) && is_set(port) && access(token, F_OK) == 0) {
        return load_account(host, port, dir, ret_config, reterr);
    }
    if (is_set(home)) {
        path = xasprintf("%s/.kube/config", home);
        if (access(path, F_OK) == 0) {
            return load_file(path, source->context, ret_config, reterr);
        }
    }
    return err_set(reterr, ENOENT,
                   "no API server known: give --kubeconfig or KUBECONFIG, or run in a pod");
}
