/* SPDX-License-Identifier: MIT
 *
 * The list of an object's tiles: products of a batch, in them parts of k, rows and columns
 * of tiles. Tiles of a row are alike to a unit, so there are two sizes of them and the rest
 * at the edge. They follow each other by rows, or by columns where b stays, there and back
 * where that saves a load, and a share is a piece of the list: its tiles have panels of a, or
 * of b, in common. Of parts of k that wait for each other a share has one tile in so many, so
 * that nobody waits for long.
 */
#ifndef KERNELS_MM_WALK_H
#define KERNELS_MM_WALK_H

#include "kernels/mm/mm.h"

enum {
    MM_SPARSE_K = 64, /* of a column block of a sparse b */
    MM_EVEN = 8,      /* tiles of a share, which one more does not make much later */
};

static inline uint32_t mm_min(uint32_t a, uint32_t b)
{
    return a < b ? a : b;
}

static inline uint32_t mm_max(uint32_t a, uint32_t b)
{
    return a > b ? a : b;
}

static inline uint32_t mm_up(uint32_t n, uint32_t to)
{
    return (n + to - 1) / to * to;
}

static inline uint32_t mm_count(uint32_t n, uint32_t of)
{
    return (n + of - 1) / of;
}

/* Bytes of so many elements; of S4, where they are halves, rounded up. */
static inline uint32_t mm_bytes(enum type type, uint32_t n)
{
    return (uint32_t)(((uint64_t)n * type_bits(type) + 7) / 8);
}

/* So many, and one more if only so they are whole bytes. */
static inline uint32_t mm_even(enum type type, uint32_t n)
{
    return type == TYPE_S4 ? (n + 1) & ~1u : n;
}

/* Rows and columns of c in whose multiples it is cut, and steps of k: fractals, and where a
 * window in L1 begins at a column block, elements of that. */
static inline uint32_t mm_unit(const struct mm *mm, bool blocks)
{
    return blocks ? mm_max(16, type_c0(mm->a.type)) : 16;
}

static inline uint32_t mm_unit_m(const struct mm *mm)
{
    return mm_unit(mm, mm->a.transposed);
}

static inline uint32_t mm_unit_n(const struct mm *mm)
{
    return mm_unit(mm, !mm->b.transposed);
}

static inline uint32_t mm_unit_k(const struct mm *mm)
{
    return mm->b.sparse ? MM_SPARSE_K : mm_unit(mm, true);
}

/* Where piece i of `pieces` begins, of `all` in whole units. */
static inline uint32_t mm_cut(uint32_t all, uint32_t unit, uint32_t i, uint32_t pieces)
{
    return mm_min(all, (uint32_t)((uint64_t)mm_count(all, unit) * i / pieces) * unit);
}

/* Where part i of k begins; walk.c. */
uint32_t mm_part_at(const struct mm *mm, uint32_t i, uint32_t parts);

/* The slot of bias and scales of the cursor's tile. */
static inline uint32_t mm_small_slot_of(const struct mm *mm, const struct mm_cursor *at)
{
    return at->tile / mm->step % 2;
}

/* A tile goes through L0C in pieces of columns, alike to a unit, the wider ones first: how
 * many there are, and where piece i begins. */
static inline uint32_t mm_columns(const struct mm *mm, uint32_t nt)
{
    return mm_count(nt, mm->tiling.columns);
}

static inline uint32_t mm_column(const struct mm *mm, uint32_t nt, uint32_t i,
                                 uint32_t pieces)
{
    uint32_t units = mm_count(nt, mm->unit_n);

    return i == 0 ? 0 : i == pieces ? nt : mm_count(units * i, pieces) * mm->unit_n;
}

/* Pieces of at most `most`, a multiple of the unit. */
static inline uint32_t mm_pieces(uint32_t all, uint32_t unit, uint32_t most)
{
    return mm_count(mm_count(all, unit), most / unit);
}

/* Shares, at most, of which every other line of tiles goes back, so that its first tile has the
 * other operand's panel of the last one before; 0: none. */
uint32_t mm_winding(const struct mm *mm);
/* Sets what the task's block has of the list, or the share that was told: its first tile. */
uint32_t mm_take_share(struct mm *mm);
/* Tiles of the share from that one on. */
uint32_t mm_tiles_from(const struct mm *mm, uint32_t tile);
/* To the first chunk of a tile of the share, whose first tile is `first`. */
void mm_seek(const struct mm *mm, struct mm_cursor *at, uint32_t tile, uint32_t first);
/* To the next chunk, or to the first of the next tile, which the share has. */
void mm_step(const struct mm *mm, struct mm_cursor *at);

#endif
