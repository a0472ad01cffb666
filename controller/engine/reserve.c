/* SPDX-License-Identifier: Apache-2.0 */
/* See reserve.h. */
#include "controller/engine/reserve.h"

#include <stdlib.h>

#include "base/hash.h"
#include "base/mem.h"

typedef struct Reservation {
    HMapNode node;
    char *uid;
    char *holder;
} Reservation;

void reservations_init(Reservations *reservations, uint64_t seed)
{
    hmap_init(&reservations->by_uid);
    reservations->seed = seed;
}

static void drop(Reservations *reservations, Reservation *reservation)
{
    hmap_remove(&reservations->by_uid, &reservation->node);
    free(reservation->uid);
    free(reservation->holder);
    free(reservation);
}

void reservations_deinit(Reservations *reservations)
{
    hmap_foreach (&reservations->by_uid, it) {
        drop(reservations, container_of(it, Reservation, node));
    }
    hmap_deinit(&reservations->by_uid);
}

static Reservation *find(const Reservations *reservations, Str uid)
{
    uint64_t hash = hash_str(reservations->seed, uid);

    for (HMapNode *n = hmap_first(&reservations->by_uid, hash); n; n = hmap_next(n)) {
        Reservation *reservation = container_of(n, Reservation, node);

        if (str_eq(str_from(reservation->uid), uid)) {
            return reservation;
        }
    }
    return NULL;
}

bool reservations_take(Reservations *reservations, Str uid, Str holder)
{
    Reservation *reservation = find(reservations, uid);

    if (reservation) {
        return str_eq(str_from(reservation->holder), holder);
    }
    reservation = xcalloc(1, sizeof(*reservation));
    reservation->uid = xstrndup(uid.ptr, uid.len);
    reservation->holder = xstrndup(holder.ptr, holder.len);
    hmap_insert(&reservations->by_uid, &reservation->node, hash_str(reservations->seed, uid));
    return true;
}

/* Few are held at a time: at most PLAN_RESERVATIONS_MAX per worker. */
void reservations_release_all(Reservations *reservations, Str holder)
{
    if (reservations->by_uid.len == 0) {
        return;
    }
    hmap_foreach (&reservations->by_uid, it) {
        Reservation *reservation = container_of(it, Reservation, node);

        if (str_eq(str_from(reservation->holder), holder)) {
            drop(reservations, reservation);
        }
    }
}

Str reservations_holder(const Reservations *reservations, Str uid)
{
    const Reservation *reservation = find(reservations, uid);

    return reservation ? str_from(reservation->holder) : STR_NULL;
}
