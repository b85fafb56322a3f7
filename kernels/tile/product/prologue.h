/* SPDX-License-Identifier: MIT
 *
 * An operand of a product that the Vector computes on its way to L1, as silu(x) of
 * dot(f16(silu(x)), w, k):
 *
 *     MTE2   what it is computed of, from GM to UB
 *     V      a piece: some rows of a chunk of k
 *     MTE3   the piece to the chunk's slot of L1, in rows (mm_give())
 *
 * The panel of a row of tiles, or of a column if it is the object's b, is computed once and
 * stays in L1 while they are multiplied; where L1 holds two the next one is computed
 * meanwhile. Pieces are issued between chunks of k, evenly. Private to the planner.
 */
#ifndef KERNELS_TILE_PRODUCT_PROLOGUE_H
#define KERNELS_TILE_PRODUCT_PROLOGUE_H

#include "kernels/mm/inside.h"
#include "kernels/tile/product/product.h"

struct prologue {
    /* The operand's rows and columns, as it would lie in GM; its `product` has addresses. */
    struct tiles_plan *t;
    uint8_t operand; /* the product's parameter that it is */
    bool b;          /* the object's b, not its a */
    uint32_t rows;   /* of a piece, at most */
    uint16_t line;   /* of the operand */
};

/* The plan of an operand, as part of a product's stage: it only takes addresses. */
extern const struct stage_run operand_run;

/* Of a product whose shape is set, with what its parameter `param` is computed by. ERR_LOCAL:
 * it cannot be done so. */
int prologue_make(struct product *p, const struct tile_kernel *operand, uint8_t param,
                  struct tile_arena *arena, struct tile_error *error);
/* How the Vector makes it: for the object as it is planned, or, `alone`, with that. */
int prologue_finish(struct tiles_plan *t, bool alone, unsigned cores,
                    struct tile_arena *arena);
void prologue_explain(const struct product *p, FILE *to);

/* operands.c: instead of a product, stage i of a cut, and the stage before it, which together
 * take so many cycles, both as one stage, if that is faster or the schedule of the whole, k,
 * says so; or NULL. What is added up in parts of k stays so, for its bits; where sums go by GM
 * so do operands, since such a core has no way from UB to L1. */
struct tile_plan *operand_join(const struct tile_plan *product, const struct cut *cut,
                               unsigned i, uint64_t span, const struct tile_kernel *k,
                               unsigned cores, struct tile_arena *arena);
/* A schedule that cannot be followed is refused: what it keeps in L1 has come there. */
int operand_check(const struct tile_plan *plan, const struct tile_kernel *k,
                  struct tile_error *error);

/* A window of the operand that is a chunk, at most or where the cursor is. */
struct prologue_window {
    uint32_t row, rows, col, cols;
};
struct prologue_window prologue_window(const struct prologue *g, const struct mm *mm,
                                       const struct mm_cursor *at);

/* prologue_play.c: what a core's Vector makes for an object, from which it walks on. */
struct prologue_at {
    struct epilogue_at at;
    const struct prologue *g;
    uint16_t mm_line;            /* of the product */
    struct mm walk;              /* the object's shape and share */
    struct mm_cursor make, use;  /* chunks: that is made; that is multiplied next */
    uint32_t row;                /* of the chunk: that are made */
    uint32_t made, wanted, free; /* chunks; slots of L1 */
    uint32_t steps, ahead;       /* of the panel in use: chunks; pieces of the next one */
    unsigned number;             /* of pieces */
};
/* The Vector's part for all objects of a stage begins, and ends; an object's, before its first
 * tile. */
void prologue_begin(struct prologue_at *y, const struct tiles_plan *t);
void prologue_feed(struct prologue_at *y, struct mm *mm, const uint32_t *index);
void prologue_end(const struct prologue_at *y);

#endif
