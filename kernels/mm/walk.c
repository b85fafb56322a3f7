/* SPDX-License-Identifier: MIT
 *
 * From tile to tile and from chunk to chunk; see walk.h.
 */
#include "kernels/mm/walk.h"

#include "kernels/lib/share.h"
#include "kernels/mm/inside.h"

/* Of the chip that k is cut for, a2's: what the bits of a result depend on is no other's. */
enum {
    CORES = 24,
    SPACING = 14, /* cycles from when a core begins until the next does */
    HAND_ON = 82, /* that a strip of c takes to leave */
    RATE = 84     /* bytes a cycle that each core loads when all do */
};

/* Cycles of a part for each unit of k, where c is so many tiles. */
static uint32_t unit_cycles(const struct mm *mm, uint32_t tiles)
{
    uint32_t m = mm->shape.m, n = mm->shape.n, unit = mm_unit_k(mm);
    uint32_t small = mm_min(m, n), large = mm_count(mm_max(m, n), tiles);
    uint32_t load = mm_bytes(mm->a.type, (small + large) * unit) / RATE;
    uint32_t cube =
        mm_count(small, 16) * mm_count(large, 16) * mm_count(unit, type_c0(mm->a.type));

    return mm_max(load, cube);
}

/* Cores begin one after the other; and what is added in order is to be ready one part after
 * the other. By half of a part at most. */
uint32_t mm_part_at(const struct mm *mm, uint32_t i, uint32_t parts)
{
    uint32_t tiles = mm_max(1, CORES / parts), unit = mm_unit_k(mm);
    int64_t units = mm_count(mm->shape.k, unit), cycles = unit_cycles(mm, tiles);
    int64_t most = units * cycles / parts / 2, later;

    later = (mm_chained(mm, parts) ? HAND_ON : 0) - (int64_t)(SPACING * tiles);
    later = later * parts > most    ? most / parts
            : later * parts < -most ? -most / parts
                                    : later;
    units = units * i * cycles / parts - later * i * (parts - i) / 2;
    return mm_min(mm->shape.k, (uint32_t)((units + cycles / 2) / cycles) * unit);
}

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

/* Whether a tile is the first behind the share's own of a part, or so many further. */
static bool turns_at(const struct mm *mm, uint32_t tile, uint32_t further)
{
    uint32_t tiles = mm->rows * mm->cols;

    return mm->jump && (tile + 2 * tiles - mm->turn - further) % tiles == 0;
}

/* The share's tile behind one. */
static uint32_t next_of(const struct mm *mm, uint32_t tile)
{
    return tile + mm->step + (turns_at(mm, tile + 1, 0) ? mm->jump : 0);
}

/* In a line that goes back the tile is another, and the first and the last of a line share the
 * panel that does not stay with the line beside it. */
static __attribute__((noinline)) void wind(const struct mm *mm, struct mm_cursor *at,
                                           uint32_t first)
{
    bool by_columns = mm->tiling.b_stays;
    uint32_t inner = by_columns ? mm->rows : mm->cols, line = at->tile / inner;
    uint32_t in_line = at->tile % inner;
    bool turned = in_line == 0 && at->tile != first && line != 0;
    bool turns = in_line == inner - 1 && at->tile + 1 < mm->tile_end;

    if (by_columns) {
        at->a_first = !turned;
        at->a_last = !turns;
    } else {
        at->b_first = !turned;
        at->b_last = !turns;
    }
    if (line % 2 && by_columns) {
        piece(mm->shape.m, mm->unit_m, inner - 1 - in_line, inner, &at->m0, &at->mt);
    } else if (line % 2) {
        piece(mm->shape.n, mm->unit_n, inner - 1 - in_line, inner, &at->n0, &at->nt);
    }
}

void mm_seek(const struct mm *mm, struct mm_cursor *at, uint32_t tile, uint32_t first)
{
    const struct mm_shape *s = &mm->shape;
    bool by_columns = mm->tiling.b_stays, ends = tile + mm->step >= mm->tile_end;
    bool anew = tile == first || mm->step > 1 || turns_at(mm, tile, mm->jump);
    uint32_t inner = by_columns ? mm->rows : mm->cols;
    uint32_t line = tile / inner, in_line = tile % inner;
    uint32_t lines = by_columns ? mm->cols : mm->rows;
    bool begins = anew || in_line == 0;

    at->tile = tile;
    at->chunk = 0;
    if (begins) {
        uint32_t sum = line / lines;
        at->part = sum % mm->parts;
        at->product = sum / mm->parts;
    }
    if (anew || (begins && mm->parts > 1)) { /* what there is one of stays as it is */
        at->k_begin = mm_part_at(mm, at->part, mm->parts);
        at->k_end = mm_part_at(mm, at->part + 1, mm->parts);
        at->chunks = mm_count(at->k_end - at->k_begin, mm->tiling.k);
    }
    at->k0 = at->k_begin;
    if (anew || (mm->rows > 1 && (begins || by_columns))) {
        uint32_t row = by_columns ? in_line : line % lines;
        piece(s->m, mm->unit_m, row, mm->rows, &at->m0, &at->mt);
    }
    if (anew || (mm->cols > 1 && (begins || !by_columns))) {
        uint32_t col = by_columns ? line % lines : in_line;
        piece(s->n, mm->unit_n, col, mm->cols, &at->n0, &at->nt);
    }
    ends = ends || in_line == inner - 1 || next_of(mm, tile) > tile + 1;
    at->a_first = !mm->tiling.a_stays || begins;
    at->a_last = !mm->tiling.a_stays || ends;
    at->b_first = !mm->tiling.b_stays || begins;
    at->b_last = !mm->tiling.b_stays || ends;
    if (mm->winds) {
        wind(mm, at, first);
    }
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
    mm_seek(mm, at, next_of(mm, at->tile), UINT32_MAX);
}

/* Rows of a strip where a share has so many tiles: what leaves, and for each tile that it adds
 * and no longer does, is to lie in FIX's queue at one time, for then it is kept as it is
 * (script.h). */
static uint32_t strip_of(const struct mm *mm, uint32_t tiles)
{
    uint32_t pieces = tiles * mm_columns(mm, mm->tiling.n);
    uint32_t room = PIPE_DEPTH - mm_min(PIPE_DEPTH, 2 * tiles);

    return tiles == 1 ? 0 : mm_count(mm->tiling.m, mm_max(1, room / pieces));
}

/* Parts of c's tiles that are added in order. Where all shares have about as many tiles, each
 * has its own in all parts, and waits for nobody. Else tiles are dealt one by one, and the
 * next part of a tile is so many shares further. */
static uint32_t take_chain(struct mm *mm, unsigned share, unsigned shares)
{
    uint32_t tiles = mm->rows * mm->cols, first = share;

    if (tiles % shares == 0 || tiles >= MM_EVEN * shares) {
        first = (uint32_t)share_begin(tiles, 1, share, shares);
        mm->turn = (uint32_t)share_begin(tiles, 1, share + 1, shares);
        mm->jump = tiles - (mm->turn - first);
        mm->tile_end = mm->tiles - tiles + mm->turn;
    } else {
        mm->step = shares;
        mm->strip = mm_max(mm->strip, strip_of(mm, mm_count(mm->tiles, shares)));
        mm->mine = (uint8_t)(SEM_CORE + share);
        mm->next = (uint8_t)(SEM_CORE + (share + tiles) % shares);
    }
    return first;
}

uint32_t mm_blocks(const struct mm *mm, unsigned cores)
{
    uint32_t shares = mm->tiling.shares ? mm->tiling.shares : cores;

    return mm_min(mm->tiles, mm_min(shares, cores));
}

uint32_t mm_tiles_from(const struct mm *mm, uint32_t first)
{
    uint32_t tiles = mm->rows * mm->cols;

    return mm->jump ? mm->tiles / tiles * (tiles - mm->jump)
                    : mm_count(mm->tile_end - first, mm->step);
}

/* A turn is worth the load of a panel, of one product of which a share has lines of its own.
 * All chunks of the operand that does not stay are in L1 then. */
uint32_t mm_winding(const struct mm *mm)
{
    const struct mm_tiling *t = &mm->tiling;
    uint32_t inner = t->b_stays ? mm->rows : mm->cols;
    uint32_t chunks = mm_count(mm->shape.k, mm_max(1, t->k));
    bool can = (t->a_stays || t->b_stays) && mm->parts == 1 && mm->shape.batch == 1 &&
               inner > 1 && !mm->a.given && !mm->b.given && !mm->b.sparse &&
               chunks <= (t->b_stays ? t->a_slots : t->b_slots);

    return can ? mm->tiles / (2 * inner) : 0;
}

uint32_t mm_take_share(struct mm *mm)
{
    unsigned share = mm->shares ? mm->share : task_block(), first = 0;
    unsigned shares = mm->shares ? mm->shares : task_blocks();

    mm->tile_end = mm->tiles;
    mm->step = 1;
    mm->jump = 0;
    mm->mine = mm->next = 0;
    if (mm->tiling.shares) {
        shares = mm_min(shares, mm->tiling.shares);
    }
    shares = mm_min(shares, mm->tiles); /* those who begin last have none */
    if (share >= shares) {
        first = mm->tiles;
    } else if (shares > 1 && mm_chained(mm, mm->parts)) {
        first = take_chain(mm, share, shares);
    } else if (shares > 1) {
        first = (uint32_t)share_begin(mm->tiles, 1, share, shares);
        mm->tile_end = (uint32_t)share_begin(mm->tiles, 1, share + 1, shares);
    }
    mm->winds = shares <= mm->winding;
    mm->once = mm_tiles_from(mm, first) * mm_count(mm->shape.k, mm->tiling.k) <=
               MM_ONCE * mm->parts;
    return first;
}
