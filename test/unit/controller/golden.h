/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * Golden pairs: test/golden/FOLDER/NAME.yaml holds two documents, what goes into a builder and what
 * has to come out of it.
 */
#include "kube/object.h"
#include "json/jx.h"

/* The first document as an object of this kind, the second as JSON. */
void golden_load(const char *folder, const char *name, KubeKindId kind, KubeObj **ret_in,
                 json_t **ret_want);
/* Compares with members in any order and prints both sides. */
void golden_check(const char *name, const json_t *got, const json_t *want);
