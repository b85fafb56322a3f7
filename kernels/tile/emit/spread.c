/* SPDX-License-Identifier: MIT
 *
 * Values that are the same along rows or columns, in the forms in which a command can read
 * them beside a whole tile; see inside.h. A command reads no block twice in a repeat without
 * paying for it, so that what is the same must be there more than once.
 */
#include "hal/vector_move.h"
#include "kernels/tile/emit/inside.h"

/* Every so many blocks of a buffer from an offset on. */
struct blocks {
    uint8_t buffer;
    uint32_t offset;
    uint16_t step;
};

/* Element i of `src` fills block i of dst. */
static void broadcast(struct emit *e, unsigned esize, struct blocks dst, uint8_t src,
                      uint32_t elements)
{
    uint32_t repeats = div_up(elements, VEC_BLOCKS);

    for (uint32_t r = 0; r < repeats; r += UINT8_MAX) {
        union cmd cmd;
        uint32_t n = repeats - r < UINT8_MAX ? repeats - r : UINT8_MAX;
        vector_broadcast(&cmd, esize == 4 ? TYPE_F32 : TYPE_F16,
                         buffer_at(e, dst.buffer) + dst.offset +
                             r * VEC_BLOCKS * dst.step * BLOCK,
                         buffer_at(e, src) + r * VEC_BLOCKS * esize, n);
        cmd.vec_brcb.dst_blk = dst.step;
        cmd.vec_brcb.dst_rep = (uint16_t)(VEC_BLOCKS * dst.step);
        put(e, &cmd);
    }
}

/* For each row two blocks side by side: whatever group a block of the tile lies in, one of
 * the two lies in another. */
uint8_t spread_block(struct emit *e, uint8_t dense, unsigned esize)
{
    uint32_t rows = (uint32_t)round_up(way_rows(e->w), VEC_BLOCKS);
    uint8_t block = buffer_new(e, (uint64_t)rows * 2 * BLOCK);

    broadcast(e, esize, (struct blocks){block, 0, 2}, dense, rows);
    broadcast(e, esize, (struct blocks){block, BLOCK, 2}, dense, rows);
    return block;
}

/* Two repeats side by side for each row: one of them lies in other groups than a repeat of
 * the tile, whichever that is. */
uint8_t spread_twice(struct emit *e, uint8_t dense, unsigned esize)
{
    uint32_t per_block = BLOCK / esize;
    uint8_t block = spread_block(e, dense, esize);
    uint8_t twice =
        buffer_new(e, (uint64_t)round_up(e->w->rows, VEC_BLOCKS) * TWICE_BYTES);

    broadcast(e, esize, (struct blocks){twice, 0, 1}, block, e->w->rows * 2 * per_block);
    e->buffer[twice - 1].turn = true;
    return twice;
}

uint8_t spread_wide(struct emit *e, uint8_t dense, unsigned esize, uint32_t rows)
{
    uint32_t blocks = (uint32_t)round_up(rows, VEC_BLOCKS);
    uint8_t narrow = buffer_new(e, (uint64_t)blocks * BLOCK);
    uint8_t wide = buffer_new(e, (uint64_t)blocks * REPEAT_BYTES * 4 / esize);

    broadcast(e, esize, (struct blocks){narrow, 0, 1}, dense, rows);
    broadcast(e, esize, (struct blocks){wide, 0, 1}, narrow, rows * (BLOCK / esize));
    return wide;
}

static void copy(struct emit *e, unsigned esize, struct vec_at dst, struct vec_at src,
                 uint8_t repeats)
{
    union cmd cmd;

    vector_copy_strided(
        &cmd, &(struct vec_copy){esize == 4 ? TYPE_F32 : TYPE_F16, dst, src, repeats});
    put(e, &cmd);
}

/* Rows of the tile, each from its own block: 8 rows of a block of columns a repeat. */
static void rows_full(struct emit *e, uint8_t full, uint8_t dense, unsigned esize)
{
    uint32_t row = e->w->pitch * esize, blocks = div_up(e->w->cols * esize, BLOCK);
    unsigned lanes = REPEAT_BYTES / esize;
    uint32_t repeats = div_up(e->w->cols, lanes);
    uint8_t from;

    if (e->w->rows >= VEC_BLOCKS) {
        from = spread_block(e, dense, esize);
        for (uint32_t r = 0; r < e->w->rows && !e->err; r += VEC_BLOCKS) {
            uint8_t n = mask_repeats(e, blocks, lanes);
            copy(
                e, esize,
                (struct vec_at){buffer_at(e, full) + r * row, (uint16_t)(row / BLOCK), 1},
                (struct vec_at){buffer_at(e, from) + r * 2 * BLOCK, 2, 0}, n);
        }
        return;
    }
    from = spread_wide(e, dense, esize, e->w->rows);
    for (uint32_t r = 0; r < e->w->rows && !e->err; r++) {
        mask_count(e, e->w->cols);
        copy(e, esize, vec_dense(buffer_at(e, full) + r * row),
             vec_same_repeat(buffer_at(e, from) + r * REPEAT_BYTES * 4 / esize),
             (uint8_t)repeats);
    }
}

/* The same where repeats run into one another behind the lanes that count, which a copy
 * may not. */
static void times_one(struct emit *e, unsigned type, struct vec_at dst, struct vec_at src,
                      uint8_t repeats)
{
    union cmd cmd;

    vector_scalar_strided(&cmd, &(struct vec_scalar){.op = OP_VMULS,
                                                     .type = (enum type)type,
                                                     .dst = dst,
                                                     .x = src,
                                                     .scalar = number_bits(type, 1),
                                                     .repeat = repeats});
    put(e, &cmd);
}

/* The same row for all: a repeat's columns of all rows, or row by row. */
static void columns_full(struct emit *e, uint8_t full, uint8_t dense, unsigned type)
{
    unsigned esize = esize_of(type);
    uint32_t row = e->w->pitch * esize, lanes = REPEAT_BYTES / esize;

    if (div_up(e->w->cols, lanes) < e->w->rows && e->w->rows <= UINT8_MAX &&
        row / BLOCK <= UINT8_MAX) {
        for (uint32_t c = 0; c < e->w->cols && !e->err; c += lanes) {
            uint32_t left = e->w->cols - c;
            struct vec_at to = vec_repeats(buffer_at(e, full) + c * esize, row / BLOCK);
            struct vec_at from = vec_same_repeat(buffer_at(e, dense) + c * esize);
            mask_lanes(e, left < lanes ? left : LANES);
            if (c + lanes <= e->w->pitch) {
                copy(e, esize, to, from, (uint8_t)e->w->rows);
            } else {
                times_one(e, type, to, from, (uint8_t)e->w->rows);
            }
        }
        return;
    }
    for (uint32_t r = 0; r < e->w->rows && !e->err; r++) {
        mask_count(e, e->w->cols);
        copy(e, esize, vec_dense(buffer_at(e, full) + r * row),
             vec_dense(buffer_at(e, dense)), 1);
    }
}

uint8_t spread_full(struct emit *e, uint8_t dense, unsigned type, unsigned has)
{
    unsigned esize = esize_of(type), lanes;
    uint8_t full, one;

    if (esize != 2 && esize != 4) {
        emit_fail(e, ERR_TYPE, "no way to spread numbers of %u bytes", esize);
        return dense;
    }
    full = buffer_of_class(e, FULL, type);
    if (has == HAS_ROW) {
        rows_full(e, full, dense, esize);
    } else if (has == HAS_COL) {
        columns_full(e, full, dense, type);
    } else {
        one = spread_wide(e, dense, esize, 1);
        lanes = REPEAT_BYTES / esize;
        copy(e, esize, vec_dense(buffer_at(e, full)), vec_same_repeat(buffer_at(e, one)),
             mask_repeats(e, div_up(emit_elements(e, FULL), lanes), lanes));
    }
    return full;
}

/* --- of nodes: made once, where the value is --- */

static struct stream *where_of(struct emit *e, uint16_t x)
{
    struct stream *was = e->to;

    e->to = emit_varies(e, &e->p->node[x]) ? &e->body : &e->pre;
    return was;
}

uint8_t form_block(struct emit *e, uint16_t x)
{
    struct forms *f = &e->form[x];
    struct stream *was = where_of(e, x);

    if (!f->block) {
        f->block = spread_block(e, f->dense, esize_of(e->p->node[x].type));
    }
    e->to = was;
    return f->block;
}

uint8_t form_twice(struct emit *e, uint16_t x)
{
    struct forms *f = &e->form[x];
    struct stream *was = where_of(e, x);

    if (!f->twice) {
        f->twice = spread_twice(e, f->dense, esize_of(e->p->node[x].type));
    }
    e->to = was;
    return f->twice;
}

uint8_t form_wide(struct emit *e, uint16_t x)
{
    const struct node *n = &e->p->node[x];
    struct forms *f = &e->form[x];
    struct stream *was;

    if (n->op == TILE_NUMBER) {
        return constant_wide(e, n->type, n->number);
    }
    was = where_of(e, x);
    if (!f->wide) {
        f->wide = spread_wide(e, f->dense, esize_of(n->type),
                              n->has & HAS_ROW ? e->w->rows : 1);
    }
    e->to = was;
    return f->wide;
}

uint8_t form_full(struct emit *e, uint16_t x)
{
    const struct node *n = &e->p->node[x];
    struct forms *f = &e->form[x];
    struct stream *was;

    if (n->has == FULL) {
        return f->dense;
    }
    if (n->op == TILE_NUMBER && !f->dense) {
        emit_fail(e, ERR_ARG, "a number that is no operand");
        return 1;
    }
    was = where_of(e, x);
    if (!f->full) {
        f->full = n->type == TILE_MASK ? mask_full(e, x)
                                       : spread_full(e, f->dense, n->type, n->has);
    }
    e->to = was;
    return f->full;
}
