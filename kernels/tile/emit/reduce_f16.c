/* SPDX-License-Identifier: MIT
 *
 * Reductions along the rows of a tile in F16; see inside.h. Three ways:
 *  - by blocks: 8 rows of two neighbouring blocks of columns a repeat, then of what is left,
 *    until a block a row is, which VCG ends: pairs of blocks never lie in one group;
 *  - running: 8 rows of a block of columns a repeat, each joined to what those before it
 *    have come to: a command for 8 rows, where pairs want one for each half besides;
 *  - by rows: as far as whole repeats go, the rest in F32; of all rows a repeat's columns
 *    together, or, of few long ones, running along each.
 */
#include "kernels/tile/emit/reduce.h"

/* --- by blocks --- */

enum {
    COLUMNS = BLOCK / 2, /* of a block */
    ODD_MOST = 7         /* blocks of a row that are no pairs */
};

/* Pairs of blocks that are left for 8 rows: a power of two times an odd number. */
static uint32_t odd_part(uint32_t n)
{
    return n >> __builtin_ctz(n);
}

static bool has_pairs(const struct emit *e, const struct reduction *r)
{
    uint32_t blocks = r->cols / COLUMNS;

    return e->w->rows >= EIGHT && r->cols % (2 * COLUMNS) == 0 &&
           blocks / 2 <= UINT8_MAX && odd_part(blocks / 2) <= ODD_MOST;
}

static void pair_f16(struct emit *e, const struct reduction *r, struct vec_at dst,
                     struct vec_at x, struct vec_at y, uint32_t repeats)
{
    union cmd cmd;

    vector_binary_strided(
        &cmd, &(struct vec_binary){.op = r->pair,
                                   .type = TYPE_F16,
                                   .dst = dst,
                                   .x = x,
                                   .y = y,
                                   .repeat = mask_repeats(e, repeats, LANES)});
    put(e, &cmd);
}

/* Neighbouring blocks of columns of the tile: `left` of each 8 rows, side by side. */
static void pairs_of_tile(struct emit *e, const struct reduction *r, uint8_t to,
                          uint32_t left)
{
    uint16_t pitch = (uint16_t)(r->row / BLOCK);

    for (uint32_t g = 0; g < way_rows(e->w) / EIGHT; g++) {
        uint32_t x = buffer_at(e, r->x) + g * EIGHT * r->row;
        pair_f16(e, r, vec_dense(buffer_at(e, to) + g * left * REPEAT_BYTES),
                 (struct vec_at){x, pitch, 2}, (struct vec_at){x + BLOCK, pitch, 2},
                 left);
    }
}

/* `left` repeats of each 8 rows to one, in one of the two buffers, which is returned. */
static uint8_t fold_f16(struct emit *e, const struct reduction *r, uint8_t part,
                        uint8_t other, uint32_t left)
{
    uint32_t eights = way_rows(e->w) / EIGHT;
    uint16_t step;

    for (; left % 2 == 0; left /= 2) {
        uint32_t from = buffer_at(e, part);
        pair_f16(e, r, vec_dense(buffer_at(e, other)), vec_repeats(from, 2 * VEC_BLOCKS),
                 vec_repeats(from + REPEAT_BYTES, 2 * VEC_BLOCKS), eights * left / 2);
        other ^= part;
        part ^= other;
        other ^= part;
    }
    step = (uint16_t)(left * VEC_BLOCKS);
    for (uint32_t i = 1; i < left; i++) {
        uint32_t from = buffer_at(e, part), to = buffer_at(e, other);
        pair_f16(e, r, vec_dense(to), i == 1 ? vec_repeats(from, step) : vec_dense(to),
                 vec_repeats(from + i * REPEAT_BYTES, step), eights);
    }
    return left > 1 ? other : part;
}

/* A block a row to the node's value. */
static void group_f16(struct emit *e, const struct reduction *r, uint16_t node,
                      uint8_t part)
{
    uint8_t dst = result_buffer(e, node, 0, 0);
    uint8_t eights = mask_repeats(e, way_rows(e->w) / EIGHT, LANES);
    union cmd cmd;

    vector_reduce_strided(&cmd, &(struct vec_reduce){.op = r->group,
                                                     .type = TYPE_F16,
                                                     .dst = buffer_at(e, dst),
                                                     .dst_rep = 1,
                                                     .x = vec_dense(buffer_at(e, part)),
                                                     .repeat = eights});
    put(e, &cmd);
}

static void by_pairs(struct emit *e, const struct reduction *r, uint16_t node)
{
    uint32_t eights = way_rows(e->w) / EIGHT, left = r->cols / COLUMNS / 2;
    uint8_t part = buffer_new(e, (uint64_t)eights * left * REPEAT_BYTES);
    uint8_t other =
        left > 1 ? buffer_new(e, (uint64_t)eights * left * REPEAT_BYTES / 2) : part;

    e->buffer[part - 1].full = true; /* it is half as large as the tile: banks matter */
    pairs_of_tile(e, r, part, left);
    group_f16(e, r, node, fold_f16(e, r, part, other, left));
}

/* --- running --- */

enum { CHAINS = 2, LEAST_BLOCKS = 2 * CHAINS + 1 };

static bool can_run(const struct emit *e, const struct reduction *r)
{
    return e->w->rows >= EIGHT && r->cols % COLUMNS == 0 &&
           r->cols / COLUMNS >= LEAST_BLOCKS;
}

/* Two chains, of every other block of columns. What a chain has come to are every other
 * block of 16, and moves on by a block a repeat: beside a block of columns of the other
 * groups, while the repeat before wrote where neither of the two is read, as long as the
 * tile lies in another bank. In the end the chains of a row lie side by side. */
static void running(struct emit *e, const struct reduction *r, uint16_t node)
{
    uint32_t eights = way_rows(e->w) / EIGHT, blocks = r->cols / COLUMNS;
    uint16_t step = (uint16_t)round_up(blocks + 2 * EIGHT, CHAINS);
    uint16_t pitch = (uint16_t)(r->row / BLOCK), down = (uint16_t)(EIGHT * pitch);
    uint8_t run = buffer_new(e, ((uint64_t)eights * step + 1) * BLOCK), part;
    uint32_t x, at, other = 0; /* other: a block, if the two begin in like groups */

    e->buffer[run - 1].beside = r->x;
    for (uint32_t c = 0; c < CHAINS; c++) {
        x = buffer_at(e, r->x);
        at = buffer_at(e, run);
        other = ~(x ^ at) & BLOCK;
        x += c * 2 * BLOCK;
        pair_f16(e, r, (struct vec_at){at + other + c * BLOCK, CHAINS, step},
                 (struct vec_at){x, pitch, down}, (struct vec_at){x + BLOCK, pitch, down},
                 eights);
    }
    for (uint32_t g = 0; g < eights; g++) {
        x = buffer_at(e, r->x) + g * EIGHT * r->row + 2 * CHAINS * BLOCK;
        at = buffer_at(e, run) + other + g * step * BLOCK;
        pair_f16(e, r, (struct vec_at){at + CHAINS * BLOCK, CHAINS, 1},
                 (struct vec_at){at, CHAINS, 1}, (struct vec_at){x, pitch, 1},
                 blocks - 2 * CHAINS);
    }
    part = buffer_new(e, (uint64_t)eights * REPEAT_BYTES);
    at = buffer_at(e, run) + other + (blocks - 2 * CHAINS) * BLOCK;
    pair_f16(e, r, vec_dense(buffer_at(e, part)), (struct vec_at){at, CHAINS, step},
             (struct vec_at){at + BLOCK, CHAINS, step}, eights);
    group_f16(e, r, node, part);
}

/* --- by rows --- */

static void convert(struct emit *e, enum type from, enum type to, uint8_t dst, uint8_t x,
                    uint8_t repeats)
{
    union cmd cmd;

    vector_convert_strided(
        &cmd,
        &(struct vec_convert){
            .from = from,
            .to = to,
            .round = ROUND_RINT,
            .dst = vec_dense_of(buffer_at(e, dst), type_bits(to), type_bits(TYPE_F32)),
            .x = vec_dense_of(buffer_at(e, x), type_bits(from), type_bits(TYPE_F32)),
            .repeat = repeats});
    put(e, &cmd);
}

/* The first columns of some rows times 1: side by side with those of other rows. */
static void first_columns(struct emit *e, struct vec_at to, struct vec_at x, uint8_t rows)
{
    union cmd cmd;

    mask_lanes(e, LANES);
    vector_scalar_strided(&cmd, &(struct vec_scalar){.op = OP_VMULS,
                                                     .type = TYPE_F16,
                                                     .dst = to,
                                                     .x = x,
                                                     .scalar = number_bits(TYPE_F16, 1),
                                                     .repeat = rows});
    put(e, &cmd);
}

/* A repeat's columns after the other, of some rows, to one repeat a row. */
static void fold_columns(struct emit *e, const struct reduction *r, uint8_t sum,
                         uint32_t first, uint8_t rows)
{
    bool two = r->cols >= 2 * LANES;
    uint16_t down = (uint16_t)(r->row / BLOCK);
    union cmd cmd;

    if (!two) {
        first_columns(e, vec_dense(buffer_at(e, sum) + first * REPEAT_BYTES),
                      (struct vec_at){buffer_at(e, r->x) + first * r->row, 1, down},
                      rows);
    }
    for (uint32_t c = LANES; c < r->cols; c += LANES) {
        uint32_t left = r->cols - c;
        struct vec_at to = vec_dense(buffer_at(e, sum) + first * REPEAT_BYTES);
        struct vec_at x = {buffer_at(e, r->x) + first * r->row, 1, down};
        mask_lanes(e, left < LANES ? left : LANES);
        vector_binary_strided(&cmd, &(struct vec_binary){.op = r->pair,
                                                         .type = TYPE_F16,
                                                         .dst = to,
                                                         .x = two && c == LANES ? x : to,
                                                         .y = {x.addr + c * 2, 1, down},
                                                         .repeat = rows});
        put(e, &cmd);
    }
}

static uint8_t fold_rows(struct emit *e, const struct reduction *r)
{
    uint8_t sum = buffer_new(e, (uint64_t)way_rows(e->w) * REPEAT_BYTES);

    for (uint32_t first = 0; first < r->rows; first += UINT8_MAX) {
        uint32_t rows = r->rows - first < UINT8_MAX ? r->rows - first : UINT8_MAX;
        fold_columns(e, r, sum, first, (uint8_t)rows);
    }
    return sum;
}

/* As running(), with whole repeats of a row: half a turn of groups apart from what they
 * are joined to. The columns behind the last whole one join what all have come to. */
static void run_along(struct emit *e, const struct reduction *r, uint8_t run, uint8_t sum,
                      uint32_t row)
{
    uint32_t whole = r->cols / LANES, tail = r->cols % LANES, to = row * REPEAT_BYTES;
    uint32_t x = buffer_at(e, r->x) + row * r->row, at = buffer_at(e, run);
    uint32_t apart = (x - at + REPEAT_BYTES) % TWICE_BYTES;
    union cmd cmd;

    at += apart;
    pair_f16(e, r, vec_dense(at), vec_repeats(x, 2 * VEC_BLOCKS),
             vec_repeats(x + REPEAT_BYTES, 2 * VEC_BLOCKS), CHAINS);
    x = buffer_at(e, r->x) + row * r->row + 2 * CHAINS * REPEAT_BYTES;
    at = buffer_at(e, run) + apart;
    pair_f16(e, r, vec_dense(at + CHAINS * REPEAT_BYTES), vec_dense(at), vec_dense(x),
             whole - 2 * CHAINS);
    at = buffer_at(e, run) + apart + (whole - 2 * CHAINS) * REPEAT_BYTES;
    pair_f16(e, r, vec_dense(buffer_at(e, sum) + to), vec_dense(at),
             vec_dense(at + REPEAT_BYTES), 1);
    if (tail) {
        x = buffer_at(e, r->x) + row * r->row + whole * REPEAT_BYTES;
        at = buffer_at(e, sum) + to;
        mask_lanes(e, tail);
        vector_binary_strided(&cmd, &(struct vec_binary){.op = r->pair,
                                                         .type = TYPE_F16,
                                                         .dst = vec_dense(at),
                                                         .x = vec_dense(at),
                                                         .y = vec_dense(x),
                                                         .repeat = 1});
        put(e, &cmd);
    }
}

static uint8_t run_rows(struct emit *e, const struct reduction *r)
{
    uint32_t repeats = r->cols / LANES + CHAINS;
    uint8_t run = buffer_new(e, (uint64_t)repeats * REPEAT_BYTES);
    uint8_t sum = buffer_new(e, (uint64_t)way_rows(e->w) * REPEAT_BYTES);

    e->buffer[run - 1].beside = r->x;
    for (uint32_t row = 0; row < r->rows; row++) {
        run_along(e, r, run, sum, row);
    }
    return sum;
}

enum { FIXED = 26, FIXED_GROUP = 38 /* of a command, about */ };

static uint64_t fold_rows_cycles(const struct reduction *r)
{
    uint64_t repeats = div_up(r->cols, LANES);
    uint64_t commands = repeats > 1 ? repeats - (r->cols >= 2 * LANES) : 1;

    return commands * (FIXED + 2 * r->rows);
}

static uint64_t run_rows_cycles(const struct reduction *r)
{
    uint64_t repeats = r->cols / LANES, commands = r->cols % LANES ? 4 : 3;

    return repeats < LEAST_BLOCKS ? UINT64_MAX : r->rows * (commands * FIXED + repeats);
}

/* The rows' elements to one repeat each. */
static uint8_t to_one_repeat(struct emit *e, const struct reduction *r)
{
    if (run_rows_cycles(r) < fold_rows_cycles(r)) {
        reduce_sign(e, RUNNING);
        return run_rows(e, r);
    }
    return fold_rows(e, r);
}

static bool by_rows(struct emit *e, const struct reduction *of, uint16_t node)
{
    struct reduction r = *of;
    uint8_t sum = to_one_repeat(e, of);
    uint32_t rows = way_rows(e->w);
    bool done;

    r.x = buffer_new(e, (uint64_t)rows * LANES * ESIZE);
    convert(e, TYPE_F16, TYPE_F32, r.x, sum,
            mask_repeats(e, rows * LANES / PER_REPEAT, PER_REPEAT));
    r.cols = LANES;
    r.row = LANES * ESIZE;
    r.dst = buffer_of_class(e, HAS_ROW, TYPE_F32);
    done = reduce_rows(e, &r);
    convert(e, TYPE_F32, TYPE_F16, result_buffer(e, node, 0, 0), r.dst,
            mask_repeats(e, div_up(rows, PER_REPEAT), PER_REPEAT));
    return done;
}

/* --- which --- */

static uint64_t by_pairs_cycles(const struct emit *e, const struct reduction *r)
{
    uint64_t eights = way_rows(e->w) / EIGHT, left = r->cols / COLUMNS / 2;
    uint64_t levels = (uint64_t)__builtin_ctz((unsigned)left) + odd_part((unsigned)left);

    return eights * (FIXED + left) + levels * FIXED + eights * left + FIXED_GROUP +
           7 * eights;
}

static uint64_t by_rows_cycles(const struct emit *e, const struct reduction *r)
{
    uint64_t fold = fold_rows_cycles(r), run = run_rows_cycles(r);

    return (fold < run ? fold : run) + 5 * FIXED_GROUP + 4 * way_rows(e->w);
}

static uint64_t running_cycles(const struct emit *e, const struct reduction *r)
{
    uint64_t eights = way_rows(e->w) / EIGHT, blocks = r->cols / COLUMNS;

    return CHAINS * (FIXED + eights) + eights * (FIXED + blocks - 2 * CHAINS) + FIXED +
           eights + FIXED_GROUP + 7 * eights;
}

bool reduce_f16(struct emit *e, const struct reduction *r, uint16_t node)
{
    uint64_t pairs = has_pairs(e, r) ? by_pairs_cycles(e, r) : UINT64_MAX;
    uint64_t run = can_run(e, r) ? running_cycles(e, r) : UINT64_MAX;
    uint64_t rows = by_rows_cycles(e, r);

    if (run < pairs && run < rows) {
        reduce_sign(e, RUNNING);
        running(e, r, node);
    } else if (pairs < rows) {
        reduce_sign(e, BY_PAIRS);
        by_pairs(e, r, node);
    } else {
        return by_rows(e, r, node);
    }
    return true;
}
