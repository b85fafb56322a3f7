/* SPDX-License-Identifier: MIT
 *
 * Published against modelled cycles of single commands; see calibrate.h.
 */
#include "tests/model/calibrate/calibrate.h"

enum { KIB = 1024 };

/* Of a command alone; twice: when L2 has what it reads. */
static uint64_t alone(struct rig *r, enum pipe pipe, const union cmd *c)
{
    uint64_t begin = r->now;

    rig_push(r, 0, pipe, c);
    return drain(r, begin);
}

static uint64_t again(struct rig *r, enum pipe pipe, const union cmd *c)
{
    alone(r, pipe, c);
    return alone(r, pipe, c);
}

/* Of the second of two that follow each other. */
static uint64_t behind(struct rig *r, enum pipe pipe, const union cmd *c)
{
    uint64_t first, begin = r->now;

    rig_push(r, 0, pipe, c);
    rig_push(r, 0, pipe, c);
    first = npu_next(&r->npu);
    return drain(r, begin) - (first - begin);
}

static uint64_t gm_l1(struct rig *r, uint64_t bytes)
{
    union cmd c = rig_copy_in(0, 0, (uint32_t)bytes);

    c.head.opcode = OP_COPY_GM_L1;
    return again(r, PIPE_MTE2, &c);
}

static uint64_t gm_ub(struct rig *r, uint64_t bytes)
{
    union cmd c = rig_copy_in(0, 0, (uint32_t)bytes);

    return again(r, PIPE_MTE2, &c);
}

/* From a place between two lines on. */
static uint64_t unaligned(struct rig *r, uint64_t bytes)
{
    union cmd c = rig_copy_in(0, 32, (uint32_t)bytes);

    return again(r, PIPE_MTE2, &c);
}

/* As many percent as all cores in one place take of what each in its own does. */
static uint64_t one_line(struct rig *r, uint64_t arg)
{
    enum { BYTES = 131072 };
    unsigned cores = (unsigned)(arg >> 56);
    uint64_t took[2], begin;

    for (unsigned turn = 0; turn < 4; turn++) { /* the first and the third fill L2 */
        begin = r->now;
        for (unsigned core = 0; core < cores; core++) {
            union cmd c = rig_copy_in(0, turn / 2 * core * BYTES, BYTES);
            rig_push(r, core, PIPE_MTE2, &c);
        }
        took[turn / 2] = drain(r, begin);
    }
    return 100 * took[0] / took[1];
}

static uint64_t ub_gm(struct rig *r, uint64_t bytes)
{
    union cmd c = rig_command(OP_COPY_UB_GM, TYPE_NONE);
    uint64_t begin = r->now;

    c.copy_out.dst = RIG_GM_BASE;
    c.copy_out.len_bytes = (uint32_t)bytes;
    c.copy_out.n_blocks = 1;
    rig_push(r, 0, PIPE_MTE3, &c);
    return drain(r, begin);
}

/* Rows of 512 bytes, fp16. */
static uint64_t nd2nz(struct rig *r, uint64_t bytes)
{
    union cmd c = rig_command(OP_ND2NZ_GM_L1, TYPE_F16);

    c.nd2nz.src = RIG_GM_BASE;
    c.nd2nz.n_rows = (uint16_t)(bytes / 512);
    c.nd2nz.n_cols = 256;
    c.nd2nz.src_pitch = 256;
    c.nd2nz.n_mats = 1;
    c.nd2nz.dst_c0_stride = c.nd2nz.n_rows;
    c.nd2nz.dst_row_stride = 1;
    return again(r, PIPE_MTE2, &c);
}

static union cmd load(enum op op, uint64_t rows, uint64_t cols)
{
    union cmd c = rig_command(op, TYPE_F16);

    c.load2d.n_rows = (uint16_t)rows;
    c.load2d.n_cols = (uint16_t)cols;
    c.load2d.src_c0_stride = (uint16_t)rows;
    return c;
}

/* arg: m, n, k in 16 bits each. Loads of one slice of a (m, k) and of b (k, n), each when
 * GM has brought it to L1. */
static uint64_t load_pair(struct rig *r, uint64_t arg)
{
    uint64_t m = arg >> 32 & 0xffff, n = arg >> 16 & 0xffff, k = arg & 0xffff;
    union cmd a = load(OP_LOAD2D_L0A, m, k), b = load(OP_LOAD2D_L0B, k, n);
    uint64_t first = alone(r, PIPE_MTE1, &a);

    rig_to(r, r->now + 1);
    return first + alone(r, PIPE_MTE1, &b);
}

/* The same while GM comes to L1. */
static uint64_t load_pair_beside(struct rig *r, uint64_t arg)
{
    uint64_t m = arg >> 32 & 0xffff, n = arg >> 16 & 0xffff, k = arg & 0xffff;
    union cmd in = rig_copy_in(0, 0, 512 * KIB);
    union cmd pair[] = {load(OP_LOAD2D_L0A, m, k), load(OP_LOAD2D_L0B, k, n)};
    uint64_t begin;

    in.head.opcode = OP_COPY_GM_L1;
    rig_push(r, 0, PIPE_MTE2, &in);
    rig_to(r, r->now + KIB);
    begin = r->now;
    rig_push(r, 0, PIPE_MTE1, &pair[0]);
    rig_push(r, 0, PIPE_MTE1, &pair[1]);
    while (rig_read(r, 0, rig_pipe(PIPE_MTE1, PIPE_LEFT))) {
        rig_to(r, npu_next(&r->npu));
    }
    return r->now - begin;
}

static uint64_t l1_l0a(struct rig *r, uint64_t bytes)
{
    union cmd c = load(OP_LOAD2D_L0A, bytes / 512, 256);

    return behind(r, PIPE_MTE1, &c);
}

static uint64_t l1_l0b(struct rig *r, uint64_t bytes)
{
    union cmd c = load(OP_LOAD2D_L0B, bytes / 512, 256);

    return behind(r, PIPE_MTE1, &c);
}

static union cmd mmad(uint64_t arg)
{
    union cmd c = rig_command(OP_MMAD, TYPE_F16);

    c.head.flags = MMAD_INIT;
    c.mmad.m = (uint16_t)(arg >> 32);
    c.mmad.n = (uint16_t)(arg >> 16);
    c.mmad.k = (uint16_t)arg;
    return c;
}

static uint64_t mmad_first(struct rig *r, uint64_t arg)
{
    union cmd c = mmad(arg);
    uint64_t begin = r->now;

    rig_push(r, 0, PIPE_M, &c);
    return drain(r, begin);
}

static uint64_t mmad_next(struct rig *r, uint64_t arg)
{
    union cmd c = mmad(arg);

    return behind(r, PIPE_M, &c);
}

/* Eight of them, one slice of k each, into one tile. */
static uint64_t mmad_8(struct rig *r, uint64_t arg)
{
    union cmd c = mmad(arg);
    uint64_t begin = r->now;

    for (unsigned i = 0; i < 8; i++) {
        c.head.flags = i ? 0 : MMAD_INIT;
        rig_push(r, 0, PIPE_M, &c);
    }
    return drain(r, begin);
}

/* Bytes of L0C, of which half are written. */
static uint64_t l0c_gm(struct rig *r, uint64_t bytes)
{
    union cmd c = rig_command(OP_FIX_L0C_GM, TYPE_F32);

    c.fix_gm.dst = RIG_GM_BASE;
    c.fix_gm.m = (uint16_t)(bytes / 512);
    c.fix_gm.n = 128;
    c.fix_gm.nd_num = 1;
    c.fix_gm.quant = QUANT_F322F16;
    c.fix_gm.dst_pitch = 128;
    c.fix_gm.src_c0_stride = c.fix_gm.m;
    return behind(r, PIPE_FIX, &c);
}

/* 128 x 256 of fp32, a tile of the published products, while every core reads from L2. FIX
 * works 3 to 8 % of the time there, so two cores at a time write. */
static uint64_t tile_under_load(struct rig *r, uint64_t arg)
{
    enum { READ = 131072, READS = 8 };
    union cmd c = rig_command(OP_FIX_L0C_GM, TYPE_F32);
    unsigned cores = (unsigned)(arg >> 56);
    uint64_t begin;

    c.fix_gm.m = c.fix_gm.src_c0_stride = 128;
    c.fix_gm.n = c.fix_gm.dst_pitch = 256;
    c.fix_gm.nd_num = 1;
    for (unsigned turn = 0; turn < 2; turn++) { /* at first it fills L2 */
        begin = r->now;
        for (unsigned i = 0; i < READS * cores; i++) {
            union cmd in = rig_copy_in(0, i % cores * READ, READ);
            in.head.opcode = OP_COPY_GM_L1;
            rig_push(r, i % cores, PIPE_MTE2, &in);
        }
        for (unsigned core = 0; core < cores; core += cores / 2) {
            c.fix_gm.dst = RIG_GM_BASE + cores * READ + core * 2 * KIB;
            rig_push(r, core, PIPE_FIX, &c);
        }
        while (rig_read(r, 0, rig_pipe(PIPE_FIX, PIPE_LEFT))) {
            rig_to(r, npu_next(&r->npu));
        }
        begin = r->now - begin;
        rig_drain(r);
    }
    return begin;
}

/* Bytes a cycle that come to all cores when none of it is in L2. */
static uint64_t streams(struct rig *r, uint64_t arg)
{
    enum { CHUNK = 262144, CHUNKS = 8 };
    unsigned cores = (unsigned)(arg >> 56);

    calibrate_gm(r, (uint64_t)cores * CHUNKS * CHUNK);
    for (unsigned i = 0; i < cores * CHUNKS; i++) {
        union cmd c = rig_copy_in(0, (uint64_t)i * CHUNK, CHUNK);
        c.head.opcode = OP_COPY_GM_L1;
        rig_push(r, i % cores, PIPE_MTE2, &c);
    }
    return (uint64_t)cores * CHUNKS * CHUNK / drain(r, 0);
}

/* 64 repeats of VADD, fp32; arg: address of the second source, of the destination. */
static uint64_t vadd(struct rig *r, uint64_t arg)
{
    union cmd c = rig_command(OP_VADD, TYPE_F32);
    uint64_t begin = r->now;

    c.vec2.src1 = (uint32_t)(arg >> 32);
    c.vec2.dst = (uint32_t)arg;
    c.vec2.repeat = 64;
    c.vec2.dst_blk = c.vec2.src0_blk = c.vec2.src1_blk = 1;
    c.vec2.dst_rep = c.vec2.src0_rep = c.vec2.src1_rep = 8;
    rig_push(r, 0, PIPE_V, &c);
    return drain(r, begin);
}

#define VADD(src1, dst) ((uint64_t)(src1) << 32 | (dst))
#define MNK(m, n, k)    ((uint64_t)(m) << 32 | (uint64_t)(n) << 16 | (k))

static const struct row rows[] = {
    {"GM -> L1, 1 KiB", "mskpp", FITTED, PATH_MTE2, 177, 8, gm_l1, 1 * KIB},
    {"GM -> L1, 2 KiB", "mskpp", FITTED, PATH_MTE2, 197, 1, gm_l1, 2 * KIB},
    {"GM -> L1, 4 KiB", "mskpp", FITTED, PATH_MTE2, 240, 13, gm_l1, 4 * KIB},
    {"GM -> L1, 8 KiB", "mskpp", FITTED, PATH_MTE2, 243, 4, gm_l1, 8 * KIB},
    {"GM -> L1, 16 KiB", "mskpp", FITTED, PATH_MTE2, 302, 6, gm_l1, 16 * KIB},
    {"GM -> L1, 32 KiB", "mskpp", FITTED, PATH_MTE2, 382, 2, gm_l1, 32 * KIB},
    {"GM -> L1, 48 KiB", "mskpp", FITTED, PATH_MTE2, 508, 4, gm_l1, 48 * KIB},
    {"GM -> L1, 64 KiB", "mskpp", FITTED, PATH_MTE2, 638, 8, gm_l1, 64 * KIB},
    {"GM -> L1, 128 KiB", "mskpp", FITTED, PATH_MTE2, 968, 4, gm_l1, 128 * KIB},
    {"GM -> L1, 256 KiB", "mskpp", FITTED, PATH_MTE2, 1722, 6, gm_l1, 256 * KIB},
    {"GM -> L1, 512 KiB", "mskpp", FITTED, PATH_MTE2, 3437, 1, gm_l1, 512 * KIB},
    {"GM -> UB, 1 KiB", "mskpp", FITTED, PATH_MTE2, 216, 7, gm_ub, 1 * KIB},
    {"GM -> UB, 2 KiB", "mskpp", FITTED, PATH_MTE2, 216, 4, gm_ub, 2 * KIB},
    {"GM -> UB, 4 KiB", "mskpp", FITTED, PATH_MTE2, 238, 6, gm_ub, 4 * KIB},
    {"GM -> UB, 8 KiB", "mskpp", FITTED, PATH_MTE2, 239, 8, gm_ub, 8 * KIB},
    {"GM -> UB, 20 KiB", "mskpp", FITTED, PATH_MTE2, 358, 1, gm_ub, 20 * KIB},
    {"GM -> UB, 44 KiB", "mskpp", FITTED, PATH_MTE2, 525, 6, gm_ub, 44 * KIB},
    {"GM -> UB, 96 KiB", "mskpp", FITTED, PATH_MTE2, 970, 1, gm_ub, 96 * KIB},
    {"GM -> UB, 192 KiB", "mskpp", FITTED, PATH_MTE2, 1765, 1, gm_ub, 192 * KIB},
    {"UB -> GM, 1 KiB", "mskpp", FITTED, PATH_MTE3, 151, 7, ub_gm, 1 * KIB},
    {"UB -> GM, 2 KiB", "mskpp", FITTED, PATH_MTE3, 155, 1, ub_gm, 2 * KIB},
    {"UB -> GM, 4 KiB", "mskpp", FITTED, PATH_MTE3, 181, 1, ub_gm, 4 * KIB},
    {"UB -> GM, 10 KiB", "mskpp", FITTED, PATH_MTE3, 257, 1, ub_gm, 10 * KIB},
    {"UB -> GM, 20 KiB", "mskpp", FITTED, PATH_MTE3, 361, 9, ub_gm, 20 * KIB},
    {"UB -> GM, 76 KiB", "mskpp", FITTED, PATH_MTE3, 1184, 5, ub_gm, 76 * KIB},
    {"ND2NZ, 4 KiB", "mskpp", FITTED, PATH_MTE2, 780, 1, nd2nz, 4 * KIB},
    {"ND2NZ, 16 KiB", "mskpp", FITTED, PATH_MTE2, 794, 1, nd2nz, 16 * KIB},
    {"ND2NZ, 64 KiB", "mskpp", FITTED, PATH_MTE2, 826, 1, nd2nz, 64 * KIB},
    {"ND2NZ, 128 KiB", "mskpp", FITTED, PATH_MTE2, 1150, 1, nd2nz, 128 * KIB},
    {"ND2NZ, 192 KiB", "mskpp", FITTED, PATH_MTE2, 1615, 1, nd2nz, 192 * KIB},
    {"L0C -> GM, 1 KiB", "mskpp", FITTED, PATH_FIX, 82, 1, l0c_gm, 1 * KIB},
    {"L0C -> GM, 9 KiB", "mskpp", FITTED, PATH_FIX, 93, 12, l0c_gm, 9 * KIB},
    {"L0C -> GM, 17 KiB", "mskpp", FITTED, PATH_FIX, 143, 5, l0c_gm, 17 * KIB},
    {"L0C -> GM, 128 KiB", "mskpp", FITTED, PATH_FIX, 1116, 1, l0c_gm, 128 * KIB},
    {"GM -> UB, 64 KiB between lines", "devkit", TYPED_IN, PATH_MTE2, 941, 1, unaligned,
     64 * KIB},
    {"GM -> UB in one line, 24 cores, %", "devkit", TYPED_IN, PATH_MTE2, 115, 4, one_line,
     24ull << 56},
    {"L0C -> GM, 128 KiB of each under load", "msopprof", FITTED, PATH_FIX, 1956, 2,
     tile_under_load, 24ull << 56},
    {"GM -> L1 of 24 cores beyond L2, B/c", "devkit", TYPED_IN, PATH_HBM, 784, 10,
     streams, 24ull << 56},
    {"L1 -> L0A, 64 KiB", "mskpp", PREDICTED, PATH_MTE1, 251, 3, l1_l0a, 64 * KIB},
    {"L1 -> L0B, 64 KiB", "mskpp", PREDICTED, PATH_MTE1, 500, 3, l1_l0b, 64 * KIB},
    {"loads of a, b 64^3", "msopprof", FITTED, PATH_MTE1, 143, 1, load_pair,
     MNK(64, 64, 64)},
    {"loads of a, b 128x256x64", "msopprof", FITTED, PATH_MTE1, 367, 1, load_pair,
     MNK(128, 256, 64)},
    {"the same while MTE2 writes L1", "pto-isa", FITTED, PATH_MTE1, 415, 2,
     load_pair_beside, MNK(128, 256, 64)},
    {"Mmad 64^3 after a wait", "msopprof", FITTED, PATH_M, 125, 1, mmad_first,
     MNK(64, 64, 64)},
    {"Mmad 128x256x64 after a wait", "msopprof", FITTED, PATH_M, 575, 1, mmad_first,
     MNK(128, 256, 64)},
    {"Mmad 128x256x64 behind another", "msopprof", FITTED, PATH_M, 521.1, 1, mmad_next,
     MNK(128, 256, 64)},
    {"8 Mmad 128x256x64", "devkit", PREDICTED, PATH_M, 4225, 1, mmad_8,
     MNK(128, 256, 64)},
    {"8 Mmad 128x128x64", "devkit", PREDICTED, PATH_M, 2172, 1, mmad_8,
     MNK(128, 128, 64)},
    {"Mmad 128 fractals behind another", "mskpp", PREDICTED, PATH_M, 130, 6, mmad_next,
     MNK(128, 64, 64)},
    {"Mmad 40x50x60 (half)", "PTO", PREDICTED, PATH_M, 62, 78, mmad_first,
     MNK(40, 50, 60)},
    {"VADD 64 repeats, no conflict", "devkit", FITTED, PATH_V, 88, 1, vadd,
     VADD(0x10100, 0x20000)},
    {"VADD 64 repeats, read-read", "devkit", FITTED, PATH_V, 154, 2, vadd,
     VADD(0x10000, 0x20000)},
    {"VADD 64 repeats, read-write", "devkit", FITTED, PATH_V, 139, 1, vadd,
     VADD(0x10100, 0x4100)},
    {"Mmad 16^3 alone", "mskpp", PREDICTED, PATH_M, 25, 152, mmad_first, MNK(16, 16, 16)},
};

static void show_some(const struct row *some, size_t n, row_shown show)
{
    for (size_t i = 0; i < n; i++) {
        unsigned cores = (unsigned)(some[i].arg >> 56);
        struct rig r;
        double cycles;

        rig_open(&r, cores ? cores : 1, PROFILE_a2);
        cycles = (double)some[i].run(&r, some[i].arg);
        show(&some[i], cycles, 100 * (cycles - some[i].published) / some[i].published);
        rig_close(&r);
    }
}

void calibrate(row_shown show)
{
    show_some(rows, sizeof(rows) / sizeof(rows[0]), show);
    show_some(vector_rows, n_vector_rows, show);
    show_some(matmul_rows, n_matmul_rows, show);
    show_some(silicon_rows, n_silicon_rows, show);
}
