/* SPDX-License-Identifier: MIT
 *
 * Cycles on a2 of one repeat of the Vector's commands that neither a published figure
 * (calibrate_vector.c) nor a row of extent_test.c holds: slope and fixed part of their
 * pages, operands in bank groups that do not meet. And what 32 cores share: L2_READ_RATE
 * and L2_RATE, which fewer cannot use up on a2.
 */
#include "tests/host/rig.h"
#include "tests/host/tap.h"

#define H(op, t) .head = {.opcode = OP_##op, .type = TYPE_##t}
#define DST      65792 /* 64 KiB and 8 blocks: another bank, and other groups than at 0 */
#define ONE(op, t, cycles)                                                               \
    {                                                                                    \
#op, {.vec1 = {H(op, t), DST, 0, 1, 1, 1, 8, 8 } }, cycles                       \
    }
#define SCALAR(op, t, cycles)                                                            \
    {                                                                                    \
#op, {.vec1s = {H(op, t), DST, 0, 0, 1, 1, 1, 8, 8 } }, cycles                   \
    }
#define TWO(op, t, cycles)                                                               \
    {                                                                                    \
#op, {.vec2 = {H(op, t), DST, 0, 256, 1, 1, 1, 1, 8, 8, 8 } }, cycles            \
    }
#define CAST(op, t, to, cycles)                                                          \
    {                                                                                    \
#op, {.vec2c = {H(op, t), DST, 0, 256, 1, 1, 1, 1, 8, 8, 8, TYPE_##to } },       \
             cycles                                                                      \
    }
#define LISTS(op, t, cycles)                                                             \
    {                                                                                    \
#op, {.vec_intlv = {H(op, t), DST, DST + 4096, 0, 4096, 64 } }, cycles           \
    }

static const struct {
    const char *name;
    union cmd cmd;
    uint64_t cycles;
} rows[] = {
    ONE(VNEG, F32, 27),
    ONE(VNOT, S16, 21),
    ONE(VEXP, F16, 35),
    ONE(VLN, F16, 37),
    ONE(VSQRT, F16, 43),
    ONE(VREC, F32, 25),
    ONE(VTANH, F32, 39),
    ONE(VTANH, F16, 39),
    ONE(VERF, F32, 39),
    ONE(VERF, F16, 39),
    SCALAR(VMINS, F32, 24),
    SCALAR(VSHL, S32, 25),
    SCALAR(VSHR, S16, 25),
    SCALAR(VAXPY, F32, 26),
    TWO(VDIV, F16, 35),
    TWO(VADDRELU, F32, 25),
    TWO(VSUBRELU, F32, 25),
    TWO(VMADD, F32, 31),
    TWO(VMADD, F16, 31),
    TWO(VMADDRELU, F32, 31),
    TWO(VMADDRELU, F16, 31),
    TWO(VMLA, F32, 31),
    TWO(VMLA, F16, 31),
    TWO(VPRELU, F32, 28),
    TWO(VPRELU, F16, 28),
    TWO(VADDDEQRELU, S32, 33),
    CAST(VSUBRELUCONV, F32, F16, 33),
    CAST(VMULCONV, F16, S8, 33),
    {"VCGMIN", {.vec_reduce = {H(VCGMIN, F32), DST, 0, 1, 1, 8, 1}}, 32},
    {"VCGMIN", {.vec_reduce = {H(VCGMIN, F16), DST, 0, 1, 1, 8, 1}}, 38},
    {"VCGMAX", {.vec_reduce = {H(VCGMAX, F16), DST, 0, 1, 1, 8, 1}}, 38},
    {"VCADD", {.vec_reduce = {H(VCADD, F16), DST, 0, 1, 1, 8, 1}}, 53},
    {"VCMAX", {.vec_reduce = {H(VCMAX, F32), DST, 0, 1, 1, 8, 1}}, 53},
    {"VCMIN", {.vec_reduce = {H(VCMIN, F32), DST, 0, 1, 1, 8, 1}}, 53},
    {"VCI", {.vec_fill = {H(VCI, F32), 0, 0, 1, 8, 1}}, 25},
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

int main(void)
{
    /* 2700 / 32 = 84.375 bytes a cycle each; with writes 3784 / 64 = 59.125 */
    ok(all_cores(84375, 0) == 1000 + 215, "cost/reads_of_32_cores_share");
    ok(all_cores(59125, 59125) == 1000 + 215, "cost/reads_and_writes_of_32_cores_share");
    for (unsigned i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct rig r;

        rig_open(&r, 1, PROFILE_a2);
        rig_push(&r, 0, PIPE_V, &rows[i].cmd);
        rig_drain(&r);
        if (!ok(rig_error(&r, 0, PIPE_V) == 0 && r.now == rows[i].cycles, "cost/%s_as_%s",
                rows[i].name, type_name(rows[i].cmd.head.type))) {
            tap_note("%llu, want %llu", (unsigned long long)r.now,
                     (unsigned long long)rows[i].cycles);
        }
        rig_close(&r);
    }
    return tap_done();
}
