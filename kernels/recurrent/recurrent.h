/* SPDX-License-Identifier: MIT
 *
 * Recurrent layers over a sequence, in one launch; a cell is a sequence of one:
 *
 *   LSTM   i, f, o = sigmoid of, g = tanh of (w x[t] + r h + bias), each its own rows
 *          c = f c + i g;  h = o tanh(c);  y[t] = h
 *   GRU    u, z = sigmoid of (w x[t] + r h + bias);  n = tanh(w x[t] + b + u (r h + b'))
 *          h = n + z (h - n);  y[t] = h
 *
 * as PyTorch's. x (t, b, k), w (gates h, k), r (gates h, h), y (t, b, h), first and c (b, h);
 * rows of w and r are those of i, f, g, o, or of u, z, n. bias (4 h) is the sum of PyTorch's
 * two, of a GRU those of u and z, then the two of n.
 *
 * Types    x, w, r, y, h F16; bias, c F32.
 * Numbers  sums in fp32 from the bias on, of x first, k ascending; 1 / (1 + exp(-s)) and tanh
 *          in fp32, each step rounded; h is rounded to F16 for y and the next product.
 * Ranges   sizes from 1 up, h a multiple of 16 up to 1024; k and h, each rounded up to 16,
 *          up to 2048 together (as many as 16 rows of L0A hold).
 * Uses     UB, L1, L0A, L0B, L0C, BT and the semaphores of inside.h of each core.
 * Speed    All gates of some units leave the Cube as one tile; sigmoid by VREC, which
 *          takes a quarter of what VDIV does. Each step waits for the one before. Cores share
 *          the batch, and none waits for another, or the units, and each step all wait for
 *          all: what is faster is chosen, and no bit depends on it. Weights of a core's units
 *          stay in L1, where 16 rows of a step leave room for them, else they come from GM in
 *          each step.
 * Errors   ERR_ARG, ERR_CORES, ERR_LOCAL (too large, see above): nothing was started. ERR_FAULT,
 *          ERR_DEADLOCK: *report.
 */
#ifndef KERNELS_RECURRENT_H
#define KERNELS_RECURRENT_H

#include "sched/sched.h"

enum { RECURRENT_SUMS = 4 /* tiles of sums of a tile of units */ };

struct recurrent {
    const void *x, *w, *r;
    const float *bias;
    const void *first;    /* h before the first step, or NULL: 0 */
    const float *first_c; /* of an LSTM, likewise */
    void *y;
    float *c; /* of an LSTM: behind the last step */
    uint32_t steps, batch, in, units;
    bool gru;
    unsigned cores; /* 0: all of the chip */
};

static inline uint32_t recurrent_gates(const struct recurrent *p)
{
    return p->gru ? 3 : 4;
}

MUST_CHECK int recurrent_check(const struct recurrent *p);
MUST_CHECK int recurrent(const struct recurrent *p, struct sched_report *report);

#endif
