/* SPDX-License-Identifier: MIT
 *
 * Floats of 8 and 4 bits, which the machine has as their bits alone: what they are, and which of
 * them a number becomes, on the host and as lines of a program. Source: ONNX, "Float stored in 8
 * bits", Cast-25.
 */
#ifndef GRAPH_SMALL_H
#define GRAPH_SMALL_H

#include "tools/graph/steps/steps.h"

/* Dies if a node computes with such types; those that move elements may have them. */
void small_check(const struct graph *g, const struct node *n);
double small_value(enum elem type, double bits);
/* The nearest, of two the even one. What is too large becomes the largest, or, without `saturate`,
 * what the type has beyond that: infinity or NaN. */
double small_bits(enum elem type, double x, bool saturate);
/* The same of expressions, in f32. */
const char *small_decode(struct program *p, enum elem type, const char *bits);
const char *small_encode(struct program *p, enum elem type, const char *x, bool saturate);

#endif
