/* SPDX-License-Identifier: MIT
 *
 * How the tensors of a kernel lie: an order of dimensions that several of them share, the
 * distance of neighbours; see ir.h.
 */
#include "kernels/tile/ir/ir.h"

const struct tile_tensor *tile_tensor_at(const struct tile_kernel *k, unsigned i)
{
    return i < k->n_params ? &k->param[i] : &k->result[i - k->n_params].tensor;
}

/* Dimensions with more than one element. */
static tile_dims long_dims(const struct tile_kernel *k)
{
    tile_dims dims = 0;

    for (unsigned d = 0; d < k->n_dims; d++) {
        dims = (tile_dims)(dims | (k->dim[d].size > 1) << d);
    }
    return dims;
}

/* Whether d comes behind a dimension of `left` in some tensor of a set. */
static bool comes_later(const struct tile_kernel *k, uint32_t tensors, unsigned d,
                        tile_dims left)
{
    for (unsigned i = 0; i < k->n_params + k->n_results; i++) {
        const struct tile_tensor *t = tile_tensor_at(k, i);
        tile_dims before = 0;
        for (unsigned j = 0; j < t->rank && (tensors >> i & 1); j++) {
            if (t->dim[j] == d && (before & left)) {
                return true;
            }
            before = (tile_dims)(before | 1u << t->dim[j]);
        }
    }
    return false;
}

int tile_dims_order(const struct tile_kernel *k, uint32_t tensors, uint8_t *order)
{
    tile_dims left = long_dims(k);
    int n = 0;

    while (left) {
        unsigned d = 0;
        while (d < k->n_dims && !((left >> d & 1) && !comes_later(k, tensors, d, left))) {
            d++;
        }
        if (d == k->n_dims) {
            return -1;
        }
        order[n++] = (uint8_t)d;
        left = (tile_dims)(left & ~(1u << d));
    }
    return n;
}

uint64_t tile_dim_stride(const struct tile_kernel *k, const struct tile_tensor *t,
                            unsigned d)
{
    uint64_t stride = 1;

    for (unsigned i = t->rank; i-- > 0;) {
        stride = t->apart && i + 1 == t->row ? t->apart : stride;
        if (t->dim[i] == d) {
            return stride;
        }
        stride *= k->dim[t->dim[i]].size;
    }
    return 0;
}
