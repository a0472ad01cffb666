/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * Equality of Kubernetes objects as Go's typed comparison sees it, on JSON. Objects that a Go
 * controller wrote were re-marshalled (empty lists dropped, quantities rewritten), so two texts are
 * compared through a normal form, never raw.
 *
 * Normal form of a value (jx_normalize, a new tree):
 *  1. members that are null, "" or [] are dropped;
 *  2. string maps (labels, annotations, matchLabels, nodeSelector, data, ...) keep their members as
 *     they are, "" included, and are dropped when empty;
 *  3. members whose Go type is a struct and not a pointer (metadata, spec, status, resources, ...)
 * are dropped when nothing is left in them; any other {} stays, because `emptyDir: {}` is not
 * absence;
 *  4. false and 0 are dropped where the Go field is a plain bool or integer (hostNetwork, readOnly,
 *     timeoutSeconds, ...) and stay elsewhere, because `automountServiceAccountToken: false` is not
 *     absence;
 *  5. quantities (members of limits, requests, capacity, overhead ...; sizeLimit, divisor) become
 * one canonical decimal text, so that 1024Mi = 1Gi and 0.5 = 500m; text that is no quantity stays;
 *  6. array elements are never dropped and keep their order; IntOrString keeps its kind (80 !=
 * "80").
 *
 * The field lists are tables in semantic.c. Server defaults (protocol: TCP) are not a matter of
 * this file: callers default both sides first.
 */
#include <stdbool.h>

#include "json/jx.h"

json_t *jx_normalize(const json_t *value) MUST_USE;

/* True when the normal forms are equal. NULL counts as absent, like null. */
bool jx_equal_semantic(const json_t *a, const json_t *b);
