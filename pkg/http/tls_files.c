/* SPDX-License-Identifier: Apache-2.0 */
/* The PEM files, read whole before anything is parsed, and a digest that tells whether they
 * changed. */
#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

#include "http/tls_impl.h"

void tls_files_init(TlsFiles *files)
{
    strbuf_init(&files->cert, HTTP_TLS_FILE_MAX + 1);
    strbuf_init(&files->key, HTTP_TLS_FILE_MAX + 1);
    strbuf_init(&files->ca, HTTP_TLS_FILE_MAX + 1);
}

void tls_files_deinit(TlsFiles *files)
{
    if (files->key.ptr) {
        OPENSSL_cleanse(files->key.ptr, files->key.cap);
    }
    strbuf_deinit(&files->cert);
    strbuf_deinit(&files->key);
    strbuf_deinit(&files->ca);
}

static int read_all(int fd, StrBuf *out)
{
    ssize_t n;

    /* In one piece: a key must not be left behind in memory that growing gave back. */
    if (strbuf_reserve(out, HTTP_TLS_FILE_MAX) < 0) {
        return -ENOMEM;
    }
    do {
        if (out->len == HTTP_TLS_FILE_MAX) {
            return -EFBIG;
        }
        n = read(fd, out->ptr + out->len, HTTP_TLS_FILE_MAX - out->len);
        out->len += n > 0 ? (size_t)n : 0;
    } while (n > 0 || (n < 0 && errno == EINTR));
    return n < 0 ? -errno : 0;
}

static int read_file(const char *path, StrBuf *out, Err *reterr)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK); /* a FIFO must not stop the loop */
    int r;

    if (fd < 0) {
        return err_set_errno(reterr, errno, "%s", path);
    }
    r = read_all(fd, out);
    close(fd);
    return r < 0 ? err_set_errno(reterr, -r, "%s", path) : 0;
}

int tls_files_read(TlsFiles *files, const HttpTlsConfig *config, Err *reterr)
{
    int r = 0;

    if (config->cert_file) {
        r = read_file(config->cert_file, &files->cert, reterr);
        r = r < 0 ? r : read_file(config->key_file, &files->key, reterr);
    }
    if (r == 0 && config->client_auth != HTTP_TLS_CLIENT_OFF) {
        r = read_file(config->client_ca_file, &files->ca, reterr);
    }
    return r;
}

void tls_files_digest(const TlsFiles *files, unsigned char *ret_digest)
{
    const StrBuf *parts[] = {&files->cert, &files->key, &files->ca};
    unsigned char each[ARRAY_LEN(parts)][TLS_DIGEST_SIZE];

    for (size_t i = 0; i < ARRAY_LEN(parts); i++) {
        EVP_Digest(parts[i]->ptr ? parts[i]->ptr : "", parts[i]->len, each[i], NULL, EVP_sha256(),
                   NULL);
    }
    EVP_Digest(each, sizeof(each), ret_digest, NULL, EVP_sha256(), NULL);
    OPENSSL_cleanse(each, sizeof(each));
}
