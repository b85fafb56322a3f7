/* SPDX-License-Identifier: MIT
 *
 * Which bytes of a core's memory are undefined: a byte of shadow for each, 0 if it is
 * defined, and the bits that are not where single ones count. Each block of them, as the
 * engines move data, has a mark which says whether that has to be looked at; so the many
 * ranges that are all defined, or all undefined, cost a look at a few marks, and their bytes
 * of shadow are never written: a host whose zeros cost nothing until then has none for them.
 */
#ifndef TOOLS_EMU_CHECK_MEMORY_LOCAL_H
#define TOOLS_EMU_CHECK_MEMORY_LOCAL_H

#include <stdbool.h>
#include "tools/emu/check/host.h"

enum { UNDEFINED_BLOCK = 32, ORIGIN_BLOCK = 256, LOCAL_PAGE = 4096 };

/* Of a block: all of it is defined, and so is its shadow; its shadow tells; all of it is
 * undefined, which its shadow, zeros, does not tell. */
enum { LOCAL_DEFINED, LOCAL_TOLD, LOCAL_UNDEFINED };

struct undefined_local {
    uint8_t *byte;
    uint8_t *mark;    /* of a block */
    uint32_t *origin; /* where undefined bytes of ORIGIN_BLOCK come from; 0: from here */
    bool *page;       /* of LOCAL_PAGE bytes of shadow: something was written there */
    uint32_t bytes;
};

/* All of it undefined. byte: so many zeros. */
void local_open(struct undefined_local *l, struct arena *arena, uint8_t *byte,
                uint32_t bytes);
/* Bytes of shadow that have been written, in whole pages. */
size_t local_bytes(const struct undefined_local *l);
/* Of what is outside of the memory nothing is undefined. */
void local_set(struct undefined_local *l, uint64_t first, uint64_t bytes, bool undefined);
/* How many bytes are defined before the first one that is not. */
uint64_t local_find(struct undefined_local *l, uint64_t first, uint64_t bytes);
/* False: none of these blocks has an undefined byte. */
bool local_marked(const struct undefined_local *l, uint64_t first, uint64_t bytes);
/* Lets the shadow tell of a range, which may then be written. */
void local_tell(struct undefined_local *l, uint64_t first, uint64_t bytes);
/* Bytes of shadow have been written; those that are undefined come from `origin`. */
void local_flowed(struct undefined_local *l, uint64_t first, uint64_t bytes,
                  uint32_t origin);
/* How many bytes of a shadow are 0 before the first one that is not. */
uint64_t local_zeros(const uint8_t *p, uint64_t bytes);

#endif
