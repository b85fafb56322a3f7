/* SPDX-License-Identifier: MIT
 *
 * Microbenchmarks of an Ascend 910B3: cycles a command at 1.8 GHz, of commands that follow
 * each other unless the row says that they wait. See calibrate.h.
 */
#include "tests/model/calibrate/calibrate.h"

enum { KIB = 1024, MANY = 16, STREAM = 64 << 20, CHUNK = 256 * KIB };

/* Cycles a command of `n` equal ones. */
static uint64_t each(struct rig *r, enum pipe pipe, union cmd c, unsigned n)
{
    uint64_t begin = r->now;

    for (unsigned i = 0; i < n; i++) {
        rig_push(r, 0, pipe, &c);
    }
    return (drain(r, begin) + n / 2) / n;
}

static uint64_t mmad_128(struct rig *r, uint64_t arg)
{
    union cmd c = rig_command(OP_MMAD, TYPE_F16);

    (void)arg;
    c.head.flags = MMAD_INIT;
    c.mmad.m = c.mmad.n = c.mmad.k = 128;
    return each(r, PIPE_M, c, 1);
}

/* 256 halves; how they lay is not told, so no two of them in a bank group. */
static uint64_t binary(struct rig *r, uint64_t op)
{
    union cmd c = rig_command((enum op)op, TYPE_F16);

    c.vec2.src1 = 64 * KIB + 256;
    c.vec2.dst = 128 * KIB;
    c.vec2.repeat = 2;
    c.vec2.dst_blk = c.vec2.src0_blk = c.vec2.src1_blk = 1;
    c.vec2.dst_rep = c.vec2.src0_rep = c.vec2.src1_rep = 8;
    return each(r, PIPE_V, c, 1);
}

static uint64_t ub_gm(struct rig *r, uint64_t bytes)
{
    union cmd c = rig_command(OP_COPY_UB_GM, TYPE_NONE);

    c.copy_out.dst = RIG_GM_BASE;
    c.copy_out.len_bytes = (uint32_t)bytes;
    c.copy_out.n_blocks = 1;
    return each(r, PIPE_MTE3, c, 1);
}

static union cmd load(enum op op, uint64_t bytes)
{
    union cmd c = rig_command(op, TYPE_F16);

    c.load2d.n_rows = c.load2d.src_c0_stride = (uint16_t)(bytes / 256);
    c.load2d.n_cols = 128;
    return c;
}

static uint64_t l1_l0a(struct rig *r, uint64_t bytes)
{
    return each(r, PIPE_MTE1, load(OP_LOAD2D_L0A, bytes), MANY);
}

static uint64_t loads_of_both(struct rig *r, uint64_t bytes)
{
    uint64_t begin = r->now;

    for (unsigned i = 0; i < MANY; i++) {
        union cmd c = load(i % 2 ? OP_LOAD2D_L0B : OP_LOAD2D_L0A, bytes);
        rig_push(r, 0, PIPE_MTE1, &c);
    }
    return drain(r, begin);
}

static uint64_t fix_gm(struct rig *r, uint64_t n)
{
    union cmd c = rig_command(OP_FIX_L0C_GM, TYPE_F32);

    c.fix_gm.dst = RIG_GM_BASE;
    c.fix_gm.m = c.fix_gm.n = c.fix_gm.dst_pitch = c.fix_gm.src_c0_stride = 128;
    c.fix_gm.nd_num = 1;
    return each(r, PIPE_FIX, c, (unsigned)n);
}

/* Cycles a load of CHUNK bytes that L2 does not hold: a part of the stream, whose rest is
 * alike. */
static uint64_t stream(struct rig *r, uint64_t arg)
{
    union cmd c = rig_copy_in(0, 0, CHUNK);

    (void)arg;
    calibrate_gm(r, STREAM);
    c.head.opcode = OP_COPY_GM_L1;
    for (c.copy_in.src = RIG_GM_BASE; c.copy_in.src < RIG_GM_BASE + STREAM;
         c.copy_in.src += CHUNK) {
        rig_push(r, 0, PIPE_MTE2, &c);
        rig_drain(r);
    }
    return r->now / (STREAM / CHUNK);
}

const struct row silicon_rows[] = {
    {"MMAD 128^3 after a wait", "vTriton", PREDICTED, PATH_M, 575, 1, mmad_128, 0},
    {"VADD of 256 halves", "vTriton", PREDICTED, PATH_V, 26, 1, binary, OP_VADD},
    {"VMUL of 256 halves", "vTriton", PREDICTED, PATH_V, 27, 1, binary, OP_VMUL},
    {"VMAX of 256 halves", "vTriton", PREDICTED, PATH_V, 24, 5, binary, OP_VMAX},
    {"VMIN of 256 halves", "vTriton", PREDICTED, PATH_V, 24, 5, binary, OP_VMIN},
    {"UB -> GM, 64 KiB", "vTriton", PREDICTED, PATH_MTE3, 971, 1, ub_gm, 64 * KIB},
    {"L1 -> L0A, 16 KiB behind another", "vTriton", FITTED, PATH_MTE1, 65.2, 2, l1_l0a,
     16 * KIB},
    {"16 loads of 4 KiB, L0A and L0B", "vTriton", PREDICTED, PATH_MTE1, 421, 1,
     loads_of_both, 4 * KIB},
    {"L0C -> GM, 128x128 after a wait", "vTriton", FITTED, PATH_FIX, 857, 3, fix_gm, 1},
    {"L0C -> GM, 128x128 behind another", "vTriton", PREDICTED, PATH_FIX, 822, 3, fix_gm,
     MANY},
    {"GM -> L1, 256 KiB of 320 MiB", "vTriton", PREDICTED, PATH_HBM, 3344, 1, stream, 0},
};
const unsigned n_silicon_rows = sizeof(silicon_rows) / sizeof(silicon_rows[0]);
