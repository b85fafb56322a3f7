/* SPDX-License-Identifier: MIT
 *
 * Reductions over several dimensions; see ir.h.
 */
#include "kernels/tile/ir/build.h"

/* One dimension after the other, from the last on. */
static tile_value nested(struct tile_kernel *k, enum tile_op op, tile_value x,
                         tile_dims dims)
{
    for (unsigned d = TILE_DIMS; d-- > 0;) {
        x = (dims >> d & 1) != 0 ? tile_reduce(k, op, x, (uint8_t)d) : x;
    }
    return x;
}

tile_value tile_reduce_all(struct tile_kernel *k, enum tile_op op, tile_value x,
                           tile_dims dims)
{
    tile_value off;

    if ((dims & (dims - 1)) == 0) {
        return tile_reduce(k, op, x, (uint8_t)__builtin_ctz(dims));
    }
    switch (op) {
    case TILE_VAR:
        off = tile_map2(k, TILE_SUB, x, nested(k, TILE_MEAN, x, dims));
        return nested(k, TILE_MEAN, tile_map2(k, TILE_MUL, off, off), dims);
    case TILE_COUNT:
        x = tile_map3(k, TILE_WHERE, x, tile_number(k, 1), tile_number(k, 0));
        return tile_cast(k, nested(k, TILE_SUM, x, dims), TYPE_S32);
    case TILE_ARGMAX:
        return tile_fail(k, "%s is over one dimension", tile_op_text(op));
    default:
        return nested(k, op, x, dims);
    }
}
