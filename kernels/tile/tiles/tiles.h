/* SPDX-License-Identifier: MIT
 *
 * A stage that is done tile by tile: the Vector's program, the way that was taken, and what each
 * core plays of it. A product's tiles are of this kind, too: what the Vector computes of them
 * (product/product.h).
 */
#ifndef KERNELS_TILE_TILES_TILES_H
#define KERNELS_TILE_TILES_TILES_H

#include "kernels/tile/plan/plan.h"
#include "kernels/tile/tiles/loops.h"
#include "kernels/tile/tiles/order.h"
#include "kernels/tile/tiles/place.h"

enum {
    PLAN_LOST = 8,  /* candidates that are told */
    PLAN_UNFIT = 3, /* such that do not fit */
};

enum { VARIANTS = 4 /* whole tiles, fewer rows, fewer columns, both */ };

/* A candidate, emitted. */
struct candidate {
    struct way way;
    struct placing placing;
    struct tile_cycles cycles;
    uint32_t most; /* bytes of UB */
    int err;
    char why[TILE_TEXT_BYTES];
};

/* What one core plays; of each variant of a tile, loads, the Vector's commands and so on. */
enum { LANE_LOAD, LANE_VECTOR, LANE_STORE, LANE_MOVE, PLAN_LANES };
struct part {
    struct share share;
    struct sequence tile[PLAN_LANES][VARIANTS], once[PLAN_LANES];
    struct seq_leg leg[PLAN_LANES][VARIANTS + 1];
    struct seq_lane lane[PLAN_LANES];
    unsigned n_legs[PLAN_LANES];
    uint8_t once_param[TILE_PARAMS], once_result[3 * TILE_RESULTS]; /* of commands */
};

struct product;

struct tiles_plan {
    struct tile_plan stage;
    struct program *p;
    struct way way;
    struct placing placing;
    struct emit *emit; /* of the way that is taken: buffers */
    struct order order;
    struct loops loops;
    struct part *part;     /* of each core */
    union cmd *body, *pre; /* with addresses; the body with semaphores */
    uint16_t *moved;       /* where a command of the emitted body is in it */
    struct candidate lost[PLAN_LOST];
    struct candidate unfit[PLAN_UNFIT];
    unsigned n_lost, n_unfit, n_tried, n_body;
    struct product *product; /* whose tiles these are (product.h); NULL: of tensors in GM */
};
extern const struct stage_kind tiles_kind;
extern const struct stage_run tiles_run;
/* The stage as one in tiles, which it is known to be. */
static inline struct tiles_plan *tiles_of(const struct tile_plan *t)
{
    return (struct tiles_plan *)(uintptr_t)t;
}

/* plan.c: what a schedule says that has no meaning, or no effect, for the Vector is refused. */
int plan_check_schedule(const struct tile_kernel *k, struct tile_error *error);
/* Of one program in tiles. *wanted (or NULL): bytes of UB, if it has too few of them. */
struct planning {
    unsigned cores;
    bool quick;                   /* the best of few ways will do */
    const struct tile_choice *by; /* the way that a schedule names; NULL: the fastest */
};
int plan_tiles(struct tile_plan **plan, const struct tile_kernel *k,
               const struct planning *how, struct tile_arena *arena,
               struct tile_error *error, uint32_t *wanted);

/* replay.c: what load or store i waits for and posts; the sequences of all cores. */
void plan_sync_transfer(const struct order *o, unsigned lane, unsigned i, union cmd *cmd);
int plan_parts(struct tiles_plan *t, struct tile_arena *arena);

/* explain.c: buffers and semaphores of what the Vector does; cycles, candidates, too. */
void tiles_explain(const struct tile_plan *plan, FILE *to);
void plan_explain_memory(const struct tiles_plan *t, FILE *to);
void plan_explain_tiles(const struct tiles_plan *t, FILE *to);

#endif
