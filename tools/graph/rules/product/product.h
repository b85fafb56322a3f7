/* SPDX-License-Identifier: MIT
 *
 * Products of matrices as NumPy has them: what their operands' dimensions are.
 */
#ifndef GRAPH_PRODUCT_H
#define GRAPH_PRODUCT_H

#include "tools/graph/steps/steps.h"

/* Axes of a program: those in front from 0 on, behind them m, n, k. */
struct matrix_axes {
    uint8_t a[GRAPH_RANK], b[GRAPH_RANK], c[GRAPH_RANK], m, n, k;
};

/* The product's shape; dies if there is none. */
struct shape product_result_shape(const struct graph *g, const struct node *n,
                                  const struct tensor *a, const struct tensor *b);
/* Of a product of `rank` dimensions. */
struct matrix_axes product_axes(const struct tensor *a, const struct tensor *b,
                                unsigned rank);

/* An operand of a product in a program, as planes.c has it. */
struct product_operand {
    enum elem type;
    bool planes; /* of F32 as two of F16, hi + lo / 64 */
    const char *hi, *lo;
};
struct product_operand product_in(struct program *p, struct tensor *t,
                                  const uint8_t *axis);
/* An expression for the sum over axis k, of more than one element, of two operands: on the Cube
 * where it has their type or the node's products are by planes, else on the Vector. */
const char *product_text(struct program *p, struct product_operand a,
                         struct product_operand b, uint8_t k);
/* The same of tensors whose axis k has `size` elements, also one. */
const char *product_of(struct program *p, struct tensor *a, const uint8_t *of_a,
                       struct tensor *b, const uint8_t *of_b, uint8_t k, int64_t size);
bool product_on_cube(enum elem type);
/* A pass: products of F32 by F16, where the Cube has no F32 and it is worth it. */
unsigned product_planes(struct graph *g);

#endif
