/* SPDX-License-Identifier: MIT
 *
 * Semaphores of an emitted program: which command waits for which.
 */
#ifndef KERNELS_TILE_TILES_ORDER_H
#define KERNELS_TILE_TILES_ORDER_H

#include "kernels/tile/emit/emit.h"

/* Semaphores of a body, and where they are waited for and posted. */
enum { PLAN_SEMS = 16, PLAN_SYNCS = 32, SEM_PRE = 0, SEM_MADE, SEM_FULL, SEM_OTHERS };
struct sync {
    uint16_t command; /* of the body */
    uint8_t sem;
    bool post;
};
struct order {
    unsigned base, n_sems, n_syncs, n_loads, n_stores; /* base: its first semaphore */
    struct sync sync[PLAN_SYNCS];
    uint8_t load[TILE_PARAMS]; /* buffers; with semaphores, 0: none */
    uint8_t load_free[TILE_PARAMS], load_full[TILE_PARAMS];
    uint8_t store[TILE_RESULTS], store_out[TILE_RESULTS], store_free[TILE_RESULTS];
    uint8_t store_result[TILE_RESULTS];
    uint8_t product, bulk_free, bulk_full; /* 1 + the load out of L0C; in L1; or 0 */
    uint8_t free_sems[PLAN_SEMS]; /* those that hold units before and behind it all: */
    uint8_t copies[PLAN_SEMS];    /* so many, by number; 0: a position of the ring each */
    unsigned n_free;
    const char *label[PLAN_SEMS], *role[PLAN_SEMS];
};
/* Finds them for an emitted program. */
void order_make(struct order *o, const struct emit *e);
/* The body with its waits and posts, and NOPs where a command has too many: how many
 * commands; `to` NULL: only that. */
unsigned order_body(const struct order *o, const union cmd *body, unsigned n,
                    union cmd *to, unsigned room, uint16_t *moved);

#endif
