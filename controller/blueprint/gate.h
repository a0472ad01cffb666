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
