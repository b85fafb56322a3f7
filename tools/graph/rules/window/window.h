/* SPDX-License-Identifier: MIT
 *
 * Windows that slide over the last dimensions of (n, c, ...): convolutions and pools.
 */
#ifndef GRAPH_WINDOW_H
#define GRAPH_WINDOW_H

#include "tools/graph/steps/steps.h"

enum { WINDOW_RANK = 3 };

struct window {
    unsigned rank;
    int64_t n, c, size[WINDOW_RANK], kernel[WINDOW_RANK], stride[WINDOW_RANK];
    int64_t dilation[WINDOW_RANK], before[WINDOW_RANK], behind[WINDOW_RANK],
        out[WINDOW_RANK];
};

/* Of a node's attributes for an operand of this shape. kernel NULL: its kernel_shape. */
struct window window_of(const struct graph *g, const struct node *n,
                        const struct shape *x, const int64_t *kernel);
/* (n, c, out...) */
struct shape window_result(const struct window *w, int64_t channels);
/* What the windows hold, (n, c, elements of a window, windows), with `pad` where they lie
 * outside; x itself where each element is a window. */
struct tensor *window_columns(struct emit *e, struct node *n, const struct window *w,
                              struct tensor *x, double pad);
int64_t window_elements(const struct window *w);
int64_t window_count(const struct window *w);
/* x in the middle of a tensor of `pad`, `between` - 1 of them between two elements. */
struct tensor *window_padded(struct emit *e, struct node *n, const struct window *w,
                             struct tensor *x, double pad, const int64_t *between);

/* x with every so many-th element of a row beside the others, (step, all others): windows that
 * step over them find theirs side by side. x itself where that is not so, or not worth it. */
struct tensor *window_apart(struct emit *e, struct node *n, struct tensor *x,
                            int64_t step);

/* taps.c: what lies at place k of all windows, as operands of programs that have the sizes of
 * `domain`, (n, c, places); of these taps_end() brings those that are windows to y. */
enum { TAPS_MAX = 128 };
struct taps {
    struct emit *e;
    struct node *n;
    const struct window *w;
    struct tensor *from;
    struct shape domain;
};
bool taps_take(const struct window *w);
struct taps taps_begin(struct emit *e, struct node *n, const struct window *w,
                       struct tensor *x, double pad);
struct tensor *taps_at(const struct taps *t, int64_t k);
void taps_end(const struct taps *t, struct tensor *result, struct tensor *y);
/* The largest of each window; with a share of each, (out..), the sum times it. */
void taps_pool(struct emit *e, struct node *n, const struct window *w, double pad,
               struct tensor *share);

/* conv2d.c: whether operators of the firmware can do a Conv, a MaxPool, with channels last; nodes
 * of these rules have their operand and result so. */
bool conv2d_takes(const struct node *n, const struct window *w);
bool conv2d_pool_takes(const struct node *n, const struct window *w);
/* `last` becomes the constant t of up to four dimensions, (n, c, h, w), as (n, h, w, c). */
void conv2d_last(const struct tensor *t, struct tensor *last);
/* How many channels a Conv that it takes is fastest of: its own, or more, the last of them 0. */
int64_t conv2d_channels(const struct node *n, const struct window *w);
extern const struct rule rule_conv2d, rule_max_pool;

#endif
