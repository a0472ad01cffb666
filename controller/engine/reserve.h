/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * Reservations: which object (by uid) the plan in flight of which key is about to take. One process
 * only; between processes the compare-and-swap on the object decides.
 */
#include <stdbool.h>

#include "base/hmap.h"
#include "base/str.h"
#include "controller/engine/view.h"

struct Reservations {
    HMap by_uid;
    uint64_t seed;
};

void reservations_init(Reservations *reservations, uint64_t seed);
void reservations_deinit(Reservations *reservations); /* drops all */

/* False when another holder has it; true when it is now (or was) this holder's. */
bool reservations_take(Reservations *reservations, Str uid, Str holder);
void reservations_release_all(Reservations *reservations, Str holder);
Str reservations_holder(const Reservations *reservations, Str uid); /* STR_NULL = free */
