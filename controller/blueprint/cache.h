/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * What is derived from a SandboxTemplate, computed once per generation.
 *
 * Reconcilers ask for a template's facts on every pass, and a pool of three hundred members asks
 * three hundred times whether one is stale; decoding and comparing pod specs each time would be
 * most of the controller's work. The cache changes no answer, only its cost, so plans that use it
 * stay pure. Entries are keyed by UID, replaced when the generation moved, and at most
 * TEMPLATES_MAX are kept; the one unused for longest goes first.
 */
#include "base/hash.h"
#include "base/str.h"
#include "kube/object.h"
#include "json/jx.h"

#define TEMPLATES_MAX 1024
/* Different old blueprints remembered per template; more are compared anew each time. */
#define TEMPLATE_VERDICTS_MAX 64

typedef struct TemplateCache TemplateCache;

typedef struct TemplateFacts {
    json_t *spec;                 /* whole spec of the template */
    json_t *blueprint;            /* with secure defaults */
    json_t *canonical;            /* of blueprint */
    char ref_hash[HASH_HEX_SIZE]; /* of the template's name */
    char hash[HASH_HEX_SIZE];     /* of canonical */
    char pod_hash[HASH_HEX_SIZE]; /* of podTemplate alone, for consumers of the old label */
    bool policy_managed;          /* it has a NetworkPolicy that must exist first */
} TemplateFacts;

TemplateCache *template_cache_new(void);
TemplateCache *template_cache_free(TemplateCache *cache); /* NULL is fine; returns NULL */

/* Borrowed until the next call for another template. */
const TemplateFacts *template_cache_get(TemplateCache *cache, const KubeObj *template);

/* True when a Sandbox made for a pool no longer is what the template says: another template, or
 * another blueprint. The hash label decides when it is equal; else the blueprints are compared. */
bool template_cache_is_stale(TemplateCache *cache, const KubeObj *template, const KubeObj *sandbox);

/* Templates known, for tests. */
size_t template_cache_len(const TemplateCache *cache);

/* The same without a cache: `facts` of the template against one Sandbox. */
bool template_facts_differ(const TemplateFacts *facts, const KubeObj *sandbox);

DEFINE_AUTO_PTR(template_cache, TemplateCache, template_cache_free)
