/* SPDX-License-Identifier: Apache-2.0 */
/*
 * See dns.h. One lock for everything: a query is in the queue, with a thread, or in its inbox's
 * list of answers, and cancelling looks where it is.
 */
#include "router/dns.h"

#include <errno.h>
#include <netdb.h>
#include <netinet/in.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

#include "base/check.h"
#include "base/mem.h"
#include "router/mailbox.h"

typedef enum DnsState {
    DNS_QUEUED,
    DNS_RUNNING,
    DNS_ANSWERED,
} DnsState;

struct DnsQuery {
    ListNode node;
    DnsInbox *inbox;
    DnsState state;
    bool cancelled;
    DnsFn fn;
    void *ctx;
    int error;
    Address address;
    char name[DNS_NAME_MAX + 2];
};

struct DnsInbox {
    Dns *dns;
    Mailbox box;
    size_t running; /* queries with a thread: the inbox must outlive them */
};

struct Dns {
    pthread_mutex_t lock;
    pthread_cond_t work;
    pthread_cond_t idle;
    pthread_t threads[DNS_THREADS];
    size_t n_threads;
    List queue;
    size_t n_queued;
    bool stopping;
};

static int lookup(const char *name, Address *ret)
{
    struct addrinfo hints = {.ai_socktype = SOCK_STREAM};
    struct addrinfo *list = NULL;
    int r = getaddrinfo(name, NULL, &hints, &list);
    Address address = {.set = true};

    if (r != 0) {
        return r == EAI_AGAIN ? -EAGAIN : -ENOENT;
    }
    if (list->ai_family == AF_INET) {
        struct sockaddr_in in;

        memcpy(&in, list->ai_addr, sizeof(in));
        memcpy(address.bytes, &in.sin_addr, 4);
    } else {
        struct sockaddr_in6 in6;

        memcpy(&in6, list->ai_addr, sizeof(in6));
        memcpy(address.bytes, &in6.sin6_addr, 16);
        address.v6 = true;
    }
    freeaddrinfo(list);
    *ret = address;
    return 0;
}

/* With the lock held. */
static void answer(Dns *dns, DnsQuery *query)
{
    query->inbox->running--;
    if (query->cancelled) {
        free(query);
        pthread_cond_broadcast(&dns->idle);
        return;
    }
    query->state = DNS_ANSWERED;
    mailbox_post(&query->inbox->box, &query->node);
    pthread_cond_broadcast(&dns->idle);
}

static void *dns_main(void *arg)
{
    Dns *dns = arg;

    pthread_mutex_lock(&dns->lock);
    while (!dns->stopping) {
        ListNode *node = list_pop_front(&dns->queue);

        if (!node) {
            pthread_cond_wait(&dns->work, &dns->lock);
            continue;
        }
        DnsQuery *query = list_entry(node, DnsQuery, node);
        Address address = {0};
        int error;

        dns->n_queued--;
        query->state = DNS_RUNNING;
        query->inbox->running++;
        pthread_mutex_unlock(&dns->lock);
        error = lookup(query->name, &address);
        pthread_mutex_lock(&dns->lock);
        query->error = error;
        query->address = address;
        answer(dns, query);
    }
    pthread_mutex_unlock(&dns->lock);
    return NULL;
}

Dns *dns_new(void)
{
    Dns *dns = xcalloc(1, sizeof(*dns));
    sigset_t all, old;

    CHECK(pthread_mutex_init(&dns->lock, NULL) == 0);
    CHECK(pthread_cond_init(&dns->work, NULL) == 0);
    CHECK(pthread_cond_init(&dns->idle, NULL) == 0);
    list_init(&dns->queue);
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &old);
    for (; dns->n_threads < DNS_THREADS; dns->n_threads++) {
        if (pthread_create(&dns->threads[dns->n_threads], NULL, dns_main, dns) != 0) {
            break;
        }
    }
    pthread_sigmask(SIG_SETMASK, &old, NULL);
    CHECK(dns->n_threads > 0);
    return dns;
}

Dns *dns_free(Dns *dns)
{
    if (!dns) {
        return NULL;
    }
    pthread_mutex_lock(&dns->lock);
    dns->stopping = true;
    pthread_cond_broadcast(&dns->work);
    pthread_mutex_unlock(&dns->lock);
    for (size_t i = 0; i < dns->n_threads; i++) {
        pthread_join(dns->threads[i], NULL);
    }
    CHECK(list_is_empty(&dns->queue));
    pthread_cond_destroy(&dns->work);
    pthread_cond_destroy(&dns->idle);
    pthread_mutex_destroy(&dns->lock);
    free(dns);
    return NULL;
}

static void deliver(ListNode *node)
{
    DnsQuery *query = list_entry(node, DnsQuery, node);
    DnsFn fn = query->fn;
    void *ctx = query->ctx;
    Address address = query->address;
    int error = query->error;

    free(query);
    fn(ctx, error, &address);
}

DnsInbox *dns_inbox_new(Dns *dns, Loop *loop)
{
    DnsInbox *inbox = xcalloc(1, sizeof(*inbox));

    inbox->dns = dns;
    mailbox_init(&inbox->box, loop, &dns->lock, NULL, deliver);
    return inbox;
}

DnsInbox *dns_inbox_free(DnsInbox *inbox)
{
    if (!inbox) {
        return NULL;
    }
    pthread_mutex_lock(&inbox->dns->lock);
    while (inbox->running > 0) {
        pthread_cond_wait(&inbox->dns->idle, &inbox->dns->lock);
    }
    pthread_mutex_unlock(&inbox->dns->lock);
    mailbox_deinit(&inbox->box);
    free(inbox);
    return NULL;
}

DnsQuery *dns_query(DnsInbox *inbox, Str name, DnsFn fn, void *ctx)
{
    Dns *dns = inbox->dns;
    DnsQuery *query;

    if (name.len > DNS_NAME_MAX) {
        return NULL;
    }
    query = xcalloc(1, sizeof(*query));
    query->inbox = inbox;
    query->fn = fn;
    query->ctx = ctx;
    memcpy(query->name, name.ptr, name.len);
    pthread_mutex_lock(&dns->lock);
    if (dns->n_queued >= DNS_QUEUE_MAX) {
        pthread_mutex_unlock(&dns->lock);
        free(query);
        return NULL;
    }
    dns->n_queued++;
    list_push_back(&dns->queue, &query->node);
    pthread_cond_signal(&dns->work);
    pthread_mutex_unlock(&dns->lock);
    return query;
}

void dns_cancel(DnsQuery *query)
{
    Dns *dns = query->inbox->dns;

    pthread_mutex_lock(&dns->lock);
    if (query->state == DNS_RUNNING) {
        query->cancelled = true; /* its thread frees it */
    } else {
        dns->n_queued -= query->state == DNS_QUEUED;
        list_remove(&query->node);
        free(query);
    }
    pthread_mutex_unlock(&dns->lock);
}
