/* SPDX-License-Identifier: MIT
 *
 * Private to emit/: how nodes become commands.
 */
#ifndef KERNELS_TILE_EMIT_INSIDE_H
#define KERNELS_TILE_EMIT_INSIDE_H

#include "kernels/tile/emit/emit.h"

/* --- emit.c: buffers and commands --- */

/* Notes why it cannot be done; the first reason stays. */
__attribute__((format(printf, 3, 4))) void emit_fail(struct emit *e, int err,
                                                     const char *format, ...);
/* A buffer, its number + 1. */
uint8_t buffer_new(struct emit *e, uint64_t bytes);
/* Its address; the next command touches it. */
uint32_t buffer_at(struct emit *e, uint8_t buffer);
/* Elements that a value has room for in a class (HAS_), and those that count. */
uint32_t emit_elements(const struct emit *e, unsigned has);
/* What a value of a class takes; a buffer for one. */
uint32_t emit_bytes(const struct emit *e, unsigned has, unsigned type);
uint8_t buffer_of_class(struct emit *e, unsigned has, unsigned type);
bool emit_varies(const struct emit *e, const struct node *n);
void put(struct emit *e, union cmd *cmd);
/* The commands behind work on so many repeats of so many lanes: what to give them as
 * `repeat`. Or on a count of elements, or on some lanes of each repeat. */
uint8_t mask_repeats(struct emit *e, uint64_t repeats, unsigned lanes);
void mask_count(struct emit *e, uint64_t n);
void mask_lanes(struct emit *e, unsigned lanes);
void mask_pattern(struct emit *e, uint64_t lanes);
/* A repeat full of a number. */
uint8_t constant_wide(struct emit *e, unsigned type, double value);

/* layout.c: nodes. */
void emit_node(struct emit *e, uint16_t node);
/* The buffer for a node's value in its own form; x and y: whose buffers it may be in. */
uint8_t result_buffer(struct emit *e, uint16_t node, uint16_t x, uint16_t y);

/* Prepares the form in which a value is read beside those of a class; where that is. */
void prepare(struct emit *e, uint16_t x, unsigned has);
struct vec_at operand(struct emit *e, uint16_t x, unsigned has);
/* The repeats of a whole value of a class. */
uint8_t all(struct emit *e, unsigned has, unsigned esize);
/* masks.c */
void emit_bits(struct emit *e, uint16_t node);
void emit_compare(struct emit *e, uint16_t node);
void emit_where(struct emit *e, uint16_t node);
uint8_t mask_full(struct emit *e, uint16_t x);
/* mixed.c; false: the node is none of these. */
bool emit_mixed(struct emit *e, uint16_t node);

/* spread.c: other forms of values in `dense`. */
uint8_t spread_block(struct emit *e, uint8_t dense, unsigned esize);
uint8_t spread_wide(struct emit *e, uint8_t dense, unsigned esize, uint32_t rows);
uint8_t spread_twice(struct emit *e, uint8_t dense, unsigned esize);
uint8_t spread_full(struct emit *e, uint8_t dense, unsigned type, unsigned has);
uint8_t form_block(struct emit *e, uint16_t x);
uint8_t form_wide(struct emit *e, uint16_t x);
uint8_t form_full(struct emit *e, uint16_t x);
uint8_t form_twice(struct emit *e, uint16_t x);

/* reduce.c */
void emit_reduce(struct emit *e, uint16_t node);

#endif
