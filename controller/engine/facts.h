/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * What one pass over one key has learned from the API server: answers to live GETs and failures of
 * actions. Lives as long as the pass; the view shows it to the plans that the pass makes.
 */
#include "base/vec.h"
#include "controller/engine/view.h"

/* A pass that asks or fails more often than this is not remembering the oldest. */
#define FACTS_MAX 256

typedef struct FactRead {
    KubeKindId kind;
    char *ns;
    char *name;
    KubeObj *obj; /* owned reference; NULL = the API server has no such object */
} FactRead;

struct Facts {
    VEC(FactRead) reads;
    VEC(ViewFailure) failures; /* strings owned */
};

void facts_init(Facts *facts);
void facts_deinit(Facts *facts);

/* The answer of a live GET; obj NULL = 404. Replaces an earlier answer for the name. */
void facts_add_read(Facts *facts, KubeKindId kind, Str ns, Str name, const KubeObj *obj);
/* Drops what was read about a name, because a write has changed it. */
void facts_drop_read(Facts *facts, KubeKindId kind, Str ns, Str name);
const FactRead *facts_read(const Facts *facts, KubeKindId kind, Str ns, Str name);

void facts_add_failure(Facts *facts, const PlanAction *action, const KubeError *error);
const ViewFailure *facts_failure(const Facts *facts, PlanVerb verb, KubeKindId kind, Str ns,
                                 Str name);
