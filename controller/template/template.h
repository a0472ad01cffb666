/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * The SandboxTemplate reconciler, inside: a template's hash label and its NetworkPolicy. The
 * builders are pure; test/unit/controller/test_template_*.c drives them from test/golden.
 */
#include "controller/engine/reconciler.h"
#include "controller/keys.h"
#include "json/jx.h"

/* "<template>-network-policy" in arena memory. */
Str template_netpol_name(const KubeObj *template, Arena *arena);
bool template_is_managed(const KubeObj *template);
/* The whole NetworkPolicy: the template's rules, or the default ones when it has none. */
json_t *template_netpol_desired(const KubeObj *template);
/* Merge patch that brings a live policy's spec in line, NULL when it says the same. Ports without
 * protocol mean TCP on both sides. */
json_t *template_netpol_patch(const KubeObj *template, const KubeObj *live);
