/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * Intrusive doubly linked list. The head is a List, members are ListNode fields of the caller's
 * objects; an unlinked node has next == NULL. Order of iteration is order of insertion.
 */
#include <stdbool.h>

#include "base/attr.h"
#include "base/check.h"

typedef struct ListNode ListNode;
struct ListNode {
    ListNode *next;
    ListNode *prev;
};

typedef struct List {
    ListNode head;
} List;

static inline void list_init(List *list)
{
    list->head.next = list->head.prev = &list->head;
}

static inline bool list_is_empty(const List *list)
{
    return list->head.next == &list->head;
}

static inline bool list_node_is_linked(const ListNode *node)
{
    return node->next != NULL;
}

static inline void list_insert_before(ListNode *at, ListNode *node)
{
    CHECK(!list_node_is_linked(node));
    node->next = at;
    node->prev = at->prev;
    at->prev->next = node;
    at->prev = node;
}

static inline void list_push_back(List *list, ListNode *node)
{
    list_insert_before(&list->head, node);
}

static inline void list_push_front(List *list, ListNode *node)
{
    list_insert_before(list->head.next, node);
}

/* Unlinking an unlinked node does nothing. */
static inline void list_remove(ListNode *node)
{
    if (node->next) {
        node->next->prev = node->prev;
        node->prev->next = node->next;
        node->next = node->prev = NULL;
    }
}

static inline ListNode *list_first(const List *list)
{
    return list_is_empty(list) ? NULL : list->head.next;
}

static inline ListNode *list_next(const List *list, const ListNode *node)
{
    return node->next == &list->head ? NULL : node->next;
}

static inline ListNode *list_pop_front(List *list)
{
    ListNode *node = list_first(list);

    if (node) {
        list_remove(node);
    }
    return node;
}

#define list_entry(node, T, member) container_of(node, T, member)

/* Safe against removal of the current node. */
#define list_foreach(list, it)                                                                     \
    for (ListNode *it = (list)->head.next, *it##_next = it->next; it != &(list)->head;             \
         it = it##_next, it##_next = it->next)
