/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * Names to addresses without blocking a worker, for the profile that trusts client-named targets.
 * A few threads call getaddrinfo(); answers come back through the asking loop's wake-up.
 */
#include <stdbool.h>

#include "base/list.h"
#include "base/loop.h"
#include "base/str.h"
#include "router/address.h"

#define DNS_THREADS 4
#define DNS_QUEUE_MAX 1024 /* questions waiting for a thread; more fail at once */
#define DNS_NAME_MAX 253

typedef struct Dns Dns;
typedef struct DnsInbox DnsInbox;
typedef struct DnsQuery DnsQuery;

/* error: 0, -ENOENT (no such name), -EAGAIN (the server did not answer). */
typedef void (*DnsFn)(void *ctx, int error, const Address *address);

Dns *dns_new(void);
Dns *dns_free(Dns *dns); /* waits for running lookups; NULL is fine */

/* Where the answers for one loop arrive. */
DnsInbox *dns_inbox_new(Dns *dns, Loop *loop);
DnsInbox *dns_inbox_free(DnsInbox *inbox); /* all queries done or cancelled */

/* NULL when the queue is full. Otherwise fn is called once from the inbox's loop. */
DnsQuery *dns_query(DnsInbox *inbox, Str name, DnsFn fn, void *ctx);
void dns_cancel(DnsQuery *query); /* fn will not be called */
