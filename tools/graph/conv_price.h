/* SPDX-License-Identifier: MIT
 *
 * What the firmware's convolution takes on one core, asked of its own plans.
 */
#ifndef GRAPH_CONV_PRICE_H
#define GRAPH_CONV_PRICE_H

#include "kernels/conv/conv.h"

/* Whether there is one that some tile holds. */
bool conv_price_takes(const struct conv *p);
/* Cycles of what it takes, where the fixpipe does all that is done to sums. */
uint64_t conv_price(const struct conv *p);
/* Those of the Cube alone, which no other way to cut it saves. */
uint64_t conv_least(const struct conv *p);

#endif
