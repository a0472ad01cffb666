/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * Credentials in use: token and PEM texts as they are now. kube_cred_refresh() re-reads files whose
 * mtime, size or inode changed, and all of them once a minute; a file that cannot be read keeps the
 * last good value and reports the error. Two counters tell users what changed: token_gen (use the
 * new header from the next request on) and tls_gen (new connections are needed).
 */
#include <stdint.h>

#include "base/err.h"
#include "base/filemark.h"
#include "kube/config.h"

#define KUBE_CRED_CHECK_NS (5ull * 1000000000ull) /* stat() at most this often */
#define KUBE_CRED_READ_NS (60ull * 1000000000ull) /* read at least this often */

typedef struct KubeCredFile {
    const char *path; /* of the config; NULL = inline or absent */
    char *text;       /* content in use, NULL when there is none */
    FileMark mark;
} KubeCredFile;

typedef struct KubeCred {
    const KubeConfig *config; /* borrowed */
    KubeCredFile token;
    KubeCredFile ca;
    KubeCredFile cert;
    KubeCredFile key;
    uint64_t token_gen;
    uint64_t tls_gen;
    uint64_t checked_ns;
    uint64_t read_ns;
} KubeCred;

/* Reads everything once; an unreadable file is an error here. */
int kube_cred_init(KubeCred *cred, const KubeConfig *config, uint64_t now_ns, Err *reterr);
void kube_cred_deinit(KubeCred *cred);
/* Cheap when called often. Negative: something could not be re-read, the old value stays. */
int kube_cred_refresh(KubeCred *cred, uint64_t now_ns, Err *reterr);
/* Re-reads now, after the server answered 401. */
int kube_cred_refresh_now(KubeCred *cred, uint64_t now_ns, Err *reterr);
