/* SPDX-License-Identifier: MIT
 *
 * Steps of the published 8192^3 products (asc-devkit, matmul_high_performance). Published
 * are busy cycles of a pipe, or those of the whole run on its core (aicore_time), divided
 * by the number of steps of base_m x base_n x base_k. The same commands in the same order
 * go through the model: two buffers in L0A, L0B and for each matrix in L1, one tile in
 * L0C, loads of GM that bring as many steps of a and of b as the case says (stepKa,
 * stepKb: half of depthA1, depthB1).
 *
 * What runs here is a sample. A core has 16 tiles in a column of c, one below the other,
 * and 6 such columns: b's part of a column is in L2 behind its first tile, all of a behind
 * the first column. So the sample is a column, of whose tiles each takes its first STEPS of
 * 128, once when L2 has nothing and once, five times as much, when it has a. On the chip
 * the cores of the last of 6 columns of cores had a third of the others' work, which the
 * sample does not follow: there all are at work.
 */
#include "tests/model/calibrate/calibrate.h"

enum { SIZE = 8192, TILES = 16, COLUMNS = 6, TILE_STEPS = 128, STEPS = 8, LEAD = 32 };
/* Semaphores: the full and the free halves of L0, of a and of b in L1, and the tile. */
enum { FULL = 1, FREE, A_FULL, A_FREE, B_FULL, B_FREE, TILE_FULL, TILE_FREE };
enum { B_IN_L1 = 262144 };
/* Cores in 4 rows of 6: those of a row share a, those of a column b. */
enum { CORE_COLUMNS = 6, MATRIX = SIZE * SIZE * 2 };

static const struct shape {
    uint16_t m, n, k;
    uint8_t ahead_a, ahead_b; /* steps that a load of GM brings; 0: all is in L1 */
    bool units;
    uint8_t cores;
} cases[] = {
    [0] = {64, 64, 64, 1, 1, false, 1},    [1] = {128, 256, 64, 1, 1, false, 1},
    [3] = {128, 256, 64, 1, 1, false, 24}, [4] = {128, 256, 64, 2, 4, false, 24},
    [5] = {128, 256, 64, 8, 4, false, 24}, /* 6 and 7 differ in what is a hit in L2 */
    [8] = {128, 256, 64, 8, 4, true, 24},  [9] = {128, 256, 64, 0, 0, false, 1},
    [10] = {128, 256, 64, 0, 0, true, 1}, /* 9, 10: 4 to 7 and 8 without GM */
};

enum what { CUBE, MTE1_, MTE2_, ALL };

static void wait_post(union cmd *c, unsigned wait, unsigned post)
{
    c->head.wait_sem[0] = (uint8_t)wait;
    c->head.wait_n[0] = wait != 0;
    c->head.post_sem[0] = (uint8_t)post;
    c->head.post_n[0] = post != 0;
}

/* rows x cols of fp16 of the matrix that begins at `from`. */
static union cmd from_gm(uint64_t from, uint32_t l1, unsigned rows, unsigned cols)
{
    union cmd c = rig_command(OP_ND2NZ_GM_L1, TYPE_F16);

    c.nd2nz.src = RIG_GM_BASE + from;
    c.nd2nz.dst = l1;
    c.nd2nz.n_rows = (uint16_t)rows;
    c.nd2nz.n_cols = (uint16_t)cols;
    c.nd2nz.src_pitch = SIZE;
    c.nd2nz.n_mats = 1;
    c.nd2nz.dst_c0_stride = (uint16_t)rows;
    c.nd2nz.dst_row_stride = 1;
    return c;
}

/* Offset in GM of what a step of the lead, or of the column behind it, has of rows of a or
 * of b, n x k: block number `block`, of `rows` rows. */
static uint64_t at(unsigned i, unsigned k, unsigned block, unsigned rows)
{
    return ((uint64_t)block * rows * SIZE + i % STEPS * k) * 2;
}

static union cmd load_a(const struct shape *s, unsigned core, unsigned i)
{
    unsigned tile = (i + TILES * STEPS - LEAD) / STEPS % TILES;

    return from_gm(at(i, s->k, core / CORE_COLUMNS * TILES + tile, s->m), 0, s->m,
                   s->k * s->ahead_a);
}

static union cmd load_b(const struct shape *s, unsigned core, unsigned i)
{
    unsigned column = core % CORE_COLUMNS + (i < LEAD ? CORE_COLUMNS : 0);

    return from_gm(MATRIX + at(i, s->k, column, s->n), B_IN_L1, s->n, s->k * s->ahead_b);
}

static union cmd to_l0(enum op op, uint32_t dst, uint32_t l1, unsigned rows,
                       unsigned cols)
{
    union cmd c = rig_command(op, TYPE_F16);

    c.load2d.dst = dst;
    c.load2d.src = l1;
    c.load2d.n_rows = (uint16_t)rows;
    c.load2d.n_cols = (uint16_t)cols;
    c.load2d.src_c0_stride = (uint16_t)rows;
    return c;
}

static void push(struct rig *r, unsigned core, enum pipe pipe, union cmd *c)
{
    while (rig_read(r, core, rig_pipe(pipe, PIPE_FREE)) == 0) {
        rig_to(r, npu_next(&r->npu));
    }
    rig_push(r, core, pipe, c);
}

/* What loads of an operand from GM go by: steps that one brings, semaphores of L1. */
struct side {
    unsigned ahead, free, full;
};

static struct side side_a(const struct shape *s)
{
    return (struct side){s->ahead_a, A_FREE, A_FULL};
}

static struct side side_b(const struct shape *s)
{
    return (struct side){s->ahead_b, B_FREE, B_FULL};
}

/* A load from GM before step i, if one is due. */
static void load_in(struct rig *r, unsigned core, unsigned i, const union cmd *load,
                    struct side side)
{
    union cmd c = *load;

    if (side.ahead && i % side.ahead == 0) {
        wait_post(&c, side.free, side.full);
        push(r, core, PIPE_MTE2, &c);
    }
}

/* A load to L0: the first of what a load from GM brought waits for it, behind the last
 * one that half of L1 is free. */
static void load_on(struct rig *r, unsigned core, unsigned i, union cmd *c,
                    struct side side)
{
    if (side.ahead && i % side.ahead == 0) {
        c->head.wait_sem[1] = (uint8_t)side.full;
        c->head.wait_n[1] = 1;
    }
    if (side.ahead && i % side.ahead == side.ahead - 1) {
        c->head.post_sem[1] = (uint8_t)side.free;
        c->head.post_n[1] = 1;
    }
    push(r, core, PIPE_MTE1, c);
}

/* One core's step: a slice of a and of b to L0, and their product. */
static void step(struct rig *r, unsigned core, unsigned i, const struct shape *s)
{
    union cmd a = to_l0(OP_LOAD2D_L0A, i % 2 * 32768, 0, s->m, s->k);
    union cmd b = to_l0(OP_LOAD2D_L0B, i % 2 * 32768, B_IN_L1, s->k, s->n);
    union cmd m = rig_command(OP_MMAD, TYPE_F16);
    bool first = i % TILE_STEPS == 0, last = i % TILE_STEPS == TILE_STEPS - 1;

    wait_post(&a, FREE, 0);
    load_on(r, core, i, &a, side_a(s));
    wait_post(&b, 0, FULL);
    load_on(r, core, i, &b, side_b(s));
    m.mmad.a = m.mmad.b = i % 2 * 32768;
    m.mmad.m = s->m;
    m.mmad.n = s->n;
    m.mmad.k = s->k;
    m.mmad.unit = !s->units ? UNIT_NONE : last ? UNIT_PASS : UNIT_KEEP;
    m.head.flags = first ? MMAD_INIT : 0;
    wait_post(&m, FULL, FREE);
    if (!s->units && first) {
        m.head.wait_sem[1] = TILE_FREE;
        m.head.wait_n[1] = 1;
    }
    if (!s->units && last) {
        m.head.post_sem[1] = TILE_FULL;
        m.head.post_n[1] = 1;
    }
    push(r, core, PIPE_M, &m);
}

static void tile_out(struct rig *r, unsigned core, const struct shape *s)
{
    union cmd f = rig_command(OP_FIX_L0C_GM, TYPE_F32);

    f.fix_gm.dst = RIG_GM_BASE + 2ull * MATRIX + (uint64_t)core * s->m * SIZE * 2;
    f.fix_gm.m = s->m;
    f.fix_gm.n = s->n;
    f.fix_gm.nd_num = 1;
    f.fix_gm.quant = QUANT_F322F16;
    f.fix_gm.dst_pitch = SIZE;
    f.fix_gm.src_c0_stride = s->m;
    f.fix_gm.unit = s->units ? UNIT_PASS : UNIT_NONE;
    wait_post(&f, s->units ? 0 : TILE_FULL, s->units ? 0 : TILE_FREE);
    push(r, core, PIPE_FIX, &f);
}

/* Cycles of the sample: busy ones of a pipe, or all. */
struct result {
    double of[ALL + 1];
};

static struct result so_far(struct rig *r)
{
    static const enum pipe pipes[] = {
        [CUBE] = PIPE_M, [MTE1_] = PIPE_MTE1, [MTE2_] = PIPE_MTE2};
    struct result result = {.of[ALL] = (double)r->now};

    for (unsigned i = 0; i < ALL; i++) {
        result.of[i] = (double)(rig_read(r, 0, rig_pipe(pipes[i], PMU_BUSY)) +
                                rig_read(r, 0, rig_pipe(pipes[i], PMU_STALL_BW)));
    }
    return result;
}

/* L2 has what the lead will load, and all of a behind the first column. */
static void warm(struct rig *r, const struct shape *s, bool first)
{
    unsigned steps = first ? LEAD : LEAD + STEPS * TILES;

    for (unsigned core = 0; core < s->cores && s->ahead_a; core++) {
        for (unsigned i = 0; core % CORE_COLUMNS == 0 && i < steps; i += s->ahead_a) {
            union cmd a = load_a(s, core, i);
            push(r, 0, PIPE_MTE2, &a);
        }
        for (unsigned i = 0; core < CORE_COLUMNS && i < LEAD; i += s->ahead_b) {
            union cmd b = load_b(s, core, i);
            push(r, 0, PIPE_MTE2, &b);
        }
    }
    rig_drain(r);
}

static struct result sample(struct rig *r, const struct shape *s, bool first)
{
    unsigned n = LEAD + STEPS * TILES;
    struct result begin, end;

    calibrate_gm(r, 3ull * MATRIX);
    warm(r, s, first);
    for (unsigned core = 0; core < s->cores; core++) {
        rig_write(r, core, SEM_POST + 8 * FREE, 2);
        rig_write(r, core, SEM_POST + 8 * A_FREE, 2);
        rig_write(r, core, SEM_POST + 8 * B_FREE, 2);
        rig_write(r, core, SEM_POST + 8 * TILE_FREE, 1);
    }
    for (unsigned i = 0; i < n; i++) {
        begin = i == LEAD ? so_far(r) : begin;
        for (unsigned core = 0; core < s->cores; core++) {
            union cmd a = load_a(s, core, i), b = load_b(s, core, i);
            load_in(r, core, i, &a, side_a(s));
            load_in(r, core, i, &b, side_b(s));
            step(r, core, i, s);
            if (i % TILE_STEPS == TILE_STEPS - 1) {
                tile_out(r, core, s);
            }
        }
    }
    end = so_far(r); /* the queues are full at both ends */
    for (unsigned i = 0; i <= ALL; i++) {
        end.of[i] = (end.of[i] - begin.of[i]) / (n - LEAD);
    }
    return end;
}

static struct result product(struct rig *r, const struct shape *s)
{
    struct result first = sample(r, s, true), later = sample(r, s, false);
    unsigned columns = s->cores == 1 ? SIZE / s->n : COLUMNS;

    for (unsigned i = 0; i <= ALL; i++) {
        later.of[i] = (first.of[i] + (columns - 1) * later.of[i]) / columns;
    }
    return later;
}

/* arg: case, and what in the two bits above the low 8. Each case runs once. */
static uint64_t a_step(struct rig *r, uint64_t arg)
{
    enum { CASES = sizeof(cases) / sizeof(cases[0]) };
    static struct result results[CASES];
    struct result *result = &results[arg & 0xff];

    if (result->of[ALL] == 0) {
        *result = product(r, &cases[arg & 0xff]);
    }
    return (uint64_t)(result->of[arg >> 8 & 3] + 0.5);
}

#define RUN(number, what, cores)                                                         \
    a_step, ((uint64_t)(cores) << 56 | (uint64_t)(what) << 8 | (number))

const struct row matmul_rows[] = {
    {"8192^3 case 4: Cube a step", "msopprof", PREDICTED, PATH_M, 527.8, 2,
     RUN(9, CUBE, 1)},
    {"8192^3 case 5: Cube a step", "msopprof", PREDICTED, PATH_M, 567.8, 9,
     RUN(9, CUBE, 1)},
    {"8192^3 case 7: Cube a step", "msopprof", PREDICTED, PATH_M, 535.8, 3,
     RUN(9, CUBE, 1)},
    {"8192^3 case 8: Cube a step", "msopprof", FITTED, PATH_M, 521.1, 1,
     RUN(10, CUBE, 1)},
    {"8192^3 case 4: MTE1 a step", "msopprof", PREDICTED, PATH_MTE1, 395, 7,
     RUN(4, MTE1_, 24)},
    {"8192^3 case 5: MTE1 a step", "msopprof", PREDICTED, PATH_MTE1, 466, 9,
     RUN(5, MTE1_, 24)},
    {"8192^3 case 7: MTE1 a step", "msopprof", PREDICTED, PATH_MTE1, 442, 4,
     RUN(5, MTE1_, 24)},
    {"8192^3 case 8: MTE1 a step", "msopprof", PREDICTED, PATH_MTE1, 429, 1,
     RUN(8, MTE1_, 24)},
    {"8192^3 case 0: MTE2 a step", "msopprof", FITTED, PATH_MTE2, 513.9, 1,
     RUN(0, MTE2_, 1)},
    {"8192^3 case 1: MTE2 a step", "msopprof", FITTED, PATH_MTE2, 1380.5, 6,
     RUN(1, MTE2_, 1)},
    {"8192^3 case 3: MTE2 a step", "msopprof", FITTED, PATH_MTE2, 1459.4, 7,
     RUN(3, MTE2_, 24)},
    {"8192^3 case 4: MTE2 a step", "msopprof", FITTED, PATH_MTE2, 686.2, 1,
     RUN(4, MTE2_, 24)},
    {"8192^3 case 5: MTE2 a step", "msopprof", PREDICTED, PATH_MTE2, 640.0, 3,
     RUN(5, MTE2_, 24)},
    {"8192^3 case 6: MTE2 a step", "msopprof", PREDICTED, PATH_MTE2, 614.1, 2,
     RUN(5, MTE2_, 24)},
    {"8192^3 case 7: MTE2 a step", "msopprof", PREDICTED, PATH_MTE2, 595.1, 5,
     RUN(5, MTE2_, 24)},
    {"8192^3 case 8: MTE2 a step", "msopprof", FITTED, PATH_MTE2, 581.9, 8,
     RUN(8, MTE2_, 24)},
    {"8192^3 case 1: whole step", "msopprof", PREDICTED, PATH_WHOLE, 1760.5, 18,
     RUN(1, ALL, 1)},
    {"8192^3 case 3: whole step", "msopprof", PREDICTED, PATH_WHOLE, 1841.2, 16,
     RUN(3, ALL, 24)},
    {"8192^3 case 4: whole step", "msopprof", PREDICTED, PATH_WHOLE, 760.1, 10,
     RUN(4, ALL, 24)},
    {"8192^3 case 5: whole step", "msopprof", PREDICTED, PATH_WHOLE, 664.9, 7,
     RUN(5, ALL, 24)},
    {"8192^3 case 6: whole step", "msopprof", PREDICTED, PATH_WHOLE, 641.3, 3,
     RUN(5, ALL, 24)},
    {"8192^3 case 7: whole step", "msopprof", PREDICTED, PATH_WHOLE, 620.8, 1,
     RUN(5, ALL, 24)},
    {"8192^3 case 8: whole step", "msopprof", PREDICTED, PATH_WHOLE, 602.8, 4,
     RUN(8, ALL, 24)},
};
const unsigned n_matmul_rows = sizeof(matmul_rows) / sizeof(matmul_rows[0]);
