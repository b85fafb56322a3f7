/* SPDX-License-Identifier: MIT
 *
 * Where the buffers of an emitted program lie in UB.
 */
#ifndef KERNELS_TILE_TILES_PLACE_H
#define KERNELS_TILE_TILES_PLACE_H

#include "kernels/tile/emit/emit.h"

/* Tiles of a buffer at one time. */
static inline unsigned way_copies(const struct way *w, const struct buffer *b)
{
    bool one = b->always || !(b->load || b->store) || (w->single && !b->store);

    return one ? 1 : w->ring;
}
/* Gives the buffers of an emitted program addresses. False: UB does not hold them; *most is
 * what it would have to. */
bool place(struct emit *e, const struct placing *how, uint32_t *most);

#endif
