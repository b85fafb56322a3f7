/* SPDX-License-Identifier: MIT
 *
 * Steps of the published 8192^3 products (asc-devkit, matmul_high_performance; 128 x 256
 * x 64 a step, case 0: 64^3). Published are busy cycles of a pipe, or the cycles of the
 * whole run, divided by the number of steps. The same commands in the same order go
 * through the model: two buffers in L0A and L0B, one tile in L0C, 16 steps a tile, loads
 * of GM that bring `ahead` steps at once.
 */
#include "tests/host/calibrate.h"

enum { STEPS = 16, TILES = 2, M_ = 128, N_ = 256, K_ = 64 };
/* Semaphores: the full and the free halves of L0, of L1, and the tile. */
enum { FULL = 1, FREE, L1_FULL, L1_FREE, TILE_FULL, TILE_FREE };

enum what { CUBE, MTE1_, MTE2_, ALL };

static void wait_post(union cmd *c, unsigned wait, unsigned post)
{
    c->head.wait_sem[0] = (uint8_t)wait;
    c->head.wait_n[0] = wait != 0;
    c->head.post_sem[0] = (uint8_t)post;
    c->head.post_n[0] = post != 0;
}

/* rows x cols of fp16 out of rows of 8192. */
static union cmd from_gm(uint32_t l1, unsigned rows, unsigned cols)
{
    union cmd c = rig_command(OP_ND2NZ_GM_L1, TYPE_F16);

    c.nd2nz.src = RIG_GM_BASE;
    c.nd2nz.dst = l1;
    c.nd2nz.n_rows = (uint16_t)rows;
    c.nd2nz.n_cols = (uint16_t)cols;
    c.nd2nz.src_pitch = 8192;
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

/* One core's step: a slice of a and of b to L0, and their product. */
static void step(struct rig *r, unsigned core, unsigned i, bool load, bool units)
{
    union cmd a = to_l0(OP_LOAD2D_L0A, i % 2 * 32768, 0, M_, K_);
    union cmd b = to_l0(OP_LOAD2D_L0B, i % 2 * 32768, 65536, K_, N_);
    union cmd m = rig_command(OP_MMAD, TYPE_F16);
    bool first = i % STEPS == 0, last = i % STEPS == STEPS - 1;

    wait_post(&a, FREE, 0);
    if (load) {
        a.head.wait_sem[1] = L1_FULL;
        a.head.wait_n[1] = 1;
    }
    wait_post(&b, 0, FULL);
    m.mmad = (struct cmd_mmad){m.head,
                               0,
                               i % 2 * 32768,
                               i % 2 * 32768,
                               0,
                               M_,
                               N_,
                               K_,
                               !units ? UNIT_NONE
                               : last ? UNIT_PASS
                                      : UNIT_KEEP};
    m.head.flags = first ? MMAD_INIT : 0;
    wait_post(&m, FULL, FREE);
    if (!units && first) {
        m.head.wait_sem[1] = TILE_FREE;
        m.head.wait_n[1] = 1;
    }
    if (!units && last) {
        m.head.post_sem[1] = TILE_FULL;
        m.head.post_n[1] = 1;
    }
    push(r, core, PIPE_MTE1, &a);
    push(r, core, PIPE_MTE1, &b);
    push(r, core, PIPE_M, &m);
}

static void tile_out(struct rig *r, unsigned core, bool units)
{
    union cmd f = rig_command(OP_FIX_L0C_GM, TYPE_F32);

    f.fix_gm.dst = RIG_GM_BASE + 131072 * core;
    f.fix_gm.m = M_;
    f.fix_gm.n = N_;
    f.fix_gm.nd_num = 1;
    f.fix_gm.quant = QUANT_F322F16;
    f.fix_gm.dst_pitch = N_;
    f.fix_gm.src_c0_stride = M_;
    f.fix_gm.unit = units ? UNIT_PASS : UNIT_NONE;
    wait_post(&f, units ? 0 : TILE_FULL, units ? 0 : TILE_FREE);
    push(r, core, PIPE_FIX, &f);
}

/* arg: what, in 2 bits; units; steps that a load of GM brings (0: none). */
static uint64_t product(struct rig *r, uint64_t arg)
{
    enum what what = (enum what)(arg & 3);
    unsigned ahead = (unsigned)(arg >> 3 & 15), n = STEPS * TILES;
    bool units = arg >> 2 & 1;
    enum pipe pipe = what == MTE1_ ? PIPE_MTE1 : what == MTE2_ ? PIPE_MTE2 : PIPE_M;
    uint64_t busy;

    for (unsigned core = 0; core < r->config.cores; core++) {
        rig_write(r, core, SEM_POST + 8 * FREE, 2);
        rig_write(r, core, SEM_POST + 8 * L1_FREE, 2);
        rig_write(r, core, SEM_POST + 8 * TILE_FREE, 1);
    }
    for (unsigned i = 0; i < n; i++) {
        for (unsigned core = 0; core < r->config.cores; core++) {
            if (ahead && i % ahead == 0) {
                union cmd a = from_gm(0, M_, K_ * ahead);
                union cmd b = from_gm(131072, N_, K_ * ahead);
                wait_post(&a, L1_FREE, 0);
                wait_post(&b, 0, L1_FULL);
                push(r, core, PIPE_MTE2, &a);
                push(r, core, PIPE_MTE2, &b);
            }
            step(r, core, i, ahead && i % ahead == 0, units);
            if (ahead && i % ahead == ahead - 1) {
                union cmd nop = rig_command(OP_NOP, TYPE_NONE);
                wait_post(&nop, 0, L1_FREE);
                push(r, core, PIPE_MTE1, &nop);
            }
            if (i % STEPS == STEPS - 1) {
                tile_out(r, core, units);
            }
        }
    }
    rig_drain(r);
    busy = rig_read(r, 0, rig_pipe(pipe, PMU_BUSY)) +
           rig_read(r, 0, rig_pipe(pipe, PMU_STALL_BW));
    return (what == ALL ? r->now : busy) / n;
}

#define RUN(what, units, ahead, cores)                                                   \
    ((uint64_t)(cores) << 56 | (uint64_t)(what) | (units) << 2 | (ahead) << 3)

const struct row matmul_rows[] = {
    {"8192^3 case 4: Cube a step", "msopprof", 527.8, 1, product, RUN(CUBE, 0, 0, 0)},
    {"8192^3 case 7: Cube a step", "msopprof", 535.8, 3, product, RUN(CUBE, 0, 0, 0)},
    {"8192^3 case 8: Cube a step", "msopprof", 521.1, 1, product, RUN(CUBE, 1, 0, 0)},
    {"8192^3 case 4: MTE1 a step", "msopprof", 395, 8, product, RUN(MTE1_, 0, 0, 0)},
    {"8192^3 case 8: MTE1 a step", "msopprof", 429, 15, product, RUN(MTE1_, 1, 0, 0)},
    {"8192^3 case 1: MTE2 a step", "msopprof", 1380, 44, product, RUN(MTE2_, 0, 1, 0)},
    {"8192^3 case 4: MTE2 a step", "msopprof", 686, 72, product, RUN(MTE2_, 0, 2, 24)},
    {"8192^3 case 8: MTE2 a step", "msopprof", 582, 14, product, RUN(MTE2_, 1, 8, 24)},
    {"8192^3 case 1: whole step", "msopprof", 1760.5, 17, product, RUN(ALL, 0, 1, 0)},
    {"8192^3 case 8: whole step", "msopprof", 679.5, 6, product, RUN(ALL, 1, 8, 24)},
};
const unsigned n_matmul_rows = sizeof(matmul_rows) / sizeof(matmul_rows[0]);
