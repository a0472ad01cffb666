/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/* Insides of the libcurl transport, shared by kube/curl*.c only. */
#include <curl/curl.h>

#include "base/mem.h"
#include "base/vec.h"
#include "kube/bucket.h"
#include "kube/cred.h"
#include "kube/curl.h"

#define KUBE_CURL_HANDLES_KEPT 128
/* Connections of a shard, when the peer allows few streams or speaks only HTTP/1.1. */
#define KUBE_CURL_CONNECTIONS 8

/* What libcurl wants to know about a socket. */
typedef struct ShardSock {
    int fd;
    uint32_t events;
} ShardSock;

/*
 * One CURLM. Its sockets live in an epoll of its own, which the loop watches as one descriptor:
 * this libcurl closes sockets that never got connected without saying so, and a loop that owned
 * them would be left with dead descriptors.
 */
typedef struct Shard {
    KubeCurl *curl;
    CURLM *multi;
    ListNode node; /* in curl->shards */
    LoopTimer timer;
    LoopIo io;
    VEC(ShardSock) socks;
    int epoll_fd;
    size_t flights;
    bool watches;
    bool retired;
} Shard;

typedef struct Flight {
    KubeCurl *curl;
    KubeRequest *req; /* NULL after cancel */
    Shard *shard;     /* NULL while queued */
    CURL *easy;
    struct curl_slist *headers;
    ListNode node; /* queue, flying or dropped */
    LoopTimer deadline;
    uint64_t last_byte_ns;
    StrBuf body;
    uint64_t received;
    int http_status;
    bool queued;
    int abort; /* why we end it, -errno */
    char text[CURL_ERROR_SIZE];
} Flight;

struct KubeCurl {
    KubeTransport transport;
    Loop *loop;
    KubeCurlOptions options;
    KubeCred cred;
    uint64_t tls_gen; /* of the current shards */
    uint64_t token_read_ns;
    char *agent;
    char *base; /* scheme and authority of URLs */
    struct curl_slist *connect_to;
    Shard *current[KUBE_CURL_SHARDS_MAX + 1]; /* the last one is for watches */
    unsigned n_shards;
    List shards;
    List queue[KUBE_PRIO_MAX_];
    List watch_queue;
    List refused; /* no room: to be failed */
    List flying;
    List dropped; /* cancelled inside libcurl's frame */
    bool in_curl;
    LoopDefer pump;
    KubeBucket bucket;
    LoopTimer throttled; /* until the next token */
    VEC(CURL *) handles;
    KubeCurlStats stats;
};

/* curl.c: collects flights that ended; runs callbacks. */
void kube_curl_collect(Shard *shard);

/* curl_shard.c */
Shard *kube_curl_shard_new(KubeCurl *curl, bool watches);
void kube_curl_shard_free(Shard *shard);
/* CURLOPT_OPENSOCKETFUNCTION; its context is the shard. */
curl_socket_t kube_curl_shard_open(void *ctx, curlsocktype purpose, struct curl_sockaddr *address);

/* curl_easy.c: all options of a request but its callbacks. */
void kube_curl_easy_setup(Flight *flight);
