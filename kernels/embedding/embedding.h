/* SPDX-License-Identifier: MIT
 *
 * Tables of which indices take rows, and their gradient:
 *
 *   bag:   y[b] = sum, mean or maximum over j of table[index[b, j]]
 *   grad:  dw[r] = sum over i with index[i] = r of dx[i], i ascending
 *
 * as PyTorch's EmbeddingBag and embedding_dense_backward; an embedding is a bag of one.
 *
 * Types    table F32 or F16, y alike; dx F32 or F16, dw F32; indices S32.
 * Numbers  sums in fp32 in order, each addition rounded once, F16 converted at the end; so
 *          every form of the gradient gives the same bits on any number of cores, but for
 *          the Cube, where NaN and infinity in dx become NaN in other rows of their tile.
 *          The maximum of what holds NaN is NaN.
 * Indices  from 0 up, of bags with `from_end` also below 0, counted from the end;
 *          `padding` takes no part; another one is ERR_ARG, told by position and value,
 *          unless `skip`: then it takes no part either. A bag of which none takes part
 *          is 0.
 * Ranges   sizes from 1 up; rows of up to 4096 elements at a time, of longer ones pieces.
 * Buffers  no alignment wanted (512 bytes is fastest); results overlap nothing.
 * Uses     UB, for bags out of a table that passes by and with EMBEDDING_CUBE also L1, with
 *          this L0A, L0B, L0C; queues of each core.
 * Speed    A row costs a command: 196 cycles of MTE2 where it is gathered (346 if it is not
 *          in L2), 133 of MTE3 where it is added in GM; there is no DMA by index. Bags that
 *          want many rows of a small table have all of it pass through L1: then 25 of MTE1
 *          and some 50 of the hart. See enum embedding_form.
 * Errors   ERR_ARG, ERR_TYPE, ERR_ABSENT (a form that cannot do the type): nothing was
 *          started. ERR_FAULT, ERR_DEADLOCK: *report.
 */
#ifndef KERNELS_EMBEDDING_H
#define KERNELS_EMBEDDING_H

#include "sched/sched.h"

/* The rows that indices name. */
struct embedding_rows {
    const int32_t *index;
    uint32_t n, rows; /* indices; of the table */
    int32_t padding;  /* below 0: none */
    bool skip, from_end;
};

/* Row of index i, or -1: it takes no part. */
static inline int32_t embedding_row(const struct embedding_rows *r, uint32_t i)
{
    int32_t row = r->index[i];

    row += r->from_end && row < 0 ? (int32_t)r->rows : 0;
    return row < 0 || (uint32_t)row >= r->rows || row == r->padding ? -1 : row;
}

/* The first index that is out of range and not to be skipped, or n. */
uint32_t embedding_wrong(const struct embedding_rows *r);

enum embedding_bag_mode { BAG_SUM, BAG_MEAN, BAG_MAX };

struct embedding_bag {
    const void *table;
    void *y;
    struct embedding_rows rows; /* n: of all bags */
    uint32_t width, each;       /* elements of a row; indices of a bag */
    enum type type;
    enum embedding_bag_mode mode;
    unsigned cores; /* 0: all of the chip */
};
MUST_CHECK int embedding_bag(const struct embedding_bag *p, struct sched_report *report);

/* How a gradient is made.
 * ATOMIC: dw becomes 0; MTE3 adds the rows of dx one by one.
 * SORTED: tiles of dw grow in UB of rows that MTE2 gathers; each is stored once.
 * CUBE:   a product of ones, which the hart sets in L1, with dx, F16 alone: tiles of rows
 *         of dw by chunks of dx, as far as there are indices of both. */
enum embedding_form {
    EMBEDDING_AUTO, /* what takes least by the contract's rates */
    EMBEDDING_ATOMIC,
    EMBEDDING_SORTED,
    EMBEDDING_CUBE,
    EMBEDDING_FORMS
};
enum { EMBEDDING_SQUARE = 128 }; /* rows of dw in a tile of CUBE, and of dx in a chunk */

struct embedding_grad {
    const void *dx;
    float *dw;
    struct embedding_rows rows;
    uint32_t width;
    enum type type;
    enum embedding_form form;
    unsigned cores; /* 0: all of the chip */
};
MUST_CHECK int embedding_grad(const struct embedding_grad *p,
                              struct sched_report *report);
/* Cycles that a form is expected to take; 0: it cannot. The fastest of all. */
uint64_t embedding_grad_cycles(const struct embedding_grad *p, enum embedding_form form);
enum embedding_form embedding_grad_form(const struct embedding_grad *p);

#endif
