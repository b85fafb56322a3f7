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
    MM_SLOPE_BYTES = 4,
    MM_ROW_PIXELS = 511, /* of a filter that is a row */
    MM_SLOTS = 255,      /* of L1: what a command posts at one time */
    MM_ONCE = 2          /* chunks of a share that is not recorded */
};

static inline enum type mm_sum_type(const struct mm *mm)
{
    return mm->a.type == TYPE_S8 || mm->a.type == TYPE_S4 ? TYPE_S32 : TYPE_F32;
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

/* Whether parts of k are added to c one behind the other: the first one is stored, each of the
 * others added as soon as the one before has left, strip by strip, which semaphores of the
 * chip tell. Else they are added to zeros as they come. */
static inline bool mm_chained(const struct mm *mm, uint32_t parts)
{
    return parts > 1 && !mm->any_order && mm_sum_type(mm) == TYPE_F32;
}

/* Whether an operand can lie in L1 in rows, each up to 32 bytes, and MTE1 makes the fractals:
 * its window is then the img2col matrix of a filter as wide as a row. Columns of that matrix
 * come in 32 bytes: not where they are rows or columns of c, which come in 16 elements. */
static inline bool mm_may_be_rows(const struct mm *mm, const struct mm_operand *o)
{
    bool along_k = o == &mm->a ? !o->transposed : o->transposed;

    return o->layout == MM_ND && !o->sparse && (along_k || type_c0(o->type) <= 16);
}

/* Where slice i of a chunk begins, in units of k: the longer ones come first. */
static inline uint32_t mm_slice_at(uint32_t units, uint32_t i, uint32_t slices)
{
    return mm_count(units * i, slices);
}

/* k of a part, at most; of a slot of a in L1. */
static inline uint32_t mm_part_k(const struct mm *mm, uint32_t parts)
{
    uint32_t most = 0, begin, end = 0;

    for (uint32_t i = 1; i <= parts; i++) {
        begin = end;
        end = mm_part_at(mm, i, parts);
        most = mm_max(most, end - begin);
    }
    return mm_up(most, mm_unit_k(mm));
}

/* Where a chunk's part of a begins in its slot. */
static inline uint32_t mm_a_begin(const struct mm *mm, const struct mm_cursor *at)
{
    return mm->tiling.a_whole ? at->k0 - at->k_begin : 0;
}

static inline uint32_t mm_a_k(const struct mm *mm, const struct mm_cursor *at)
{
    return mm->tiling.a_whole ? at->k_end - at->k_begin : at->kt;
}

/* Whether a chunk is the first, the last that uses its slot of a. */
static inline bool mm_a_first(const struct mm *mm, const struct mm_cursor *at)
{
    return at->a_first && (!mm->tiling.a_whole || at->chunk == 0);
}

static inline bool mm_a_last(const struct mm *mm, const struct mm_cursor *at)
{
    return at->a_last && (!mm->tiling.a_whole || at->chunk + 1 == at->chunks);
}

static inline uint32_t mm_a_slot(const struct mm *mm, const struct mm_cursor *at)
{
    return (at->a + (mm->tiling.a_whole ? 0 : at->chunk)) % mm->tiling.a_slots;
}

/* What the object has of a memory, and where that begins. */
static inline uint32_t mm_size(const struct mm *mm, enum npu_mem mem)
{
    return chip_mem(mem) / (mm->half ? 2 : 1);
}

static inline uint32_t mm_begin(const struct mm *mm, enum npu_mem mem)
{
    return mm->half == MM_SECOND_HALF ? chip_mem(mem) / 2 : 0;
}

static inline uint32_t mm_l1_size(const struct mm *mm)
{
    return mm->l1_bytes ? mm->l1_bytes : chip_mem(NPU_MEM_L1) - mm->l1_begin;
}

/* Of it two slots of L0A, L0B and BT; a slot of L1 for a tile's bias or scales. */
static inline uint32_t mm_l0a_slot(const struct mm *mm)
{
    return mm_size(mm, NPU_MEM_L0A) / 2;
}

static inline uint32_t mm_l0b_slot(const struct mm *mm)
{
    return mm_size(mm, NPU_MEM_L0B) / 2;
}

static inline uint32_t mm_bt_slot(const struct mm *mm)
{
    return mm_size(mm, NPU_MEM_BT) / 2;
}

static inline uint32_t mm_small_slot(const struct mm *mm, uint32_t size)
{
    return mm_up(mm->tiling.n * size, 64);
}

/* Of FB for so many columns. */
static inline uint32_t mm_fb_bytes(const struct mm *mm, uint32_t columns)
{
    return (mm->scale_words ? mm_up(columns * MM_SCALE_BYTES, 64) : 0) +
           (mm->slopes ? mm_up(columns * MM_SLOPE_BYTES, 64) : 0);
}

/* Two slots of L0C hold a tile, its left and its right columns; else they hold a tile each,
 * or columns of it in turn. */
static inline bool mm_in_halves(const struct mm_tiling *t)
{
    return t->columns < t->n && 2 * t->columns >= t->n;
}

/* Of a sparse b an element takes half a byte and a quarter of one: its index lies behind the
 * numbers, in GM and in a slot of L1. */
static inline uint32_t mm_b_bytes(const struct mm *mm, uint32_t bytes)
{
    return mm->b.sparse ? bytes / 8 * 5 : bytes;
}

/* k that the Cube multiplies in a cycle or two: of a fractal. */
static inline uint32_t mm_k_step(const struct mm *mm)
{
    return mm->b.sparse ? MM_SPARSE_K : type_c0(mm->a.type);
}

/* Makes the block's share of c zeros; tiles behind it wait until all blocks have. */
void mm_clear(struct mm *mm, void *c);
/* How what L0C holds becomes c. */
enum quant mm_quant(const struct mm *mm);
/* Commands of FIX for a whole tile through the ring; bytes of its largest piece. */
unsigned mm_ring_most(const struct mm *mm);
uint32_t mm_ring_bytes(const struct mm *mm);
/* All that recorded commands depend on but for their keys, and for addresses in GM, which
 * are patched. */
uint64_t mm_fold(const struct mm *mm);
/* Sets what follows from shape and tiling alone: rows and columns of tiles, parts, slots. */
void mm_lay_out(struct mm *mm);
/* Makes a and b each other as columns, and c a column: of one row. */
void mm_turn(struct mm *mm);

#endif
