/* SPDX-License-Identifier: Apache-2.0 */
/* See listen.h. Addresses are numeric; an empty host means every address of both families. */
#include "http/listen.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/attr.h"
#include "http/url.h"

typedef union SockAddr {
    struct sockaddr sa;
    struct sockaddr_in in;
    struct sockaddr_in6 in6;
} SockAddr;

static int parse_address(Str address, SockAddr *ret_addr, bool *ret_any)
{
    char text[INET6_ADDRSTRLEN];
    SockAddr addr = {0};
    uint16_t port;
    Str host;

    if (http_authority_split(address, &host, &port) < 0 || host.len >= sizeof(text)) {
        return -EINVAL;
    }
    memcpy(text, host.ptr, host.len);
    text[host.len] = '\0';
    if (host.len == 0) {
        addr.in6 = (struct sockaddr_in6){.sin6_family = AF_INET6, .sin6_port = htons(port)};
    } else if (inet_pton(AF_INET, text, &addr.in.sin_addr) == 1) {
        addr.in.sin_family = AF_INET;
        addr.in.sin_port = htons(port);
    } else if (inet_pton(AF_INET6, text, &addr.in6.sin6_addr) == 1) {
        addr.in6.sin6_family = AF_INET6;
        addr.in6.sin6_port = htons(port);
    } else {
        return -EINVAL;
    }
    *ret_addr = addr;
    *ret_any = host.len == 0;
    return 0;
}

static socklen_t addr_len(const SockAddr *addr)
{
    return addr->sa.sa_family == AF_INET ? sizeof(addr->in) : sizeof(addr->in6);
}

static int set_option(int fd, int level, int option, int value)
{
    return setsockopt(fd, level, option, &value, sizeof(value)) < 0 ? -errno : 0;
}

/* The bound and listening socket, or -errno. */
static int open_listener(const SockAddr *addr, bool any, bool reuse_port)
{
    int fd = socket(addr->sa.sa_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    int r;

    if (fd < 0) {
        return -errno;
    }
    r = set_option(fd, SOL_SOCKET, SO_REUSEADDR, 1);
    if (r == 0 && reuse_port) {
        r = set_option(fd, SOL_SOCKET, SO_REUSEPORT, 1);
    }
    if (r == 0 && addr->sa.sa_family == AF_INET6) {
        r = set_option(fd, IPPROTO_IPV6, IPV6_V6ONLY, !any);
    }
    if (r == 0) {
        r = set_option(fd, IPPROTO_TCP, TCP_NODELAY, 1); /* accepted sockets inherit it */
    }
    if (r == 0 &&
        (bind(fd, &addr->sa, addr_len(addr)) < 0 || listen(fd, HTTP_LISTEN_BACKLOG) < 0)) {
        r = -errno;
    }
    if (r < 0) {
        close(fd);
        return r;
    }
    return fd;
}

int http_listen(Str address, bool reuse_port, int *ret_fd, Err *reterr)
{
    SockAddr addr;
    bool any;
    int fd;

    if (parse_address(address, &addr, &any) < 0) {
        return err_set(reterr, EINVAL,
                       "\"" STR_FMT "\" is not an address to listen on (HOST:PORT or :PORT)",
                       STR_ARG(address));
    }
    fd = open_listener(&addr, any, reuse_port);
    if (any && (fd == -EAFNOSUPPORT || fd == -EADDRNOTAVAIL)) {
        in_port_t port = addr.in6.sin6_port; /* no IPv6 on this machine */

        addr = (SockAddr){.in = {.sin_family = AF_INET, .sin_port = port}};
        fd = open_listener(&addr, any, reuse_port);
    }
    if (fd < 0) {
        return err_set_errno(reterr, -fd, "listen on " STR_FMT, STR_ARG(address));
    }
    *ret_fd = fd;
    return 0;
}

uint16_t http_listen_port(int fd)
{
    SockAddr addr = {0};
    socklen_t len = sizeof(addr);

    if (getsockname(fd, &addr.sa, &len) < 0) {
        return 0;
    }
    return ntohs(addr.sa.sa_family == AF_INET ? addr.in.sin_port : addr.in6.sin6_port);
}
