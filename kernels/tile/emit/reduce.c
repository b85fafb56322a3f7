/* SPDX-License-Identifier: MIT
 *
 * Reductions along the rows of a tile, to one element a row, in F32; see inside.h. Three
 * ways, of which the one that takes the fewest cycles is taken:
 *  - by blocks: VCG over 8 rows of a block of columns a repeat, so that lanes are rows; what
 *    is left are blocks of partial results, which add up among themselves;
 *  - by rows: a repeat's columns of all rows a command, added up; then VCG twice;
 *  - row by row: VCG over a row, over its results, and so on, for few long rows.
 */
#include "kernels/tile/emit/reduce.h"

static void group(struct emit *e, const struct reduction *r, uint32_t dst,
                  uint32_t dst_rep, struct vec_at x, uint8_t repeat)
{
    union cmd cmd;

    vector_reduce_strided(&cmd, &(struct vec_reduce){.op = r->group,
                                                     .type = TYPE_F32,
                                                     .dst = dst,
                                                     .dst_rep = dst_rep,
                                                     .x = x,
                                                     .repeat = repeat});
    put(e, &cmd);
}

static void pair(struct emit *e, const struct reduction *r, struct vec_at dst,
                 struct vec_at x, struct vec_at y, uint8_t repeat)
{
    union cmd cmd;

    vector_binary_strided(&cmd, &(struct vec_binary){.op = r->pair,
                                                     .type = TYPE_F32,
                                                     .dst = dst,
                                                     .x = x,
                                                     .y = y,
                                                     .repeat = repeat});
    put(e, &cmd);
}

/* --- by blocks --- */

/* `of` blocks in `part` to the `to` first ones at dst: those that lie `to` apart, a power
 * of two, belong together. */
static void fold(struct emit *e, const struct reduction *r, uint8_t part, uint32_t of,
                 uint32_t to, uint32_t dst_offset)
{
    /* Behind the last results is room for those of lanes that nobody wants. */
    bool spare = dst_offset + REPEAT_BYTES <= e->buffer[r->dst - 1].bytes;

    if (of > EIGHT) {
        uint32_t whole = of / EIGHT - 1, left = of % EIGHT;
        if (whole) {
            uint8_t n = mask_repeats(e, whole, PER_REPEAT);
            uint32_t at = buffer_at(e, part);
            pair(e, r, vec_same_repeat(at), vec_same_repeat(at),
                 vec_dense(at + REPEAT_BYTES), n);
        }
        if (left) {
            uint32_t at = buffer_at(e, part);
            mask_lanes(e, left * PER_BLOCK);
            pair(e, r, vec_dense(at), vec_dense(at),
                 vec_dense(at + (whole + 1) * REPEAT_BYTES), 1);
        }
        of = EIGHT;
    }
    while (of > to) {
        uint32_t half = to, at = buffer_at(e, part);
        while (half * 2 < of) {
            half *= 2;
        }
        mask_lanes(e, half * 2 == of && (half != to || spare) ? LANES
                                                              : (of - half) * PER_BLOCK);
        pair(e, r, vec_dense(half == to ? buffer_at(e, r->dst) + dst_offset : at),
             vec_dense(at), vec_dense(at + half * BLOCK), 1);
        of = half;
    }
}

/* Groups of 8 rows from a row on, and where their partial results go; 0: they are whole. */
struct eights {
    uint32_t first, n;
    uint8_t part;
};

/* VCG over some blocks of columns of each group of 8 rows: results of a block of columns
 * lie side by side, or are at once those of the rows. */
static void group_blocks(struct emit *e, const struct reduction *r,
                         const struct eights *of, uint32_t column, uint32_t blocks)
{
    for (uint32_t g = 0; g < of->n; g++) {
        uint32_t row = of->first + g * EIGHT, x = row * r->row + column * BLOCK;
        uint32_t to = of->part ? (column * of->n + g) * BLOCK : row * ESIZE;
        uint8_t n = (uint8_t)(blocks < UINT8_MAX ? blocks : UINT8_MAX);

        group(e, r, buffer_at(e, of->part ? of->part : r->dst) + to, of->n,
              (struct vec_at){buffer_at(e, r->x) + x, (uint16_t)(r->row / BLOCK), 1}, n);
    }
}

static void by_blocks_of(struct emit *e, const struct reduction *r, uint32_t first,
                         uint32_t eights)
{
    uint32_t whole = r->cols / PER_BLOCK, tail = r->cols % PER_BLOCK;
    uint32_t of = (whole + (tail != 0)) * eights;
    uint8_t part = of == eights ? 0 : buffer_new(e, (uint64_t)of * BLOCK);
    struct eights rows = {first, eights, part};

    if (whole) {
        mask_repeats(e, whole, PER_REPEAT);
        group_blocks(e, r, &rows, 0, whole);
    }
    if (tail) {
        mask_pattern(e, ((1ull << tail) - 1) * 0x0101010101010101);
        group_blocks(e, r, &rows, whole, 1);
    }
    if (part) {
        fold(e, r, part, of, eights, first * ESIZE);
    }
}

/* As many groups of 8 rows together as their last sums are found without a rest. */
static void by_blocks(struct emit *e, const struct reduction *r)
{
    uint32_t eights = div_up(r->rows, EIGHT), most = EIGHT;

    for (uint32_t first = 0; eights;) {
        while (most > eights) {
            most /= 2;
        }
        by_blocks_of(e, r, first, most);
        first += EIGHT * most;
        eights -= most;
    }
}

/* --- by rows --- */

/* A block of partial results for each row: to elements. */
static void finish_rows(struct emit *e, const struct reduction *r, uint8_t part)
{
    uint8_t n = mask_repeats(e, div_up(r->rows, EIGHT), PER_REPEAT);

    group(e, r, buffer_at(e, r->dst), 1, vec_dense(buffer_at(e, part)), n);
}

/* VCG over some columns of each row, rows `step` bytes apart. */
static void group_rows(struct emit *e, const struct reduction *r, uint8_t part, uint8_t x,
                       uint32_t offset, uint32_t step)
{
    group(e, r, buffer_at(e, part), 1,
          (struct vec_at){buffer_at(e, x) + offset, 1, (uint16_t)(step / BLOCK)},
          (uint8_t)r->rows);
}

static void by_rows(struct emit *e, const struct reduction *r)
{
    uint32_t whole = r->cols / PER_REPEAT, tail = r->cols % PER_REPEAT;
    uint64_t blocks = round_up(r->rows, EIGHT) * BLOCK;
    uint8_t part = buffer_new(e, blocks), sum = r->x;
    uint32_t step = r->row;

    for (uint32_t c = 1; c < whole; c++) {
        struct vec_at to, from;
        sum = c == 1 ? buffer_new(e, (uint64_t)r->rows * REPEAT_BYTES) : sum;
        to = vec_dense(buffer_at(e, sum));
        from = (struct vec_at){buffer_at(e, r->x), 1, (uint16_t)(r->row / BLOCK)};
        mask_lanes(e, LANES);
        pair(e, r, to, c == 1 ? from : to,
             (struct vec_at){from.addr + c * REPEAT_BYTES, 1, from.rep},
             (uint8_t)r->rows);
        step = REPEAT_BYTES;
    }
    if (whole) {
        mask_lanes(e, LANES);
        group_rows(e, r, part, sum, 0, step);
    }
    if (tail) {
        uint8_t end = whole ? buffer_new(e, blocks) : part;
        mask_lanes(e, tail);
        group_rows(e, r, end, r->x, whole * REPEAT_BYTES, r->row);
        if (whole) {
            uint8_t n = mask_repeats(e, div_up(r->rows, EIGHT), PER_REPEAT);
            struct vec_at to = vec_dense(buffer_at(e, part));
            pair(e, r, to, to, vec_dense(buffer_at(e, end)), n);
        }
    }
    finish_rows(e, r, part);
}

/* --- row by row --- */

/* Results of VCG over a count: 8 a repeat, those without elements neutral. */
static uint32_t shorter(uint32_t n)
{
    return div_up(n, PER_REPEAT) * VEC_BLOCKS;
}

/* A command that reduces a repeat to one element has a greater fixed part than one that
 * leaves 8, and takes longer for a repeat, but there is no second one. */
static bool whole_is_faster(const struct reduction *r)
{
    const struct cmd_info *whole = cmd_find(r->whole), *part = cmd_find(r->group);
    uint32_t eights = div_up(r->rows, EIGHT);

    return whole->fixed + whole->slope32 * r->rows <
           2u * part->fixed + part->slope32 * (r->rows + eights);
}

static void whole_rows(struct emit *e, const struct reduction *r, uint8_t x,
                       uint32_t from)
{
    union cmd cmd;

    vector_reduce_strided(
        &cmd, &(struct vec_reduce){.op = r->whole,
                                   .type = TYPE_F32,
                                   .dst = buffer_at(e, r->dst),
                                   .dst_rep = 1,
                                   .x = {buffer_at(e, x), 1, (uint16_t)(from / BLOCK)},
                                   .repeat = r->rows,
                                   .flags = r->whole == OP_VCADD ? 0 : VCMAX_VALUE_ONLY});
    put(e, &cmd);
}

/* Rows side by side in whole repeats are one. */
static bool in_one(const struct reduction *r, uint32_t length, uint32_t from)
{
    return from == length * ESIZE && length % PER_REPEAT == 0 && r->rows > 1;
}

static void row_by_row(struct emit *e, const struct reduction *r)
{
    uint32_t length = r->cols, from = r->row;
    uint8_t x = r->x, part;

    while (length > PER_REPEAT) {
        uint32_t less = shorter(length), step = less * ESIZE;
        uint32_t once = in_one(r, length, from) ? r->rows : 1;
        uint8_t next = buffer_new(e, (uint64_t)step * r->rows + REPEAT_BYTES);
        for (uint32_t row = 0; row < r->rows; row += once) {
            mask_count(e, (uint64_t)length * once);
            group(e, r, buffer_at(e, next) + row * step, 1,
                  vec_dense(buffer_at(e, x) + row * from), 1);
        }
        x = next;
        from = step;
        length = less;
    }
    mask_lanes(e, length);
    if (whole_is_faster(r)) {
        whole_rows(e, r, x, from);
        return;
    }
    part = buffer_new(e, round_up(r->rows, EIGHT) * BLOCK);
    group_rows(e, r, part, x, 0, from);
    finish_rows(e, r, part);
}

/* --- which --- */

enum { FIXED = 34 /* of a command, about */ };

static uint64_t by_blocks_cycles(const struct reduction *r)
{
    uint64_t eights = div_up(r->rows, EIGHT), blocks = div_up(r->cols, PER_BLOCK);
    bool tail = r->cols % PER_BLOCK;

    return r->rows < EIGHT ? UINT64_MAX
                           : eights * (FIXED + blocks + (tail ? FIXED : 0)) +
                                 div_up(eights, EIGHT) * 4 * FIXED + eights * blocks / 4;
}

static uint64_t by_rows_cycles(const struct reduction *r)
{
    uint64_t whole = r->cols / PER_REPEAT, tail = r->cols % PER_REPEAT;
    uint64_t passes = whole + (tail != 0);

    return r->rows > UINT8_MAX || (passes > 1 && r->row / BLOCK > UINT8_MAX)
               ? UINT64_MAX
               : passes * (FIXED + r->rows) + FIXED + r->rows / EIGHT;
}

static uint64_t row_by_row_cycles(const struct reduction *r)
{
    uint64_t cycles = 2 * FIXED + r->rows;

    for (uint32_t n = r->cols, from = r->row; n > PER_REPEAT; n = shorter(n)) {
        cycles +=
            (in_one(r, n, from) ? 1 : r->rows) * FIXED + r->rows * div_up(n, PER_REPEAT);
        from = shorter(n) * ESIZE;
    }
    return r->rows > UINT8_MAX ? UINT64_MAX : cycles;
}

/* --- along the columns of a tile --- */

/* Exactly these rows: behind them lie others that are still wanted. */
static void rows_pair(struct emit *e, struct vec_binary *cmd_of, uint32_t dst, uint32_t x,
                      uint32_t y, uint32_t rows)
{
    union cmd cmd;

    mask_count(e, (uint64_t)(rows - 1) * e->w->pitch + e->w->cols);
    cmd_of->dst = vec_dense(dst);
    cmd_of->x = vec_dense(x);
    cmd_of->y = vec_dense(y);
    vector_binary_strided(&cmd, cmd_of);
    put(e, &cmd);
}

/* The lower half of the rows with the upper one, until one is left; of an odd number the
 * middle row is taken at the end of the next half. */
static void emit_down(struct emit *e, uint16_t node, enum op pair_op)
{
    const struct node *n = &e->p->node[node];
    uint32_t rows = e->w->rows, row = e->w->pitch * esize_of(n->type);
    uint8_t x = e->form[n->in[0]].dense, dst, part;
    struct vec_binary two = {.op = pair_op, .type = (enum type)n->type, .repeat = 1};

    dst = result_buffer(e, node, 0, 0);
    part = rows > 3 ? buffer_of_class(e, FULL, n->type) : 0;
    while (rows > 1) {
        uint32_t half = rows / 2;
        uint8_t to = half == 1 && rows == 2 ? dst : part ? part : dst;
        if (rows % 2) { /* the last row joins the one before it */
            uint32_t from = buffer_at(e, x), at = buffer_at(e, to);
            rows_pair(e, &two, at, from, from + half * row, half);
            from = buffer_at(e, x);
            at = buffer_at(e, to);
            rows_pair(e, &two, half == 1 ? buffer_at(e, dst) : at, at,
                      from + (rows - 1) * row, 1);
        } else {
            uint32_t from = buffer_at(e, x);
            rows_pair(e, &two, buffer_at(e, to), from, from + half * row, half);
        }
        x = to;
        rows = half;
    }
}

void reduce_sign(struct emit *e, uint32_t how)
{
    e->signature = e->signature * 31 + how;
}

bool reduce_rows(struct emit *e, const struct reduction *r)
{
    uint64_t blocks = by_blocks_cycles(r), rows = by_rows_cycles(r);
    uint64_t single = row_by_row_cycles(r);

    if (blocks <= rows && blocks <= single && blocks != UINT64_MAX) {
        reduce_sign(e, BY_BLOCKS * (r->rows + 1));
        by_blocks(e, r);
    } else if (rows <= single && rows != UINT64_MAX) {
        reduce_sign(e, BY_ROWS);
        by_rows(e, r);
    } else if (single != UINT64_MAX) {
        reduce_sign(e, ROW_BY_ROW);
        row_by_row(e, r);
    } else {
        return false;
    }
    return true;
}

void emit_reduce(struct emit *e, uint16_t node)
{
    const struct node *n = &e->p->node[node], *x = &e->p->node[n->in[0]];
    struct reduction r = {.rows = x->has & HAS_ROW ? e->w->rows : 1,
                          .cols = e->w->cols,
                          .row = e->w->pitch * esize_of(n->type),
                          .x = e->form[n->in[0]].dense};
    bool done;

    r.group = n->op == TILE_SUM ? OP_VCGADD : n->op == TILE_MOST ? OP_VCGMAX : OP_VCGMIN;
    r.pair = n->op == TILE_SUM ? OP_VADD : n->op == TILE_MOST ? OP_VMAX : OP_VMIN;
    r.whole = n->op == TILE_SUM ? OP_VCADD : n->op == TILE_MOST ? OP_VCMAX : OP_VCMIN;
    if (n->group == e->p->row && x->has == FULL) {
        emit_down(e, node, r.pair);
        return;
    }
    if (n->group == e->p->row) { /* rows alone: they lie as one row's columns do */
        r.cols = e->w->rows;
        r.rows = 1;
    }
    if (n->type == TYPE_F16) {
        done = reduce_f16(e, &r, node);
    } else {
        r.dst = result_buffer(e, node, 0, 0);
        done = reduce_rows(e, &r);
    }
    if (!done) {
        emit_fail(e, ERR_ARG, "no way to reduce %lu rows", (unsigned long)r.rows);
    }
}
