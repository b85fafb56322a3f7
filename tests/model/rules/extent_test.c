/* SPDX-License-Identifier: MIT
 *
 * Where every access of a command ends, and what the command takes: each row is a command
 * with gaps, strides and tails, the bytes from the first to behind the last that each of
 * its addresses leads to, and its cycles on a2, worked out by hand from the pages. An
 * address that ends exactly with its memory is fine; one step further is BOUNDS or GM, of
 * that field, and tells where it would end. Commands of GM share its bandwidth.
 */
#include <stddef.h>
#include <string.h>

#include "tests/host/data.h"
#include "tests/model/rig.h"
#include "tests/test.h"

#define GM             RIG_GM_BASE
#define H(op, t)       .head = {.opcode = OP_##op, .type = TYPE_##t}
#define HF(op, t, set) .head = {.opcode = OP_##op, .type = TYPE_##t, .flags = set}
#define AT(f, name, m, size, ...)                                                        \
    {                                                                                    \
        .field = offsetof(struct cmd_##f, name), .mem = NPU_MEM_##m, .bytes = size,      \
        __VA_ARGS__                                                                      \
    }

/* step: the address's multiple, if it is more than its line of the contract says; skip:
 * the access begins so much behind the address; at: it begins there, wherever; apart: it
 * may not meet the destination, else OVERLAP. */
struct row {
    const char *name;
    union cmd cmd;
    uint32_t cycles;
    struct {
        uint8_t field, mem;
        uint32_t bytes, skip, step, at;
        bool apart;
    } at[5];
};

/* GM rows below 512 bytes take as long as 512. */
static const struct row rows[] = {
    {"gm_ub",
     {.copy_in = {H(COPY_GM_UB, NONE), GM, 0, 100, 7, 3, 1}},
     192 + 13, /* 3 * 512 / 125 */
     {AT(copy_in, src, GM, 314), AT(copy_in, dst, UB, 420)}},
    {"gm_l1",
     {.copy_in = {H(COPY_GM_L1, NONE), GM, 0, 100, 7, 3, 1}},
     183 + 10, /* 3 * 512 / 160 */
     {AT(copy_in, src, GM, 314), AT(copy_in, dst, L1, 420)}},
    {"gm_ub_padded", /* rows of 96 bytes */
     {.copy_pad = {H(COPY_PAD_GM_UB, F16), GM, 0, 64, 10, 2, 2, 1, 2}},
     192 + 9,
     {AT(copy_pad, src, GM, 138), AT(copy_pad, dst, UB, 256)}},
    {"gm_l1_padded",
     {.copy_pad = {H(COPY_PAD_GM_L1, F16), GM, 0, 64, 10, 2, 2, 1, 2}},
     183 + 7,
     {AT(copy_pad, src, GM, 138), AT(copy_pad, dst, L1, 256)}},
    {"nd2nz", /* 20 x 40 twice: 3 blocks of 24 rows */
     {.nd2nz = {H(ND2NZ_GM_L1, F16), GM, 0, 50, 1200, 1152, 20, 40, 2, 24, 1}},
     780 + 15, /* 40 * 512 / 1400 */
     {AT(nd2nz, src, GM, 2400 + 1900 + 80), AT(nd2nz, dst, L1, 2304 + 1536 + 640)}},
    {"nd2nz_wide_rows", /* beyond the floor: 300 * 1024 bytes */
     {.nd2nz = {H(ND2NZ_GM_L1, F16), GM, 0, 512, 0, 0, 300, 512, 1, 304, 1}},
     220 + 2179, /* 307200 / 141 */
     {AT(nd2nz, src, GM, 307200), AT(nd2nz, dst, L1, 31 * 9728 + 9600)}},
    {"gm_l0a",
     {.fractals_in = {H(FRACTALS_GM_L0A, NONE), GM, 0, 1, 2, 1, 3}},
     183 + 12,
     {AT(fractals_in, src, GM, 2560, .skip = 512), AT(fractals_in, dst, L0A, 2560)}},
    {"gm_l0b",
     {.fractals_in = {H(FRACTALS_GM_L0B, NONE), GM, 0, 1, 2, 1, 3}},
     183 + 12,
     {AT(fractals_in, src, GM, 2560, .skip = 512), AT(fractals_in, dst, L0B, 2560)}},
    {"fill_l1",
     {.init = {H(INIT_L1, F16), 0, 7, 3, 2, 1}},
     23 + 2, /* 192 / 160 */
     {AT(init, dst, L1, 256)}},
    {"fill_l0a",
     {.init = {H(INIT_L0A, F16), 0, 7, 2, 1, 1}},
     23 + 4,
     {AT(init, dst, L0A, 1536, .step = 512)}},
    {"fill_l0b",
     {.init = {H(INIT_L0B, F16), 0, 7, 2, 1, 1}},
     23 + 8,
     {AT(init, dst, L0B, 1536, .step = 512)}},
    {"load2d_l0a", /* 20 x 40 bytes: 2 blocks, 2 x 2 fractals */
     {.load2d = {H(LOAD2D_L0A, S8), 0, 0, 20, 40, 24}},
     23 + 8,
     {AT(load2d, src, L1, 768 + 640), AT(load2d, dst, L0A, 2048)}},
    {"load2d_l0b", /* the transposed 20 x 40: 40 rows in 2 blocks; 2 x 3 fractals */
     {.load2d = {HF(LOAD2D_L0B, F16, LOAD2D_L0B_TRANSPOSE), 0, 0, 20, 40, 48}},
     23 + 24,
     {AT(load2d, src, L1, 1536 + 1280), AT(load2d, dst, L0B, 3072)}},
    {"load3d_l0b", /* 2 windows of 2 x 2: two rows of the map; 1 x 4 fractals */
     {.load3d = {H(LOAD3D_L0B, F16), 0, 0, 4, 5, 16, 2, 64, 0, 0, 2, 2, 2, 2, 1, 1}},
     23 + 16,
     {AT(load3d, src, L1, 320), AT(load3d, dst, L0B, 2048)}},
    {"load3d_l0a", /* the last row of the map, and padding below it */
     {.load3d = {H(LOAD3D_L0A, F16),
                 0,
                 0,
                 3,
                 4,
                 16,
                 4,
                 32,
                 8,
                 0,
                 2,
                 1,
                 1,
                 1,
                 1,
                 1,
                 0,
                 0,
                 0,
                 1}},
     23 + 4,
     {AT(load3d, src, L1, 128, .skip = 256), AT(load3d, dst, L0A, 1024)}},
    {"l1_l0a",
     {.fractals = {H(FRACTALS_L1_L0A, F16), 0, 0, 1, 2, 1, 3}},
     23 + 6,
     {AT(fractals, src, L1, 2560, .skip = 512), AT(fractals, dst, L0A, 2560)}},
    {"l1_l0b",
     {.fractals = {H(FRACTALS_L1_L0B, F16), 0, 0, 1, 2, 1, 3}},
     23 + 12,
     {AT(fractals, src, L1, 2560, .skip = 512), AT(fractals, dst, L0B, 2560)}},
    {"l1_bt",
     {.copy_bt = {H(COPY_L1_BT, F16), 0, 0, 2, 1, 1, 1}},
     15 + 2,
     {AT(copy_bt, src, L1, 96), AT(copy_bt, dst, BT, 192)}},
    {"l1_bt_32_bits",
     {.copy_bt = {H(COPY_L1_BT, F32), 0, 0, 2, 1, 1, 1}},
     15 + 2,
     {AT(copy_bt, src, L1, 160), AT(copy_bt, dst, BT, 192)}},
    {"l1_ub",
     {.copy_local = {H(COPY_L1_UB, NONE), 0, 0, 2, 3, 1, 2}},
     23 + 2,
     {AT(copy_local, src, L1, 224), AT(copy_local, dst, UB, 256)}},
    {"ub_l1",
     {.copy_local = {H(COPY_UB_L1, NONE), 0, 0, 2, 3, 1, 2}},
     23 + 2,
     {AT(copy_local, src, UB, 224), AT(copy_local, dst, L1, 256)}},
    {"ub_gm",
     {.copy_out = {H(COPY_UB_GM, NONE), GM, 0, 1000, 7, 3, 1}},
     127 + 39,
     {AT(copy_out, src, UB, 3112), AT(copy_out, dst, GM, 3014)}},
    {"l1_gm",
     {.copy_out = {H(COPY_L1_GM, NONE), GM, 0, 1000, 7, 3, 1}},
     127 + 29,
     {AT(copy_out, src, L1, 3112), AT(copy_out, dst, GM, 3014)}},
    {"mmad", /* 2 x 4, 4 x 3, 2 x 3 fractals */
     {.mmad = {H(MMAD, F16), 0, 0, 0, 0, 20, 40, 50}},
     62 + 24,
     {AT(mmad, dst, L0C, 6144), AT(mmad, a, L0A, 4096), AT(mmad, b, L0B, 6144)}},
    {"mmad_with_bias",
     {.mmad = {HF(MMAD, F16, MMAD_BIAS), 0, 0, 0, 0, 20, 40, 50}},
     62 + 24,
     {AT(mmad, bias, BT, 160)}},
    {"mmad_of_a_row",
     {.mmad = {HF(MMAD, F16, MMAD_GEMV), 0, 0, 0, 0, 1, 40, 50}},
     62 + 12,
     {AT(mmad, a, L0A, 100), AT(mmad, b, L0B, 6144)}},
    {"l0c_gm", /* 20 x 40 twice, blocks of 32 rows */
     {.fix_gm = {H(FIX_L0C_GM, F32), GM, 0, 50, 20, 40, 32, 0, 0, 2, 8, 1200}},
     82, /* the least */
     {AT(fix_gm, src, L0C, 8192 + 4096 + 1280), AT(fix_gm, dst, GM, 4800 + 3800 + 160)}},
    {"l0c_ub",
     {.fix_local = {H(FIX_L0C_UB, F32), 0, 0, 48, 20, 40, 32, 0, 0, 2, 8, 1200}},
     30 + 60,
     {AT(fix_gm, src, L0C, 8192 + 4096 + 1280), AT(fix_gm, dst, UB, 4800 + 3648 + 160)}},
    {"l0c_l1_quantised", /* 48 columns of bytes: a block of 32 and one of 16 */
     {.fix_local = {HF(FIX_L0C_L1, S32, FIX_L0C_GM_NZ), 0, 0, 24, 20, 48, 32, QUANT_VREQ8,
                    FIX_RELU_CHANNEL, 1}},
     30 + 30,
     {AT(fix_gm, src, L0C, 4096 + 1280), AT(fix_gm, dst, L1, 768 + 640),
      AT(fix_gm, fb_quant, FB, 384), AT(fix_gm, fb_relu, FB, 192)}},
    {"l0c_l1_halves", /* two whole blocks of 16 columns */
     {.fix_local = {HF(FIX_L0C_L1, F32, FIX_L0C_GM_NZ), 0, 0, 24, 20, 32, 32,
                    QUANT_F322F16, 0, 1}},
     30 + 20,
     {AT(fix_gm, src, L0C, 2048 + 1280), AT(fix_gm, dst, L1, 768 + 640)}},
    {"l1_fb",
     {.l1_fb = {H(COPY_L1_FB, NONE), 0, 0, 64, 2, 1, 1}},
     30 + 2,
     {AT(l1_fb, src, L1, 160), AT(l1_fb, dst, FB, 192)}},
    {"set_cmpmask",
     {.set_cmpmask = {H(SET_CMPMASK, NONE), 0}},
     1,
     {AT(set_cmpmask, src, UB, 16)}},
    {"get_cmpmask",
     {.get_cmpmask = {H(GET_CMPMASK, NONE), 0}},
     1,
     {AT(get_cmpmask, dst, UB, 16)}},
    {"get_count",
     {.get_count = {H(GET_COUNT, NONE), 0}},
     1,
     {AT(get_count, dst, UB, 32)}},
    {"vector_of_one", /* banks apart: dst lies 64 KiB above */
     {.vec1 = {H(VABS, F32), 65536, 0, 2, 1, 20, 9, 2}},
     29 + 2,
     {AT(vec1, src, UB, 288 + 256), AT(vec1, dst, UB, 640 + 480)}},
    {"vector_and_scalar",
     {.vec1s = {H(VADDS, F16), 65536, 0, 0, 2, 1, 20, 9, 2}},
     31 + 2,
     {AT(vec1s, src, UB, 288 + 256), AT(vec1s, dst, UB, 640 + 480)}},
    {"vector_of_two",
     {.vec2 = {H(VADD, F32), 65536, 0, 256, 2, 1, 1, 20, 16, 16, 2}},
     24 + 2,
     {AT(vec2, src0, UB, 768), AT(vec2, src1, UB, 768), AT(vec2, dst, UB, 640 + 480)}},
    {"vector_fused_cast", /* 64 results of 2 bytes a repeat: 4 blocks */
     {.vec2c = {H(VADDRELUCONV, F32), 65536, 0, 256, 1, 1, 1, 4, 16, 16, 2, TYPE_F16}},
     32 + 2,
     {AT(vec2c, src0, UB, 768), AT(vec2c, src1, UB, 768), AT(vec2c, dst, UB, 256)}},
    {"vector_cast",
     {.vec_conv = {H(VCONV, F16), 65536, 0, 1, 1, 8, 5, 2, TYPE_F32, ROUND_NONE}},
     32 + 2,
     {AT(vec_conv, src, UB, 160 + 128), AT(vec_conv, dst, UB, 512)}},
    {"vector_compare", /* a bit an element */
     {.vec_cmp = {H(VCMP, F32), 65536, 0, 256, 1, 1, 16, 16, 2, CMP_LT}},
     36 + 2,
     {AT(vec_cmp, src0, UB, 768), AT(vec_cmp, src1, UB, 768), AT(vec_cmp, dst, UB, 16)}},
    {"vector_compare_scalar",
     {.vec_cmps = {H(VCMPS, F16), 65536, 0, 0, 1, 9, 2, CMP_LT}},
     36 + 2,
     {AT(vec_cmps, src, UB, 288 + 256), AT(vec_cmps, dst, UB, 32)}},
    {"vector_select",
     {.vec_sel = {H(VSEL, F32), 65536, 0, 256, 1024, 1, 1, 1, 8, 16, 16, 2}},
     27 + 2,
     {AT(vec_sel, src0, UB, 768), AT(vec_sel, src1, UB, 768), AT(vec_sel, sel, UB, 16),
      AT(vec_sel, dst, UB, 512)}},
    {"vector_select_scalar",
     {.vec_sels = {H(VSELS, F16), 65536, 0, 1024, 0, 1, 1, 8, 9, 2}},
     27 + 2,
     {AT(vec_sels, src, UB, 288 + 256), AT(vec_sels, sel, UB, 32),
      AT(vec_sels, dst, UB, 512)}},
    {"sum_of_repeats",
     {.vec_reduce = {H(VCADD, F32), 65536, 0, 3, 2, 20, 2}},
     46 + 6,
     {AT(vec_reduce, src, UB, 640 + 480, .apart = true),
      AT(vec_reduce, dst, UB, 16, .step = 4)}},
    {"extreme_and_index",
     {.vec_reduce = {H(VCMAX, F16), 65536, 0, 9, 1, 8, 2}},
     46 + 14,
     {AT(vec_reduce, src, UB, 512, .apart = true),
      AT(vec_reduce, dst, UB, 40, .step = 4)}},
    {"index_only",
     {.vec_reduce = {HF(VCMIN, F16, VCMIN_INDEX_ONLY), 65536, 0, 9, 1, 8, 2}},
     46 + 14,
     {AT(vec_reduce, src, UB, 512, .apart = true),
      AT(vec_reduce, dst, UB, 40, .step = 4)}},
    {"sum_of_blocks", /* 8 of 2 bytes a repeat */
     {.vec_reduce = {H(VCGADD, F16), 65536, 0, 3, 1, 8, 2}},
     38 + 14,
     {AT(vec_reduce, src, UB, 512, .apart = true),
      AT(vec_reduce, dst, UB, 64, .step = 16)}},
    {"sum_of_pairs",
     {.vec_reduce = {H(VCPADD, F32), 65536, 0, 1, 1, 8, 2}},
     38 + 2,
     {AT(vec_reduce, src, UB, 512, .apart = true),
      AT(vec_reduce, dst, UB, 256, .step = 32)}},
    {"vcopy",
     {.vec_copy = {H(VCOPY, F16), 65536, 0, 2, 1, 20, 9, 2}},
     24 + 2,
     {AT(vec_copy, src, UB, 288 + 256, .apart = true), AT(vec_copy, dst, UB, 640 + 480)}},
    {"vdup",
     {.vec_fill = {H(VDUP, F16), 0, 7, 2, 20, 2}},
     24 + 2,
     {AT(vec_fill, dst, UB, 640 + 480)}},
    {"vbrcb",
     {.vec_brcb = {H(VBRCB, F16), 65536, 0, 2, 20, 2}},
     18 + 2,
     {AT(vec_brcb, src, UB, 32, .apart = true), AT(vec_brcb, dst, UB, 640 + 480)}},
    {"vtranspose",
     {.vec_transpose = {H(VTRANSPOSE, F16), 65536, 0}},
     24 + 2,
     {AT(vec_transpose, src, UB, 512, .apart = true), AT(vec_transpose, dst, UB, 512)}},
    {"vintlv",
     {.vec_intlv = {H(VINTLV, F16), 4096, 8192, 0, 1024, 140}},
     24 + 4, /* 280 bytes: two repeats */
     {AT(vec_intlv, src0, UB, 280), AT(vec_intlv, src1, UB, 280),
      AT(vec_intlv, dst0, UB, 280, .at = 8192),
      AT(vec_intlv, dst1, UB, 280, .at = 4096)}},
    {"compaction_by_a_pattern", /* every second of 64 */
     {.vec_squeeze = {H(VREDUCEV2, F32), 65536, 0, 0, 2, 20, 0, 2, 2}},
     34 + 28,
     {AT(vec_squeeze, src, UB, 640 + 480, .apart = true), AT(vec_squeeze, dst, UB, 256)}},
    {"compaction_of_every_fourth",
     {.vec_squeeze = {H(VREDUCEV2, F32), 65536, 0, 0, 1, 8, 0, 2, 3}},
     34 + 28,
     {AT(vec_squeeze, dst, UB, 128)}},
    {"compaction_by_bits",
     {.vec_squeeze = {H(VREDUCEV2, F32), 65536, 0, 32768, 1, 8, 3, 2, 0}},
     34 + 28,
     {AT(vec_squeeze, src, UB, 512), AT(vec_squeeze, bits, UB, 96 + 8)}},
    {"gather", /* all offsets are 0 */
     {.vec_gather = {H(VGATHER, F16), 65536, 0, 32768, 9, 2}},
     14 + 48,
     {AT(vec_gather, src, UB, 2), AT(vec_gather, offsets, UB, 1024, .apart = true),
      AT(vec_gather, dst, UB, 288 + 256)}},
    {"gather_of_blocks",
     {.vec_gatherb = {H(VGATHERB, F32), 65536, 0, 32768, 2, 20, 2}},
     26 + 4,
     {AT(vec_gatherb, src, UB, 32), AT(vec_gatherb, offsets, UB, 64, .apart = true),
      AT(vec_gatherb, dst, UB, 640 + 480)}},
    {"scatter",
     {.vec_scatter = {H(VSCATTER, F32), 65536, 0, 32768, 9, 2}},
     26 + 24,
     {AT(vec_scatter, src, UB, 288 + 256), AT(vec_scatter, offsets, UB, 512)}},
    {"sort",
     {.vec_sort = {H(VSORT32, F16), 65536, 0, 32768, 2}},
     20 + 32,
     {AT(vec_sort, src, UB, 128, .apart = true),
      AT(vec_sort, index, UB, 256, .apart = true), AT(vec_sort, dst, UB, 512)}},
    {"merge", /* 100 pairs: 4 repeats of 256 bytes */
     {.vec_merge = {H(VMRGSORT, F32), 65536, 0, 512, 1024, 0, 40, 50, 10, 0, 7, 1}},
     20 + 64,
     {AT(vec_merge, src0, UB, 320, .apart = true),
      AT(vec_merge, src1, UB, 400, .apart = true),
      AT(vec_merge, src2, UB, 80, .apart = true), AT(vec_merge, dst, UB, 800)}},
    {"quantise",
     {.vec_deq = {HF(VDEQ, S16, VDEQ_VECTOR | VDEQ_HIGH), 65536, 0, 32768, 2, 1, 20, 9,
                  2}},
     32 + 2,
     {AT(vec_deq, src, UB, 288 + 256, .apart = true),
      AT(vec_deq, words, UB, 128, .apart = true),
      AT(vec_deq, dst, UB, 640 + 464, .skip = 16)}},
    {"sort_of_proposals",
     {.vec_rpsort = {H(VRPSORT16, F16), 65536, 0, 2}},
     20 + 32,
     {AT(vec_rpsort, src, UB, 512, .apart = true), AT(vec_rpsort, dst, UB, 512)}},
    {"field_of_proposals",
     {.vec_rp = {H(VRPCONCAT, F16), 65536, 0, 2, PROPOSAL_SCORE}},
     24 + 4,
     {AT(vec_rp, src, UB, 64, .apart = true),
      AT(vec_rp, dst, UB, 31 * 16 + 2, .skip = 8)}},
    {"proposals_to_a_row",
     {.vec_rp = {H(VRPEXTRACT, F32), 65536, 0, 2, PROPOSAL_LABEL}},
     24 + 4,
     {AT(vec_rp, src, UB, 31 * 32 + 4, .skip = 20, .apart = true),
      AT(vec_rp, dst, UB, 128)}},
    {"interpolation", /* 2 results of 3 steps */
     {.vec_bi = {HF(VBI, F16, VBI_EACH), 65536, 0, 32768, 49152, 320, 2, 3, 2}},
     26 + 24,
     {AT(vec_bi, src, UB, 32), AT(vec_bi, offsets, UB, 192, .apart = true),
      AT(vec_bi, weights, UB, 96, .apart = true), AT(vec_bi, dst, UB, 640 + 480)}},
};

enum { ROWS = sizeof(rows) / sizeof(rows[0]), CORES = 32 };

static union cmd moved(const struct row *row, unsigned i, uint64_t to)
{
    const struct cmd_info *info = cmd_find(row->cmd.head.opcode);
    union cmd c = row->cmd;

    memcpy(c.bytes + row->at[i].field, &to, cmd_arg_at(info, row->at[i].field)->size);
    return c;
}

static bool told(enum pipe pipe, unsigned code, const struct row *row, unsigned i,
                 uint64_t to)
{
    uint64_t end = to + row->at[i].skip + row->at[i].bytes;
    uint64_t addr = row->at[i].at ? row->at[i].at : to + row->at[i].skip;

    return rig_stopped(&rig, pipe, code, row->at[i].field) &&
           rig_read(&rig, 0, rig_pipe(pipe, PIPE_ERROR_VALUE)) == end &&
           rig_read(&rig, 0, rig_pipe(pipe, PIPE_ERROR_ADDR)) == addr;
}

static uint32_t multiple(const struct cmd_info *info, unsigned field)
{
    return cmd_range(info, cmd_arg_at(info, field))->multiple;
}

/* The last place that operand i may be at, and the next. */
static bool check_end(const struct row *row, unsigned i)
{
    const struct cmd_info *info = cmd_find(row->cmd.head.opcode);
    uint32_t step = row->at[i].step ? row->at[i].step : multiple(info, row->at[i].field);
    bool gm = row->at[i].mem == NPU_MEM_GM;
    uint64_t base = gm ? GM : 0, extent = row->at[i].skip + row->at[i].bytes;
    uint64_t size =
        gm ? RIG_GM_BYTES : npu_mem_size(PROFILE_a2, (enum npu_mem)row->at[i].mem);
    uint64_t last = base + (size - extent) / step * step;
    enum pipe pipe = pipe_of(&row->cmd);
    bool fine;

    fresh();
    fine = run(moved(row, i, last)) == 0;
    run(moved(row, i, last + step));
    fine &= told(pipe, gm ? NPU_ERR_GM : NPU_ERR_BOUNDS, row, i, last + step);
    if (gm) {
        rig_write(&rig, 0, rig_pipe(pipe, PIPE_CTRL), PIPE_CTRL_RESET);
        run(moved(row, i, base - row->at[i].skip - 1));
        fine &= told(pipe, NPU_ERR_GM, row, i, base - row->at[i].skip - 1);
    }
    return fine;
}

static bool runs_as(const struct row *row, unsigned i, uint64_t to, unsigned code)
{
    fresh();
    return refused(moved(row, i, to), code, code ? row->at[i].field : 0);
}

/* Operand i right before and right behind the destination, and a step nearer. */
static bool check_apart(const struct row *row, unsigned i)
{
    const struct cmd_info *info = cmd_find(row->cmd.head.opcode);
    uint32_t step = multiple(info, row->at[i].field);
    unsigned d = 0;
    uint64_t from, to, before, behind;

    while (row->at[d].field != offsetof(struct cmd_vec1, dst)) {
        d++;
    }
    memcpy(&from, row->cmd.bytes + row->at[d].field, 8);
    from = (from & UINT32_MAX) + row->at[d].skip;
    to = from + row->at[d].bytes;
    before = (from - row->at[i].skip - row->at[i].bytes) / step * step;
    behind = (to - row->at[i].skip + step - 1) / step * step;
    return runs_as(row, i, before, 0) && runs_as(row, i, behind, 0) &&
           runs_as(row, i, before + step, NPU_ERR_OVERLAP) &&
           runs_as(row, i, behind - step, NPU_ERR_OVERLAP);
}

/* Cycles until all cores of a chip have done it, which begins anew but for its memories:
 * what they hold costs no time. */
static uint64_t cycles(const struct row *row, struct rig *r)
{
    r->now = 0;
    npu_init(&r->npu, &r->config);
    for (unsigned core = 0; core < r->config.cores; core++) {
        rig_push(r, core, pipe_of(&row->cmd), &row->cmd);
    }
    rig_drain(r);
    return rig_error(r, 0, pipe_of(&row->cmd)) ? 0 : r->now;
}

TEST(extent, of_every_access)
{
    for (unsigned i = 0; i < ROWS; i++) {
        bool ends = true;

        for (unsigned k = 0; k < 5 && rows[i].at[k].bytes; k++) {
            bool good = check_end(&rows[i], k) &&
                        (!rows[i].at[k].apart || check_apart(&rows[i], k));
            ends &= good;
            if (!good) {
                test_note("field %u", rows[i].at[k].field);
            }
        }
        ok(ends, "extent/%s", rows[i].name);
    }
}

TEST(cycles, of_every_command)
{
    struct rig r;

    rig_prices(TIMING_v1);
    rig_open(&r, 1, PROFILE_a2);
    for (unsigned i = 0; i < ROWS; i++) {
        uint64_t took = cycles(&rows[i], &r);

        if (!ok(took == rows[i].cycles, "cycles/%s", rows[i].name)) {
            test_note("%llu, want %u", (unsigned long long)took, rows[i].cycles);
        }
    }
    rig_close(&r);
}

/* What reads or writes GM takes longer when all cores do. */
TEST(shares, bandwidth_of_gm)
{
    struct rig one, all;

    rig_open(&one, 1, PROFILE_ascend310);
    rig_open(&all, CORES, PROFILE_ascend310);
    for (unsigned i = 0; i < ROWS; i++) {
        bool gm = false;

        for (unsigned k = 0; k < 5 && rows[i].at[k].bytes; k++) {
            gm |= rows[i].at[k].mem == NPU_MEM_GM;
        }
        ok(gm == (cycles(&rows[i], &all) > cycles(&rows[i], &one)), "shares/%s",
           rows[i].name);
    }
    rig_close(&one);
    rig_close(&all);
}
