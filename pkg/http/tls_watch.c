/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Follows the folders of the files. What happened there does not matter, only that something did:
 * the reload compares contents. Where inotify is used up (its instances are few and shared by a
 * whole user) the regular look remains.
 */
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/inotify.h>
#include <unistd.h>

#include "http/tls_impl.h"

#define WATCH_MASK                                                                                 \
    (IN_CREATE | IN_MOVED_TO | IN_MOVED_FROM | IN_CLOSE_WRITE | IN_DELETE | IN_ATTRIB |            \
     IN_DELETE_SELF | IN_MOVE_SELF | IN_ONLYDIR)

static void folder_of(const char *path, char *ret, size_t size)
{
    const char *slash = strrchr(path, '/');

    if (!slash) {
        snprintf(ret, size, ".");
    } else {
        snprintf(ret, size, "%.*s", slash == path ? 1 : (int)(slash - path), path);
    }
}

/* Adding a folder that is watched already changes nothing. */
static void watch_folders(HttpTls *tls)
{
    const char *files[TLS_WATCH_DIRS] = {tls->config.cert_file, tls->config.key_file,
                                         tls->config.client_ca_file};
    char folder[PATH_MAX];

    for (size_t i = 0; i < ARRAY_LEN(files) && loop_io_is_added(&tls->watch.io); i++) {
        if (files[i]) {
            folder_of(files[i], folder, sizeof(folder));
            inotify_add_watch(tls->watch.io.fd, folder, WATCH_MASK); /* missing: the next look */
        }
    }
}

static void look_in(TlsWatch *watch, uint64_t ns)
{
    watch->due_ns = loop_now(watch->loop) + ns;
    loop_timer_arm(watch->loop, &watch->timer, watch->due_ns);
}

static void on_timer(LoopTimer *timer)
{
    TlsWatch *watch = container_of(timer, TlsWatch, timer);
    HttpTls *tls = container_of(watch, HttpTls, watch);
    Err err = ERR_INIT;
    int r;

    watch_folders(tls);
    look_in(watch, HTTP_TLS_RECHECK_NS);
    r = http_tls_reload(tls, &err);
    if (r != HTTP_TLS_SAME) {
        watch->fn(watch->ctx, r < 0 ? &err : NULL);
    }
}

/* Not pushed back by further events: a busy folder must not delay a reload for ever. */
static void on_event(LoopIo *io, uint32_t events)
{
    TlsWatch *watch = container_of(io, TlsWatch, io);
    char buf[4096] __attribute__((aligned(__alignof__(struct inotify_event))));

    UNUSED(events);
    if (read(io->fd, buf, sizeof(buf)) > 0 &&
        watch->due_ns > loop_now(watch->loop) + HTTP_TLS_DEBOUNCE_NS) {
        look_in(watch, HTTP_TLS_DEBOUNCE_NS);
    }
}

void http_tls_watch(HttpTls *tls, Loop *loop, HttpTlsReloadFn fn, void *ctx)
{
    TlsWatch *watch = &tls->watch;
    int fd;

    if (!tls->config.cert_file && !tls->config.client_ca_file) {
        return;
    }
    *watch = (TlsWatch){.loop = loop, .fn = fn, .ctx = ctx};
    loop_timer_init(&watch->timer, on_timer);
    fd = inotify_init1(IN_NONBLOCK | IN_CLOEXEC);
    if (fd >= 0 && loop_io_add(loop, &watch->io, fd, EPOLLIN, on_event) < 0) {
        close(fd);
    }
    watch_folders(tls);
    /* Soon: what changed between loading and watching. */
    look_in(watch, HTTP_TLS_DEBOUNCE_NS);
}

void http_tls_unwatch(HttpTls *tls)
{
    TlsWatch *watch = &tls->watch;

    if (watch->loop) {
        loop_timer_disarm(&watch->timer);
        if (loop_io_is_added(&watch->io)) {
            int fd = watch->io.fd;

            loop_io_remove(&watch->io);
            close(fd);
        }
        watch->loop = NULL;
    }
}
