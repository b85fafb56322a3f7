/* SPDX-License-Identifier: MIT
 *
 * What the Vector does in mla_prolog. A repeat is a column of a tile, a lane a row.
 *
 *   pass 1   d = x - shift; sums of d and of d * x, each into TILE / 2 columns
 *   stats    the columns added up: mean, var and the scale of each row
 *   pass 2   y = (x - mean) * scale; then out = y * (1 + erf(y * sqrt(2))), scale halved
 *
 * Pass 1 of a block goes tile by tile with pass 2 of the block before, except that the
 * last tile, which is still in UB, has its pass 2 at once. Commands are built once.
 */
#include <math.h>
#include <string.h>

#include "hal/vector.h"
#include "hal/vector_move.h"
#include "kernels/mla_prolog/tiles.h"

enum { COLUMN = ROW / 32 /* in blocks, as strides are */, SHIFT_COLUMNS = 16 };

/* Longest: pass 1 of the last tile of a block, statistics, its pass 2. */
struct sequence {
    unsigned n;
    union cmd cmd[48];
};

static union cmd *next(struct sequence *q)
{
    assert(q->n < sizeof(q->cmd) / sizeof(q->cmd[0]));
    return &q->cmd[q->n++];
}

static uint32_t bits(float f)
{
    uint32_t u;

    memcpy(&u, &f, sizeof(u));
    return u;
}

/* --- commands of n columns; noinline: 128 KiB are not much. Where operands have no gaps
 * the strides are constants, which is why not all goes by binary_at. --- */

__attribute__((noinline)) static void unary(struct sequence *q, enum op op, uint32_t dst,
                                            uint32_t x, uint32_t n)
{
    vector_unary_strided(next(q), &(struct vec_unary){.op = op,
                                                      .type = TYPE_F32,
                                                      .dst = vec_dense(dst),
                                                      .x = vec_dense(x),
                                                      .repeat = n});
}

__attribute__((noinline)) static void scalar(struct sequence *q, enum op op, uint32_t dst,
                                             uint32_t x, float by, uint32_t n)
{
    vector_scalar_strided(next(q), &(struct vec_scalar){.op = op,
                                                        .type = TYPE_F32,
                                                        .dst = vec_dense(dst),
                                                        .x = vec_dense(x),
                                                        .scalar = bits(by),
                                                        .repeat = n});
}

__attribute__((noinline)) static void binary(struct sequence *q, enum op op, uint32_t dst,
                                             uint32_t x, uint32_t y, uint32_t n)
{
    vector_binary_strided(next(q), &(struct vec_binary){.op = op,
                                                        .type = TYPE_F32,
                                                        .dst = vec_dense(dst),
                                                        .x = vec_dense(x),
                                                        .y = vec_dense(y),
                                                        .repeat = n});
}

__attribute__((noinline)) static void binary_at(struct sequence *q, enum op op,
                                                struct vec_at dst, struct vec_at x,
                                                struct vec_at y, uint32_t n)
{
    vector_binary_strided(
        next(q),
        &(struct vec_binary){
            .op = op, .type = TYPE_F32, .dst = dst, .x = x, .y = y, .repeat = n});
}

/* Every second column from `at` on. */
static struct vec_at alternate(uint32_t at)
{
    return vec_repeats(at, 2 * COLUMN);
}

/* dst[i] = x[2 i] + x[2 i + 1], n columns; dst may be x. */
static void pairs(struct sequence *q, uint32_t dst, uint32_t x, uint32_t n)
{
    binary_at(q, OP_VADD, vec_dense(dst), alternate(x), alternate(x + ROW), n);
}

/* dst = x op a constant of each row, which stands twice at `row`, at an even column and
 * at the odd one behind it: even and odd columns of x take that of the other kind, so
 * that the sources are in different groups. */
static void by_row(struct sequence *q, enum op op, uint32_t dst, uint32_t x, uint32_t row,
                   uint32_t n)
{
    for (uint32_t i = 0; i < 2 && i < n; i++) {
        uint32_t at = x + i * ROW;
        binary_at(q, op, alternate(dst + i * ROW), alternate(at),
                  vec_same_repeat(row + (at / ROW % 2 ? 0 : ROW)), (n + 1 - i) / 2);
    }
}

/* A row constant, which is to stand twice: one column of results written two times. */
static void row_scalar(struct sequence *q, uint32_t dst, uint32_t x, float by)
{
    vector_scalar_strided(next(q), &(struct vec_scalar){.op = OP_VMULS,
                                                        .type = TYPE_F32,
                                                        .dst = vec_dense(dst),
                                                        .x = vec_same_repeat(x),
                                                        .scalar = bits(by),
                                                        .repeat = 2});
}

static void row_sum(struct sequence *q, uint32_t dst, uint32_t x, uint32_t y)
{
    binary_at(q, OP_VADD, vec_dense(dst), vec_same_repeat(x), vec_same_repeat(y), 2);
}

/* --- pass 1 and statistics --- */

/* Before pass 1 of the first tile of a block, at UB_XST: sums = 0, shift = mean of some
 * columns. */
static void build_begin(struct sequence *q, uint32_t columns)
{
    uint32_t n = 1;

    while (2 * n <= columns && n < SHIFT_COLUMNS) {
        n *= 2;
    }
    vector_fill_strided(next(q), &(struct vec_fill){.op = OP_VDUP,
                                                    .type = TYPE_F32,
                                                    .dst = vec_dense(UB_SUM_D),
                                                    .bits = 0,
                                                    .repeat = TILE});
    for (uint32_t left = n, from = UB_XST; left > 1; left /= 2, from = UB_SCRATCH) {
        pairs(q, UB_SCRATCH, from, left / 2);
    }
    row_scalar(q, UB_SHIFT, n > 1 ? UB_SCRATCH : UB_XST, 1.0f / (float)n);
    cmd_wait(&q->cmd[0], XST_FULL, 1);
}

static void add_up(struct sequence *q, uint32_t sum, uint32_t columns)
{
    for (uint32_t at = 0; at < columns; at += TILE / 2) {
        binary(q, OP_VADD, sum, sum, UB_W1 + at * ROW, min_u32(TILE / 2, columns - at));
    }
}

static void build_pass1(struct sequence *q, uint32_t columns, bool last)
{
    by_row(q, OP_VSUB, UB_W1, UB_XST, UB_SHIFT, columns);
    add_up(q, UB_SUM_D, columns);
    binary(q, OP_VMUL, UB_W1, UB_W1, UB_XST, columns);
    if (!last) {
        cmd_post(&q->cmd[q->n - 1], XST_FREE, 1);
    }
    add_up(q, UB_SUM_Q, columns);
}

/* mean and scale of n columns: with D, Q the sums of d and d * x,
 * mean = shift + D / n, var = (Q - shift * D) / n - (D / n)^2, scale = times / sigma. */
static void build_stats(struct sequence *q, uint32_t n, float times)
{
    const uint32_t d = UB_W1, sum_q = d + ROW, delta = d + 2 * ROW, var = d + 3 * ROW,
                   square = d + 4 * ROW;
    float part = 1.0f / (float)n;

    pairs(q, UB_W1, UB_SUM_D, TILE / 4);
    pairs(q, UB_W1 + TILE / 4 * ROW, UB_SUM_Q, TILE / 4);
    for (uint32_t left = TILE / 4; left > 1; left /= 2) {
        pairs(q, UB_W1, UB_W1, left);
    }
    scalar(q, OP_VMULS, delta, d, part, 1);
    row_sum(q, UB_MEAN, UB_SHIFT, delta);
    binary(q, OP_VMUL, var, UB_SHIFT, d, 1);
    binary(q, OP_VSUB, var, sum_q, var, 1);
    scalar(q, OP_VMULS, var, var, part, 1);
    binary(q, OP_VMUL, square, delta, delta, 1);
    binary(q, OP_VSUB, var, var, square, 1);
    scalar(q, OP_VMAXS, var, var, 0, 1);
    scalar(q, OP_VADDS, var, var, MLA_EPS, 1);
    unary(q, OP_VRSQRT, var, var, 1);
    row_scalar(q, UB_SCALE, var, times);
}

/* --- pass 2 --- */

/* fp16 columns at UB_W2 to rows at UB_OUT: 16 lanes at a time, 16 columns a repeat. */
__attribute__((noinline)) static void transpose(struct sequence *q, uint32_t columns)
{
    for (uint32_t lane = 0; lane < LANES; lane += 16) {
        uint16_t src[16], dst[16];
        union cmd *cmd;

        for (uint32_t i = 0; i < 16; i++) {
            src[i] = (uint16_t)((UB_W2 + i * LANES * 2 + lane * 2) / 32);
            dst[i] = (uint16_t)((UB_OUT + (lane + i) * TILE * 2) / 32);
        }
        vector_addresses(next(q), src, false);
        vector_addresses(next(q), dst, true);
        cmd = next(q);
        vector_transdata(cmd, &(struct vec_transdata){.type = TYPE_F16,
                                                      .repeat = (columns + 15) / 16,
                                                      .dst_rep = 1,
                                                      .src_rep = 16 * LANES * 2 / 32});
        if (lane == 0) {
            cmd_wait(cmd, OUT_FREE, 1);
        }
    }
    cmd_post(&q->cmd[q->n - 1], OUT_FULL, 1);
}

/* y (or y / 2) of the tile at x, to UB_W2: so many commands of a whole one. */
enum { OF_Y = 4 };
static void build_y(struct sequence *q, uint32_t columns, uint32_t x, unsigned free)
{
    by_row(q, OP_VSUB, UB_W1, x, UB_MEAN, columns);
    cmd_post(&q->cmd[q->n - 1], free, 1);
    by_row(q, OP_VMUL, UB_W2, UB_W1, UB_SCALE, columns);
}

/* UB_W1 = y * (1 + erf(y * times)), as fp16 in UB_W2. */
static void build_gelu(struct sequence *q, uint32_t columns, uint32_t y, float times)
{
    scalar(q, OP_VMULS, UB_W1, y, times, columns);
    unary(q, OP_VERF, UB_W1, UB_W1, columns);
    scalar(q, OP_VADDS, UB_W1, UB_W1, 1.0f, columns);
    binary(q, OP_VMUL, UB_W1, UB_W1, y, columns);
    vector_convert_strided(next(q),
                           &(struct vec_convert){.from = TYPE_F32,
                                                 .to = TYPE_F16,
                                                 .round = ROUND_RINT,
                                                 .dst = vec_dense_of(UB_W2, 16, 32),
                                                 .x = vec_dense(UB_W1),
                                                 .repeat = columns});
}

static void build_pass2(struct sequence *q, uint32_t columns, uint32_t x, unsigned free,
                        bool gelu)
{
    unsigned first = q->n;

    build_y(q, columns, x, free);
    if (gelu) {
        build_gelu(q, columns, UB_W2, (float)M_SQRT2);
        transpose(q, columns);
    } else {
        cmd_wait(&q->cmd[first + (columns > 1 ? 2 : 1)], OUT_FREE, 1);
        cmd_post(&q->cmd[q->n - 1], OUT_FULL, 1);
    }
}

/* --- tasks --- */

static void all_lanes(void)
{
    union cmd cmd;

    vector_mask(&cmd, UINT64_MAX, UINT64_MAX);
    task_issue(PIPE_V, &cmd);
}

struct passes {
    struct sequence begin; /* and pass 1 of the first tile */
    struct sequence body;  /* pass 1 and, from pass2 on, pass 2 of a tile in the middle */
    struct sequence end;   /* pass 1, from stats on the rest, of the last tile */
    unsigned pass1, pass2, stats;
};

/* Commands [first, end) of others: much faster than to build them. */
__attribute__((noinline)) static void
repeat(struct sequence *q, const struct sequence *from, unsigned first, unsigned end)
{
    for (unsigned i = first; i < end; i++) {
        *next(q) = from->cmd[i];
    }
}

static void build_body(struct passes *v)
{
    repeat(&v->body, &v->begin, v->pass1, v->begin.n);
    cmd_wait(&v->body.cmd[0], XST_FULL, 1);
    v->pass2 = v->body.n;
}

static void build_end(struct passes *v, const struct share *s, uint32_t columns,
                      bool gelu)
{
    bool whole = columns == TILE && s->tiles > 1;
    struct sequence *q = &v->end;

    build_pass1(q, columns, true);
    cmd_wait(&q->cmd[0], XST_FULL, 1);
    v->stats = q->n;
    build_stats(q, s->p->n, gelu ? 0.5f : 1.0f);
    if (whole && gelu) {
        build_y(q, columns, UB_XST, XST_FREE);
        repeat(q, &v->body, v->pass2 + OF_Y, v->body.n);
    } else {
        build_pass2(q, columns, UB_XST, XST_FREE, gelu);
    }
}

/* What is wanted of them before tile t of the first block, some of it for each of its tiles: so
 * the engines have their work while the hart builds. */
static void build_passes(struct passes *v, const struct share *s, uint32_t t, bool gelu)
{
    uint32_t last = s->tiles - 1;

    if (v->body.n == 0 && t < last) {
        build_body(v);
    }
    if (v->body.n == v->pass2 && t < last && (t > 0 || t + 1 == last)) {
        build_pass2(&v->body, TILE, UB_XIN, XIN_FREE, gelu);
        cmd_wait(&v->body.cmd[v->pass2], XIN_FULL, 1);
    }
    if (v->end.n == 0 && (t > 1 || t == last)) {
        build_end(v, s, tile_columns(s, last), gelu);
    }
}

__attribute__((noinline)) static void issue(struct sequence *q, unsigned from,
                                            unsigned to)
{
    issue_many(PIPE_V, &q->cmd[from], to - from);
}

/* Tile t of a block; before: there is a block before it, else `begin` is issued. */
static void issue_tile(struct passes *v, const struct share *s, uint32_t t, bool before)
{
    if (t == 0 && before) {
        issue(&v->begin, 0, v->begin.n);
    }
    if (t == s->tiles - 1) {
        issue(&v->end, t == 0 ? v->stats : 0, v->end.n);
    } else {
        issue(&v->body, t == 0 ? v->pass2 : 0, before ? v->body.n : v->pass2);
    }
}

/* The next tile in the order of pass 1; false behind the last. */
static bool advance(const struct share *s, uint32_t *m0, uint32_t *t)
{
    if (++*t == s->tiles) {
        *t = 0;
        *m0 += LANES;
    }
    return *m0 < s->m_end;
}

void both_passes(const struct share *s, bool gelu, const struct ends *ends, void *arg)
{
    struct passes v; /* not set to 0 as a whole: commands are many */
    uint32_t m0 = s->m_begin, t = 0, next_m0 = m0, next_t = 0;
    bool more = true;

    v.begin.n = v.body.n = v.end.n = 0;
    ends->feed(arg, m0, 0);
    all_lanes();
    build_begin(&v.begin, tile_columns(s, 0));
    v.pass1 = v.begin.n;
    build_pass1(&v.begin, tile_columns(s, 0), s->tiles == 1);
    issue(&v.begin, 0, v.begin.n); /* of the first block: the engines need not wait */
    while (more) {
        more = advance(s, &next_m0, &next_t);
        if (more) {
            ends->feed(arg, next_m0, next_t);
        }
        if (m0 == s->m_begin) {
            build_passes(&v, s, t, gelu);
        }
        issue_tile(&v, s, t, m0 != s->m_begin);
        if (t == s->tiles - 1) {
            ends->store(arg, m0, t);
        } else if (m0 != s->m_begin) {
            ends->store(arg, m0 - LANES, t);
        }
        m0 = more ? next_m0 : m0;
        t = next_t;
    }
    for (t = 0; t + 1 < s->tiles; t++) {
        ends->feed_rest(arg, m0, t);
        issue(&v.body, v.pass2, v.body.n);
        ends->store(arg, m0, t);
    }
}

/* y came with sigma whole, so here the end is halved, exactly down to 2^-14. */
static void build_gelu_launch(struct sequence *q, uint32_t columns, uint32_t y)
{
    build_gelu(q, columns, y, (float)M_SQRT1_2);
    cmd_wait(&q->cmd[0], XIN_FULL, 1);
    cmd_post(&q->cmd[q->n - 2], XIN_FREE, 1);
    vector_scalar_strided(next(q), &(struct vec_scalar){.op = OP_VMULS,
                                                        .type = TYPE_F16,
                                                        .dst = vec_dense(UB_W2),
                                                        .x = vec_dense(UB_W2),
                                                        .scalar = F16_HALF,
                                                        .repeat = (columns + 1) / 2});
    transpose(q, columns);
}

__attribute__((cold)) void gelu_pass(const struct share *s, const struct ends *ends,
                                     void *arg)
{
    struct sequence q[2]; /* a tile in each buffer */
    struct sequence last;
    uint32_t m0 = s->m_begin, t = 0, next_m0 = m0, next_t = 0;
    bool more = true;

    q[0].n = q[1].n = 0;
    ends->feed(arg, m0, 0);
    build_gelu_launch(&q[0], TILE, UB_XIN);
    build_gelu_launch(&q[1], TILE, UB_XST);
    all_lanes();
    for (unsigned i = 0; more; i++) {
        struct sequence *tile = &q[i % 2];
        more = advance(s, &next_m0, &next_t);
        if (more) {
            ends->feed(arg, next_m0, next_t);
        }
        if (tile_columns(s, t) != TILE) {
            tile = &last;
            tile->n = 0;
            build_gelu_launch(tile, tile_columns(s, t), i % 2 ? UB_XST : UB_XIN);
        }
        issue_many(PIPE_V, tile->cmd, tile->n);
        ends->store(arg, m0, t);
        m0 = next_m0;
        t = next_t;
    }
}
