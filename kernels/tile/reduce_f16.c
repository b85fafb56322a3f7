/* SPDX-License-Identifier: MIT
 *
 * Reductions along the rows of a tile in F16; see plan.h. Two ways:
 *  - by blocks: 8 rows of two neighbouring blocks of columns a repeat, then of what is left,
 *    until a block a row is, which VCG ends: pairs of blocks never lie in one group;
 *  - by rows: as far as whole repeats go, the rest in F32.
 */
#include "kernels/tile/reduce.h"

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

static void by_pairs(struct emit *e, const struct reduction *r, uint16_t node)
{
    uint32_t eights = way_rows(e->w) / EIGHT, left = r->cols / COLUMNS / 2;
    uint8_t part = buffer_new(e, (uint64_t)eights * left * REPEAT_BYTES);
    uint8_t other = left > 1 ? buffer_new(e, (uint64_t)eights * left * REPEAT_BYTES / 2)
                             : part,
            dst;
    union cmd cmd;

    e->buffer[part - 1].full = true; /* it is half as large as the tile: banks matter */
    pairs_of_tile(e, r, part, left);
    part = fold_f16(e, r, part, other, left);
    dst = result_buffer(e, node, 0, 0);
    vector_reduce_strided(&cmd,
                          &(struct vec_reduce){.op = r->group,
                                               .type = TYPE_F16,
                                               .dst = buffer_at(e, dst),
                                               .dst_rep = 1,
                                               .x = vec_dense(buffer_at(e, part)),
                                               .repeat = mask_repeats(e, eights, LANES)});
    put(e, &cmd);
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

static uint8_t to_one_repeat(struct emit *e, const struct reduction *r)
{
    uint8_t sum = buffer_new(e, (uint64_t)way_rows(e->w) * REPEAT_BYTES);

    for (uint32_t first = 0; first < r->rows; first += UINT8_MAX) {
        uint32_t rows = r->rows - first < UINT8_MAX ? r->rows - first : UINT8_MAX;
        fold_columns(e, r, sum, first, (uint8_t)rows);
    }
    return sum;
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

enum { FIXED = 26, FIXED_GROUP = 38 /* of a command, about */ };

static uint64_t by_pairs_cycles(const struct emit *e, const struct reduction *r)
{
    uint64_t eights = way_rows(e->w) / EIGHT, left = r->cols / COLUMNS / 2;
    uint64_t levels = (uint64_t)__builtin_ctz((unsigned)left) + odd_part((unsigned)left);

    return eights * (FIXED + left) + levels * FIXED + eights * left + FIXED_GROUP +
           7 * eights;
}

static uint64_t by_rows_cycles(const struct emit *e, const struct reduction *r)
{
    uint64_t rows = way_rows(e->w), repeats = div_up(r->cols, LANES);
    uint64_t commands = repeats > 1 ? repeats - (r->cols >= 2 * LANES) : 1;

    return commands * (FIXED + 2 * rows) + 5 * FIXED_GROUP + 4 * rows;
}

bool reduce_f16(struct emit *e, const struct reduction *r, uint16_t node)
{
    if (has_pairs(e, r) && by_pairs_cycles(e, r) < by_rows_cycles(e, r)) {
        reduce_sign(e, BY_PAIRS);
        by_pairs(e, r, node);
        return true;
    }
    return by_rows(e, r, node);
}
