/* SPDX-License-Identifier: Apache-2.0 */
#include "kube/file.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/mem.h"

static void fd_close(int *fd)
{
    if (*fd >= 0) {
        close(*fd);
    }
}

DEFINE_AUTO(fd, int, fd_close)

/* Bytes read, at most size; -errno. */
static ssize_t read_full(int fd, char *buf, size_t size)
{
    size_t len = 0;

    while (len < size) {
        ssize_t n = read(fd, buf + len, size - len);

        if (n < 0 && errno != EINTR) {
            return -errno;
        }
        if (n == 0) {
            break;
        }
        len += n > 0 ? (size_t)n : 0;
    }
    return (ssize_t)len;
}

int kube_file_read(const char *path, size_t max, char **ret_text, size_t *ret_len, Err *reterr)
{
    AUTO(fd) int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    AUTO(mem) char *text = NULL;
    struct stat st;
    ssize_t n;

    if (fd < 0 || fstat(fd, &st) < 0) {
        return err_set_errno(reterr, errno, "%s", path);
    }
    if (!S_ISREG(st.st_mode)) {
        return err_set(reterr, EINVAL, "%s: not a regular file", path);
    }
    text = xmalloc(max + 2);
    n = read_full(fd, text, max + 1);
    if (n < 0) {
        return err_set_errno(reterr, (int)-n, "%s", path);
    }
    if ((size_t)n > max) {
        explicit_bzero(text, (size_t)n);
        return err_set(reterr, E2BIG, "%s: larger than %zu bytes", path, max);
    }
    text[n] = '\0';
    if (strlen(text) != (size_t)n) {
        explicit_bzero(text, (size_t)n);
        return err_set(reterr, EINVAL, "%s: contains NUL", path);
    }
    *ret_text = xrealloc(TAKE(text), (size_t)n + 1);
    *ret_len = (size_t)n;
    return 0;
}
