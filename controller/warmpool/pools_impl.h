/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * Inside of warmpool/pools.h, shared by pools.c (keeping it) and pick.c (choosing from it).
 */
#include "base/hmap.h"
#include "base/list.h"
#include "controller/warmpool/pools.h"

typedef enum MemberState {
    MEMBER_NONE, /* not to be claimed */
    MEMBER_PENDING,
    MEMBER_UNREADY,
    MEMBER_READY,
} MemberState;

typedef struct Pool {
    HMapNode by_uid;
    char *uid;
    List groups;
    bool slot_known; /* the pool object was seen */
    bool exists;     /* it is in the store */
    uint64_t next_slot;
} Pool;

typedef struct Group {
    ListNode node; /* of Pool.groups */
    char *key;     /* both template hash labels */
    List buckets;
    List unready;
    size_t n_members; /* of any state */
    size_t n_pending;
} Group;

typedef struct Bucket {
    ListNode node; /* of Group.buckets */
    char *host;    /* "" = not known */
    List members;
    size_t len;
} Bucket;

typedef struct Member {
    HMapNode by_uid;
    ListNode node; /* of Bucket.members or Group.unready */
    char *uid;
    char *name;
    uint64_t seq; /* order of arrival in its list */
    MemberState state;
    Pool *pool;
    Group *group;
    Bucket *bucket;
} Member;

struct Pools {
    HMap pools;
    HMap members;
    uint64_t seed;
    uint64_t seq;
    TemplateCache *templates;
    Rosters *rosters;
    KubeStore *sandboxes;
    KubeListener on_sandbox;
    KubeListener on_pool;
};

Pool *pools_find(const Pools *pools, Str uid); /* NULL when not known */
