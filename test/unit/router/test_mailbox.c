/* SPDX-License-Identifier: Apache-2.0 */
#include "router/mailbox.h"
#include "test/harness/t.h"

#define LETTERS 1000

typedef struct Office {
    Loop *loop;
    pthread_mutex_t lock;
    size_t n_open;
    Mailbox box;
    int delivered;
    size_t left_when_told; /* what the last one who was told could read under the lock */
} Office;

typedef struct Letter {
    ListNode node;
    Office *office;
    int number;
} Letter;

static void deliver(ListNode *node)
{
    Letter *letter = list_entry(node, Letter, node);
    Office *office = letter->office;

    T_EQ_INT(letter->number, office->delivered);
    pthread_mutex_lock(&office->lock); /* it is free: who is told may ask again */
    office->left_when_told = office->n_open;
    pthread_mutex_unlock(&office->lock);
    if (++office->delivered == LETTERS) {
        loop_stop(office->loop, 7);
    }
}

static void *post_all(void *arg)
{
    Letter *letters = arg;
    Office *office = letters[0].office;

    for (int i = 0; i < LETTERS; i++) {
        pthread_mutex_lock(&office->lock);
        mailbox_post(&office->box, &letters[i].node);
        pthread_mutex_unlock(&office->lock);
    }
    return NULL;
}

T_TEST(answers_of_another_thread_come_in_order_with_the_lock_released)
{
    static Letter letters[LETTERS];
    Office office = {.lock = PTHREAD_MUTEX_INITIALIZER, .n_open = LETTERS + 2};
    pthread_t thread;

    T_OK(loop_new(clock_system(), &office.loop));
    mailbox_init(&office.box, office.loop, &office.lock, &office.n_open, deliver);
    for (int i = 0; i < LETTERS; i++) {
        letters[i] = (Letter){.office = &office, .number = i};
    }
    T_OK(pthread_create(&thread, NULL, post_all, letters));
    T_EQ_INT(loop_run(office.loop), 7);
    pthread_join(thread, NULL);
    T_EQ_INT(office.delivered, LETTERS);
    T_EQ_INT(office.left_when_told, 2);
    mailbox_deinit(&office.box);
    loop_free(office.loop);
}

T_TEST(an_answer_can_be_taken_back)
{
    Office office = {.lock = PTHREAD_MUTEX_INITIALIZER};
    Letter letter = {.office = &office};

    T_OK(loop_new(clock_system(), &office.loop));
    mailbox_init(&office.box, office.loop, &office.lock, NULL, deliver);
    mailbox_post(&office.box, &letter.node);
    list_remove(&letter.node);
    mailbox_deinit(&office.box);
    T_EQ_INT(office.delivered, 0);
    loop_free(office.loop);
}
