/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/* Private to review*.c. */
#include "base/hmap.h"
#include "router/mailbox.h"
#include "router/review.h"

#define REVIEW_KEY_SIZE 32
#define REVIEW_LABEL_MAX 63

typedef enum ReviewKind {
    REVIEW_TOKENS,
    REVIEW_ACCESS,
    REVIEW_KINDS,
} ReviewKind;

typedef struct ReviewKey {
    unsigned char bytes[REVIEW_KEY_SIZE];
} ReviewKey;

typedef struct ReviewFlight ReviewFlight;

/* Of a token, or of a token and a sandbox. Not in a list of ages while a call is under way. */
typedef struct ReviewEntry {
    HMapNode node;
    ListNode age;
    ReviewKind kind;
    ReviewKey key;
    ReviewVerdict verdict;   /* REVIEW_PENDING until the first answer */
    uint64_t until_ns;       /* how long it is believed */
    int64_t exp_s;           /* of the token, 0 = unknown */
    uint64_t token_until_ns; /* access: when the token has to be reviewed again */
    char *user;              /* tokens: owned JSON, see review_api.h */
    List queries;
    ReviewFlight *flight;
} ReviewEntry;

struct ReviewFlight {
    KubeRequest req;
    ListNode node; /* of review->starting until it is submitted */
    Review *review;
    ReviewEntry *entry;
    char *body;
};

struct ReviewQuery {
    ListNode node; /* of incoming, an entry, or its inbox's answers */
    ReviewInbox *inbox;
    ReviewFn fn;
    void *ctx;
    ReviewVerdict verdict;
    ReviewKey token_key;
    ReviewKey access_key;
    char ns[REVIEW_LABEL_MAX + 1];
    char name[REVIEW_LABEL_MAX + 1];
    size_t token_len;
    char token[];
};

struct ReviewInbox {
    Review *review;
    Loop *loop;
    Mailbox box;
};

struct Review {
    ReviewConfig config;
    Loop *loop;
    LoopWake bell;
    pthread_mutex_t lock;
    List incoming;
    size_t n_queries;
    HMap map[REVIEW_KINDS];
    List refused[REVIEW_KINDS]; /* the oldest first; these go first */
    List allowed[REVIEW_KINDS];
    List starting;
    size_t n_flights;
    uint64_t complained_ns;
    CounterFamily *reviews;
};

/* ---- review_cache.c; with the lock held ---- */
ReviewEntry *review_cache_find(Review *review, ReviewKind kind, const ReviewKey *key);
/* Makes room by forgetting. NULL when every entry has a call under way. */
ReviewEntry *review_cache_add(Review *review, ReviewKind kind, const ReviewKey *key);
/* Remembers an answer, no longer than `until_ns` and what the verdict allows. */
void review_cache_settle(Review *review, ReviewEntry *entry, ReviewVerdict verdict,
                         uint64_t until_ns);
void review_cache_clear(Review *review);
static inline bool review_is_fresh(const ReviewEntry *entry, uint64_t now_ns)
{
    return entry && entry->verdict != REVIEW_PENDING && now_ns < entry->until_ns;
}
