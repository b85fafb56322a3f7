/* SPDX-License-Identifier: MIT
 *
 * y = act(conv(x, weight) + bias + add)   x (n, h, w, c), weight (o, kh, kw, c / groups),
 *                                         bias (o), add (n, oh, ow, o) or none,
 *                                         y (n, oh, ow, o)
 *
 *   y[n, p, q, o] = sum over r < kh, s < kw, i < c / groups of weight[o, r, s, i] *
 *       x[n, p * stride_h + r * dilation_h - pad_top, q * stride_w + s * dilation_w - pad_left,
 *         o / (o's groups) * (c / groups) + i],  where x outside of its map is 0
 *
 * Layout   channels last, in x, y and weight: NHWC and OHWI, which is what TFLite has, and
 *          PyTorch as memory_format=channels_last. x and y are not converted in GM: MTE2
 *          makes NC1HWC0 of what it brings to L1, the fixpipe rows of pixels of what it
 *          stores. Weights are constants: conv_pack() makes fractals of them (FRACTAL_Z) in
 *          a launch of its own, once, as ATC does.
 * Types    F16: y F16 or F32, bias F32. S8: y S32, or S8 or F16 times scale; bias S32.
 * Numbers  F16: products exact, summed in fp32 from the bias on, one rounding a step, in the
 *          order of blocks of 16 channels, then filter rows, columns, channels of the block;
 *          channels that are missing to a whole block count as 0 x 0. S8: exact modulo 2^32.
 *          Depthwise (as many groups as channels in and out, F16): the other 15 channels of
 *          its block count as x times 0, so infinity and NaN make NaN of them.
 *          scale has 11 significant bits (hal/contract/fixpipe.md), with `exact` all that
 *          TFLite's has (exact.h). A batch normalisation that follows is folded into weight
 *          and bias by who makes them.
 * Ways     Sums leave L0C once. What the fixpipe can do to them it does: scales, relu, leaky
 *          relu, a limit, a cast. The rest is the Vector's: L0C to UB, UB to GM (tail.c).
 * Ranges   all sizes from 1 up; strides to 63, dilations to 255, pads to 255 and below the
 *          extent of the filter, which fits into the padded map; h, w, kh, kw within LOAD3D's.
 * Buffers  no alignment wanted (512 bytes is fastest); y must not overlap the others.
 * Uses     L1, L0A, L0B, L0C, BT; seven queues of each core.
 * Errors   ERR_ARG, ERR_SHAPE, ERR_TYPE, ERR_LOCAL (a filter too large for the smallest
 *          tile): nothing was started. ERR_FAULT, ERR_DEADLOCK: *report.
 * Source   img2col by LoadData3Dv2 (hal/contract/mte.md), as Ascend's Conv2D.
 */
#ifndef KERNELS_CONV_H
#define KERNELS_CONV_H

#include "sched/sched.h"

/* What the fixpipe makes of sums, then what the Vector does (F16 only). */
enum conv_act {
    CONV_LINEAR,
    CONV_RELU,
    CONV_LEAKY,
    CONV_SILU,
    CONV_SIGMOID,
    CONV_TANH,
    CONV_HARD_SWISH,
};
enum { CONV_TEXT = 160, CONV_EXACT_PASSES = 36 /* of the Vector, where it is exact */ };

struct conv_part;
struct conv {
    const void *x, *weight, *bias; /* weight: of conv2d() packed, of conv_ref() not */
    void *y;
    uint32_t n, h, w, c, o, kh, kw;
    uint32_t stride_h, stride_w, dilation_h, dilation_w, groups;
    int32_t pad_top, pad_left, pad_bottom, pad_right; /* below 0: of a part alone */
    enum type in, out;
    float scale;           /* S8 to S8 or F16; times that of the output channel */
    int32_t zero;          /* S8 to S8: what 0 becomes */
    const float *scales;   /* S8: of each output channel, or none; then one of: */
    const uint64_t *words; /* what conv_words() makes of them */
    const int32_t *exact;  /* S8 to S8: what conv_exact_table() does; no limit */
    enum conv_act act;
    float slope;     /* CONV_LEAKY */
    float limit;     /* not 0: no more than this behind the activation */
    const void *add; /* F16 (n, oh, ow, o) or none; behind the activation or before it */
    bool add_last;
    bool in_rows;                 /* the weights are not packed */
    bool sums;                    /* go to UB as they are, for a struct conv_sink */
    unsigned cores;               /* 0: all of the chip */
    const char *cut;              /* words of plan.h that say how it is cut; or NULL */
    const struct conv_part *part; /* of what it is one: plan.h; none: it is whole */
};

/* Height and width of y. */
uint32_t conv_oh(const struct conv *p);
uint32_t conv_ow(const struct conv *p);
/* Whether it is one of each channel by itself, of F16, with a filter that the smallest tile
 * of these holds. */
bool conv_is_depthwise(const struct conv *p);
/* Whether there is such a convolution; `why` says what is wrong. */
MUST_CHECK int conv_check(const struct conv *p, char why[CONV_TEXT]);

/* Weights (o, kh, kw, c / groups) as conv2d() wants them, and how many bytes these are. */
uint64_t conv_packed_bytes(const struct conv *p);
MUST_CHECK int conv_pack(const struct conv *p, const void *weight, void *packed,
                         struct sched_report *report);
/* The share of the task's block of so many, in a launch of others; what conv_check() takes. */
void conv_pack_block(const struct conv *p, const void *weight, void *packed,
                     unsigned shares);
MUST_CHECK int conv2d(const struct conv *p, struct sched_report *report);
/* What conv2d() launches, for steps of a launch that others share: all of its blocks, on p->cores
 * cores, call conv_step_block(*step); then conv_step_free(). What p points to stays there as long.
 * Errors as conv2d(), ERR_NOMEM. */
MUST_CHECK int conv_step(const struct conv *p, void **step);
void conv_step_block(void *step);
void conv_step_free(void *step);
/* Scales of output channels as the fixpipe has them, with p->zero; as TFLite's, for which
 * the table has so many numbers. */
void conv_words(const struct conv *p, uint64_t *words);
uint64_t conv_exact_numbers(const struct conv *p);
void conv_exact_table(const struct conv *p, int32_t *table);
/* Element i of y by the definition above, computed by the hart, as the bits that the machine
 * must give. */
uint32_t conv_ref(const struct conv *p, uint64_t i);
/* What the definition makes of a sum in fp32, S8 scaled already: the bits of an element. */
uint32_t conv_ref_finish(const struct conv *p, float value);
/* Likewise of channel o's sum of S8. */
uint32_t conv_ref_whole(const struct conv *p, uint32_t o, uint32_t whole);

#endif
