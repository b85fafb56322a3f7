/* SPDX-License-Identifier: MIT
 *
 * y = act(transposed conv(x, weight) + bias)   x (n, h, w, c), weight (o, kh, kw, c / groups),
 *                                              bias (o), y (n, oh, ow, o)
 *
 *   y[n, p, q, o] = sum over r < kh, s < kw, i < c / groups of weight[o, r, s, i] *
 *       x[n, (p + pad_top - r * dilation_h) / stride_h,
 *            (q + pad_left - s * dilation_w) / stride_w, o / (o's groups) * (c / groups) + i],
 *       of r and s for which both divide, and x outside of its map is 0
 *   oh = (h - 1) * stride_h + (kh - 1) * dilation_h + 1 + more_h - pad_top - pad_bottom
 *
 * What a convolution of these strides and pads makes of gradients of its results: ONNX's
 * ConvTranspose, PyTorch's ConvTranspose2d, TFLite's TRANSPOSE_CONV, whose layouts it has.
 *
 * Way      Rows of y whose p leave the same rest by stride_h use the same taps; with columns
 *          that is stride_h * stride_w convolutions in steps of 1, each of x by its share of
 *          the filter, turned. They are parts of one launch, one behind the other. The Cube
 *          multiplies what the formula has and nothing else, and an element of y leaves
 *          L0C once; of x stretched by zeros it would multiply stride_h * stride_w as much,
 *          and of sums that are added where rows overlap each tap would be an atomic addition
 *          in GM. What it costs: x comes to L1 once for each part, and pixels of y leave one
 *          row at a time.
 * Numbers  as conv.h's, of F16 filter rows and columns from the last one back.
 * Ranges   as conv.h's; more_h and more_w (output_padding) below the stride or the dilation
 *          of their side; windows of a part reach up to 255 rows and columns beyond x.
 * Types    x, weight F16, bias F32, y F16 or F32; or x, weight S8, bias S32, y S32, or S8 or
 *          F16 times scale. Layout, buffers, errors: conv.h.
 * Source   Shi et al., Is the deconvolution layer the same as a convolutional layer?
 */
#ifndef KERNELS_CONV_TRANSPOSE_H
#define KERNELS_CONV_TRANSPOSE_H

#include "kernels/conv/conv.h"
#include "kernels/conv/plan.h"

struct conv_transpose {
    struct conv p; /* x, y, sizes, strides and pads as above; act: up to CONV_LEAKY */
    uint32_t more_h, more_w;
};

/* Height and width of y, if there is such a convolution. */
uint32_t conv_transpose_oh(const struct conv_transpose *t);
uint32_t conv_transpose_ow(const struct conv_transpose *t);
/* Whether there is; `why` says what is wrong. */
MUST_CHECK int conv_transpose_check(const struct conv_transpose *t, char why[CONV_TEXT]);

/* Its parts, and part i as a convolution, of which p->part is `part`. */
uint32_t conv_transpose_parts(const struct conv_transpose *t);
void conv_transpose_part(const struct conv_transpose *t, uint32_t i, struct conv *p,
                         struct conv_part *part);

/* Weights as conv_transpose() wants them, and how many bytes these are. */
uint64_t conv_transpose_packed_bytes(const struct conv_transpose *t);
MUST_CHECK int conv_transpose_pack(const struct conv_transpose *t, const void *weight,
                                   void *packed, struct sched_report *report);
MUST_CHECK int conv_transpose(const struct conv_transpose *t,
                              struct sched_report *report);

#endif
