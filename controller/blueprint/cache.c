/* SPDX-License-Identifier: Apache-2.0 */
/* controller/blueprint/cache.c
 *
 * A list in order of use and a hash map by UID. Verdicts are a small array of old hash labels.
 */
#include "controller/blueprint/cache.h"

#include "base/hmap.h"
#include "base/list.h"
#include "base/mem.h"
#include "base/vec.h"
#include "controller/blueprint/blueprint.h"
#include "controller/keys.h"

typedef struct Verdict {
    char hash[HASH_HEX_SIZE]; /* the Sandbox's template-hash label */
    bool stale;
} Verdict;

typedef struct Entry {
    HMapNode node;
    ListNode lru;
    char *uid;
    int64_t generation;
    uint64_t rv; /* highest seen: an older one is of a storage that went back, where a generation
                    says nothing */
    TemplateFacts facts;
    VEC(Verdict) verdicts;
} Entry;

struct TemplateCache {
    HMap by_uid;
    List lru; /* used last at the back */
    size_t len;
};

static void facts_clear(TemplateFacts *facts)
{
    json_decref(facts->spec);
    json_decref(facts->blueprint);
    json_decref(facts->canonical);
    *facts = (TemplateFacts){0};
}

static void facts_fill(TemplateFacts *facts, const KubeObj *template)
{
    Str management;

    facts->spec = jnode_to_jansson(kube_obj_spec(template));
    if (!facts->spec) {
        facts->spec = jx_object_new();
    }
    facts->blueprint = blueprint_from_spec(facts->spec);
    blueprint_apply_secure_defaults(facts->blueprint, facts->spec);
    facts->canonical = blueprint_canonical(facts->blueprint);
    blueprint_hash(facts->canonical, facts->hash);
    jx_hash(json_object_get(facts->blueprint, "podTemplate"), facts->pod_hash);
    hash_name(template->name, facts->ref_hash);
    management = jx_get_str(facts->spec, "networkPolicyManagement");
    facts->policy_managed = !str_eq(management, STR("Unmanaged"));
}

static void entry_free(TemplateCache *cache, Entry *entry)
{
    hmap_remove(&cache->by_uid, &entry->node);
    list_remove(&entry->lru);
    facts_clear(&entry->facts);
    vec_free(&entry->verdicts);
    free(entry->uid);
    free(entry);
    cache->len--;
}

TemplateCache *template_cache_new(void)
{
    TemplateCache *cache = xcalloc(1, sizeof(*cache));

    hmap_init(&cache->by_uid);
    list_init(&cache->lru);
    return cache;
}

TemplateCache *template_cache_free(TemplateCache *cache)
{
    if (!cache) {
        return NULL;
    }
    list_foreach (&cache->lru, it) {
        entry_free(cache, list_entry(it, Entry, lru));
    }
    hmap_deinit(&cache->by_uid);
    free(cache);
    return NULL;
}

size_t template_cache_len(const TemplateCache *cache)
{
    return cache->len;
}

static Entry *entry_find(TemplateCache *cache, Str uid, uint64_t hash)
{
    for (HMapNode *n = hmap_first(&cache->by_uid, hash); n; n = hmap_next(n)) {
        Entry *entry = container_of(n, Entry, node);

        if (str_eq(str_from(entry->uid), uid)) {
            return entry;
        }
    }
    return NULL;
}

static Entry *entry_get(TemplateCache *cache, const KubeObj *template)
{
    uint64_t hash = hash_str(0, template->uid);
    Entry *entry = entry_find(cache, template->uid, hash);

    if (entry && entry->generation == kube_obj_generation(template) && template->rv >= entry->rv) {
        entry->rv = template->rv;
        list_remove(&entry->lru);
        list_push_back(&cache->lru, &entry->lru);
        return entry;
    }
    if (entry) {
        entry_free(cache, entry);
    } else if (cache->len == TEMPLATES_MAX) {
        entry_free(cache, list_entry(list_first(&cache->lru), Entry, lru));
    }
    entry = xcalloc(1, sizeof(*entry));
    entry->uid = xstrndup(template->uid.ptr, template->uid.len);
    entry->generation = kube_obj_generation(template);
    entry->rv = template->rv;
    facts_fill(&entry->facts, template);
    hmap_insert(&cache->by_uid, &entry->node, hash);
    list_push_back(&cache->lru, &entry->lru);
    cache->len++;
    return entry;
}

const TemplateFacts *template_cache_get(TemplateCache *cache, const KubeObj *template)
{
    return &entry_get(cache, template)->facts;
}

bool template_facts_differ(const TemplateFacts *facts, const KubeObj *sandbox)
{
    AUTO(json) json_t *spec = jnode_to_jansson(kube_obj_spec(sandbox));
    AUTO(json) json_t *blueprint = blueprint_from_spec(spec);
    AUTO(json) json_t *canonical = blueprint_canonical(blueprint);

    return !json_equal(canonical, facts->canonical);
}

bool template_cache_is_stale(TemplateCache *cache, const KubeObj *template, const KubeObj *sandbox)
{
    Entry *entry = entry_get(cache, template);
    Str ref_hash = kube_obj_label(sandbox, STR(LABEL_TEMPLATE_REF_HASH));
    Str hash = kube_obj_label(sandbox, STR(LABEL_TEMPLATE_HASH));
    Verdict verdict;

    if (!str_eq(ref_hash, str_from(entry->facts.ref_hash))) {
        return true;
    }
    if (str_eq(hash, str_from(entry->facts.hash))) {
        return false;
    }
    /* A verdict about a hash holds for Sandboxes that are still as they were made. */
    if (hash.len != HASH_HEX_SIZE - 1 || kube_obj_generation(sandbox) > 1) {
        return template_facts_differ(&entry->facts, sandbox);
    }
    vec_foreach (&entry->verdicts, it) {
        if (str_eq(str_from(it->hash), hash)) {
            return it->stale;
        }
    }
    verdict.stale = template_facts_differ(&entry->facts, sandbox);
    memcpy(verdict.hash, hash.ptr, hash.len);
    verdict.hash[hash.len] = '\0';
    if (entry->verdicts.len < TEMPLATE_VERDICTS_MAX) {
        vec_push(&entry->verdicts, verdict);
    }
    return verdict.stale;
}
