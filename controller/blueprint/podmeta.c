/* SPDX-License-Identifier: Apache-2.0 */
/* controller/blueprint/podmeta.c
 *
 * Keys are visited in byte order. Domains compare without regard to case, as DNS does.
 */
#include "controller/blueprint/podmeta.h"

#include "controller/keys.h"
#include "kube/meta.h"

typedef struct Check {
    const char *const *domains;
    size_t n_domains;
    Arena *arena;
    const char **ret_text;
} Check;

static const char *const forbidden_annotation_domains[] = {"kubernetes.io", "k8s.io",
                                                           API_GROUP_CORE};

bool podmeta_key_is_reserved(Str key)
{
    return str_starts(key, STR(KEY_PREFIX_CORE)) || str_starts(key, STR(KEY_PREFIX_EXTENSIONS)) ||
           str_eq(key, STR(ANNOTATION_TRACE_CONTEXT));
}

/* `domain` itself or a sub-domain of it. */
static bool domain_is_under(Str name, Str domain)
{
    if (name.len == domain.len) {
        return str_eq_nocase(name, domain);
    }
    return name.len > domain.len && name.ptr[name.len - domain.len - 1] == '.' &&
           str_eq_nocase(str_drop(name, name.len - domain.len), domain);
}

static bool domain_is_in(Str name, const char *const *domains, size_t n_domains)
{
    for (size_t i = 0; i < n_domains; i++) {
        if (domain_is_under(name, str_from(domains[i]))) {
            return true;
        }
    }
    return false;
}

/* The part before the slash, STR_NULL when there is none. */
static Str key_domain(Str key)
{
    ptrdiff_t at = str_find(key, '/');

    return at < 0 ? STR_NULL : str_take(key, (size_t)at);
}

static int label_check(const Check *check, Str key, Str value)
{
    Str domain = key_domain(key);

    if (!kube_name_is_qualified(key)) {
        *check->ret_text =
            arena_printf(check->arena, "label key \"" STR_FMT "\" is not valid", STR_ARG(key));
    } else if (str_eq_nocase(key, STR("app")) && str_eq_nocase(value, STR("sandbox-router"))) {
        *check->ret_text =
            arena_printf(check->arena, "label \"" STR_FMT "\" may not be \"" STR_FMT "\"",
                         STR_ARG(key), STR_ARG(value));
    } else if (domain.len == 0) {
        *check->ret_text = arena_printf(
            check->arena, "label key \"" STR_FMT "\" must have a domain prefix", STR_ARG(key));
    } else if (!domain_is_in(domain, check->domains, check->n_domains)) {
        *check->ret_text =
            arena_printf(check->arena,
                         "label domain \"" STR_FMT "\" of \"" STR_FMT "\" is not in the allow-list",
                         STR_ARG(domain), STR_ARG(key));
    } else if (!kube_label_value_is_valid(value)) {
        *check->ret_text =
            arena_printf(check->arena, "value of label \"" STR_FMT "\" is not valid", STR_ARG(key));
    } else {
        return 0;
    }
    return PODMETA_E_INVALID;
}

static int annotation_check(const Check *check, Str key, Str value)
{
    Str domain = key_domain(key);

    UNUSED(value);
    if (!kube_name_is_qualified(key)) {
        *check->ret_text =
            arena_printf(check->arena, "annotation key \"" STR_FMT "\" is not valid", STR_ARG(key));
        return PODMETA_E_INVALID;
    }
    if (!str_eq(key, STR(ANNOTATION_SAFE_TO_EVICT)) &&
        domain_is_in(domain, forbidden_annotation_domains,
                     ARRAY_LEN(forbidden_annotation_domains))) {
        *check->ret_text = arena_printf(
            check->arena, "annotation domain \"" STR_FMT "\" of \"" STR_FMT "\" is reserved",
            STR_ARG(domain), STR_ARG(key));
        return PODMETA_E_INVALID;
    }
    return 0;
}

static int member_error(Arena *arena, const char *map, const char **ret_text)
{
    *ret_text = arena_printf(arena, "%s must be a map of strings", map);
    return PODMETA_E_INVALID;
}

/* Runs `fn` over a string map. Of several bad keys the smallest is reported: the text of an earlier
 * find is replaced only by a smaller key. */
static int map_check(const Check *check, const json_t *map,
                     int (*fn)(const Check *, Str key, Str value), const char *what)
{
    Str worst = STR_NULL;
    const char *key;
    json_t *value;

    if (map && !json_is_object(map) && !json_is_null(map)) {
        return member_error(check->arena, what, check->ret_text);
    }
    json_object_foreach((json_t *)map, key, value)
    {
        const char *text = NULL;
        Check one = {check->domains, check->n_domains, check->arena, &text};
        Str name = str_from(key);
        int r = json_is_string(value) ? fn(&one, name, jx_str(value))
                                      : member_error(check->arena, what, &text);

        if (r != 0 && (!worst.ptr || str_cmp(name, worst) < 0)) {
            worst = name;
            *check->ret_text = text;
        }
    }
    return worst.ptr ? PODMETA_E_INVALID : 0;
}

int podmeta_validate(const json_t *additional, const char *const *domains, size_t n_domains,
                     Arena *arena, const char **ret_text)
{
    Check check = {domains, n_domains, arena, ret_text};
    int r;

    r = map_check(&check, json_object_get(additional, "labels"), label_check, "labels");
    if (r != 0) {
        return r;
    }
    return map_check(&check, json_object_get(additional, "annotations"), annotation_check,
                     "annotations");
}

/* The smallest key whose value differs, NULL when there is none. */
static const char *conflict_find(const json_t *have, const json_t *add)
{
    const char *found = NULL;
    const char *key;
    json_t *value;

    json_object_foreach((json_t *)add, key, value)
    {
        const json_t *old = json_object_get(have, key);

        if (old && !json_equal(old, value) &&
            (!found || str_cmp(str_from(key), str_from(found)) < 0)) {
            found = key;
        }
    }
    return found;
}

int podmeta_merge(json_t *metadata, const json_t *additional, Arena *arena, const char **ret_text)
{
    static const char *const maps[] = {"labels", "annotations"};
    static const char *const words[] = {"label", "annotation"};

    for (size_t i = 0; i < ARRAY_LEN(maps); i++) {
        const char *key =
            conflict_find(json_object_get(metadata, maps[i]), json_object_get(additional, maps[i]));

        if (key) {
            *ret_text =
                arena_printf(arena, "%s \"%s\" is already set by the template", words[i], key);
            return PODMETA_E_CONFLICT;
        }
    }
    for (size_t i = 0; i < ARRAY_LEN(maps); i++) {
        const json_t *add = json_object_get(additional, maps[i]);

        if (json_object_size(add) > 0) {
            json_object_update(jx_obj(metadata, maps[i]), (json_t *)add);
        }
    }
    return 0;
}

/* Every key of `a` that counts has the same value in `b`. */
static bool map_is_within(const json_t *a, const json_t *b)
{
    const char *key;
    json_t *value;

    json_object_foreach((json_t *)a, key, value)
    {
        const json_t *other = json_object_get(b, key);

        if (!podmeta_key_is_reserved(str_from(key)) && (!other || !json_equal(value, other))) {
            return false;
        }
    }
    return true;
}

static bool map_equal(const json_t *a, const json_t *b)
{
    return map_is_within(a, b) && map_is_within(b, a);
}

bool podmeta_pod_equal(const json_t *a, const json_t *b)
{
    return map_equal(json_object_get(a, "labels"), json_object_get(b, "labels")) &&
           map_equal(json_object_get(a, "annotations"), json_object_get(b, "annotations"));
}
