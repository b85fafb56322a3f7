/* SPDX-License-Identifier: MIT
 *
 * Transposing a tile in UB by VTRANSDATA (hal/contract/vector_move.md): squares of 16 x 16
 * elements of 2 bytes or of half a block of 1 byte, 16 x 8 of 4 bytes. A command repeats
 * along the longer side. Few rows are interleaved instead, pairs of them and then pairs of
 * those (VINTLV).
 */
#include "hal/vector_move.h"
#include "kernels/lib/share.h"
#include "kernels/move/inside.h"

enum { SQUARE = 16 };

/* Blocks of a square, source and destination, where it is in the tile, and what repeats. */
struct squares {
    uint32_t from, to, from_pitch, to_pitch; /* in blocks */
    enum type type;
    uint32_t columns; /* elements of a block that a square has */
};

static void addresses(const struct squares *s, uint32_t row, uint32_t block,
                      uint32_t half, struct move_record *r)
{
    uint32_t per_block = s->type == TYPE_S8 ? 2 * SQUARE : s->columns;
    uint32_t column = block * per_block + half * SQUARE;
    uint16_t from[SQUARE], to[SQUARE];

    for (uint32_t i = 0; i < SQUARE; i++) {
        uint32_t j = s->type == TYPE_S32 ? i / 2 : i, at = row / per_block;
        from[i] = (uint16_t)(s->from + (row + i) * s->from_pitch + block);
        to[i] = (uint16_t)(s->to + (column + j) * s->to_pitch + at +
                           (s->type == TYPE_S32 ? i % 2 : 0));
    }
    vector_addresses(&r->cmd[r->n++], from, false);
    vector_addresses(&r->cmd[r->n++], to, true);
}

/* Squares of one row of them, or of one column, at once: repeats and their distances. */
static void squares(const struct squares *s, const struct vec_transdata *v,
                    struct move_record *r)
{
    struct vec_transdata all = *v;

    all.type = s->type;
    all.src_rep = v->repeat > 1 ? v->src_rep : 0;
    all.dst_rep = v->repeat > 1 ? v->dst_rep : 0;
    vector_transdata(&r->cmd[r->n++], &all);
}

static uint8_t halves(uint32_t from, uint32_t to)
{
    return (uint8_t)((from ? VTRANSDATA_SRC_HIGH : 0) | (to ? VTRANSDATA_DST_HIGH : 0));
}

/* Half `half` of the elements of each block, where that is all that a square has. */
static void transpose_half(const struct squares *s, uint32_t rows, uint32_t half,
                           struct move_record *r)
{
    uint32_t period = s->type == TYPE_S8 ? 2 : 1; /* rows that share a block of y */
    uint32_t per_block = period * s->columns, blocks = s->from_pitch;

    for (uint32_t row = 0; row < rows && blocks >= rows; row++) {
        addresses(s, row * SQUARE, 0, half, r);
        squares(s,
                &(struct vec_transdata){.repeat = blocks,
                                        .src_rep = 1,
                                        .dst_rep = per_block * s->to_pitch,
                                        .flags = halves(half, row % period)},
                r);
    }
    for (uint32_t i = 0; i < period * blocks && blocks < rows; i++) {
        uint32_t first = i % period;
        addresses(s, first * SQUARE, i / period, half, r);
        squares(s,
                &(struct vec_transdata){.repeat = (rows - first + period - 1) / period,
                                        .src_rep = period * SQUARE * s->from_pitch,
                                        .dst_rep = period * SQUARE / per_block,
                                        .flags = halves(half, first)},
                r);
    }
}

/* m sequences of all rows, of b / m parts each, of which part p of sequence i lies where row
 * i + m p was: sequences i and i + m / 2 become one. The last time they go where y lies. */
static void interleave(enum type type, const struct move_tile *t, uint32_t from,
                       uint32_t to, struct move_record *r)
{
    uint32_t b = t->b, pitch = move_blocks(t->a, type_bits(type) / 8) * MOVE_BLOCK;

    for (uint32_t m = b; m > 1; m /= 2) {
        for (uint32_t row = 0; row < b; row++) {
            uint32_t x = from + row * pitch, y = m == 2 ? to + row * pitch : x;
            if (row % m < m / 2) {
                vector_pairs(&r->cmd[r->n++],
                             &(struct vec_pairs){OP_VINTLV, type, y, y + m / 2 * pitch, x,
                                                 x + m / 2 * pitch, t->a});
            }
        }
    }
}

void move_squares(const struct move_job *j, const struct move_tile *t, uint32_t from,
                  uint32_t to, struct move_record *r)
{
    enum type type = j->esize == 1 ? TYPE_S8 : j->esize == 2 ? TYPE_S16 : TYPE_S32;
    struct squares s = {from / MOVE_BLOCK,
                        to / MOVE_BLOCK,
                        move_blocks(t->a, j->esize),
                        move_blocks(j->tb, j->esize),
                        type,
                        j->esize == 4 ? SQUARE / 2 : SQUARE};
    uint32_t rows = (t->b + SQUARE - 1) / SQUARE;

    if (r->n == 0 || r->a != t->a || r->b != t->b) {
        r->a = t->a;
        r->b = t->b;
        r->n = 0;
        if (j->interleaves) {
            interleave(type, t, from, to, r);
            return;
        }
        transpose_half(&s, rows, 0, r);
        if (type == TYPE_S8) {
            transpose_half(&s, rows, 1, r);
        }
    }
}

void move_transpose(const struct move_job *j, const struct move_tile *t, uint32_t from,
                    uint32_t to, struct move_record *r)
{
    move_squares(j, t, from, to, r);
    for (uint32_t i = 0, n; i < r->n; i += n) {
        n = min_u32(r->n - i, PIPE_DEPTH / 2);
        task_issue_many(PIPE_V, &r->cmd[i], n);
    }
}
