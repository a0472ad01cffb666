/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * Listening sockets from Go-style addresses: ":8080" (all addresses, both families),
 * "0.0.0.0:8080",
 * "[::1]:8080", "127.0.0.1:0". Host names are not resolved. Sockets are non-blocking,
 * close-on-exec.
 */
#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "base/str.h"

#define HTTP_LISTEN_BACKLOG 4096

/* reuse_port: several sockets may share the address, one for each worker thread. */
int http_listen(Str address, bool reuse_port, int *ret_fd, Err *reterr);
uint16_t http_listen_port(int fd); /* the port that the kernel gave, 0 on failure */
