/* SPDX-License-Identifier: MIT
 *
 * What the files of the Matmul object share: sizes of buffers, and what follows from types.
 */
#ifndef KERNELS_MM_INSIDE_H
#define KERNELS_MM_INSIDE_H

#include "hal/chip.h"
#include "hal/fixpipe.h"
#include "kernels/mm/mm.h"
#include "kernels/mm/walk.h"

enum {
    MM_SUM_BYTES = 4,   /* of an element in L0C */
    MM_BIAS_BYTES = 4,  /* of a column */
    MM_SCALE_BYTES = 8, /* likewise */
};

static inline enum type mm_sum_type(const struct mm *mm)
{
    return mm->a.type == TYPE_S8 ? TYPE_S32 : TYPE_F32;
}

/* Rows of a column block of a chunk in L1. */
static inline uint32_t mm_a_rows(const struct mm *mm, const struct mm_cursor *at)
{
    return mm->a.transposed ? at->kt : mm_up(at->mt, 16);
}

static inline uint32_t mm_b_rows(const struct mm *mm, const struct mm_cursor *at)
{
    return mm->b.transposed ? mm_up(at->nt, 16) : at->kt;
}

/* Halves of L0A, L0B and BT; a slot of L1 for a tile's bias or scales. */
static inline uint32_t mm_l0a_slot(void)
{
    return chip_mem(NPU_MEM_L0A) / 2;
}

static inline uint32_t mm_l0b_slot(void)
{
    return chip_mem(NPU_MEM_L0B) / 2;
}

static inline uint32_t mm_bt_slot(void)
{
    return chip_mem(NPU_MEM_BT) / 2;
}

static inline uint32_t mm_small_slot(const struct mm *mm, uint32_t size)
{
    return mm_up(mm->tiling.n * size, 64);
}

/* Two slots of L0C hold a tile, its left and its right columns; else they hold a tile each,
 * or columns of it in turn. */
static inline bool mm_in_halves(const struct mm_tiling *t)
{
    return t->columns < t->n && 2 * t->columns >= t->n;
}

/* How what L0C holds becomes c. */
enum quant mm_quant(const struct mm *mm);
/* Commands of FIX for a whole tile through the ring; bytes of its largest piece. */
unsigned mm_ring_most(const struct mm *mm);
uint32_t mm_ring_bytes(const struct mm *mm);
/* Sets what follows from shape and tiling alone: rows and columns of tiles, parts, slots. */
void mm_lay_out(struct mm *mm);
/* Makes a and b each other as columns, and c a column: of one row. */
void mm_turn(struct mm *mm);

#endif
