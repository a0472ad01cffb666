/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * Label selectors as text: a=b, a==b, a!=b, "a in (x,y)", "a notin (x,y)", a, !a, joined by commas.
 * The empty selector matches everything.
 */
#include <stdbool.h>

#include "base/err.h"
#include "base/str.h"

#define KUBE_SELECTOR_TERMS_MAX 32
#define KUBE_SELECTOR_VALUES_MAX 128

typedef struct KubeSelector KubeSelector;

/* The value of label `key`, STR_NULL when absent. */
typedef Str (*KubeLabelFn)(const void *ctx, Str key);

int kube_selector_parse(Str text, KubeSelector **ret_selector, Err *reterr);
KubeSelector *kube_selector_free(KubeSelector *selector);
bool kube_selector_matches(const KubeSelector *selector, KubeLabelFn label, const void *ctx);

DEFINE_AUTO_PTR(kube_selector, KubeSelector, kube_selector_free)
