/* SPDX-License-Identifier: MIT
 *
 * Reductions along the rows of a tile in F16: as far as whole repeats go, the rest in F32;
 * see plan.h.
 */
#include "kernels/tile/reduce.h"

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

bool reduce_f16(struct emit *e, const struct reduction *of, uint16_t node)
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
