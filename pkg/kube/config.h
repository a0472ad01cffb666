/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * Where the API server is and who we are: a kubeconfig file (inline data or files) or the service
 * account of the pod. Order: explicit path, $KUBECONFIG (a colon-separated list, first definition
 * wins), in-cluster, ~/.kube/config.
 *
 * Refused with a text that names the entry: exec and auth-provider plugins, basic auth,
 * insecure-skip-tls-verify: true, http:// except to a loopback address, proxy-url, impersonation.
 * Secrets are wiped before their memory is freed.
 */
#include <stdbool.h>

#include "base/err.h"
#include "base/str.h"

#define KUBE_CONFIG_FILE_MAX (1u << 20)
#define KUBE_CONFIG_FILES_MAX 16
#define KUBE_TOKEN_MAX (16u << 10)
#define KUBE_PEM_MAX (256u << 10)

typedef struct KubeConfig {
    char *server;          /* "https://10.0.0.1:6443", no trailing slash, may have a path */
    char *ns;              /* default namespace, never NULL */
    char *context;         /* name of the context, "in-cluster" */
    char *tls_server_name; /* NULL = host of server */
    char *ca_pem;          /* inline data; NULL when ca_file or the system's store is used */
    char *ca_file;
    char *cert_pem; /* client certificate: both inline or both files */
    char *cert_file;
    char *key_pem;
    char *key_file;
    char *token;      /* static bearer token */
    char *token_file; /* re-read by kube/cred.h; wins over token */
} KubeConfig;

/* The process environment, injected so that tests need not change it. */
typedef struct KubeConfigSource {
    const char *path;                 /* --kubeconfig, NULL or "" = not given */
    const char *context;              /* NULL = current-context */
    const char *(*env)(const char *); /* NULL = getenv */
    const char *account_dir;          /* NULL = /var/run/secrets/kubernetes.io/serviceaccount */
} KubeConfigSource;

int kube_config_load(const KubeConfigSource *source, KubeConfig **ret_config, Err *reterr);
/* One kubeconfig text; relative file names are resolved against dir. */
int kube_config_parse(Str text, const char *dir, const char *context, KubeConfig **ret_config,
                      Err *reterr);
KubeConfig *kube_config_free(KubeConfig *config); /* NULL is fine; returns NULL */

DEFINE_AUTO_PTR(kube_config, KubeConfig, kube_config_free)
