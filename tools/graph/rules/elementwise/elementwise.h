/* SPDX-License-Identifier: MIT
 *
 * Operands that are broadcast, of operators that compute each element alone.
 */
#ifndef GRAPH_ELEMENTWISE_H
#define GRAPH_ELEMENTWISE_H

#include "tools/graph/steps/steps.h"

/* Each ends with an op of NULL; rules_cast: cast.c. */
extern const struct rule rules_elementwise[], rules_cast[];

/* Operand i as it is broadcast: before opset 7 by an attribute, too. */
struct shape elementwise_operand(const struct graph *g, const struct node *n, unsigned i);
/* What all of them are broadcast to. */
struct shape elementwise_shape(const struct graph *g, const struct node *n);
/* Whether its elements are no floats and no truth. */
bool elementwise_is_whole(const struct tensor *t);
/* Dimensions of so many that operand i has. */
const uint8_t *elementwise_axes(const struct graph *g, const struct node *n, unsigned i,
                                unsigned rank);
/* The lower 16 bits of an expression of 32, as a number from 0 on. */
const char *elementwise_lower_half(struct program *p, const char *x);

#endif
