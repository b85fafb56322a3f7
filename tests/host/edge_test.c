/* SPDX-License-Identifier: MIT
 *
 * Rules between operands at their edges: the last command that is fine, the first that is
 * not, and the field that is told. What a table of the contract says is in limits_test.c,
 * ends of memories in extent_test.c, the rules themselves in the tests of each engine.
 */
#include <stddef.h>
#include <string.h>

#include "tests/host/rig.h"
#include "tests/host/tap.h"

#define GM                     RIG_GM_BASE
#define H(op, t)               .head = {.opcode = OP_##op, .type = TYPE_##t}
#define HF(op, t, set)         .head = {.opcode = OP_##op, .type = TYPE_##t, .flags = set}
#define FINE                   0, 0
#define TELLS(code, f, name)   NPU_ERR_##code, offsetof(struct cmd_##f, name)
#define TELLS_HEAD(code, name) NPU_ERR_##code, offsetof(struct cmd_head, name)

static const union cmd nothing,
    atomic_s32 = {.set_atomic = {H(SET_ATOMIC_FIX, S32), ATOMIC_ADD}},
    atomic_f32 = {.set_atomic = {H(SET_ATOMIC_FIX, F32), ATOMIC_ADD}};

/* `before` is pushed to the same pipe first, unless it has no opcode. */
static const struct {
    const char *name;
    const union cmd *before;
    union cmd cmd;
    unsigned code;
    size_t field;
} rows[] = {
    {"both_paddings_of_32_bytes",
     &nothing,
     {.copy_pad = {H(COPY_PAD_GM_UB, F16), GM, 0, 64, 0, 1, 0, 16, 16}},
     FINE},
    {"left_of_32_bytes_right_of_34",
     &nothing,
     {.copy_pad = {H(COPY_PAD_GM_UB, F16), GM, 0, 64, 0, 1, 0, 16, 17}},
     TELLS(RANGE, copy_pad, right)},
    {"left_of_34_bytes",
     &nothing,
     {.copy_pad = {H(COPY_PAD_GM_UB, F16), GM, 0, 64, 0, 1, 0, 17, 17}},
     TELLS(RANGE, copy_pad, left)},
    {"stride_of_one_matrix",
     &nothing,
     {.nd2nz = {H(ND2NZ_GM_L1, F16), GM, 0, 16, 0, 1, 4, 16, 1, 4, 1}},
     FINE},
    {"stride_of_two_matrices",
     &nothing,
     {.nd2nz = {H(ND2NZ_GM_L1, F16), GM, 0, 16, 0, 65, 4, 16, 2, 4, 1}},
     TELLS(ALIGN, nd2nz, dst_nd_stride)},
    {"stride_of_matrices_without_rows",
     &nothing,
     {.nd2nz = {H(ND2NZ_GM_L1, F16), GM, 0, 16, 0, 65, 0, 16, 2, 4, 1}},
     FINE},
    {"rows_that_step_over_3_blocks",
     &nothing,
     {.nd2nz = {H(ND2NZ_GM_L1, F16), GM, 0, 48, 0, 0, 4, 48, 1, 1, 3}},
     FINE},
    {"rows_that_step_over_2_of_3_blocks",
     &nothing,
     {.nd2nz = {H(ND2NZ_GM_L1, F16), GM, 0, 48, 0, 0, 4, 48, 1, 1, 2}},
     TELLS(OVERLAP, nd2nz, dst)},
    {"blocks_that_step_over_4_rows",
     &nothing,
     {.nd2nz = {H(ND2NZ_GM_L1, F16), GM, 0, 48, 0, 0, 4, 48, 1, 4, 1}},
     FINE},
    {"blocks_that_step_over_3_of_4_rows",
     &nothing,
     {.nd2nz = {H(ND2NZ_GM_L1, F16), GM, 0, 48, 0, 0, 4, 48, 1, 3, 1}},
     TELLS(OVERLAP, nd2nz, dst)},
    {"atomic_of_no_type",
     &nothing,
     {.set_atomic = {H(SET_ATOMIC_MTE3, NONE), ATOMIC_MIN}},
     TELLS_HEAD(TYPE, type)},
    {"no_atomic_of_no_type",
     &nothing,
     {.set_atomic = {H(SET_ATOMIC_MTE3, NONE), ATOMIC_NONE}},
     FINE},
    {"mmad_of_unit_1",
     &nothing,
     {.mmad = {H(MMAD, F16), 0, 0, 0, 0, 1, 1, 1, 1}},
     TELLS(RANGE, mmad, unit)},
    {"fixpipe_of_unit_1",
     &nothing,
     {.fix_gm = {H(FIX_L0C_GM, F32), GM, 0, 16, 1, 16, 16, 0, 0, 1, 0, 0, 0, 0, 1}},
     TELLS(RANGE, fix_gm, unit)},
    {"all_of_l0c",
     &nothing, /* 256 x 128 */
     {.fix_gm = {H(FIX_L0C_GM, F32), GM, 0, 128, 256, 128, 256, 0, 0, 1}},
     FINE},
    {"8192_rows",
     &nothing, /* too many for L0C, not for the rule */
     {.fix_gm = {H(FIX_L0C_GM, F32), GM, 0, 1, 8192, 1, 1, 0, 0, 1}},
     TELLS(BOUNDS, fix_gm, src)},
    {"8193_rows",
     &nothing,
     {.fix_gm = {H(FIX_L0C_GM, F32), GM, 0, 1, 8193, 1, 1, 0, 0, 1}},
     TELLS(RANGE, fix_gm, m)},
    {"pitch_of_one_row",
     &nothing,
     {.fix_local = {H(FIX_L0C_UB, F32), 0, 0, 3, 1, 16, 16, 0, 0, 1}},
     FINE},
    {"pitch_of_two_rows",
     &nothing,
     {.fix_local = {H(FIX_L0C_UB, F32), 0, 0, 19, 2, 16, 16, 0, 0, 1}},
     TELLS(ALIGN, fix_gm, dst_pitch)},
    {"stride_of_one_fixpipe_matrix",
     &nothing,
     {.fix_local = {H(FIX_L0C_UB, F32), 0, 0, 16, 2, 16, 16, 0, 0, 1, 0, 3}},
     FINE},
    {"stride_of_two_fixpipe_matrices",
     &nothing,
     {.fix_local = {H(FIX_L0C_UB, F32), 0, 0, 16, 2, 16, 16, 0, 0, 2, 0, 35}},
     TELLS(ALIGN, fix_gm, dst_nd_stride)},
    {"words_that_nobody_reads",
     &nothing,
     {.fix_local = {H(FIX_L0C_UB, S32), 0, 0, 32, 1, 16, 16, QUANT_REQ8, FIX_RELU_PLAIN,
                    1, 0, 0, 65472, 65472}},
     FINE},
    {"atomics_are_not_for_ub",
     &atomic_s32,
     {.fix_local = {H(FIX_L0C_UB, F32), 0, 0, 16, 1, 1, 16, QUANT_F322F16, 0, 1}},
     FINE},
    {"atomic_row_of_a_half",
     &atomic_s32,
     {.fix_gm = {H(FIX_L0C_GM, F32), GM, 0, 16, 1, 1, 16, QUANT_F322F16, 0, 1}},
     TELLS(ALIGN, fix_gm, n)},
    {"atomic_row_of_4_numbers",
     &atomic_f32,
     {.fix_gm = {H(FIX_L0C_GM, F32), GM, 0, 4, 1, 4, 16, 0, 0, 1}},
     FINE},
    {"atomic_fractals_of_3_rows_of_bytes",
     &atomic_s32,
     {.fix_gm = {HF(FIX_L0C_GM, S32, FIX_L0C_GM_NZ), GM, 0, 4, 3, 32, 16, QUANT_REQ8, 0,
                 1}},
     FINE},
    {"count_of_32_bits",
     &nothing,
     {.set_mask = {HF(SET_MASK, NONE, SET_MASK_COUNTER), UINT32_MAX, 0}},
     FINE},
    {"count_of_33_bits",
     &nothing,
     {.set_mask = {HF(SET_MASK, NONE, SET_MASK_COUNTER), UINT32_MAX + 1ull, 0}},
     TELLS(RANGE, set_mask, lo)},
    {"count_of_65_bits",
     &nothing,
     {.set_mask = {HF(SET_MASK, NONE, SET_MASK_COUNTER), 0, 1}},
     TELLS(RANGE, set_mask, hi)},
    {"scale_of_16_bits", &nothing, {.set_deqscale = {H(SET_DEQSCALE, F16), 65535}}, FINE},
    {"scale_of_17_bits",
     &nothing,
     {.set_deqscale = {H(SET_DEQSCALE, F16), 65536}},
     TELLS(RANGE, set_deqscale, word)},
    {"axpy_wide_of_fp32",
     &nothing,
     {.vec1s = {HF(VAXPY, F32, VAXPY_WIDE), 4096, 0, 0, 1, 1, 1, 8, 8}},
     TELLS_HEAD(FLAGS, flags)},
    {"mla_wide_of_fp32",
     &nothing,
     {.vec2 = {HF(VMLA, F32, VMLA_WIDE), 4096, 0, 0, 1, 1, 1, 1, 8, 8, 8}},
     TELLS_HEAD(FLAGS, flags)},
    {"scalar_of_17_bits",
     &nothing,
     {.vec1s = {H(VADDS, F16), 4096, 0, 65536, 1, 1, 1, 8, 8}},
     TELLS(RANGE, vec1s, scalar)},
    {"scalar_of_32_bits",
     &nothing,
     {.vec1s = {H(VADDS, S32), 4096, 0, UINT32_MAX, 1, 1, 1, 8, 8}},
     FINE},
    {"compare_with_17_bits",
     &nothing,
     {.vec_cmps = {H(VCMPS, F16), 4096, 0, 65536, 1, 1, 8, CMP_EQ}},
     TELLS(RANGE, vec_cmps, scalar)},
    {"select_of_17_bits",
     &nothing,
     {.vec_sels = {H(VSELS, F16), 4096, 0, 8192, 65536, 1, 1, 1, 8, 8}},
     TELLS(RANGE, vec_sels, scalar)},
};

enum { ROWS = sizeof(rows) / sizeof(rows[0]) };

int main(void)
{
    for (unsigned i = 0; i < ROWS; i++) {
        enum pipe pipe = (enum pipe)cmd_find(rows[i].cmd.head.opcode)->pipe;
        uint64_t error;
        struct rig r;

        rig_open(&r, 1, PROFILE_a2);
        if (rows[i].before->head.opcode) {
            rig_push(&r, 0, pipe, rows[i].before);
        }
        rig_push(&r, 0, pipe, &rows[i].cmd);
        rig_drain(&r);
        error = rig_read(&r, 0, rig_pipe(pipe, PIPE_ERROR));
        if (!ok(field_get(PIPE_ERROR_CODE, error) == rows[i].code &&
                    field_get(PIPE_ERROR_FIELD, error) == rows[i].field,
                "edge/%s", rows[i].name)) {
            tap_note("%s of byte %u",
                     npu_error_name((unsigned)field_get(PIPE_ERROR_CODE, error)),
                     (unsigned)field_get(PIPE_ERROR_FIELD, error));
        }
        rig_close(&r);
    }
    return tap_done();
}
