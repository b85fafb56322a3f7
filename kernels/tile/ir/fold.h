/* SPDX-License-Identifier: MIT
 *
 * Operations on numbers, which no command takes alone: done when a program is lowered.
 */
#ifndef KERNELS_TILE_IR_FOLD_H
#define KERNELS_TILE_IR_FOLD_H

#include "kernels/tile/ir/ir.h"

/* A number in a type: to nearest, ties to even; integers saturate, NaN is 0. */
double fold_round(double x, enum type type);
/* Operations of one and of two operands; a mask is 0 or 1. */
double fold1(enum tile_op op, double x);
double fold2(enum tile_op op, double x, double y);
/* Of integers: they wrap, and AND and OR are of their bits. */
double fold_integers(enum tile_op op, double x, double y, enum type type);
/* x y, of a y that lacks a dimension of x, is wanted by gelu() alone: half of it is a command for
 * a few instead of one for all. The operand that y is + 1; 0: it is none such. */
unsigned fold_halved(const struct tile_kernel *k, const uint8_t *live, tile_value v);
/* Whether v is f16(x) of what is one command in F16, or several, of values that are: the same bits
 * as in F32, rounded behind. A value that is one of F16, whatever its type. */
bool fold_is_half(const struct tile_kernel *k, tile_value v);
bool fold_fits_f16(const struct tile_kernel *k, tile_value v);
/* Marks the values of F16 that such an x is computed of. */
void fold_mark_half(const struct tile_kernel *k, tile_value v, uint8_t *live);
/* What fold_fits_f16(), in F16. */
tile_value fold_half(struct tile_kernel *k, tile_value v);
/* What may be cast to a type in the place of x: the cast rounds by itself, and what is one of two
 * numbers of F16 may be that in F16, by way of which bytes are made. */
tile_value fold_before_cast(struct tile_kernel *k, tile_value x, enum type to);

#endif
