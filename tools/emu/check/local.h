/* SPDX-License-Identifier: MIT
 *
 * Which bytes of a core's memory are undefined: a byte of shadow for each, 0 if it is
 * defined, and the bits that are not where single ones count. Each block of them has a mark
 * whether one of it may be undefined, so that the many ranges that are all defined cost a
 * look at a few marks. A block with no mark has no undefined byte.
 */
#ifndef TOOLS_EMU_CHECK_LOCAL_H
#define TOOLS_EMU_CHECK_LOCAL_H

#include <stdbool.h>
#include "tools/emu/check/host.h"

enum { UNDEFINED_BLOCK = 256 };

struct undefined_local {
    uint8_t *byte;
    uint8_t *mark;    /* of a block */
    uint32_t *origin; /* where the undefined bytes of a block come from; 0: from here */
    uint32_t bytes;
};

/* All of it undefined. */
void local_open(struct undefined_local *l, struct arena *arena, uint32_t bytes);
/* Of what is outside of the memory nothing is undefined. */
void local_set(struct undefined_local *l, uint64_t first, uint64_t bytes, bool undefined);
/* How many bytes are defined before the first one that is not. */
uint64_t local_find(struct undefined_local *l, uint64_t first, uint64_t bytes);
/* False: none of these blocks has an undefined byte. */
bool local_marked(const struct undefined_local *l, uint64_t first, uint64_t bytes);
/* Bytes of shadow have been written; those that are undefined come from `origin`. */
void local_flowed(struct undefined_local *l, uint64_t first, uint64_t bytes,
                  uint32_t origin);
/* How many bytes of a shadow are 0 before the first one that is not. */
uint64_t local_zeros(const uint8_t *p, uint64_t bytes);

#endif
