/* SPDX-License-Identifier: Apache-2.0 */
#include "kube/cred.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/mem.h"
#include "base/str.h"
#include "kube/file.h"

static void secret_free(char *text)
{
    if (text) {
        explicit_bzero(text, strlen(text));
        free(text);
    }
}

/* A bearer token goes into a header: one line of visible characters. */
static int token_check(KubeCredFile *file, char *text, Err *reterr)
{
    Str token = str_trim(str_from(text));

    for (size_t i = 0; i < token.len; i++) {
        if ((unsigned char)token.ptr[i] <= ' ' || (unsigned char)token.ptr[i] >= 0x7f) {
            return err_set(reterr, EINVAL, "%s: not a token", file->path ? file->path : "token");
        }
    }
    if (token.len == 0) {
        return err_set(reterr, EINVAL, "%s: an empty token", file->path ? file->path : "token");
    }
    memmove(text, token.ptr, token.len);
    text[token.len] = '\0';
    return 0;
}

/* Re-reads one file; bumps *gen when its content is new. */
static int file_read(KubeCredFile *file, bool is_token, uint64_t *gen, Err *reterr)
{
    char *text = NULL;
    size_t len;
    int r;

    if (!file->path) {
        return 0;
    }
    (void)file_mark_changed(&file->mark, file->path); /* before the read */
    r = kube_file_read(file->path, is_token ? KUBE_TOKEN_MAX : KUBE_PEM_MAX, &text, &len, reterr);
    if (r == 0 && is_token) {
        r = token_check(file, text, reterr);
    }
    if (r < 0) {
        secret_free(text);
        return r;
    }
    if (file->text && strcmp(file->text, text) == 0) {
        secret_free(text);
        return 0;
    }
    secret_free(file->text);
    file->text = text;
    (*gen)++;
    return 0;
}

static int cred_read(KubeCred *cred, bool all, Err *reterr)
{
    const struct {
        KubeCredFile *file;
        bool is_token;
        uint64_t *gen;
    } files[] = {
        {&cred->token, true, &cred->token_gen},
        {&cred->ca, false, &cred->tls_gen},
        {&cred->cert, false, &cred->tls_gen},
        {&cred->key, false, &cred->tls_gen},
    };
    int result = 0;

    for (size_t i = 0; i < ARRAY_LEN(files); i++) {
        if (files[i].file->path &&
            (all || file_mark_changed(&files[i].file->mark, files[i].file->path))) {
            int r = file_read(files[i].file, files[i].is_token, files[i].gen,
                              result < 0 ? NULL : reterr);

            result = result < 0 ? result : r;
        }
    }
    return result;
}

static void file_init(KubeCredFile *file, const char *path, const char *text)
{
    *file = (KubeCredFile){.path = text && !path ? NULL : path};
    if (!file->path && text) {
        file->text = xstrdup(text);
    }
}

int kube_cred_init(KubeCred *cred, const KubeConfig *config, uint64_t now_ns, Err *reterr)
{
    int r;

    *cred = (KubeCred){.config = config, .checked_ns = now_ns, .read_ns = now_ns};
    file_init(&cred->token, config->token_file, config->token);
    /* Inline data wins over files for certificates, as in client-go. */
    file_init(&cred->ca, config->ca_pem ? NULL : config->ca_file, config->ca_pem);
    file_init(&cred->cert, config->cert_pem ? NULL : config->cert_file, config->cert_pem);
    file_init(&cred->key, config->key_pem ? NULL : config->key_file, config->key_pem);
    r = cred_read(cred, true, reterr);
    if (r == 0 && cred->token.text && !cred->token.path) {
        r = token_check(&cred->token, cred->token.text, reterr);
    }
    if (r < 0) {
        kube_cred_deinit(cred);
    }
    return r;
}

void kube_cred_deinit(KubeCred *cred)
{
    secret_free(TAKE(cred->token.text));
    secret_free(TAKE(cred->ca.text));
    secret_free(TAKE(cred->cert.text));
    secret_free(TAKE(cred->key.text));
}

int kube_cred_refresh_now(KubeCred *cred, uint64_t now_ns, Err *reterr)
{
    cred->checked_ns = now_ns;
    cred->read_ns = now_ns;
    return cred_read(cred, true, reterr);
}

int kube_cred_refresh(KubeCred *cred, uint64_t now_ns, Err *reterr)
{
    if (now_ns - cred->read_ns >= KUBE_CRED_READ_NS) {
        return kube_cred_refresh_now(cred, now_ns, reterr);
    }
    if (now_ns - cred->checked_ns < KUBE_CRED_CHECK_NS) {
        return 0;
    }
    cred->checked_ns = now_ns;
    return cred_read(cred, false, reterr);
}
