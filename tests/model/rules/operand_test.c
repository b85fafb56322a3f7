/* SPDX-License-Identifier: MIT
 *
 * Rules between operands at their edges: the last command that is fine, the first that is
 * not, and the field that is told. What a table of the contract says is in limits_test.c,
 * ends of memories in extent_test.c, the rules themselves in the tests of each engine.
 */
#include <stddef.h>
#include <string.h>

#include "tests/host/data.h"
#include "tests/model/rig.h"
#include "tests/test.h"

#define GM                     RIG_GM_BASE
#define H(op, t)               .head = {.opcode = OP_##op, .type = TYPE_##t}
#define HF(op, t, set)         .head = {.opcode = OP_##op, .type = TYPE_##t, .flags = set}
#define FINE                   0, 0
#define TELLS(code, f, name)   NPU_ERR_##code, offsetof(struct cmd_##f, name)
#define TELLS_HEAD(code, name) NPU_ERR_##code, offsetof(struct cmd_head, name)

/* What is pushed to the same pipe first: one or two commands. */
#define NOTHING                                                                          \
    {                                                                                    \
        {                                                                                \
            .nop = { H(NOP, NONE) }                                                      \
        }                                                                                \
    }
#define SET_S32                                                                          \
    {                                                                                    \
        {                                                                                \
            .set_atomic = { H(SET_ATOMIC_FIX, S32), ATOMIC_ADD }                         \
        }                                                                                \
    }
#define SET_F32                                                                          \
    {                                                                                    \
        {                                                                                \
            .set_atomic = { H(SET_ATOMIC_FIX, F32), ATOMIC_ADD }                         \
        }                                                                                \
    }
#define COUNT(n)                                                                         \
    {                                                                                    \
        {                                                                                \
            .set_mask = { HF(SET_MASK, NONE, SET_MASK_COUNTER), n, 0 }                   \
        }                                                                                \
    }
#define UP(f)                                                                            \
    f, f + 1, f + 2, f + 3, f + 4, f + 5, f + 6, f + 7, f + 8, f + 9, f + 10, f + 11,    \
        f + 12, f + 13, f + 14, f + 15
/* Blocks of VTRANSDATA: 16 from `dst` up, 16 from `src` up. */
#define LISTS(dst, src)                                                                  \
    {                                                                                    \
        {.set_va = {HF(SET_VA, NONE, SET_VA_DST), UP(dst)}},                             \
        {                                                                                \
            .set_va = { H(SET_VA, NONE), UP(src) }                                       \
        }                                                                                \
    }
#define UB 196608

/* clang-format off */
static const struct {
    const char *name;
    union cmd before[2], cmd;
    unsigned code;
    size_t field;
} rows[] = {
    {"both_paddings_of_32_bytes", NOTHING,
     {.copy_pad = {H(COPY_PAD_GM_UB, F16), GM, 0, 64, 0, 1, 0, 16, 16}}, FINE},
    {"left_of_32_bytes_right_of_34", NOTHING,
     {.copy_pad = {H(COPY_PAD_GM_UB, F16), GM, 0, 64, 0, 1, 0, 16, 17}},
     TELLS(RANGE, copy_pad, right)},
    {"left_of_34_bytes", NOTHING,
     {.copy_pad = {H(COPY_PAD_GM_UB, F16), GM, 0, 64, 0, 1, 0, 17, 17}},
     TELLS(RANGE, copy_pad, left)},
    {"stride_of_one_matrix", NOTHING,
     {.nd2nz = {H(ND2NZ_GM_L1, F16), GM, 0, 16, 0, 1, 4, 16, 1, 4, 1}}, FINE},
    {"stride_of_two_matrices", NOTHING,
     {.nd2nz = {H(ND2NZ_GM_L1, F16), GM, 0, 16, 0, 65, 4, 16, 2, 4, 1}},
     TELLS(ALIGN, nd2nz, dst_nd_stride)},
    {"stride_of_matrices_without_rows", NOTHING,
     {.nd2nz = {H(ND2NZ_GM_L1, F16), GM, 0, 16, 0, 65, 0, 16, 2, 4, 1}}, FINE},
    {"rows_that_step_over_3_blocks", NOTHING,
     {.nd2nz = {H(ND2NZ_GM_L1, F16), GM, 0, 48, 0, 0, 4, 48, 1, 1, 3}}, FINE},
    {"rows_that_step_over_2_of_3_blocks", NOTHING,
     {.nd2nz = {H(ND2NZ_GM_L1, F16), GM, 0, 48, 0, 0, 4, 48, 1, 1, 2}},
     TELLS(OVERLAP, nd2nz, dst)},
    {"blocks_that_step_over_4_rows", NOTHING,
     {.nd2nz = {H(ND2NZ_GM_L1, F16), GM, 0, 48, 0, 0, 4, 48, 1, 4, 1}}, FINE},
    {"blocks_that_step_over_3_of_4_rows", NOTHING,
     {.nd2nz = {H(ND2NZ_GM_L1, F16), GM, 0, 48, 0, 0, 4, 48, 1, 3, 1}},
     TELLS(OVERLAP, nd2nz, dst)},
    {"atomic_of_no_type", NOTHING,
     {.set_atomic = {H(SET_ATOMIC_MTE3, NONE), ATOMIC_MIN}}, TELLS_HEAD(TYPE, type)},
    {"no_atomic_of_no_type", NOTHING,
     {.set_atomic = {H(SET_ATOMIC_MTE3, NONE), ATOMIC_NONE}}, FINE},
    {"mmad_of_unit_1", NOTHING,
     {.mmad = {H(MMAD, F16), 0, 0, 0, 0, 1, 1, 1, 1}}, TELLS(RANGE, mmad, unit)},
    {"fixpipe_of_unit_1", NOTHING,
     {.fix_gm = {H(FIX_L0C_GM, F32), GM, 0, 16, 1, 16, 16, 0, 0, 1, 0, 0, 0, 0, 1}},
     TELLS(RANGE, fix_gm, unit)},
    /* 256 x 128 */
    {"all_of_l0c", NOTHING,
     {.fix_gm = {H(FIX_L0C_GM, F32), GM, 0, 128, 256, 128, 256, 0, 0, 1}}, FINE},
    /* too many for L0C, not for the rule */
    {"8192_rows", NOTHING,
     {.fix_gm = {H(FIX_L0C_GM, F32), GM, 0, 1, 8192, 1, 1, 0, 0, 1}}, TELLS(BOUNDS, fix_gm, src)},
    {"8193_rows", NOTHING,
     {.fix_gm = {H(FIX_L0C_GM, F32), GM, 0, 1, 8193, 1, 1, 0, 0, 1}}, TELLS(RANGE, fix_gm, m)},
    {"pitch_of_one_row", NOTHING,
     {.fix_local = {H(FIX_L0C_UB, F32), 0, 0, 3, 1, 16, 16, 0, 0, 1}}, FINE},
    {"pitch_of_two_rows", NOTHING,
     {.fix_local = {H(FIX_L0C_UB, F32), 0, 0, 19, 2, 16, 16, 0, 0, 1}},
     TELLS(ALIGN, fix_gm, dst_pitch)},
    {"stride_of_one_fixpipe_matrix", NOTHING,
     {.fix_local = {H(FIX_L0C_UB, F32), 0, 0, 16, 2, 16, 16, 0, 0, 1, 0, 3}}, FINE},
    {"stride_of_two_fixpipe_matrices", NOTHING,
     {.fix_local = {H(FIX_L0C_UB, F32), 0, 0, 16, 2, 16, 16, 0, 0, 2, 0, 35}},
     TELLS(ALIGN, fix_gm, dst_nd_stride)},
    {"words_that_nobody_reads", NOTHING,
     {.fix_local = {H(FIX_L0C_UB, S32), 0, 0, 32, 1, 16, 16, QUANT_REQ8, FIX_RELU_PLAIN,
                   1, 0, 0, 65472, 65472}},
     FINE},
    {"atomics_are_not_for_ub", SET_S32,
     {.fix_local = {H(FIX_L0C_UB, F32), 0, 0, 16, 1, 1, 16, QUANT_F322F16, 0, 1}}, FINE},
    {"atomic_row_of_a_half", SET_S32,
     {.fix_gm = {H(FIX_L0C_GM, F32), GM, 0, 16, 1, 1, 16, QUANT_F322F16, 0, 1}},
     TELLS(ALIGN, fix_gm, n)},
    {"atomic_row_of_4_numbers", SET_F32,
     {.fix_gm = {H(FIX_L0C_GM, F32), GM, 0, 4, 1, 4, 16, 0, 0, 1}}, FINE},
    {"atomic_fractals_of_3_rows_of_bytes", SET_S32,
     {.fix_gm = {HF(FIX_L0C_GM, S32, FIX_L0C_GM_NZ), GM, 0, 4, 3, 32, 16, QUANT_REQ8, 0, 1}},
     FINE},
    {"count_of_32_bits", NOTHING,
     {.set_mask = {HF(SET_MASK, NONE, SET_MASK_COUNTER), UINT32_MAX, 0}}, FINE},
    {"count_of_33_bits", NOTHING,
     {.set_mask = {HF(SET_MASK, NONE, SET_MASK_COUNTER), UINT32_MAX + 1ull, 0}},
     TELLS(RANGE, set_mask, lo)},
    {"count_of_65_bits", NOTHING,
     {.set_mask = {HF(SET_MASK, NONE, SET_MASK_COUNTER), 0, 1}}, TELLS(RANGE, set_mask, hi)},
    {"scale_of_16_bits", NOTHING, {.set_deqscale = {H(SET_DEQSCALE, F16), 65535}}, FINE},
    {"scale_of_17_bits", NOTHING,
     {.set_deqscale = {H(SET_DEQSCALE, F16), 65536}}, TELLS(RANGE, set_deqscale, word)},
    {"axpy_wide_of_fp32", NOTHING,
     {.vec1s = {HF(VAXPY, F32, VAXPY_WIDE), 4096, 0, 0, 1, 1, 8, 8, 1}}, TELLS_HEAD(FLAGS, flags)},
    {"mla_wide_of_fp32", NOTHING,
     {.vec2 = {HF(VMLA, F32, VMLA_WIDE), 4096, 0, 0, 1, 1, 1, 8, 8, 8, 1}},
     TELLS_HEAD(FLAGS, flags)},
    {"scalar_of_17_bits", NOTHING,
     {.vec1s = {H(VADDS, F16), 4096, 0, 65536, 1, 1, 8, 8, 1}}, TELLS(RANGE, vec1s, scalar)},
    {"scalar_of_32_bits", NOTHING,
     {.vec1s = {H(VADDS, S32), 4096, 0, UINT32_MAX, 1, 1, 8, 8, 1}}, FINE},
    {"compare_with_17_bits", NOTHING,
     {.vec_cmps = {H(VCMPS, F16), 4096, 0, 65536, 1, 8, 1, CMP_EQ}},
     TELLS(RANGE, vec_cmps, scalar)},
    {"select_of_17_bits", NOTHING,
     {.vec_sels = {H(VSELS, F16), 4096, 0, 8192, 65536, 1, 1, 8, 8, 1}},
     TELLS(RANGE, vec_sels, scalar)},
    {"fill_of_16_bits", NOTHING, {.vec_fill = {H(VDUP, F16), 0, 65535, 1, 8, 1}}, FINE},
    {"fill_of_17_bits", NOTHING,
     {.vec_fill = {H(VDUP, F16), 0, 65536, 1, 8, 1}}, TELLS(RANGE, vec_fill, value)},
    {"copy_in_place", NOTHING, {.vec_copy = {H(VCOPY, F32), 0, 0, 1, 1, 9, 9, 2}}, FINE},
    {"copy_in_place_with_other_blocks", NOTHING,
     {.vec_copy = {H(VCOPY, F32), 0, 0, 2, 1, 20, 20, 2}}, TELLS(OVERLAP, vec_copy, src)},
    {"copy_in_place_with_other_repeats", NOTHING,
     {.vec_copy = {H(VCOPY, F32), 0, 0, 1, 1, 9, 8, 2}}, TELLS(OVERLAP, vec_copy, src)},
    {"copy_of_one_repeat_in_place", NOTHING,
     {.vec_copy = {H(VCOPY, F32), 0, 0, 1, 1, 9, 8, 1}}, FINE},
    {"copy_of_no_repeat", NOTHING, {.vec_copy = {H(VCOPY, F32), 0, 32, 1, 1, 8, 8, 0}}, FINE},
    {"quantise_in_place", NOTHING, {.vec_deq = {H(VDEQ, S16), 0, 0, 0, 1, 1, 8, 8, 2}}, FINE},
    {"quantise_in_place_with_other_blocks", NOTHING,
     {.vec_deq = {H(VDEQ, S16), 0, 0, 0, 2, 1, 20, 20, 2}}, TELLS(OVERLAP, vec_deq, src)},
    {"quantise_in_place_with_other_repeats", NOTHING,
     {.vec_deq = {H(VDEQ, S16), 0, 0, 0, 1, 1, 9, 8, 2}}, TELLS(OVERLAP, vec_deq, src)},
    {"words_without_their_flag", NOTHING,
     {.vec_deq = {H(VDEQ, S16), 0, 0, 4096, 1, 1, 8, 8, 2}}, TELLS(RESERVED, vec_deq, words)},
    {"gather_onto_its_offsets", NOTHING,
     {.vec_gather = {H(VGATHER, F32), 4096, 0, 4096, 8, 2}}, FINE},
    {"gather_of_one_repeat_onto_its_offsets", NOTHING,
     {.vec_gather = {H(VGATHER, F32), 4096, 0, 4096, 9, 1}}, FINE},
    {"gather_onto_its_offsets_with_gaps", NOTHING,
     {.vec_gather = {H(VGATHER, F32), 4096, 0, 4096, 9, 2}}, TELLS(OVERLAP, vec_gather, offsets)},
    {"gather_of_halves_onto_its_offsets", NOTHING,
     {.vec_gather = {H(VGATHER, F16), 4096, 0, 4096, 8, 1}}, TELLS(OVERLAP, vec_gather, offsets)},
    {"scatter_that_fills_the_stage", COUNT(UB / 8),
     {.vec_scatter = {H(VSCATTER, F32), 0, UB / 2, 0, 8, 0}}, FINE},
    {"scatter_that_does_not_fit_the_stage", COUNT(UB / 8 + 1),
     {.vec_scatter = {H(VSCATTER, F32), 0, 0, 0, 8, 0}}, TELLS(CAPACITY, vec_scatter, offsets)},
    {"scatter_of_as_many_offsets_as_ub_has", COUNT(UB / 4),
     {.vec_scatter = {H(VSCATTER, F16), 0, 0, 0, 8, 0}}, TELLS(CAPACITY, vec_scatter, offsets)},
    {"scatter_of_one_more", COUNT(UB / 4 + 1),
     {.vec_scatter = {H(VSCATTER, F16), 0, 0, 0, 8, 0}}, TELLS(BOUNDS, vec_scatter, offsets)},
    {"scatter_to_the_last_block", NOTHING,
     {.vec_scatter = {H(VSCATTER, F32), UB - 32, 0, 4096, 8, 1}}, FINE},
    {"scatter_to_the_end_of_ub", NOTHING,
     {.vec_scatter = {H(VSCATTER, F32), UB, 0, 4096, 8, 1}}, TELLS(BOUNDS, vec_scatter, dst)},
    {"compaction_in_place", NOTHING,
     {.vec_squeeze = {H(VREDUCEV2, F32), 0, 0, 0, 1, 8, 0, 2, 7}}, FINE},
    {"compaction_in_place_of_one_repeat", NOTHING,
     {.vec_squeeze = {H(VREDUCEV2, F32), 0, 0, 0, 1, 7, 0, 1, 7}}, FINE},
    {"compaction_in_place_of_repeats_that_meet", NOTHING,
     {.vec_squeeze = {H(VREDUCEV2, F32), 0, 0, 0, 1, 7, 0, 2, 7}},
     TELLS(OVERLAP, vec_squeeze, src)},
    {"compaction_in_place_of_blocks_with_gaps", NOTHING,
     {.vec_squeeze = {H(VREDUCEV2, F32), 0, 0, 0, 2, 16, 0, 1, 7}},
     TELLS(OVERLAP, vec_squeeze, src)},
    {"compaction_in_place_of_one_block", COUNT(8),
     {.vec_squeeze = {H(VREDUCEV2, F32), 0, 0, 0, 2, 2, 0, 2, 7}}, FINE},
    {"compaction_in_place_of_two_blocks", COUNT(9),
     {.vec_squeeze = {H(VREDUCEV2, F32), 0, 0, 0, 2, 4, 0, 2, 7}},
     TELLS(OVERLAP, vec_squeeze, src)},
    {"compaction_onto_its_bits", NOTHING,
     {.vec_squeeze = {H(VREDUCEV2, F32), 4096, 0, 4096, 1, 8, 1, 2, 0}},
     TELLS(OVERLAP, vec_squeeze, bits)},
    {"compaction_of_all_of_ub", COUNT(UB / 4),
     {.vec_squeeze = {H(VREDUCEV2, F32), 0, 0, 0, 1, 0, 0, 1, 7}}, FINE},
    {"compaction_of_more_than_ub", COUNT(UB / 4 + 1),
     {.vec_squeeze = {H(VREDUCEV2, F32), 0, 0, 0, 1, 0, 0, 1, 7}},
     TELLS(BOUNDS, vec_squeeze, src)},
    {"compaction_to_the_end_of_ub", NOTHING,
     {.vec_squeeze = {H(VREDUCEV2, F32), UB, 0, 4096, 1, 8, 1, 1, 0}},
     TELLS(BOUNDS, vec_squeeze, dst)},
    {"sums_in_place", NOTHING, {.vec_reduce = {H(VCADD, F32), 0, 0, 64, 1, 8, 2}}, FINE},
    {"sums_in_place_farther_than_repeats", NOTHING,
     {.vec_reduce = {H(VCADD, F32), 0, 0, 65, 1, 8, 2}}, TELLS(OVERLAP, vec_reduce, src)},
    {"sum_of_one_repeat_in_place", NOTHING,
     {.vec_reduce = {H(VCADD, F32), 0, 0, 65, 1, 9, 1}}, FINE},
    {"sums_in_place_of_repeats_with_gaps", NOTHING,
     {.vec_reduce = {H(VCADD, F32), 0, 0, 1, 1, 9, 2}}, TELLS(OVERLAP, vec_reduce, src)},
    {"sum_in_place_of_blocks_with_gaps", NOTHING,
     {.vec_reduce = {H(VCADD, F32), 0, 0, 1, 2, 16, 1}}, TELLS(OVERLAP, vec_reduce, src)},
    {"proposals_in_place", NOTHING, {.vec_rpsort = {H(VRPSORT16, F16), 0, 0, 2}}, FINE},
    {"one_list_shorter_in_two_repeats", NOTHING,
     {.vec_merge = {H(VMRGSORT, F32), 8192, 0, 32, 64, 96, 4, 4, 4, 3, 15, 2}},
     TELLS(RANGE, vec_merge, repeat)},
    {"lists_apart_in_two_repeats", NOTHING,
     {.vec_merge = {H(VMRGSORT, F32), 8192, 0, 32, 64, 104, 4, 4, 4, 4, 15, 2}},
     TELLS(RANGE, vec_merge, repeat)},
    {"four_lists_in_two_repeats", NOTHING,
     {.vec_merge = {H(VMRGSORT, F32), 8192, 0, 32, 64, 96, 4, 4, 4, 4, 15, 2}}, FINE},
    {"three_lists_in_two_repeats", NOTHING,
     {.vec_merge = {H(VMRGSORT, F32), 8192, 0, 32, 64, 96, 4, 4, 4, 4, 7, 2}},
     TELLS(RANGE, vec_merge, repeat)},
    {"blocks_that_are_all_one", NOTHING,
     {.vec_transdata = {H(VTRANSDATA, F16), 0, 0, 1}}, TELLS(OVERLAP, vec_transdata, dst_rep)},
    {"blocks_of_no_repeat", NOTHING, {.vec_transdata = {H(VTRANSDATA, F16), 0, 0, 0}}, FINE},
    {"blocks_in_place", LISTS(0, 0), {.vec_transdata = {H(VTRANSDATA, F16), 0, 0, 1}}, FINE},
    {"blocks_in_place_of_two_repeats", LISTS(0, 0),
     {.vec_transdata = {H(VTRANSDATA, F16), 16, 16, 2}}, TELLS(OVERLAP, vec_transdata, src_rep)},
    {"blocks_of_two_repeats", LISTS(0, 32),
     {.vec_transdata = {H(VTRANSDATA, F16), 16, 16, 2}}, FINE},
    {"repeats_that_share_a_block", LISTS(0, 32),
     {.vec_transdata = {H(VTRANSDATA, F16), 15, 16, 2}}, TELLS(OVERLAP, vec_transdata, dst_rep)},
    {"a_repeat_that_reads_what_is_written", LISTS(0, 31),
     {.vec_transdata = {H(VTRANSDATA, F16), 16, 16, 2}}, TELLS(OVERLAP, vec_transdata, src_rep)},
    {"blocks_to_the_last_of_ub", LISTS(UB / 32 - 16, 0),
     {.vec_transdata = {H(VTRANSDATA, F16), 0, 0, 1}}, FINE},
    {"blocks_beyond_ub", LISTS(UB / 32 - 15, 0),
     {.vec_transdata = {H(VTRANSDATA, F16), 0, 0, 1}}, TELLS(BOUNDS, vec_transdata, dst_rep)},
    {"blocks_from_the_last_of_ub", LISTS(0, UB / 32 - 16),
     {.vec_transdata = {H(VTRANSDATA, F16), 0, 0, 1}}, FINE},
    {"blocks_from_beyond_ub", LISTS(0, UB / 32 - 15),
     {.vec_transdata = {H(VTRANSDATA, F16), 0, 0, 1}}, TELLS(BOUNDS, vec_transdata, src_rep)},
    {"second_repeat_beyond_ub", LISTS(UB / 32 - 31, 0),
     {.vec_transdata = {H(VTRANSDATA, F16), 16, 0, 2}}, TELLS(BOUNDS, vec_transdata, dst_rep)},
};
/* clang-format on */

enum { ROWS = sizeof(rows) / sizeof(rows[0]) };

TEST(operand, last_that_is_fine_and_first_that_is_not)
{
    for (unsigned i = 0; i < ROWS; i++) {
        enum pipe pipe = pipe_of(&rows[i].cmd);

        fresh();
        for (unsigned k = 0; k < 2 && rows[i].before[k].head.opcode; k++) {
            rig_push(&rig, 0, pipe, &rows[i].before[k]);
        }
        if (!ok(refused(rows[i].cmd, rows[i].code, (unsigned)rows[i].field), "operand/%s",
                rows[i].name)) {
            uint64_t error = rig_read(&rig, 0, rig_pipe(pipe, PIPE_ERROR));

            test_note("%s of byte %u",
                      npu_error_name((unsigned)field_get(PIPE_ERROR_CODE, error)),
                      (unsigned)field_get(PIPE_ERROR_FIELD, error));
        }
    }
}
