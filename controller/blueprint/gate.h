/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * No Sandbox of a template before the NetworkPolicy that confines it: code that started a moment
 * earlier would have had the whole network.
 */
#include "controller/blueprint/cache.h"
#include "controller/engine/view.h"

/* True when a Sandbox may be made from the template now. *ret_name (arena) is the policy waited
 * for when not. */
bool template_gate_is_open(const View *view, const KubeObj *template, const TemplateFacts *facts,
                           Arena *arena, const char **ret_name);

/* True when this change of a NetworkPolicy may open the gate of the template *ret_template: it is
 * the template's own now and was not before. */
bool template_gate_opens(const KubeObj *before, const KubeObj *after, Str *ret_template);
