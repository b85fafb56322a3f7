/* SPDX-License-Identifier: MIT
 *
 * Steps of the published 8192^3 products (asc-devkit, matmul_high_performance). Published
 * are busy cycles of a pipe, or those of the whole run on its core (aicore_time), divided
 * by the number of steps of base_m x base_n x base_k. The same commands in the same order
 * go through the model: two buffers in L0A, L0B and for each matrix in L1, one tile in
 * L0C, loads of GM that bring as many steps of a and of b as the case says (stepKa,
 * stepKb: half of depthA1, depthB1).
 */
#include "tests/model/calibrate/calibrate.h"

enum { STEPS = 16, TILES = 4, PITCH = 8192 };
/* Semaphores: the full and the free halves of L0, of a and of b in L1, and the tile. */
enum { FULL = 1, FREE, A_FULL, A_FREE, B_FULL, B_FREE, TILE_FULL, TILE_FREE };
enum { B_IN_L1 = 262144 };
/* Cores in 4 rows of 6: those of a row share a, those of a column b. */
#define A_AT(core) ((core) / 6 * 512)
#define B_AT(core) (4096 + (core) % 6 * 512)

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

/* rows x cols of fp16 out of rows of 8192, from a column on. */
static union cmd from_gm(uint64_t column, uint32_t l1, unsigned rows, unsigned cols)
{
    union cmd c = rig_command(OP_ND2NZ_GM_L1, TYPE_F16);

    c.nd2nz.src = RIG_GM_BASE + 2 * column;
    c.nd2nz.dst = l1;
    c.nd2nz.n_rows = (uint16_t)rows;
    c.nd2nz.n_cols = (uint16_t)cols;
    c.nd2nz.src_pitch = PITCH;
    c.nd2nz.n_mats = 1;
    c.nd2nz.dst_c0_stride = (uint16_t)rows;
    c.nd2nz.dst_row_stride = 1;
    return c;
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
    bool first = i % STEPS == 0, last = i % STEPS == STEPS - 1;

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

    f.fix_gm.dst = RIG_GM_BASE + 131072 * core;
    f.fix_gm.m = s->m;
    f.fix_gm.n = s->n;
    f.fix_gm.nd_num = 1;
    f.fix_gm.quant = QUANT_F322F16;
    f.fix_gm.dst_pitch = s->n;
    f.fix_gm.src_c0_stride = s->m;
    f.fix_gm.unit = s->units ? UNIT_PASS : UNIT_NONE;
    wait_post(&f, s->units ? 0 : TILE_FULL, s->units ? 0 : TILE_FREE);
    push(r, core, PIPE_FIX, &f);
}

/* Cycles a step: busy ones of a pipe, or all, without those at the begin. */
struct result {
    uint64_t of[ALL + 1];
};

/* L2 has what the cores will load. */
static void warm(struct rig *r, const struct shape *s)
{
    for (unsigned core = 0; core < s->cores && s->ahead_a; core++) {
        union cmd a = from_gm(A_AT(core), 0, s->m, s->k * s->ahead_a);
        union cmd b = from_gm(B_AT(core), B_IN_L1, s->n, s->k * s->ahead_b);
        push(r, core, PIPE_MTE2, &a);
        push(r, core, PIPE_MTE2, &b);
    }
    rig_drain(r);
    for (unsigned core = 0; core < s->cores; core++) {
        rig_write(r, core, CORE_CTRL, CORE_CTRL_PMU);
    }
}

static struct result product(struct rig *r, const struct shape *s)
{
    static const enum pipe pipes[] = {
        [CUBE] = PIPE_M, [MTE1_] = PIPE_MTE1, [MTE2_] = PIPE_MTE2};
    unsigned n = STEPS * TILES;
    uint64_t half = 0;
    struct result result;

    warm(r, s);
    for (unsigned core = 0; core < s->cores; core++) {
        rig_write(r, core, SEM_POST + 8 * FREE, 2);
        rig_write(r, core, SEM_POST + 8 * A_FREE, 2);
        rig_write(r, core, SEM_POST + 8 * B_FREE, 2);
        rig_write(r, core, SEM_POST + 8 * TILE_FREE, 1);
    }
    for (unsigned i = 0; i < n; i++) {
        half = i == n / 2 ? r->now : half;
        for (unsigned core = 0; core < s->cores; core++) {
            union cmd a = from_gm(A_AT(core), 0, s->m, s->k * s->ahead_a);
            union cmd b = from_gm(B_AT(core), B_IN_L1, s->n, s->k * s->ahead_b);
            load_in(r, core, i, &a, side_a(s));
            load_in(r, core, i, &b, side_b(s));
            step(r, core, i, s);
            if (i % STEPS == STEPS - 1) {
                tile_out(r, core, s);
            }
        }
    }
    result.of[ALL] = (r->now - half) / (n / 2); /* the queues are full at both ends */
    rig_drain(r);
    for (unsigned i = 0; i < ALL; i++) {
        result.of[i] = (rig_read(r, 0, rig_pipe(pipes[i], PMU_BUSY)) +
                        rig_read(r, 0, rig_pipe(pipes[i], PMU_STALL_BW))) /
                       n;
    }
    return result;
}

/* arg: case, and what in the two bits above the low 8. Each case runs once. */
static uint64_t a_step(struct rig *r, uint64_t arg)
{
    enum { CASES = sizeof(cases) / sizeof(cases[0]) };
    static struct result results[CASES];
    struct result *result = &results[arg & 0xff];

    if (!result->of[ALL]) {
        *result = product(r, &cases[arg & 0xff]);
    }
    return result->of[arg >> 8 & 3];
}

#define RUN(number, what, cores)                                                         \
    a_step, ((uint64_t)(cores) << 56 | (uint64_t)(what) << 8 | (number))

const struct row matmul_rows[] = {
    {"8192^3 case 4: Cube a step", "msopprof", PREDICTED, PATH_M, 527.8, 1,
     RUN(9, CUBE, 1)},
    {"8192^3 case 5: Cube a step", "msopprof", PREDICTED, PATH_M, 567.8, 8,
     RUN(9, CUBE, 1)},
    {"8192^3 case 7: Cube a step", "msopprof", PREDICTED, PATH_M, 535.8, 3,
     RUN(9, CUBE, 1)},
    {"8192^3 case 8: Cube a step", "msopprof", FITTED, PATH_M, 521.1, 1,
     RUN(10, CUBE, 1)},
    {"8192^3 case 4: MTE1 a step", "msopprof", PREDICTED, PATH_MTE1, 395, 2,
     RUN(4, MTE1_, 24)},
    {"8192^3 case 5: MTE1 a step", "msopprof", PREDICTED, PATH_MTE1, 466, 14,
     RUN(5, MTE1_, 24)},
    {"8192^3 case 7: MTE1 a step", "msopprof", PREDICTED, PATH_MTE1, 442, 9,
     RUN(5, MTE1_, 24)},
    {"8192^3 case 8: MTE1 a step", "msopprof", PREDICTED, PATH_MTE1, 429, 6,
     RUN(8, MTE1_, 24)},
    {"8192^3 case 0: MTE2 a step", "msopprof", FITTED, PATH_MTE2, 513.9, 1,
     RUN(0, MTE2_, 1)},
    {"8192^3 case 1: MTE2 a step", "msopprof", FITTED, PATH_MTE2, 1380.5, 5,
     RUN(1, MTE2_, 1)},
    {"8192^3 case 3: MTE2 a step", "msopprof", PREDICTED, PATH_MTE2, 1459.4, 7,
     RUN(3, MTE2_, 24)},
    {"8192^3 case 4: MTE2 a step", "msopprof", PREDICTED, PATH_MTE2, 686.2, 16,
     RUN(4, MTE2_, 24)},
    {"8192^3 case 5: MTE2 a step", "msopprof", PREDICTED, PATH_MTE2, 640.0, 8,
     RUN(5, MTE2_, 24)},
    {"8192^3 case 6: MTE2 a step", "msopprof", PREDICTED, PATH_MTE2, 614.1, 4,
     RUN(5, MTE2_, 24)},
    {"8192^3 case 7: MTE2 a step", "msopprof", PREDICTED, PATH_MTE2, 595.1, 1,
     RUN(5, MTE2_, 24)},
    {"8192^3 case 8: MTE2 a step", "msopprof", PREDICTED, PATH_MTE2, 581.9, 2,
     RUN(8, MTE2_, 24)},
    {"8192^3 case 1: whole step", "msopprof", PREDICTED, PATH_WHOLE, 1760.5, 19,
     RUN(1, ALL, 1)},
    {"8192^3 case 3: whole step", "msopprof", PREDICTED, PATH_WHOLE, 1841.2, 15,
     RUN(3, ALL, 24)},
    {"8192^3 case 4: whole step", "msopprof", PREDICTED, PATH_WHOLE, 760.1, 14,
     RUN(4, ALL, 24)},
    {"8192^3 case 5: whole step", "msopprof", PREDICTED, PATH_WHOLE, 664.9, 11,
     RUN(5, ALL, 24)},
    {"8192^3 case 6: whole step", "msopprof", PREDICTED, PATH_WHOLE, 641.3, 8,
     RUN(5, ALL, 24)},
    {"8192^3 case 7: whole step", "msopprof", PREDICTED, PATH_WHOLE, 620.8, 4,
     RUN(5, ALL, 24)},
    {"8192^3 case 8: whole step", "msopprof", PREDICTED, PATH_WHOLE, 602.8, 3,
     RUN(8, ALL, 24)},
};
const unsigned n_matmul_rows = sizeof(matmul_rows) / sizeof(matmul_rows[0]);
