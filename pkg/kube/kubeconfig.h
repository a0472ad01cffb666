/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/* Kubeconfig documents as trees -> KubeConfig. Between kube/config.c and its tests. */
#include <stddef.h>

#include "base/err.h"
#include "base/str.h"
#include "kube/config.h"
#include "json/jx.h"

typedef struct KubeconfigDoc {
    json_t *root;     /* owned */
    const char *path; /* for messages, borrowed */
    char *dir;        /* relative names are below it; owned */
} KubeconfigDoc;

/* Names are looked up in the order of the documents; the first definition wins. */
int kubeconfig_resolve(const KubeconfigDoc *docs, size_t n, const char *context,
                       KubeConfig **ret_config, Err *reterr);

/* Standard base64, white space ignored. Owned and NUL-terminated; -EINVAL, -E2BIG. */
int kubeconfig_base64(Str text, size_t max, char **ret_bytes, size_t *ret_len);

/* https, or http to a loopback address; a host, no user, no query. */
int kubeconfig_check_server(const char *server, Err *reterr);
