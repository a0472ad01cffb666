/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The normal form of semantic.h. What Go knows from types is here a sorted table of member names,
 * taken from the core/v1, networking/v1 and agent-sandbox types. A name stands for one kind of
 * field everywhere except `selector` and `podSelector`, where absence and {} mean different things
 * in some places; those stay out of the table, so {} counts.
 */
#include "json/semantic.h"

#include <stdlib.h>
#include <string.h>

#include "base/check.h"
#include "json/quantity.h"

typedef enum FieldKind {
    FIELD_OTHER,      /* not in the table */
    FIELD_STRING_MAP, /* members verbatim; empty = absent */
    FIELD_STRUCT,     /* {} = absent */
    FIELD_ZERO,       /* false and 0 = absent */
    FIELD_QUANTITIES, /* a map of quantities; empty = absent */
    FIELD_QUANTITY,   /* one quantity */
} FieldKind;

typedef struct Field {
    const char *name;
    FieldKind kind;
} Field;

/* Sorted by name in byte order; a test checks it. */
static const Field FIELDS[] = {
    {"allocatable", FIELD_QUANTITIES},
    {"allocatedResources", FIELD_QUANTITIES},
    {"annotations", FIELD_STRING_MAP},
    {"binaryData", FIELD_STRING_MAP},
    {"capacity", FIELD_QUANTITIES},
    {"containerPort", FIELD_ZERO},
    {"data", FIELD_STRING_MAP},
    {"divisor", FIELD_QUANTITY},
    {"failureThreshold", FIELD_ZERO},
    {"generation", FIELD_ZERO},
    {"hostIPC", FIELD_ZERO},
    {"hostNetwork", FIELD_ZERO},
    {"hostPID", FIELD_ZERO},
    {"hostPort", FIELD_ZERO},
    {"initialDelaySeconds", FIELD_ZERO},
    {"labels", FIELD_STRING_MAP},
    {"limits", FIELD_QUANTITIES},
    {"loadBalancer", FIELD_STRUCT},
    {"matchLabels", FIELD_STRING_MAP},
    {"metadata", FIELD_STRUCT},
    {"nodePort", FIELD_ZERO},
    {"nodeSelector", FIELD_STRING_MAP},
    {"observedGeneration", FIELD_ZERO},
    {"overhead", FIELD_QUANTITIES},
    {"periodSeconds", FIELD_ZERO},
    {"podTemplate", FIELD_STRUCT},
    {"port", FIELD_ZERO},
    {"publishNotReadyAddresses", FIELD_ZERO},
    {"readOnly", FIELD_ZERO},
    {"readyReplicas", FIELD_ZERO},
    {"requests", FIELD_QUANTITIES},
    {"resources", FIELD_STRUCT},
    {"restartCount", FIELD_ZERO},
    {"sizeLimit", FIELD_QUANTITY},
    {"spec", FIELD_STRUCT},
    {"status", FIELD_STRUCT},
    {"stdin", FIELD_ZERO},
    {"stdinOnce", FIELD_ZERO},
    {"stringData", FIELD_STRING_MAP},
    {"successThreshold", FIELD_ZERO},
    {"timeoutSeconds", FIELD_ZERO},
    {"tty", FIELD_ZERO},
    {"volumeAttributes", FIELD_STRING_MAP},
};

static int field_order(const void *key, const void *field)
{
    return strcmp(key, ((const Field *)field)->name);
}

static FieldKind field_kind(const char *name)
{
    const Field *field = bsearch(name, FIELDS, ARRAY_LEN(FIELDS), sizeof(FIELDS[0]), field_order);

    return field ? field->kind : FIELD_OTHER;
}

/* Canonical text of a quantity given as string or number; other values are copied. */
static json_t *normal_quantity(const json_t *value)
{
    char text[QUANTITY_TEXT_MAX];
    Quantity q;
    int r = -1;

    if (json_is_string(value)) {
        r = quantity_parse(jx_str(value), &q);
    } else if (json_is_number(value)) {
        AUTO(mem) char *number = jx_dump_compact(value);
        r = quantity_parse(str_from(number), &q);
    }
    if (r < 0) {
        return jx_dup(value);
    }
    size_t n = quantity_format(q, text);
    return jx_string_new((Str){text, n});
}

static json_t *normal_quantities(const json_t *map)
{
    json_t *out = jx_object_new();
    const char *key;
    json_t *value;

    json_object_foreach((json_t *)map, key, value)
    {
        jx_set(out, key, normal_quantity(value));
    }
    return out;
}

static bool is_nothing(const json_t *value)
{
    return json_is_null(value) || (json_is_string(value) && json_string_length(value) == 0) ||
           (json_is_array(value) && json_array_size(value) == 0);
}

static bool is_zero(const json_t *value)
{
    return json_is_false(value) || (json_is_number(value) && json_number_value(value) == 0);
}

static bool is_empty_object(const json_t *value)
{
    return json_is_object(value) && json_object_size(value) == 0;
}

/* The normal form of one member, NULL when it counts as absent. */
static json_t *normal_member(const char *key, const json_t *value)
{
    FieldKind kind = field_kind(key);
    bool object = json_is_object(value);
    json_t *out;

    if (is_nothing(value) || (kind == FIELD_ZERO && is_zero(value))) {
        return NULL;
    }
    if (kind == FIELD_QUANTITY) {
        return normal_quantity(value);
    }
    if (kind == FIELD_QUANTITIES && object) {
        out = normal_quantities(value);
    } else if (kind == FIELD_STRING_MAP && object) {
        out = jx_dup(value);
    } else {
        out = jx_normalize(value);
    }
    bool absent = kind != FIELD_OTHER && kind != FIELD_ZERO && is_empty_object(out);
    if (absent) {
        json_decref(out);
    }
    return absent ? NULL : out;
}

static json_t *normal_object(const json_t *object)
{
    json_t *out = jx_object_new();
    const char *key;
    json_t *value;

    json_object_foreach((json_t *)object, key, value)
    {
        json_t *member = normal_member(key, value);
        if (member) {
            jx_set(out, key, member);
        }
    }
    return out;
}

json_t *jx_normalize(const json_t *value)
{
    size_t i;
    json_t *element;

    if (json_is_object(value)) {
        return normal_object(value);
    }
    if (!json_is_array(value)) {
        return jx_dup(value);
    }
    json_t *out = jx_array_new();
    json_array_foreach((json_t *)value, i, element)
    {
        jx_append(out, jx_normalize(element));
    }
    return out;
}

bool jx_equal_semantic(const json_t *a, const json_t *b)
{
    bool no_a = !a || is_nothing(a), no_b = !b || is_nothing(b);

    if (no_a || no_b) {
        return no_a && no_b;
    }
    AUTO(json) json_t *x = jx_normalize(a);
    AUTO(json) json_t *y = jx_normalize(b);
    return json_equal(x, y);
}
