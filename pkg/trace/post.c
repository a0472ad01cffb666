/* SPDX-License-Identifier: Apache-2.0 */
/*
 * See post.h. libcurl's sockets are in an epoll of their own, which the loop watches as one
 * descriptor: libcurl may close a socket that never got connected without saying so, and the number
 * may come back (the same as in kube/curl_impl.h, for one request instead of thousands).
 */
#include "trace/post.h"

#include <curl/curl.h>
#include <errno.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/check.h"
#include "base/mem.h"
#include "base/version.h"

#define SOCKS_MAX 16 /* of one request: connection attempts, the resolver's pair */
#define CONNECT_TIMEOUT_MS 5000

typedef struct PostSock {
    int fd; /* -1 = free */
    uint32_t events;
} PostSock;

struct TracePost {
    Loop *loop;
    TracePostFn done;
    void *ctx;
    CURLM *multi;
    CURL *easy;
    struct curl_slist *headers;
    int epoll_fd;
    LoopIo io;
    LoopTimer timer;
    PostSock socks[SOCKS_MAX];
    bool busy;
    StrBuf answer;
    char error[CURL_ERROR_SIZE];
};

/* ---- the end of a request ---- */

static void post_end(TracePost *post, CURLcode code)
{
    TracePostResult result = {.body = strbuf_str(&post->answer)};
    curl_off_t retry_after_s = 0;
    long status = 0;

    curl_easy_getinfo(post->easy, CURLINFO_RESPONSE_CODE, &status);
    curl_easy_getinfo(post->easy, CURLINFO_RETRY_AFTER, &retry_after_s);
    curl_multi_remove_handle(post->multi, post->easy);
    post->busy = false;
    if (code == CURLE_OK) {
        result.status = (int)status;
    } else {
        result.error = post->error[0] ? post->error : curl_easy_strerror(code);
    }
    if (retry_after_s > 0) {
        result.retry_after_ns = retry_after_s < (curl_off_t)(TRACE_RETRY_AFTER_MAX_NS / NS_PER_S)
                                    ? (uint64_t)retry_after_s * NS_PER_S
                                    : TRACE_RETRY_AFTER_MAX_NS;
    }
    post->done(post->ctx, &result);
}

static void post_collect(TracePost *post)
{
    int left;
    CURLMsg *msg = curl_multi_info_read(post->multi, &left);

    if (msg && msg->msg == CURLMSG_DONE) {
        post_end(post, msg->data.result);
    }
}

/* ---- libcurl on the loop ---- */

static void post_on_timer(LoopTimer *timer)
{
    TracePost *post = container_of(timer, TracePost, timer);
    int running;

    curl_multi_socket_action(post->multi, CURL_SOCKET_TIMEOUT, 0, &running);
    post_collect(post);
}

static void post_on_io(LoopIo *io, uint32_t loop_events)
{
    TracePost *post = container_of(io, TracePost, io);
    struct epoll_event events[SOCKS_MAX];
    int n = epoll_wait(post->epoll_fd, events, SOCKS_MAX, 0);

    UNUSED(loop_events);
    for (int i = 0; i < n; i++) {
        uint32_t got = events[i].events;
        int bits = 0;
        int running;

        bits |= got & (EPOLLIN | EPOLLRDHUP | EPOLLHUP) ? CURL_CSELECT_IN : 0;
        bits |= got & EPOLLOUT ? CURL_CSELECT_OUT : 0;
        bits |= got & EPOLLERR ? CURL_CSELECT_ERR : 0;
        curl_multi_socket_action(post->multi, events[i].data.fd, bits, &running);
    }
    post_collect(post);
}

static int on_timeout(CURLM *multi, long ms, void *ctx)
{
    TracePost *post = ctx;

    UNUSED(multi);
    if (ms < 0) {
        loop_timer_disarm(&post->timer);
    } else {
        /* libcurl reads the system clock, so this timer must too. */
        loop_timer_arm(post->loop, &post->timer,
                       clock_mono_ns(clock_system()) + (uint64_t)ms * NS_PER_MS);
    }
    return 0;
}

static PostSock *find_sock(TracePost *post, int fd)
{
    for (size_t i = 0; i < SOCKS_MAX; i++) {
        if (post->socks[i].fd == fd) {
            return &post->socks[i];
        }
    }
    return NULL;
}

/* The kernel forgets a closed descriptor, so changing may mean adding. */
static int watch(const TracePost *post, const PostSock *sock)
{
    struct epoll_event ev = {.events = sock->events, .data.fd = sock->fd};

    if (epoll_ctl(post->epoll_fd, EPOLL_CTL_MOD, sock->fd, &ev) == 0) {
        return 0;
    }
    return epoll_ctl(post->epoll_fd, EPOLL_CTL_ADD, sock->fd, &ev) == 0 ? 0 : -1;
}

static int on_socket(CURL *easy, curl_socket_t fd, int what, void *ctx, void *sock_ctx)
{
    TracePost *post = ctx;
    PostSock *sock = find_sock(post, fd);

    UNUSED(easy);
    UNUSED(sock_ctx);
    if (what == CURL_POLL_REMOVE) {
        epoll_ctl(post->epoll_fd, EPOLL_CTL_DEL, fd, NULL); /* closed already is as good */
        if (sock) {
            sock->fd = -1;
        }
        return 0;
    }
    sock = sock ? sock : find_sock(post, -1);
    if (!sock) {
        return -1;
    }
    *sock = (PostSock){.fd = fd};
    sock->events |= what & CURL_POLL_IN ? EPOLLIN : 0;
    sock->events |= what & CURL_POLL_OUT ? EPOLLOUT : 0;
    return watch(post, sock);
}

static curl_socket_t on_open(void *ctx, curlsocktype purpose, struct curl_sockaddr *address)
{
    const TracePost *post = ctx;
    int fd = socket(address->family, address->socktype | SOCK_CLOEXEC, address->protocol);
    const PostSock *sock = fd >= 0 ? find_sock(ctx, fd) : NULL;

    UNUSED(purpose);
    if (sock) {
        watch(post, sock); /* its predecessor of this number was closed in silence */
    }
    return fd < 0 ? CURL_SOCKET_BAD : fd;
}

static size_t on_write(char *ptr, size_t size, size_t n, void *ctx)
{
    TracePost *post = ctx;

    return strbuf_append(&post->answer, (Str){ptr, size * n}) < 0 ? 0 : size * n;
}

/* ---- life ---- */

static void add_header(TracePost *post, const char *line)
{
    struct curl_slist *list = curl_slist_append(post->headers, line);

    CHECK(list);
    post->headers = list;
}

static void easy_setup(TracePost *post, const TraceConfig *config)
{
    AUTO(mem) char *agent = xasprintf("cofferdam/%s", version_string());
    CURL *easy = post->easy;

    add_header(post, config->protocol == TRACE_JSON ? "Content-Type: application/json"
                                                    : "Content-Type: application/x-protobuf");
    add_header(post, "Expect:");
    for (size_t i = 0; i < config->n_headers; i++) {
        add_header(post, config->headers[i]);
    }
    curl_easy_setopt(easy, CURLOPT_URL, config->url);
    curl_easy_setopt(easy, CURLOPT_HTTPHEADER, post->headers);
    curl_easy_setopt(easy, CURLOPT_USERAGENT, agent);
    curl_easy_setopt(easy, CURLOPT_PROTOCOLS_STR, "http,https");
    curl_easy_setopt(easy, CURLOPT_HTTP_VERSION, (long)CURL_HTTP_VERSION_1_1);
    curl_easy_setopt(easy, CURLOPT_FOLLOWLOCATION, 0L);
    curl_easy_setopt(easy, CURLOPT_PROXY, ""); /* never what the environment says */
    curl_easy_setopt(easy, CURLOPT_NOSIGNAL, 1L);
    curl_easy_setopt(easy, CURLOPT_CONNECTTIMEOUT_MS, (long)CONNECT_TIMEOUT_MS);
    curl_easy_setopt(easy, CURLOPT_TIMEOUT_MS, (long)(config->timeout_ns / NS_PER_MS));
    curl_easy_setopt(easy, CURLOPT_SSLVERSION, (long)CURL_SSLVERSION_TLSv1_2);
    if (config->ca_file) {
        curl_easy_setopt(easy, CURLOPT_CAINFO, config->ca_file);
        curl_easy_setopt(easy, CURLOPT_CAPATH, NULL);
    }
    curl_easy_setopt(easy, CURLOPT_SSLCERT, config->cert_file);
    curl_easy_setopt(easy, CURLOPT_SSLKEY, config->key_file);
    curl_easy_setopt(easy, CURLOPT_OPENSOCKETFUNCTION, on_open);
    curl_easy_setopt(easy, CURLOPT_OPENSOCKETDATA, post);
    curl_easy_setopt(easy, CURLOPT_WRITEFUNCTION, on_write);
    curl_easy_setopt(easy, CURLOPT_WRITEDATA, post);
    curl_easy_setopt(easy, CURLOPT_ERRORBUFFER, post->error);
    curl_easy_setopt(easy, CURLOPT_POST, 1L);
}

int trace_post_new(Loop *loop, const TraceConfig *config, TracePostFn done, void *ctx,
                   TracePost **ret, Err *reterr)
{
    TracePost *post;
    int fd, r;

    if (curl_global_init(CURL_GLOBAL_DEFAULT) != CURLE_OK) {
        return err_set(reterr, EIO, "libcurl cannot be initialised");
    }
    fd = epoll_create1(EPOLL_CLOEXEC);
    if (fd < 0) {
        r = err_set_errno(reterr, errno, "epoll");
        curl_global_cleanup();
        return r;
    }
    post = xcalloc(1, sizeof(*post));
    *post = (TracePost){.loop = loop, .done = done, .ctx = ctx, .epoll_fd = fd};
    for (size_t i = 0; i < SOCKS_MAX; i++) {
        post->socks[i].fd = -1;
    }
    strbuf_init(&post->answer, TRACE_ANSWER_MAX);
    loop_timer_init(&post->timer, post_on_timer);
    CHECK(loop_io_add(loop, &post->io, fd, EPOLLIN, post_on_io) == 0);
    post->multi = curl_multi_init();
    post->easy = curl_easy_init();
    CHECK(post->multi && post->easy);
    curl_multi_setopt(post->multi, CURLMOPT_SOCKETFUNCTION, on_socket);
    curl_multi_setopt(post->multi, CURLMOPT_SOCKETDATA, post);
    curl_multi_setopt(post->multi, CURLMOPT_TIMERFUNCTION, on_timeout);
    curl_multi_setopt(post->multi, CURLMOPT_TIMERDATA, post);
    curl_multi_setopt(post->multi, CURLMOPT_MAXCONNECTS, 1L);
    easy_setup(post, config);
    *ret = post;
    return 0;
}

TracePost *trace_post_free(TracePost *post)
{
    if (!post) {
        return NULL;
    }
    if (post->busy) {
        curl_multi_remove_handle(post->multi, post->easy);
    }
    curl_easy_cleanup(post->easy);
    curl_multi_cleanup(post->multi);
    curl_slist_free_all(post->headers);
    loop_timer_disarm(&post->timer);
    loop_io_remove(&post->io);
    close(post->epoll_fd);
    strbuf_deinit(&post->answer);
    free(post);
    curl_global_cleanup();
    return NULL;
}

void trace_post_send(TracePost *post, Str body)
{
    CHECK(!post->busy);
    post->busy = true;
    post->error[0] = '\0';
    strbuf_clear(&post->answer);
    curl_easy_setopt(post->easy, CURLOPT_POSTFIELDSIZE_LARGE, (curl_off_t)body.len);
    curl_easy_setopt(post->easy, CURLOPT_POSTFIELDS, body.ptr);
    CHECK(curl_multi_add_handle(post->multi, post->easy) == CURLM_OK);
}
