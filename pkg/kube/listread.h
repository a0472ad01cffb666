/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * Splits the text of a List into its items while it arrives, so that memory holds one item and not
 * one page. The splitter follows only strings and brackets; each item is validated by its decoder
 * and the rest of the document when the end is there. Ends are exact: a body that stops early, or
 * goes on after the closing brace, is an error.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "base/str.h"

#define KUBE_LIST_SHELL_MAX (64u << 10) /* a List without its items */
#define KUBE_LIST_ITEMS_MAX 100000      /* items of one page */

typedef struct KubeListRead KubeListRead;
/* One item; <0 stops the reader with that error. */
typedef int (*KubeListItemFn)(KubeListRead *reader, Str item, Err *reterr);

struct KubeListRead {
    KubeListItemFn fn;
    StrBuf item;  /* unfinished item */
    StrBuf shell; /* everything outside the items */
    size_t n_items;
    size_t key_at;  /* start in shell of the last string at depth 1 */
    size_t key_end; /* 0 = no complete string yet */
    uint32_t depth; /* open brackets */
    uint8_t state;
    bool in_string;
    bool escape;
    bool comma; /* an item may begin: at the start and after a comma */
    bool items_seen;
    bool done;
};

void kube_listread_init(KubeListRead *reader, KubeListItemFn fn);
void kube_listread_deinit(KubeListRead *reader);
int kube_listread_feed(KubeListRead *reader, Str chunk, Err *reterr);
/* The shell with an empty items array when the document is complete, else -EBADMSG. */
int kube_listread_end(KubeListRead *reader, Str *ret_shell, Err *reterr);
