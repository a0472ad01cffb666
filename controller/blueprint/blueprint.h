/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * What a SandboxTemplate says a Sandbox is to be: podTemplate, volumeClaimTemplates and service.
 *
 * Pure functions over JSON: copy a blueprint out of a spec, put the secure defaults on, bring it
 * into a canonical form in which two blueprints mean the same exactly when they are equal, and hash
 * that form. The hash is the value of the template-hash label, so it has to stay the same across
 * restarts and releases.
 */
#include "base/hash.h"
#include "base/str.h"
#include "json/jx.h"

/* Copies podTemplate, volumeClaimTemplates and service out of the spec of a SandboxTemplate or a
 * Sandbox. Always has podTemplate.metadata and podTemplate.spec. Owned by the caller. */
json_t *blueprint_from_spec(const json_t *spec);

/* Secure defaults of Sandboxes that a pool or a claim makes: no service account token unless asked
 * for; public resolvers when the template's network policy is the default one. `template_spec` is
 * the whole spec of the template. */
void blueprint_apply_secure_defaults(json_t *blueprint, const json_t *template_spec);

/* What counts for staleness, in the normal form of json/semantic.h: pod spec, name and spec of each
 * volume claim, service. Metadata does not count. Owned by the caller. */
json_t *blueprint_canonical(const json_t *blueprint);

/* FNV-1a of a canonical form, 8 hex digits. */
void blueprint_hash(const json_t *canonical, char ret_hex[HASH_HEX_SIZE]);
