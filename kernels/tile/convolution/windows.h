/* SPDX-License-Identifier: MIT
 *
 * A stage that is a convolution: kernels/conv cuts it and brings windows to the Cube, in the
 * stage's launch; what is computed of it follows as of a product (product.h). Rows of a tile
 * are pixels, columns output channels. Private to the planner.
 */
#ifndef KERNELS_TILE_CONVOLUTION_WINDOWS_H
#define KERNELS_TILE_CONVOLUTION_WINDOWS_H

#include "kernels/conv/depthwise.h"
#include "kernels/conv/inside.h"
#include "kernels/tile/product/product.h"

struct windows {
    struct conv_plan plan;
    struct conv_room *room; /* of each core */
    uint32_t rows;          /* that the Vector has at a time, at most */
    /* A stage before: filters as they are wanted chunk by chunk, or diagonals. */
    bool packs;
    bool apart; /* each channel by itself, of f16: the fixpipe does it all, by `each` */
    struct conv whole; /* then, and of what is packed */
    struct depthwise_plan each;
};

/* Rows of a piece that go to UB together: side by side in GM, at most so many. */
struct windows_part {
    struct mm_piece at;
    uint32_t first; /* row of the piece */
};
/* The first one (count 0), or the next; false: there is none. */
static inline bool windows_next(const struct conv_plan *l, const struct conv_unit *u,
                                const struct conv_piece *piece, uint32_t rows,
                                struct windows_part *part)
{
    uint32_t m = piece->m + part->first + part->at.mt, end = piece->m + piece->m_len;
    struct conv_run run;

    if (m >= end) {
        return false;
    }
    run = conv_run(l, u, piece, m, end - m < rows ? end : m + rows);
    *part = (struct windows_part){.at = {.m0 = (uint32_t)run.pixel,
                                         .mt = run.count,
                                         .n0 = u->group * l->out + u->n_first,
                                         .nt = u->n_count},
                                  .first = m - piece->m};
    return true;
}

extern const struct stage_kind windows_kind;
extern const struct stage_run windows_run;

/* Of a kernel whose one CONV has parameters as operands; as product_plan(). `said`: a schedule
 * has a tiling for it, which none can have. */
int windows_plan(struct tile_plan **plan, const struct tile_kernel *k, bool said,
                 unsigned cores, struct tile_arena *arena, struct tile_error *error);
/* windows_cost.c: cycles of the share of the core that has most to do. */
struct windows_flow {
    const struct conv_plan *plan;
    unsigned cores, ring; /* ring 0: the fixpipe does it all */
    unsigned core;        /* whose share, from 1 on; 0: the last one's */
    uint32_t rows;
    uint64_t v, in, out; /* of a whole part on V; of its ways in and out */
    unsigned commands;
    bool in_place;
};
uint64_t windows_span(const struct windows_flow *f);
uint64_t windows_span_apart(const struct depthwise_plan *l, unsigned cores);
uint64_t windows_span_of_packing(const struct conv *p, unsigned cores);

#endif
