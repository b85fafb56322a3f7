/* SPDX-License-Identifier: MIT
 *
 * The fixpipe: L0C to GM, UB and L1 with conversion, L1 to FB, and the registers that the
 * conversions read. Source: hal/contract/fixpipe.md.
 */
#include "tools/emu/model/ops/flow.h"
#include "tools/emu/model/ops/atomic.h"
#include "tools/emu/model/mem.h"
#include "tools/emu/model/arith/move.h"
#include "tools/emu/model/arith/num.h"
#include "tools/emu/model/arith/quant.h"
#include "tools/emu/model/arith/simd.h"
#include "tools/emu/model/ops/mte/mte.h"

/* fix_gm and fix_local differ in the range of dst only: one code reads both. */
_Static_assert(sizeof(struct cmd_fix_gm) == sizeof(struct cmd_fix_local) &&
                   offsetof(struct cmd_fix_gm, fb_relu) ==
                       offsetof(struct cmd_fix_local, fb_relu),
               "fix_gm and fix_local have one layout");
#define FIELD_OF(name) ((uint8_t)offsetof(struct cmd_fix_gm, name))

static bool is_nz(const struct cmd_fix_gm *a)
{
    return a->head.flags & FIX_L0C_GM_NZ;
}

/* Elements in a row of a column block of the destination (NZ). */
static unsigned block_columns(const struct cmd_fix_gm *a)
{
    unsigned bits = quant_bits(a->quant);

    return bits < 16 ? 256 / bits : a->head.flags & FIX_L0C_GM_SPLIT ? 8 : 16;
}

static unsigned block_row_bytes(const struct cmd_fix_gm *a)
{
    return block_columns(a) * quant_bits(a->quant) / 8;
}

/* --- rules between operands --- */

static unsigned check_types(const struct op_ctx *c, const struct cmd_fix_gm *a)
{
    const struct quant_mode *mode = &quant_modes[a->quant];
    bool integers = a->quant == QUANT_NONE && a->head.type == TYPE_S32;
    unsigned flags = a->head.flags;

    if (!(mode->from & (1u << a->head.type))) {
        return op_fail(c, FIELD_OF(quant), NPU_ERR_TYPE);
    }
    if (a->unit == 1) {
        return op_fail(c, FIELD_OF(unit), NPU_ERR_RANGE);
    }
    if (integers && a->relu > FIX_RELU_PLAIN) {
        return op_fail(c, FIELD_OF(relu), NPU_ERR_TYPE);
    }
    if ((integers && (flags & FIX_L0C_GM_CLIP)) ||
        ((flags & FIX_L0C_GM_SPLIT) &&
         (!is_nz(a) || a->quant != QUANT_NONE || a->head.type != TYPE_F32))) {
        return op_fail(c, offsetof(struct cmd_head, flags), NPU_ERR_FLAGS);
    }
    return 0;
}

static unsigned check_nz(const struct op_ctx *c, const struct cmd_fix_gm *a)
{
    unsigned bits = quant_bits(a->quant);
    unsigned unit = bits == 4 ? 64 : a->head.flags & FIX_L0C_GM_SPLIT ? 8 : 16;

    if (a->nd_num > 1) {
        return op_fail(c, FIELD_OF(nd_num), NPU_ERR_RANGE);
    }
    return a->n % unit ? op_fail(c, FIELD_OF(n), NPU_ERR_ALIGN) : 0;
}

/* Rows begin at whole bytes, in UB and L1 at whole blocks. */
static unsigned check_rows(const struct op_ctx *c, const struct cmd_fix_gm *a,
                           enum npu_mem to)
{
    unsigned bits = quant_bits(a->quant), unit = to == NPU_MEM_GM ? 8 : 256;

    if (a->m > 8192) {
        return op_fail(c, FIELD_OF(m), NPU_ERR_RANGE);
    }
    if (a->n * bits % 8) {
        return op_fail(c, FIELD_OF(n), NPU_ERR_ALIGN);
    }
    if (a->m > 1 && (uint64_t)a->dst_pitch * bits % unit) {
        return op_fail(c, FIELD_OF(dst_pitch), NPU_ERR_ALIGN);
    }
    if (a->nd_num > 1 && a->dst_nd_stride * bits % unit) {
        return op_fail(c, FIELD_OF(dst_nd_stride), NPU_ERR_ALIGN);
    }
    return 0;
}

/* --- what it touches --- */

/* Column blocks of the destination that are as wide as a block can be, and bytes of a row
 * of the one that is not: 8-bit results are merged in pairs of blocks, an odd one is left
 * at 16 columns. */
static uint32_t full_blocks(const struct cmd_fix_gm *a)
{
    return a->n / block_columns(a);
}

static uint32_t odd_row_bytes(const struct cmd_fix_gm *a)
{
    return a->n % block_columns(a) * quant_bits(a->quant) / 8;
}

static struct access nz_blocks(const struct cmd_fix_gm *a, enum npu_mem to,
                               uint32_t first, uint32_t blocks, uint32_t row_bytes)
{
    uint64_t stride = 32ull * a->dst_pitch;

    return access_rows(to, FIELD_OF(dst), a->dst + first * stride,
                       (uint64_t)a->m * row_bytes, blocks, stride);
}

static struct access nz_access(const struct cmd_fix_gm *a, enum npu_mem to)
{
    uint32_t full = a->nd_num && a->m ? full_blocks(a) : 0;
    bool odd = a->nd_num && a->m && odd_row_bytes(a);

    if (full == 0 && odd) {
        return nz_blocks(a, to, 0, 1, odd_row_bytes(a));
    }
    return nz_blocks(a, to, 0, full + odd, block_row_bytes(a));
}

static struct access row_access(const struct cmd_fix_gm *a, enum npu_mem to)
{
    unsigned bits = quant_bits(a->quant);
    struct access rows =
        access_rows(to, FIELD_OF(dst), a->dst, (uint64_t)a->n * bits / 8,
                    a->n && a->nd_num ? a->m : 0, (uint64_t)a->dst_pitch * bits / 8);

    rows.n[1] = a->nd_num ? a->nd_num : 1;
    rows.stride[1] = (uint64_t)a->dst_nd_stride * bits / 8;
    return rows;
}

static unsigned fix_plan(const struct op_ctx *c, enum npu_mem to)
{
    struct plan *plan = c->plan;
    const struct cmd_fix_gm *a = &c->cmd->fix_gm;
    bool nothing = a->m == 0 || a->n == 0 || a->nd_num == 0;
    uint32_t words =
        quant_modes[a->quant].scale == QUANT_BY_CHANNEL && !nothing ? a->n : 0;
    uint32_t slopes = a->relu == FIX_RELU_CHANNEL && !nothing ? a->n : 0;
    unsigned code = check_types(c, a);

    code = code ? code : is_nz(a) ? check_nz(c, a) : check_rows(c, a, to);
    if (code) {
        return code;
    }
    plan->src[0] =
        access_rows(NPU_MEM_L0C, FIELD_OF(src), a->src, nothing ? 0 : 64ull * a->m,
                    nothing ? 0 : (uint32_t)div_up(a->n, 16), 64ull * a->src_c0_stride);
    plan->src[0].n[1] = nothing ? 1 : a->nd_num;
    plan->src[0].stride[1] = 1024ull * a->src_nd_stride;
    plan->src[1] = access_rows(NPU_MEM_FB, FIELD_OF(fb_quant), a->fb_quant, 8, words, 8);
    plan->src[2] = access_rows(NPU_MEM_FB, FIELD_OF(fb_relu), a->fb_relu, 4, slopes, 4);
    plan->n_src = 3;
    plan->dst = is_nz(a) ? nz_access(a, to) : row_access(a, to);
    plan->has_dst = true;
    plan->work = access_bytes(&plan->src[0]);
    if (to == NPU_MEM_GM) {
        uint64_t row = is_nz(a) ? (uint64_t)a->m * 16 * quant_bits(a->quant) / 8
                                : (uint64_t)a->n * quant_bits(a->quant) / 8;
        return atomic_check(c, FIELD_OF(n), row);
    }
    return 0;
}

/* To GM what is written has to pass as well as what is read; it is the written bytes that
 * draw from L2. */
static void fix_gm_written(const struct op_ctx *c)
{
    struct plan *plan = c->plan;
    uint32_t out = op_cost(c, COST_L0C_GM_OUT_RATE);
    uint64_t read = div_up(plan->work, plan->rate);

    if (out && plan->work) {
        plan->at_least = read > plan->at_least ? read : plan->at_least;
        plan->work = access_bytes(&plan->dst);
        plan->rate = out;
        mte_out_unaligned(c);
    }
}

static unsigned fix_gm_plan(const struct op_ctx *c)
{
    struct plan *plan = c->plan;
    unsigned code;

    plan->at_least = op_cost(c, COST_L0C_GM_LEAST);
    plan->rate = op_cost(c, COST_L0C_GM_RATE);
    plan->pools = POOL_WRITE;
    plan->fixed = op_cost(c, COST_L0C_GM_FIXED);
    plan->behind = BEHIND_ANY;
    code = fix_plan(c, NPU_MEM_GM);
    if (code == 0) {
        fix_gm_written(c);
    }
    return code;
}

static unsigned fix_ub_plan(const struct op_ctx *c)
{
    struct plan *plan = c->plan;

    plan->fixed = op_cost(c, COST_L0C_UB_FIXED);
    plan->rate = op_cost(c, COST_L0C_UB_RATE);
    return fix_plan(c, NPU_MEM_UB);
}

static unsigned fix_l1_plan(const struct op_ctx *c)
{
    struct plan *plan = c->plan;

    plan->fixed = op_cost(c, COST_L0C_L1_FIXED);
    plan->rate = op_cost(c, COST_L0C_L1_RATE);
    return fix_plan(c, NPU_MEM_L1);
}

/* --- conversion --- */

/* Where a column of one matrix lies in its source. */
static const uint8_t *column_at(const struct cmd_fix_gm *a, const uint8_t *src,
                                unsigned column)
{
    return src + column / 16 * (64ull * a->src_c0_stride) + column % 16 * 4;
}

/* Apart, for the sake of simd_fp_enter. */
static __attribute__((noinline)) void fix_rows(const struct cmd_fix_gm *a,
                                               const struct quant_job *q,
                                               const uint8_t *src, uint8_t *stage)
{
    unsigned bits = quant_bits(a->quant);
    size_t row = (size_t)a->n * bits / 8;

    for (unsigned column = 0; column < a->n; column += 16) {
        quant_columns(
            q, &(struct quant_block){.dst = stage + (size_t)column * bits / 8,
                                     .dst_pitch = row,
                                     .src = column_at(a, src, column),
                                     .rows = a->m,
                                     .column = column,
                                     .n = a->n - column < 16 ? a->n - column : 16});
    }
}

static __attribute__((noinline)) void fix_nz(const struct cmd_fix_gm *a,
                                             const struct quant_job *q,
                                             const uint8_t *src, uint8_t *stage)
{
    unsigned bits = quant_bits(a->quant), width = block_columns(a);
    unsigned step = width < 16 ? width : 16; /* columns that lie in one block of both */

    for (unsigned column = 0; column < a->n; column += step) {
        bool odd = column >= full_blocks(a) * width;
        size_t row = odd ? odd_row_bytes(a) : block_row_bytes(a);
        uint8_t *block = stage + (size_t)(column / width) * a->m * block_row_bytes(a);

        quant_columns(q, &(struct quant_block){.dst = block + column % width * bits / 8,
                                               .dst_pitch = row,
                                               .src = column_at(a, src, column),
                                               .rows = a->m,
                                               .column = column,
                                               .n = step});
    }
}

/* The modes that a matrix product ends with most often have a faster way. */
static void fix_move(const struct cmd_fix_gm *a, const uint8_t *src, uint8_t *stage)
{
    static const uint8_t modes[] = {
        [QUANT_NONE] = MOVE_COPY,
        [QUANT_F322F16] = MOVE_F32_F16,
        [QUANT_F322BF16] = MOVE_F32_BF16,
    };

    move_nz2nd(&(struct move_nz2nd){.dst = stage,
                                    .src = src,
                                    .rows = a->m,
                                    .cols = a->n,
                                    .dst_pitch = (size_t)a->n * quant_bits(a->quant) / 8,
                                    .src_c0_stride = 64ull * a->src_c0_stride,
                                    .mode = (enum move_mode)modes[a->quant]});
}

/* Converted results of a floating type, all of the stage. */
static void saturate(const struct cmd_fix_gm *a, uint8_t *stage)
{
    unsigned to = quant_modes[a->quant].to, bits = quant_bits(a->quant);
    bool real =
        to == TYPE_NONE ? a->head.type == TYPE_F32 : to == TYPE_F16 || to == TYPE_BF16;
    uint32_t infinity = to == TYPE_F16    ? NUM_F16_INF
                        : to == TYPE_BF16 ? NUM_BF16_INF
                                          : NUM_F32_INF;

    if (real) {
        num_saturate(stage, bits / 8, infinity, (uint64_t)a->nd_num * a->m * a->n);
    }
}

static void fix_run(const struct op_ctx *c)
{
    uint8_t *stage = c->stage;
    const struct cmd_fix_gm *a = &c->cmd->fix_gm;
    const uint64_t *special = c->special;
    struct quant_job q = {
        .quant = a->quant,
        .from = a->head.type,
        .relu = a->relu,
        .clip = a->head.flags & FIX_L0C_GM_CLIP,
        .offset_first = a->head.flags & FIX_L0C_GM_OFFSET_FIRST,
        .word = special[SPECIAL_QUANT],
        .slope = (uint32_t)special[SPECIAL_RELU],
        .limit = (uint32_t)(special[SPECIAL_RELU] >> 32),
        .words = c->src[1],
        .slopes = c->src[2],
    };
    bool move = a->quant <= QUANT_F322BF16 && a->relu == FIX_RELU_NONE && !q.clip;
    size_t matrix = (size_t)a->m * a->n * quant_bits(a->quant) / 8;
    unsigned fp = simd_fp_enter();

    for (unsigned i = 0; i < a->nd_num; i++) {
        const uint8_t *from = c->src[0] + i * 1024ull * a->src_nd_stride;
        if (is_nz(a)) {
            fix_nz(a, &q, from, stage);
        } else if (move) {
            fix_move(a, from, stage + i * matrix);
        } else {
            fix_rows(a, &q, from, stage + i * matrix);
        }
    }
    simd_fp_leave(fp);
    if (special[SPECIAL_SATURATE] && (a->quant != QUANT_NONE || q.relu || q.clip)) {
        saturate(a, stage);
    }
}

/* Of the last column block no more columns than there are; the destination block by block
 * where the last one is narrower. */
static void fix_touch(const struct op_ctx *c, const struct touch *t)
{
    const struct plan *plan = c->plan;
    const struct cmd_fix_gm *a = &c->cmd->fix_gm;
    enum npu_mem mem = (enum npu_mem)plan->dst.mem;
    uint32_t full = full_blocks(a);
    struct access whole = plan->src[0], part = plan->src[0];

    whole.row_bytes = 64u * a->m;
    whole.n[0] = a->n / 16;
    whole.stride[0] = 64ull * a->src_c0_stride;
    part.base += whole.n[0] * whole.stride[0];
    part.row_bytes = a->n % 16 * 4;
    part.n[0] = a->m;
    part.stride[0] = 64;
    touch_access(t, whole, TOUCH_READS);
    touch_access(t, part, TOUCH_READS);
    touch_access(t, plan->src[1], TOUCH_READS);
    touch_access(t, plan->src[2], TOUCH_READS);
    if (is_nz(a) && odd_row_bytes(a) && full) {
        touch_access(t, nz_blocks(a, mem, 0, full, block_row_bytes(a)), op_stores(c));
        touch_access(t, nz_blocks(a, mem, full, 1, odd_row_bytes(a)), op_stores(c));
    } else {
        touch_access(t, plan->dst, op_stores(c));
    }
}

/* An element is undefined if it was, or a word or slope of its column. */
static bool undefined(const struct op_ctx *c, const struct cmd_fix_gm *a, unsigned mat,
                      unsigned row, unsigned column)
{
    const uint8_t *from = c->src[0] + mat * 1024ull * a->src_nd_stride +
                          column / 16 * (64ull * a->src_c0_stride) + row * 64ull +
                          column % 16 * 4;

    return flow_any(from, 4) ||
           (access_bytes(&c->plan->src[1]) && flow_any(c->src[1] + 8ull * column, 8)) ||
           (access_bytes(&c->plan->src[2]) && flow_any(c->src[2] + 4ull * column, 4));
}

/* Where it goes in the stage, in bits. */
static uint64_t stage_bit(const struct cmd_fix_gm *a, unsigned mat, unsigned row,
                          unsigned column)
{
    unsigned bits = quant_bits(a->quant), width = block_columns(a);
    bool odd = column >= full_blocks(a) * width;
    uint64_t block = (uint64_t)(column / width) * a->m * block_row_bytes(a);

    if (!is_nz(a)) {
        return (((uint64_t)mat * a->m + row) * a->n + column) * bits;
    }
    return 8 * (block + (uint64_t)row * (odd ? odd_row_bytes(a) : block_row_bytes(a))) +
           column % width * bits;
}

static void fix_flow(const struct op_ctx *c)
{
    const struct cmd_fix_gm *a = &c->cmd->fix_gm;
    unsigned bits = quant_bits(a->quant);

    flow_set(c->stage, false, (uint64_t)a->nd_num * a->m * a->n * bits / 8);
    for (unsigned mat = 0; mat < a->nd_num; mat++) {
        for (unsigned row = 0; row < a->m; row++) {
            for (unsigned column = 0; column < a->n; column++) {
                if (undefined(c, a, mat, row, column)) {
                    flow_set(c->stage + stage_bit(a, mat, row, column) / 8, true,
                             div_up(bits, 8));
                }
            }
        }
    }
    flow_store(c);
}

static void store_part(const struct op_ctx *c, const struct access *dst, uint8_t *to,
                       const uint8_t *stage)
{
    if (dst->mem == NPU_MEM_GM) {
        atomic_rows(c, dst, to, stage);
    } else {
        op_store_rows(to, stage, dst);
    }
}

static void fix_store(const struct op_ctx *c)
{
    struct plan *plan = c->plan;
    const uint8_t *stage = c->stage;
    uint8_t *to = c->to;
    const struct cmd_fix_gm *a = &c->cmd->fix_gm;
    enum npu_mem mem = (enum npu_mem)plan->dst.mem;
    uint32_t full = full_blocks(a);
    struct access part;

    if (!is_nz(a) || odd_row_bytes(a) == 0 || full == 0) {
        store_part(c, &plan->dst, to, stage);
        return;
    }
    part = nz_blocks(a, mem, 0, full, block_row_bytes(a));
    store_part(c, &part, to, stage);
    part = nz_blocks(a, mem, full, 1, odd_row_bytes(a));
    store_part(c, &part, to + (part.base - a->dst),
               stage + (size_t)full * a->m * block_row_bytes(a));
}

const struct operation op_FIX_L0C_GM = {.plan = fix_gm_plan,
                                        .run = fix_run,
                                        .store = fix_store,
                                        .touch = fix_touch,
                                        .flow = fix_flow};
const struct operation op_FIX_L0C_UB = {.plan = fix_ub_plan,
                                        .run = fix_run,
                                        .store = fix_store,
                                        .touch = fix_touch,
                                        .flow = fix_flow};
const struct operation op_FIX_L0C_L1 = {.plan = fix_l1_plan,
                                        .run = fix_run,
                                        .store = fix_store,
                                        .touch = fix_touch,
                                        .flow = fix_flow};

/* --- L1 to FB --- */

static unsigned l1_fb_plan(const struct op_ctx *c)
{
    struct plan *plan = c->plan;
    const struct cmd_l1_fb *a = &c->cmd->l1_fb;
    uint32_t n = a->len_bytes ? a->n_blocks : 0;

    plan->src[0] = access_rows(NPU_MEM_L1, offsetof(struct cmd_l1_fb, src), a->src,
                               a->len_bytes, n, a->len_bytes + 32ull * a->src_gap);
    plan->n_src = 1;
    plan->dst = access_rows(NPU_MEM_FB, offsetof(struct cmd_l1_fb, dst), a->dst,
                            a->len_bytes, n, a->len_bytes + 64ull * a->dst_gap);
    plan->has_dst = true;
    plan->fixed = op_cost(c, COST_L1_FB_FIXED);
    plan->rate = op_cost(c, COST_L1_FB_RATE);
    plan->work = access_bytes(&plan->src[0]);
    return 0;
}

static void l1_fb_run(const struct op_ctx *c)
{
    const struct access *a = &c->plan->src[0];

    move_rows(c->stage, a->row_bytes, c->src[0], a->stride[0], a->row_bytes, a->n[0]);
}

const struct operation op_COPY_L1_FB = {
    .plan = l1_fb_plan, .run = l1_fb_run, .flow = flow_move};
