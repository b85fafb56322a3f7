/* SPDX-License-Identifier: MIT
 *
 * What the files that build the intermediate form share; see ir.h.
 */
#ifndef KERNELS_TILE_IR_BUILD_H
#define KERNELS_TILE_IR_BUILD_H

#include "kernels/tile/ir/ir.h"

/* An error has been noted. */
static inline bool tile_failed(const struct tile_kernel *k)
{
    return k->error.text[0] != '\0';
}
/* Whether all of these values are there: none is where an error was before. */
bool tile_there(const struct tile_kernel *k, const tile_value *v, unsigned n);
/* Appends a node, or finds it: what would compute the same in the same loop is one. */
tile_value tile_add(struct tile_kernel *k, struct tile_node n);
/* Brings operands from .. n - 1 of an operation to one type, which is returned;
 * TYPE_COUNT on error. */
enum type tile_join(struct tile_kernel *k, enum tile_op op, tile_value *v, unsigned from,
                    unsigned n);
/* How many elements dimension `dim` has, a NUMBER that tile_set_size() fills in. */
tile_value tile_size(struct tile_kernel *k, const tile_value *none, uint8_t dim);
/* A name for a value, seen in a loop alone or (0) everywhere; false on error. */
bool tile_add_name(struct tile_kernel *k, const char *name, uint8_t loop,
                   tile_value value);
/* conv.c: sizes of what CONVs make, as far as they follow from those that are known; false: one
 * cannot be. Multiplications of an element. */
bool tile_conv_sizes(struct tile_kernel *k);
uint64_t tile_conv_terms(const struct tile_kernel *k, const struct tile_conv *c);
/* A copy in the arena; never NULL. */
const char *tile_copy_text(struct tile_kernel *k, const char *text);

#endif
