/* SPDX-License-Identifier: MIT
 *
 * How a convolution is cut. A unit is what a core does at a time: the columns of one block
 * of output channels for one patch of the output, which is rows and columns of an image, or
 * several whole images. L1 holds the patch of the input under it and the weights. A patch is
 * img2col rows; a piece of them is what one MMAD multiplies, a set of pieces what L0C holds
 * at a time, which share each slice of the weights in L0B.
 *
 * Where the weights of a block of output channels do not fit into L1 they come in chunks of
 * input channels, again for each set, and so does the patch, which is then one set, unless
 * it fits with all of its channels.
 */
#ifndef KERNELS_CONV_PLAN_H
#define KERNELS_CONV_PLAN_H

#include "hal/mte_conv.h"
#include "kernels/conv/conv.h"

enum {
    CONV_COLUMNS =
        128 /* of a unit, at most, so that loads of a and b take less than it */
};
enum { CONV_SET_MMADS = 16 }; /* of a part of a set, whose commands are issued at once */

/* Where the results of a convolution lie in y: y's map, the first place, steps. */
struct conv_places {
    uint32_t h, w, row, col, row_step, col_step;
};

/* Of a transposed convolution, the one that makes every row_step-th row and col_step-th
 * column of y (transpose.h): its filter is every so many of the weights' taps, from the last
 * one back to `row` and `col`. `empty`: it has none, x and weights count as 0. */
struct conv_part {
    struct conv_places to;
    uint32_t taps, kw; /* of a whole filter, of its rows */
    uint32_t row, col, row_step, col_step;
    bool empty;
};

struct conv_plan {
    struct conv
        p; /* one of 1 x 1 as a single image, or as of the pixels alone that it sees */
    uint32_t oh, ow;
    uint32_t x_pixel, x_row; /* elements of x from a pixel of p to the next, from a row */
    uint64_t x_image;
    struct mte_conv map; /* what is the same in all units */
    struct conv_places to;
    bool tail; /* conv_has_tail() */
    uint32_t c0, taps, in,
        out;          /* elements of a block; of the filter; channels of a group */
    bool few;         /* see conv_is_few(); taps: blocks of k then, of one block */
    uint32_t missing; /* then: columns of k to a whole block */
    uint32_t pixel;   /* bytes of one in L1, of a block */
    uint32_t in_bytes, out_bytes;      /* of an element */
    uint32_t blocks;                   /* of input channels, C0 each */
    uint32_t chunk, chunks;            /* blocks of a chunk */
    uint32_t nt, n_blocks;             /* output channels of a unit */
    uint32_t rows, cols, images;       /* of a patch */
    uint32_t across, down, deep;       /* patches */
    uint32_t piece, set;               /* rows of a piece, pieces of a set */
    uint32_t slice;                    /* blocks of k, C0 each, of a load to L0 */
    uint32_t slots;                    /* pieces in L0C */
    uint32_t a_bytes, b_bytes, b_bufs; /* in L1 */
    bool b_stays;                      /* in L0B, all of it */
    bool whole;                        /* a patch has all input channels */
    bool
        by_patch; /* units of a patch follow one another, else those of the same weights */
    uint32_t units, shares; /* shares: cores that have any, 0: all */
};

/* What may be said of how it is cut, 0: as without. Words in this order, each a letter and a
 * number: `n64k128r7c28m112i1l4b2x8p`. */
struct conv_cut {
    uint32_t n, k;       /* output channels of a unit, input channels of a chunk */
    uint32_t rows, cols; /* of a patch */
    uint32_t m;          /* rows of a piece */
    uint32_t images;     /* of a patch */
    uint32_t slice;      /* blocks of k of a load to L0 */
    uint32_t bufs;       /* of weights in L1 */
    uint32_t cores;
    bool by_patch;
};
/* false: these are no such words. */
MUST_CHECK bool conv_read_cut(const char *words, struct conv_cut *cut);
/* The words that say this; those that lead to a plan. */
void conv_cut_text(const struct conv_cut *cut, char words[CONV_TEXT]);
void conv_cut_words(const struct conv_plan *plan, char words[CONV_TEXT]);

/* Whether the channels are so few that L1 has pixels side by side as GM has, and windows
 * columns for no others: of a whole map's width, which L1 has to hold. */
bool conv_is_few(const struct conv *p);

/* Whether the Vector goes on where the fixpipe cannot. */
static inline bool conv_has_tail(const struct conv *p)
{
    return p->act >= CONV_SILU || p->add || p->exact || p->sums;
}

/* What the fixpipe does to sums, FIX_RELU_; what it has to be told of that first. */
uint8_t conv_relu(const struct conv *p);
void conv_set_relu(const struct conv *p);

/* 0; or ERR_LOCAL: no tile holds the filter; or ERR_ARG: p->cut is wrong, or does not fit. */
MUST_CHECK int conv_make_plan(const struct conv *p, struct conv_plan *plan);

/* A plan made without words, cut as p.cut says, with so many bytes of L1: 0; ERR_ARG: no such
 * words; ERR_SHAPE: it does not fit. The rest of what that takes: bytes in L1 of the input under
 * rows and columns of y, of weights, of so many blocks; rows of pieces as even as can be; what one
 * load brings to L0, at most `slice` unless that is 0, false: it has no room there. */
MUST_CHECK int conv_recut(struct conv_plan *plan, uint32_t l1);
uint64_t conv_patch_bytes(const struct conv_plan *plan, uint32_t rows, uint32_t cols,
                          uint32_t blocks);
uint64_t conv_weight_bytes(const struct conv_plan *plan, uint32_t blocks);
uint32_t conv_even_piece(const struct conv_plan *plan);
void conv_cut_patch(struct conv_plan *plan, uint32_t room, unsigned cores);
bool conv_cut_slices(struct conv_plan *plan, uint32_t slice);

/* Rows or columns of x under a filter. */
static inline uint32_t conv_extent(uint32_t filter, uint32_t dilation)
{
    return (filter - 1) * dilation + 1;
}

/* One side of a patch of x under `count` places of y from `first` on: what of it is there,
 * and what is padding. reach: of the filter. count is 0 where nothing of it is there. */
struct conv_under {
    uint32_t first, count;
    uint8_t before, after;
};
static inline struct conv_under conv_under(uint32_t first, uint32_t count,
                                           uint32_t stride, uint32_t reach,
                                           int32_t before, uint32_t map)
{
    int32_t begin = (int32_t)(first * stride) - before;
    int32_t end = begin + (int32_t)((count - 1) * stride + reach);
    int32_t from = begin < 0 ? 0 : begin, to = end > (int32_t)map ? (int32_t)map : end;

    return from < to ? (struct conv_under){(uint32_t)from, (uint32_t)(to - from),
                                           (uint8_t)(from - begin), (uint8_t)(end - to)}
                     : (struct conv_under){0};
}

/* What a unit is of. */
struct conv_unit {
    uint32_t group, n_first, n_count; /* output channels of the group */
    uint32_t image, images;           /* from, how many */
    uint32_t row, rows, col, cols;    /* of y */
    uint32_t map_row, map_col;        /* of x: the first ones that are there */
    bool blank;                       /* of a part: none is; the patch is zeros */
    struct mte_conv map;              /* the patch of x under it; channels of a chunk */
};
void conv_unit(const struct conv_plan *plan, uint32_t unit, struct conv_unit *u);

/* A chunk: its first channel of the group, how many, and as blocks. */
struct conv_chunk {
    uint32_t first, channels, blocks;
};
struct conv_chunk conv_chunk(const struct conv_plan *plan, uint32_t i);
/* All of them. */
struct conv_chunk conv_all(const struct conv_plan *plan);

/* Pieces of a unit, and piece i: its image of the patch, its first row, how many. */
struct conv_piece {
    uint32_t image, m, m_len;
};
uint32_t conv_pieces(const struct conv_plan *plan, const struct conv_unit *u);
struct conv_piece conv_piece(const struct conv_plan *plan, const struct conv_unit *u,
                             uint32_t i);

#endif
