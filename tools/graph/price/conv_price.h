/* SPDX-License-Identifier: MIT
 *
 * What the firmware's convolution takes on one core, asked of its own plans.
 */
#ifndef GRAPH_CONV_PRICE_H
#define GRAPH_CONV_PRICE_H

#include "kernels/conv/plan.h"

/* What an operator takes besides on cores that stay, about (fitted to ResNet-50's and YOLOv5s's):
 * its tasks and queues, and all wait for the last one. */
enum { CONV_STEP = 4500 };

/* Whether there is one that some tile holds. */
bool conv_price_takes(const struct conv *p);
/* Cycles of what it takes, where the fixpipe does all that is done to sums. */
uint64_t conv_price(const struct conv *p);
/* The same cut by words (kernels/conv/plan.h) or NULL, on so many cores, and its plan; 0: it does
 * not fit, or there are no words for it. */
uint64_t conv_price_cut(const struct conv *p, const char *cut, unsigned cores,
                        struct conv_plan *plan);
/* Those of the Cube alone, which no other way to cut it saves. */
uint64_t conv_price_least(const struct conv *p);

#endif
