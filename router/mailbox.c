/* SPDX-License-Identifier: Apache-2.0 */
/* See mailbox.h. */
#include "router/mailbox.h"

#include "base/check.h"

static ListNode *take(Mailbox *box)
{
    ListNode *node;

    pthread_mutex_lock(box->lock);
    node = list_pop_front(&box->answers);
    if (node && box->n_open) {
        --*box->n_open;
    }
    pthread_mutex_unlock(box->lock);
    return node;
}

static void on_bell(LoopWake *bell)
{
    Mailbox *box = container_of(bell, Mailbox, bell);
    ListNode *node;

    while ((node = take(box))) {
        box->deliver(node);
    }
}

void mailbox_init(Mailbox *box, Loop *loop, pthread_mutex_t *lock, size_t *n_open,
                  MailboxFn deliver)
{
    *box = (Mailbox){.lock = lock, .n_open = n_open, .deliver = deliver};
    list_init(&box->answers);
    CHECK(loop_wake_init(loop, &box->bell, on_bell) == 0);
}

void mailbox_deinit(Mailbox *box)
{
    CHECK(list_is_empty(&box->answers));
    loop_wake_deinit(&box->bell);
}

void mailbox_post(Mailbox *box, ListNode *node)
{
    list_push_back(&box->answers, node);
    loop_wake_signal(&box->bell);
}
