/* SPDX-License-Identifier: MIT
 *
 * Products of matrices as NumPy has them: what their operands' dimensions are.
 */
#ifndef GRAPH_PRODUCT_H
#define GRAPH_PRODUCT_H

#include "tools/graph/emit.h"

/* Axes of a program: those in front from 0 on, behind them m, n, k. */
struct matrix_axes {
    uint8_t a[GRAPH_RANK], b[GRAPH_RANK], c[GRAPH_RANK], m, n, k;
};

/* The product's shape; dies if there is none. */
struct shape matrix_shape(const struct graph *g, const struct node *n,
                          const struct tensor *a, const struct tensor *b);
/* Of a product of `rank` dimensions. */
struct matrix_axes matrix_axes(const struct tensor *a, const struct tensor *b,
                               unsigned rank);

/* An expression for the sum over axis k, of that size, of two operands: on the Cube where it has
 * their type, else on the Vector. */
const char *product_text(struct program *p, enum elem type, const char *a, const char *b,
                         uint8_t k, int64_t size);

#endif
