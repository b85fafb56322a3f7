/* SPDX-License-Identifier: MIT
 *
 * Cycles on a2 of one repeat of every command of the Vector, of 32 and of 16 bits: slope
 * and fixed part of the pages, operands in bank groups that do not meet; how many
 * elements the PMU counts. And what 32 cores share: L2_READ_RATE and L2_RATE, which fewer
 * cannot use up on a2.
 */
#include "tests/host/data.h"
#include "tests/model/rig.h"
#include "tests/test.h"

#define H(op, t) .head = {.opcode = OP_##op, .type = TYPE_##t}
#define DST      65792 /* 64 KiB and 8 blocks: another bank, and other groups than at 0 */
/* clang-format off */
#define ONE(op, t, cycles) {#op, {.vec1 = {H(op, t), DST, 0, 1, 1, 8, 8, 1}}, cycles}
#define SCALAR(op, t, cycles) {#op, {.vec1s = {H(op, t), DST, 0, 0, 1, 1, 8, 8, 1}}, cycles}
#define TWO(op, t, cycles) \
    {#op, {.vec2 = {H(op, t), DST, 0, 256, 1, 1, 1, 8, 8, 8, 1}}, cycles}
#define CAST(op, t, to, cycles) \
    {#op, {.vec2c = {H(op, t), DST, 0, 256, 1, 1, 1, 8, 8, 8, 1, TYPE_##to}}, cycles}
#define REDUCE(op, t, cycles) {#op, {.vec_reduce = {H(op, t), DST, 0, 1, 1, 8, 1}}, cycles}
#define LISTS(op, t, cycles) \
    {#op, {.vec_intlv = {H(op, t), DST, DST + 4096, 0, 4096, 64}}, cycles}
/* clang-format on */

static const struct {
    const char *name;
    union cmd cmd;
    uint64_t cycles;
} rows[] = {
    ONE(VABS, F32, 30),
    ONE(VABS, F16, 30),
    ONE(VNEG, F32, 27),
    ONE(VNEG, F16, 27),
    ONE(VNOT, S16, 21),
    ONE(VRELU, F32, 24),
    ONE(VRELU, F16, 24),
    ONE(VEXP, F32, 33),
    ONE(VEXP, F16, 35),
    ONE(VLN, F32, 35),
    ONE(VLN, F16, 37),
    ONE(VSQRT, F32, 41),
    ONE(VSQRT, F16, 43),
    ONE(VRSQRT, F32, 25),
    ONE(VRSQRT, F16, 25),
    ONE(VREC, F32, 25),
    ONE(VREC, F16, 25),
    ONE(VTANH, F32, 39),
    ONE(VTANH, F16, 39),
    ONE(VERF, F32, 39),
    ONE(VERF, F16, 39),
    SCALAR(VADDS, F32, 32),
    SCALAR(VADDS, S16, 32),
    SCALAR(VMULS, F32, 27),
    SCALAR(VMULS, F16, 27),
    SCALAR(VMAXS, F32, 24),
    SCALAR(VMAXS, F16, 24),
    SCALAR(VMINS, F32, 24),
    SCALAR(VMINS, F16, 24),
    SCALAR(VLRELU, F32, 27),
    SCALAR(VLRELU, F16, 27),
    SCALAR(VSHL, S32, 25),
    SCALAR(VSHL, S16, 25),
    SCALAR(VSHR, S32, 25),
    SCALAR(VSHR, S16, 25),
    SCALAR(VAXPY, F32, 26),
    SCALAR(VAXPY, F16, 26),
    TWO(VADD, F32, 25),
    TWO(VADD, F16, 25),
    TWO(VSUB, F32, 25),
    TWO(VSUB, F16, 25),
    TWO(VMUL, F32, 26),
    TWO(VMUL, F16, 26),
    TWO(VDIV, F32, 35),
    TWO(VDIV, F16, 35),
    TWO(VMAX, F32, 24),
    TWO(VMAX, F16, 24),
    TWO(VMIN, F32, 24),
    TWO(VMIN, F16, 24),
    TWO(VAND, S16, 21),
    TWO(VOR, S16, 21),
    TWO(VXOR, S16, 21),
    TWO(VADDRELU, F32, 25),
    TWO(VADDRELU, F16, 25),
    TWO(VSUBRELU, F32, 25),
    TWO(VSUBRELU, F16, 25),
    TWO(VMADD, F32, 31),
    TWO(VMADD, F16, 31),
    TWO(VMADDRELU, F32, 31),
    TWO(VMADDRELU, F16, 31),
    TWO(VMLA, F32, 31),
    TWO(VMLA, F16, 31),
    TWO(VPRELU, F32, 28),
    TWO(VPRELU, F16, 28),
    TWO(VADDDEQRELU, S32, 33),
    CAST(VADDRELUCONV, F32, F16, 33),
    CAST(VADDRELUCONV, F16, S8, 33),
    CAST(VSUBRELUCONV, F32, F16, 33),
    CAST(VSUBRELUCONV, F16, S8, 33),
    CAST(VMULCONV, F16, S8, 33),
    REDUCE(VCADD, F32, 49),
    REDUCE(VCADD, F16, 53),
    REDUCE(VCMAX, F32, 53),
    REDUCE(VCMAX, F16, 53),
    REDUCE(VCMIN, F32, 53),
    REDUCE(VCMIN, F16, 53),
    REDUCE(VCGADD, F32, 39),
    REDUCE(VCGADD, F16, 45),
    REDUCE(VCGMAX, F32, 32),
    REDUCE(VCGMAX, F16, 38),
    REDUCE(VCGMIN, F32, 32),
    REDUCE(VCGMIN, F16, 38),
    REDUCE(VCPADD, F32, 39),
    REDUCE(VCPADD, F16, 39),
    {"VCONV", {.vec_conv = {H(VCONV, F32), DST, 0, 1, 1, 4, 8, 1, TYPE_F16, 0}}, 33},
    {"VCONV", {.vec_conv = {H(VCONV, F16), DST, 0, 1, 1, 8, 4, 1, TYPE_F32, 0}}, 33},
    {"VCMP", {.vec_cmp = {H(VCMP, F32), DST, 0, 256, 1, 1, 8, 8, 1, CMP_EQ}}, 37},
    {"VCMP", {.vec_cmp = {H(VCMP, F16), DST, 0, 256, 1, 1, 8, 8, 1, CMP_EQ}}, 37},
    {"VCMPS", {.vec_cmps = {H(VCMPS, F32), DST, 0, 0, 1, 8, 1, CMP_EQ}}, 37},
    {"VCMPS", {.vec_cmps = {H(VCMPS, F16), DST, 0, 0, 1, 8, 1, CMP_EQ}}, 37},
    {"VSEL", {.vec_sel = {H(VSEL, F32), DST, 0, 256, 4096, 1, 1, 1, 8, 8, 8, 1}}, 28},
    {"VSEL", {.vec_sel = {H(VSEL, F16), DST, 0, 256, 4096, 1, 1, 1, 8, 8, 8, 1}}, 28},
    {"VSELS", {.vec_sels = {H(VSELS, F32), DST, 0, 4096, 0, 1, 1, 8, 8, 1}}, 28},
    {"VSELS", {.vec_sels = {H(VSELS, F16), DST, 0, 4096, 0, 1, 1, 8, 8, 1}}, 28},
    {"VCOPY", {.vec_copy = {H(VCOPY, F32), DST, 0, 1, 1, 8, 8, 1}}, 25},
    {"VCOPY", {.vec_copy = {H(VCOPY, F16), DST, 0, 1, 1, 8, 8, 1}}, 25},
    {"VDUP", {.vec_fill = {H(VDUP, F32), 0, 0, 1, 8, 1}}, 25},
    {"VDUP", {.vec_fill = {H(VDUP, F16), 0, 0, 1, 8, 1}}, 25},
    {"VCI", {.vec_fill = {H(VCI, F32), 0, 0, 1, 8, 1}}, 25},
    {"VCI", {.vec_fill = {H(VCI, F16), 0, 0, 1, 8, 1}}, 25},
    {"VBRCB", {.vec_brcb = {H(VBRCB, F32), DST, 0, 1, 8, 1}}, 19},
    {"VBRCB", {.vec_brcb = {H(VBRCB, F16), DST, 0, 1, 8, 1}}, 19},
    {"VTRANSPOSE", {.vec_transpose = {H(VTRANSPOSE, F16), DST, 0}}, 26},
    {"VREDUCEV2", {.vec_squeeze = {H(VREDUCEV2, F32), DST, 0, 0, 1, 8, 0, 1, 7}}, 48},
    {"VREDUCEV2", {.vec_squeeze = {H(VREDUCEV2, F16), DST, 0, 0, 1, 8, 0, 1, 7}}, 48},
    {"VGATHER", {.vec_gather = {H(VGATHER, F32), DST, 0, 4096, 8, 1}}, 26},
    {"VGATHER", {.vec_gather = {H(VGATHER, F16), DST, 0, 4096, 8, 1}}, 38},
    {"VGATHERB", {.vec_gatherb = {H(VGATHERB, F32), DST, 0, 4096, 1, 8, 1}}, 28},
    {"VGATHERB", {.vec_gatherb = {H(VGATHERB, F16), DST, 0, 4096, 1, 8, 1}}, 28},
    {"VSCATTER", {.vec_scatter = {H(VSCATTER, F32), DST, 0, 4096, 8, 1}}, 38},
    {"VSCATTER", {.vec_scatter = {H(VSCATTER, F16), DST, 0, 4096, 8, 1}}, 50},
    {"VSORT32", {.vec_sort = {H(VSORT32, F32), DST, 0, 4096, 1}}, 36},
    {"VSORT32", {.vec_sort = {H(VSORT32, F16), DST, 0, 4096, 1}}, 36},
    {"VMRGSORT",
     {.vec_merge = {H(VMRGSORT, F32), DST, 0, 128, 0, 0, 16, 16, 0, 0, 3, 1}},
     36},
    {"VMRGSORT",
     {.vec_merge = {H(VMRGSORT, F16), DST, 0, 128, 0, 0, 16, 16, 0, 0, 3, 1}},
     36},
    {"VDEQ", {.vec_deq = {H(VDEQ, S16), DST, 0, 0, 1, 1, 8, 8, 1}}, 33},
    {"VRPSORT16", {.vec_rpsort = {H(VRPSORT16, F32), DST, 0, 1}}, 36},
    {"VRPSORT16", {.vec_rpsort = {H(VRPSORT16, F16), DST, 0, 1}}, 36},
    {"VRPCONCAT", {.vec_rp = {H(VRPCONCAT, F32), DST, 0, 1, 0}}, 26},
    {"VRPCONCAT", {.vec_rp = {H(VRPCONCAT, F16), DST, 0, 1, 0}}, 26},
    {"VRPEXTRACT", {.vec_rp = {H(VRPEXTRACT, F32), DST, 0, 1, 0}}, 26},
    {"VRPEXTRACT", {.vec_rp = {H(VRPEXTRACT, F16), DST, 0, 1, 0}}, 26},
    {"VBI", {.vec_bi = {H(VBI, F16), DST, 0, 4096, 8192, 128, 1, 1, 1}}, 30},
    LISTS(VINTLV, F32, 26),
    {"VINTLV", {.vec_intlv = {H(VINTLV, F16), DST, DST + 4096, 0, 4096, 128}}, 26},
    {"VDINTLV", {.vec_intlv = {H(VDINTLV, F16), DST, DST + 4096, 0, 4096, 128}}, 26},
    LISTS(VDINTLV, F32, 26),
    LISTS(VMULL, S32, 27),
};

/* Cycles until 32 cores have read so many bytes, and written so many. */
static uint64_t all_cores(uint32_t read, uint32_t written)
{
    union cmd in = rig_copy_in(0, 0, read), out = rig_command(OP_COPY_UB_GM, TYPE_NONE);
    uint64_t end;
    struct rig r;

    out.copy_out.dst = RIG_GM_BASE;
    out.copy_out.src = 98304;
    out.copy_out.len_bytes = written;
    out.copy_out.n_blocks = 1;
    rig_open(&r, NPU_MAX_CORES, PROFILE_a2);
    for (unsigned c = 0; c < NPU_MAX_CORES; c++) {
        rig_push(&r, c, PIPE_MTE2, &in);
        if (written) {
            rig_push(&r, c, PIPE_MTE3, &out);
        }
    }
    rig_drain(&r);
    end = r.now;
    rig_close(&r);
    return end;
}

/* What the PMU counts as OPS of these commands. */
static unsigned elements(const struct cmd_head *head)
{
    switch (head->opcode) {
    case OP_VCONV: /* F16 and F32 in the table */
        return 64;
    case OP_VTRANSPOSE:
        return 16 * 16;
    case OP_VSORT32:
    case OP_VMRGSORT:
        return 32;
    case OP_VRPSORT16:
    case OP_VRPCONCAT:
    case OP_VRPEXTRACT:
        return 16;
    case OP_VINTLV: /* both lists */
    case OP_VDINTLV:
    case OP_VMULL:
        return 2 * 2048 / type_bits(head->type);
    default:
        return 2048 / type_bits(head->type);
    }
}

TEST(cost, shared_by_32_cores)
{
    rig_prices(TIMING_v1);
    /* 2030 / 32 = 63.4375 bytes a cycle each; with writes 3784 / 64 = 59.125 */
    ok(all_cores(126875, 0) == 2000 + 192, "cost/reads_of_32_cores_share");
    ok(all_cores(59125, 59125) == 1000 + 192, "cost/reads_and_writes_of_32_cores_share");
}

TEST(cost, vector_commands)
{
    for (unsigned i = 0; i < LENGTH(rows); i++) {
        const char *type = type_name(rows[i].cmd.head.type);
        uint64_t took;

        fresh();
        took = cycles_of(rows[i].cmd);
        ok(rig_read(&rig, 0, rig_pipe(PIPE_V, PMU_OPS)) == elements(&rows[i].cmd.head),
           "cost/elements_of_%s_as_%s", rows[i].name, type);
        if (!ok(rig_error(&rig, 0, PIPE_V) == 0 && took == rows[i].cycles,
                "cost/%s_as_%s", rows[i].name, type)) {
            test_note("%llu, want %llu", (unsigned long long)took,
                      (unsigned long long)rows[i].cycles);
        }
    }
}
