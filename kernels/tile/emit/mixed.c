/* SPDX-License-Identifier: MIT
 *
 * Nodes of a tile and a value that is the same along its rows or columns, as commands; see
 * inside.h. There are several ways, which read the tile by blocks of 8 rows, by rows or by
 * columns, and the one that takes the fewest cycles is taken.
 */
#include "hal/vector.h"
#include "kernels/tile/emit/inside.h"

enum { IN_TURNS = 80 /* repeats from which on two commands are faster than one */ };

struct mixed {
    uint16_t node, x, y; /* x has rows and columns, y lacks one of them */
    bool swapped;        /* y is the first operand */
    unsigned esize;
    uint32_t row; /* bytes from a row to the next */
};

static void mixed_put(struct emit *e, const struct mixed *m, struct vec_at dst,
                      struct vec_at x, struct vec_at y, uint8_t repeat)
{
    const struct node *n = &e->p->node[m->node];
    union cmd cmd;

    vector_binary_strided(&cmd, &(struct vec_binary){.op = binary_op(n->op),
                                                     .type = (enum type)n->type,
                                                     .dst = dst,
                                                     .x = m->swapped ? y : x,
                                                     .y = m->swapped ? x : y,
                                                     .repeat = repeat});
    put(e, &cmd);
}

static uint32_t tile_at(struct emit *e, uint16_t x)
{
    return buffer_at(e, e->form[x].dense);
}

/* 8 rows of a block of columns a repeat, the repeats going along the rows: one command for
 * every other block, since each wants the copy of y in the other groups. */
static void by_blocks(struct emit *e, const struct mixed *m)
{
    uint32_t blocks = div_up(e->w->cols * m->esize, BLOCK);
    uint16_t pitch = (uint16_t)(m->row / BLOCK);
    uint8_t y = form_block(e, m->y);

    for (uint32_t r = 0; r < e->w->rows && !e->err; r += VEC_BLOCKS) {
        for (uint32_t odd = 0; odd < 2 && odd < blocks; odd++) {
            uint32_t at = r * m->row + odd * BLOCK;
            uint32_t x = tile_at(e, m->x) + at, dst = tile_at(e, m->node) + at;
            uint32_t copy = buffer_at(e, y) + r * 2 * BLOCK;
            uint32_t same = (copy / BLOCK ^ x / BLOCK) & 1;
            mixed_put(e, m, (struct vec_at){dst, pitch, 2}, (struct vec_at){x, pitch, 2},
                      (struct vec_at){copy + (same ? 0 : BLOCK), 2, 0},
                      mask_repeats(e, (blocks - odd + 1) / 2, REPEAT_BYTES / m->esize));
        }
    }
}

/* The same, the repeats going from 8 rows to the next 8. */
static void by_columns_of_blocks(struct emit *e, const struct mixed *m)
{
    uint32_t blocks = div_up(e->w->cols * m->esize, BLOCK);
    uint16_t pitch = (uint16_t)(m->row / BLOCK), down = (uint16_t)(pitch * VEC_BLOCKS);
    uint8_t y = form_block(e, m->y);

    for (uint32_t b = 0; b < blocks; b++) {
        uint32_t x = tile_at(e, m->x) + b * BLOCK, dst = tile_at(e, m->node) + b * BLOCK;
        uint32_t copy = buffer_at(e, y), same = (copy / BLOCK ^ x / BLOCK) & 1;
        mixed_put(
            e, m, (struct vec_at){dst, pitch, down}, (struct vec_at){x, pitch, down},
            (struct vec_at){copy + (same ? 0 : BLOCK), 2, 2 * VEC_BLOCKS},
            mask_repeats(e, div_up(e->w->rows, VEC_BLOCKS), REPEAT_BYTES / m->esize));
    }
}

/* A repeat's columns of all rows, a command for each; `step` leads from the y of a row to
 * that of the next, `along` from columns to the next ones. */
static void by_rows(struct emit *e, const struct mixed *m, uint8_t y, uint16_t step,
                    uint32_t along)
{
    uint32_t lanes = REPEAT_BYTES / m->esize;

    for (uint32_t c = 0, i = 0; c < e->w->cols && !e->err; c += lanes, i++) {
        uint32_t left = e->w->cols - c, at = i * REPEAT_BYTES;
        mask_lanes(e, left < lanes ? left : LANES);
        mixed_put(e, m, vec_repeats(tile_at(e, m->node) + at, m->row / BLOCK),
                  vec_repeats(tile_at(e, m->x) + at, m->row / BLOCK),
                  (struct vec_at){buffer_at(e, y) + i * along, 1, step},
                  (uint8_t)e->w->rows);
    }
}

/* A row a command. */
static void row_by_row(struct emit *e, const struct mixed *m, uint8_t y, bool columns)
{
    uint32_t step = REPEAT_BYTES * 4 / m->esize;

    for (uint32_t r = 0; r < e->w->rows && !e->err; r++) {
        uint32_t at = r * m->row;
        struct vec_at with = columns ? vec_dense(buffer_at(e, y))
                                     : vec_same_repeat(buffer_at(e, y) + r * step);
        mask_count(e, e->w->cols);
        mixed_put(e, m, vec_dense(tile_at(e, m->node) + at),
                  vec_dense(tile_at(e, m->x) + at), with, 1);
    }
}

/* Half of a row a command: every other repeat, since each wants the copy of y in the other
 * groups. In place a repeat would wait for the one before it, which was written to its
 * groups. */
static void row_in_turns(struct emit *e, const struct mixed *m, uint8_t y)
{
    uint32_t lanes = REPEAT_BYTES / m->esize, whole = e->w->cols / lanes;

    for (uint32_t r = 0; r < e->w->rows && !e->err; r++) {
        for (uint32_t odd = 0; odd < 2; odd++) {
            uint32_t at = r * m->row + odd * REPEAT_BYTES;
            uint32_t x = tile_at(e, m->x) + at, dst = tile_at(e, m->node) + at;
            uint32_t copy = buffer_at(e, y) + r * TWICE_BYTES;
            bool same = x / REPEAT_BYTES % 2 == 0;
            mask_count(e, (uint64_t)(whole + 1 - odd) / 2 * lanes +
                              (whole % 2 == odd ? e->w->cols % lanes : 0));
            mixed_put(e, m, vec_repeats(dst, 2 * VEC_BLOCKS),
                      vec_repeats(x, 2 * VEC_BLOCKS),
                      vec_same_repeat(copy + (same ? REPEAT_BYTES : 0)), 1);
        }
    }
}

enum mixing { BY_BLOCKS, BY_COLUMNS, BY_ROWS, ROW_BY_ROW, MIXINGS };

/* Cycles of a way to read y, which is the same along rows, by fixed parts and repeats. */
static uint64_t mixing_cycles(const struct emit *e, const struct mixed *m,
                              enum mixing way)
{
    enum { FIXED = 25, SPREAD = 20 };
    uint64_t rows = e->w->rows, eights = div_up(rows, VEC_BLOCKS);
    uint64_t blocks = div_up(e->w->cols * m->esize, BLOCK);
    uint64_t chunks = div_up(blocks, VEC_BLOCKS), pitch = m->row / BLOCK;
    const struct forms *f = &e->form[m->y];

    switch (way) {
    case BY_BLOCKS:
        return rows < VEC_BLOCKS || pitch > UINT8_MAX
                   ? UINT64_MAX
                   : eights * (2 * FIXED + blocks) +
                         (f->block ? 0 : 2 * (SPREAD + eights));
    case BY_COLUMNS:
        return rows < VEC_BLOCKS || pitch * VEC_BLOCKS > UINT8_MAX
                   ? UINT64_MAX
                   : blocks * (FIXED + eights) + (f->block ? 0 : 2 * (SPREAD + eights));
    case BY_ROWS:
        return rows > UINT8_MAX || pitch > UINT8_MAX
                   ? UINT64_MAX
                   : chunks * (FIXED + rows) + (f->wide ? 0 : 2 * SPREAD + eights + rows);
    default:
        return rows * (FIXED + chunks) + (f->wide ? 0 : 2 * SPREAD + eights + rows);
    }
}

static void emit_by_row_values(struct emit *e, const struct mixed *m)
{
    enum mixing best = ROW_BY_ROW;

    for (enum mixing way = BY_BLOCKS; way < MIXINGS; way++) {
        if (mixing_cycles(e, m, way) < mixing_cycles(e, m, best)) {
            best = way;
        }
    }
    if (best == BY_BLOCKS) {
        by_blocks(e, m);
    } else if (best == BY_COLUMNS) {
        by_columns_of_blocks(e, m);
    } else if (best == BY_ROWS) {
        by_rows(e, m, form_wide(e, m->y), (uint16_t)(4 / m->esize * VEC_BLOCKS), 0);
    } else if (e->w->far && e->w->cols * m->esize > IN_TURNS * REPEAT_BYTES) {
        row_in_turns(e, m, form_twice(e, m->y));
    } else {
        row_by_row(e, m, form_wide(e, m->y), false);
    }
}

static void emit_by_column_values(struct emit *e, const struct mixed *m)
{
    uint32_t lanes = REPEAT_BYTES / m->esize, chunks = div_up(e->w->cols, lanes);
    bool few =
        chunks < e->w->rows && e->w->rows <= UINT8_MAX && m->row / BLOCK <= UINT8_MAX;

    e->buffer[e->form[m->y].dense - 1].half = true;
    if (few) {
        by_rows(e, m, e->form[m->y].dense, 0, REPEAT_BYTES);
    } else {
        row_by_row(e, m, e->form[m->y].dense, true);
    }
}

/* Whether a value of columns is there for each row, which the way says. */
static bool is_spread(struct emit *e, uint16_t y)
{
    if (e->w->spread == SPREAD_FIRST && e->spread == 0) {
        e->spread = y;
    }
    return e->w->spread == SPREAD_ALL || (e->w->spread == SPREAD_FIRST && e->spread == y);
}

bool emit_mixed(struct emit *e, uint16_t node)
{
    const struct node *n = &e->p->node[node];
    const struct node *a = &e->p->node[n->in[0]], *b = &e->p->node[n->in[1]];
    struct mixed m = {.node = node, .esize = esize_of(n->type)};

    if (n->has != FULL || n->type == TILE_MASK || (a->has != FULL && b->has != FULL) ||
        a->has == b->has || a->has == 0 || b->has == 0) {
        return false;
    }
    m.swapped = a->has != FULL;
    m.x = n->in[m.swapped];
    m.y = n->in[!m.swapped];
    m.row = e->w->pitch * m.esize;
    if (e->p->node[m.y].has == HAS_COL && is_spread(e, m.y)) {
        return false;
    }
    result_buffer(e, node, e->w->far ? 0 : m.x, 0);
    if (e->p->node[m.y].has == HAS_ROW) {
        emit_by_row_values(e, &m);
    } else {
        emit_by_column_values(e, &m);
    }
    return true;
}
