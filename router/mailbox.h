/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * Answers on their way back to the loop that asked. Somebody who holds the owner's lock posts, from
 * any thread; the loop takes them one by one and delivers each with the lock released, so that who
 * is told may ask or cancel again.
 *
 * The owner bounds the number of nodes: it is the number of its questions. A posted node may be
 * taken back with list_remove() under the lock.
 */
#include <pthread.h>

#include "base/list.h"
#include "base/loop.h"

/* Owns the node from here on. */
typedef void (*MailboxFn)(ListNode *node);

typedef struct Mailbox {
    pthread_mutex_t *lock; /* the owner's, outlives the mailbox */
    size_t *n_open; /* the owner's count of questions, less one with each node; may be NULL */
    MailboxFn deliver;
    LoopWake bell;
    List answers; /* under the lock */
} Mailbox;

void mailbox_init(Mailbox *box, Loop *loop, pthread_mutex_t *lock, size_t *n_open,
                  MailboxFn deliver);
void mailbox_deinit(Mailbox *box); /* empty by then */
/* With the lock held. */
void mailbox_post(Mailbox *box, ListNode *node);
