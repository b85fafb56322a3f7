/* SPDX-License-Identifier: MIT
 *
 * From tile to tile and from chunk to chunk; see walk.h.
 */
#include "kernels/mm/walk.h"

static void chunk(const struct mm *mm, struct mm_cursor *at)
{
    at->kt = mm_min(mm->tiling.k, at->k_end - at->k0);
}

/* Where piece i of `pieces` begins, and its size. */
static void piece(uint32_t all, uint32_t unit, uint32_t i, uint32_t pieces,
                  uint32_t *first, uint32_t *size)
{
    *first = mm_cut(all, unit, i, pieces);
    *size = mm_cut(all, unit, i + 1, pieces) - *first;
}

void mm_seek(const struct mm *mm, struct mm_cursor *at, uint32_t tile, uint32_t first)
{
    const struct mm_shape *s = &mm->shape;
    bool by_columns = mm->tiling.b_stays, ends = tile + 1 == mm->tile_end;
    uint32_t inner = by_columns ? mm->rows : mm->cols;
    uint32_t line = tile / inner, in_line = tile % inner;
    uint32_t lines = by_columns ? mm->cols : mm->rows;
    bool begins = tile == first || in_line == 0;

    at->tile = tile;
    at->chunk = 0;
    if (begins) {
        uint32_t sum = line / lines;
        at->part = sum % mm->parts;
        at->product = sum / mm->parts;
    }
    if (tile == first ||
        (begins && mm->parts > 1)) { /* what there is one of stays as it is */
        at->k_begin = mm_part_at(mm, at->part, mm->parts);
        at->k_end = mm_part_at(mm, at->part + 1, mm->parts);
        at->chunks = mm_count(at->k_end - at->k_begin, mm->tiling.k);
    }
    at->k0 = at->k_begin;
    if (tile == first || (mm->rows > 1 && (begins || by_columns))) {
        uint32_t row = by_columns ? in_line : line % lines;
        piece(s->m, mm->unit_m, row, mm->rows, &at->m0, &at->mt);
    }
    if (tile == first || (mm->cols > 1 && (begins || !by_columns))) {
        uint32_t col = by_columns ? line % lines : in_line;
        piece(s->n, mm->unit_n, col, mm->cols, &at->n0, &at->nt);
    }
    ends = ends || in_line == inner - 1;
    at->a_first = !mm->tiling.a_stays || begins;
    at->a_last = !mm->tiling.a_stays || ends;
    at->b_first = !mm->tiling.b_stays || begins;
    at->b_last = !mm->tiling.b_stays || ends;
    chunk(mm, at);
}

void mm_step(const struct mm *mm, struct mm_cursor *at)
{
    at->k0 += at->kt;
    if (++at->chunk < at->chunks) {
        chunk(mm, at);
        return;
    }
    at->a += !at->a_last ? 0 : mm->tiling.a_whole ? 1 : at->chunks;
    at->b += at->b_last ? at->chunks : 0;
    mm_seek(mm, at, at->tile + 1, UINT32_MAX);
}
