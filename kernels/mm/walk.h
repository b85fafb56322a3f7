/* SPDX-License-Identifier: MIT
 *
 * The list of an object's tiles: products of a batch, in them parts of k, rows and columns
 * of tiles. Tiles of a row are alike to a unit, so there are two sizes of them and the rest
 * at the edge. They follow each other by rows, or by columns where b stays, and a share is a
 * piece of the list: its tiles have panels of a, or of b, in common.
 */
#ifndef KERNELS_MM_WALK_H
#define KERNELS_MM_WALK_H

#include "kernels/mm/mm.h"

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
    return mm_unit(mm, true);
}

/* Where piece i of `pieces` begins, of `all` in whole units. */
static inline uint32_t mm_cut(uint32_t all, uint32_t unit, uint32_t i, uint32_t pieces)
{
    return mm_min(all, (uint32_t)((uint64_t)mm_count(all, unit) * i / pieces) * unit);
}

/* Where part i of k begins. Cores begin one after the other, so the first parts are the larger
 * ones: by what a core of 24, all of which load from L2, loads until the last begins; by half
 * of a part at most. */
static inline uint32_t mm_part_at(const struct mm *mm, uint32_t i, uint32_t parts)
{
    enum { LATE = 672 * 2030 /* cycles, bytes a cycle */ };
    uint32_t unit = mm_unit_k(mm), more;
    uint64_t units = mm_count(mm->shape.k, unit), row;

    if (parts <= 2) { /* two are many cores each, which begin at many times */
        return mm_cut(mm->shape.k, unit, i, parts);
    }
    row =
        ((uint64_t)mm->shape.m + mm->shape.n) * unit * type_bits(mm->a.type) / 8 * parts;
    more = mm_min((uint32_t)(LATE / row), (uint32_t)(units / parts / 2));
    units = units * i / parts + more * i * (parts - i) / (2 * parts);
    return mm_min(mm->shape.k, (uint32_t)units * unit);
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

/* To the first chunk of a tile of the share, whose first tile is `first`. */
void mm_seek(const struct mm *mm, struct mm_cursor *at, uint32_t tile, uint32_t first);
/* To the next chunk, or to the first of the next tile, which the share has. */
void mm_step(const struct mm *mm, struct mm_cursor *at);

#endif
