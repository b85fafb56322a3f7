/* SPDX-License-Identifier: MIT
 *
 * How a convolution becomes steps, whichever operator of ONNX says it: Conv, ConvTranspose,
 * ConvInteger, QLinearConv. The rule fills in a struct conv_lowering, and the first variant that
 * takes it writes the steps:
 *
 *     operator   the firmware's conv2d, of what has channels last (the pass `layout`): conv2d.c
 *     taps       of each channel by itself: sums of the operand from several places on: taps.c
 *     columns    a product of the weights with what windows hold, which copies bring side by side
 */
#ifndef GRAPH_CONV_LOWER_H
#define GRAPH_CONV_LOWER_H

#include "tools/graph/rules/window/window.h"

struct conv_lowering {
    struct emit *e;
    struct node *n;        /* its result 0 is that of the convolution */
    struct window window;  /* over x */
    struct tensor *x;      /* (n, c, ...), or with channels last (n, h, w, c) */
    struct tensor *weight; /* (o, c of a group, ...) */
    struct tensor *bias;   /* (o), or NULL */
    int64_t groups;
    double pad;         /* what lies outside of x */
    bool channels_last; /* of x, and of the result */
    /* The program of the product with columns, (n, c, elements of a window, windows); NULL:
     * conv_lower_multiply(). Weights that copies make, it makes itself: behind the columns. */
    void (*multiply)(const struct conv_lowering *c, struct tensor *columns);
};

void conv_lower(const struct conv_lowering *c);
/* Of floats: weight (group, m, k) by columns (n, group, k, windows), and the bias. */
void conv_lower_multiply(const struct conv_lowering *c, struct tensor *columns);
/* conv2d.c, taps.c */
void conv_lower_operator(const struct conv_lowering *c);
void conv_lower_taps(const struct conv_lowering *c);

#endif
