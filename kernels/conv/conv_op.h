/* SPDX-License-Identifier: MIT
 *
 * What the operators of convolutions share: options, and what these make of operands.
 */
#ifndef KERNELS_CONV_OP_H
#define KERNELS_CONV_OP_H

#include <math.h>

#include "kernels/cli/limit.h"
#include "kernels/cli/op.h"
#include "kernels/conv/conv.h"

struct conv_own {
    uint32_t stride, stride_w, dilation, dilation_w, groups, pad, activation;
    uint32_t output_pad, rounding;
    int32_t pad_left, pad_bottom, pad_right, output_pad_w, zero;
    float scale, slope, limit;
    bool add_last, exact;
    const char *cut;
};

/* clang-format off */
#define CONV_WINDOW                                                                      \
    NUMBER(struct conv_own, stride, 1, 1, 63, "rows, and columns"),                      \
    NUMBER(struct conv_own, stride_w, 0, 0, 63, "columns; 0: as rows"),                  \
    NUMBER(struct conv_own, dilation, 1, 1, 255, "rows, and columns"),                   \
    NUMBER(struct conv_own, dilation_w, 0, 0, 255, "columns; 0: as rows"),               \
    NUMBER(struct conv_own, groups, 1, 1, 65535, "of channels"),                         \
    NUMBER(struct conv_own, pad, 0, 0, 255, "above x, and on each side"),                \
    SIGNED(struct conv_own, pad_left, -1, -1, 255, "-1: as --pad"),                      \
    SIGNED(struct conv_own, pad_bottom, -1, -1, 255, "-1: as --pad"),                    \
    SIGNED(struct conv_own, pad_right, -1, -1, 255, "-1: as --pad-left")
#define CONV_CUT                                                                         \
    TEXT(struct conv_own, cut, NULL, "how it is cut, as n64k128r7c28m112i1l4b2x8p: "     \
                                     "kernels/conv/plan.h")
#define CONV_SCALE                                                                       \
    FLOAT(struct conv_own, scale, 0.001, 0, 1e30, "of s8 to s8 or f16"),                 \
    SIGNED(struct conv_own, zero, 0, -128, 127, "of s8 to s8: what 0 becomes")
#define CONV_LIMIT                                                                       \
    FLOAT(struct conv_own, slope, 0.1, -1e30, 1e30, "of leaky, below 0"),                \
    FLOAT(struct conv_own, limit, INFINITY, 1e-30, INFINITY, "no more than this behind that")
/* clang-format on */

/* x, weight and the bias are operands 0, 1 and 2; weights are packed in work[0]. */
struct conv conv_of(const struct op_call *c);
/* Filters have as many channels as a group of x, or ERR_SHAPE after one line. */
int conv_op_channels(const struct op_call *c, const struct conv *p);
int conv_op_shape(const struct op_call *c, const struct conv *p, struct tensor *out);
int conv_op_prepare(struct op_call *c, const struct conv *p);
/* The room in work[0], of so many bytes; how packing them there ended, told if it is an error. */
bool conv_op_room(struct op_call *c, const struct conv *p, uint64_t bytes);
int conv_op_packed(const struct op_call *c, int err, const struct sched_report *report);
int conv_op_run(const struct op_call *c, struct conv *p, struct sched_report *report);
int conv_op_step(const struct op_call *c, struct conv *p, struct op_step *to);
/* All but what the Vector does. */
void conv_op_work(const struct op_call *c, const struct conv *p, struct work *w);
/* Of S8 with a scale of each output channel, operand 3, by the fixpipe's words or exact: what
 * `p` has of that, its table in work[1], and what becomes of the sums. */
void conv_q_take(const struct op_call *c, struct conv *p);
int conv_q_prepare(struct op_call *c, struct conv *p);
void conv_q_work(const struct op_call *c, struct work *w);

#endif
