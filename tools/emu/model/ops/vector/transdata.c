/* SPDX-License-Identifier: MIT
 *
 * VTRANSPOSE, and VTRANSDATA: 16 blocks anywhere in UB, transposed into 16 others. Their
 * addresses are special registers, so the rules on them stand here and not in the tables.
 * Source: hal/contract/vector_move.md, "Moves", "Transposing blocks".
 */
#include "tools/emu/model/ops/flow.h"
#include "tools/emu/model/ops/vector/vector.h"

/* --- the columns of 16 rows of 32 bytes, side by side --- */

#define COLUMNS(bits, n)                                                                 \
    static void columns##bits(uint8_t *to, const uint8_t *from)                          \
    {                                                                                    \
        enum { SIZE = bits / 8 };                                                        \
        for (unsigned j = 0; j < (n); j++) {                                             \
            for (unsigned i = 0; i < 16; i++, to += SIZE) {                              \
                memcpy(to, from + 32 * i + SIZE * j, SIZE);                              \
            }                                                                            \
        }                                                                                \
    }
COLUMNS(8, 16)
COLUMNS(16, 16)
COLUMNS(32, 8)

/* --- VTRANSPOSE --- */

static unsigned vtranspose_plan(const struct op_ctx *c)
{
    struct plan *plan = c->plan;
    const struct cmd_vec_transpose *a = &c->cmd->vec_transpose;

    plan->src[0] = vec_row(offsetof(struct cmd_vec_transpose, src), a->src, 512);
    plan->n_src = 1;
    plan->dst = vec_row(offsetof(struct cmd_vec_transpose, dst), a->dst, 512);
    plan->has_dst = true;
    vec_cost(c, 1);
    plan->ops = 256;
    if (vec_overlap(&plan->dst, &plan->src[0])) {
        return op_fail(c, plan->src[0].field, NPU_ERR_OVERLAP);
    }
    return 0;
}

static void vtranspose_run(const struct op_ctx *c)
{
    columns16(c->stage, c->src[0]);
}

const struct operation op_VTRANSPOSE = {
    .plan = vtranspose_plan, .run = vtranspose_run, .flow = flow_move};

/* --- SET_VA, VTRANSDATA --- */

static unsigned set_va_plan(const struct op_ctx *c)
{
    c->plan->fixed = 1;
    return 0;
}

static void set_va_run(const struct op_ctx *c)
{
    bool dst = c->cmd->head.flags & SET_VA_DST;

    memcpy(&c->special[dst ? SPECIAL_VA_DST : SPECIAL_VA_SRC],
           c->cmd->bytes + offsetof(struct cmd_set_va, block0), 32);
}

const struct operation op_SET_VA = {.plan = set_va_plan, .run = set_va_run};

/* The numbers of the 16 blocks of a list, in units of 32 bytes. */
struct blocks {
    uint16_t at[16];
};

static struct blocks blocks_of(const struct op_ctx *c, unsigned list)
{
    struct blocks b;

    memcpy(b.at, &c->special[list], sizeof(b.at));
    return b;
}

/* All that a list touches, `bytes` of it. Its blocks keep apart by touched(). */
static struct access list_access(const struct op_ctx *c, unsigned list, size_t field,
                                 unsigned repeats, unsigned stride, uint32_t bytes)
{
    struct blocks b = blocks_of(c, list);
    uint32_t first = UINT32_MAX, last = 0;

    for (unsigned i = 0; i < 16; i++) {
        first = b.at[i] < first ? b.at[i] : first;
        last = b.at[i] > last ? b.at[i] : last;
    }
    if (repeats == 0) {
        return vec_row(field, 32 * first, 0);
    }
    last += (repeats - 1) * stride + 1;
    return vec_hull(field, 32ull * first, 32ull * (last - first), bytes);
}

#define BLOCKS_MAX (COST_MAX_UB_BYTES / 32)

/* Marks a block; true if it was marked. Those beyond UB are BOUNDS anyway. */
static bool touched(uint64_t set[BLOCKS_MAX / 64], uint32_t block)
{
    uint64_t bit = 1ull << (block % 64);
    bool was;

    if (block >= BLOCKS_MAX) {
        return false;
    }
    was = set[block / 64] & bit;
    set[block / 64] |= bit;
    return was;
}

/* A block is written once and, by commands with several repeats, not read too. */
static unsigned check_blocks(const struct op_ctx *c, const struct cmd_vec_transdata *a)
{
    struct plan *plan = c->plan;
    struct blocks dst = blocks_of(c, SPECIAL_VA_DST), src = blocks_of(c, SPECIAL_VA_SRC);
    uint64_t set[BLOCKS_MAX / 64] = {0};

    for (unsigned i = 0; i < 16u * a->repeat; i++) {
        if (touched(set, dst.at[i % 16] + i / 16 * a->dst_rep)) {
            return op_fail(c, offsetof(struct cmd_vec_transdata, dst_rep),
                           NPU_ERR_OVERLAP);
        }
    }
    if (a->repeat <= 1 || access_apart(&plan->dst, &plan->src[0])) {
        return 0;
    }
    for (unsigned i = 0; i < 16u * a->repeat; i++) {
        uint32_t block = src.at[i % 16] + i / 16 * a->src_rep;
        if (block < BLOCKS_MAX && set[block / 64] >> (block % 64) & 1) {
            return op_fail(c, offsetof(struct cmd_vec_transdata, src_rep),
                           NPU_ERR_OVERLAP);
        }
    }
    return 0;
}

static unsigned vtransdata_plan(const struct op_ctx *c)
{
    struct plan *plan = c->plan;
    const struct cmd_vec_transdata *a = &c->cmd->vec_transdata;
    unsigned esize = vec_esize(c);
    struct access *src = &plan->src[0];

    *src = list_access(c, SPECIAL_VA_SRC, offsetof(struct cmd_vec_transdata, src_rep),
                       a->repeat, a->src_rep, 64);
    src->row_bytes = a->repeat ? 32 : 0; /* blocks may be read twice */
    src->n[1] = 8u * a->repeat;
    plan->n_src = 1;
    plan->dst =
        list_access(c, SPECIAL_VA_DST, offsetof(struct cmd_vec_transdata, dst_rep),
                    a->repeat, a->dst_rep, a->repeat * (esize == 1 ? 256u : 512u));
    plan->has_dst = true;
    vec_cost(c, a->repeat);
    plan->ops = a->repeat * (esize == 1 ? 256ull : 512ull / esize);
    if (esize != 1 && a->head.flags) {
        return op_fail(c, offsetof(struct cmd_head, flags), NPU_ERR_FLAGS);
    }
    return check_blocks(c, a);
}

/* The stage has the blocks (of 8-bit types the halves) in the order of the list. */
static void vtransdata_run(const struct op_ctx *c)
{
    uint8_t *stage = c->stage;
    const struct cmd_vec_transdata *a = &c->cmd->vec_transdata;
    const uint8_t *ub = c->src[0] - c->plan->src[0].base;
    unsigned esize = vec_esize(c), high = a->head.flags & VTRANSDATA_SRC_HIGH ? 16 : 0;
    struct blocks from = blocks_of(c, SPECIAL_VA_SRC);
    uint8_t rows[16 * 32];

    for (unsigned r = 0; r < a->repeat; r++, stage += esize == 1 ? 256 : 512) {
        for (unsigned i = 0; i < 16; i++) {
            memcpy(rows + 32 * i, ub + 32ull * (from.at[i] + r * a->src_rep), 32);
        }
        if (esize == 1) {
            columns8(stage, rows + high);
        } else if (esize == 2) {
            columns16(stage, rows);
        } else {
            columns32(stage, rows);
        }
    }
}

static void vtransdata_store(const struct op_ctx *c)
{
    const struct cmd_vec_transdata *a = &c->cmd->vec_transdata;
    struct blocks dst = blocks_of(c, SPECIAL_VA_DST);
    uint8_t *half =
        c->to - c->plan->dst.base + (a->head.flags & VTRANSDATA_DST_HIGH ? 16 : 0);
    bool halves = vec_esize(c) == 1;

    for (unsigned i = 0; i < 16u * a->repeat; i++) {
        uint8_t *block = half + 32ull * (dst.at[i % 16] + i / 16 * a->dst_rep);
        if (halves) {
            memcpy(block, c->stage + 16ull * i, 16);
        } else {
            memcpy(block, c->stage + 32ull * i, 32);
        }
    }
}

/* The blocks of the list that is read, or written; or one half of each. */
static void touch_list(const struct op_ctx *c, const struct touch *t,
                       enum touch_kind kind)
{
    const struct cmd_vec_transdata *a = &c->cmd->vec_transdata;
    bool reads = kind == TOUCH_READS;
    struct blocks b = blocks_of(c, reads ? SPECIAL_VA_SRC : SPECIAL_VA_DST);
    bool high = a->head.flags & (reads ? VTRANSDATA_SRC_HIGH : VTRANSDATA_DST_HIGH);
    size_t field = reads ? offsetof(struct cmd_vec_transdata, src_rep)
                         : offsetof(struct cmd_vec_transdata, dst_rep);
    unsigned bytes = vec_esize(c) == 1 ? 16 : 32;
    uint64_t stride = 32ull * (reads ? a->src_rep : a->dst_rep);

    for (unsigned i = 0; i < 16; i++) {
        touch_access(t,
                     access_rows(NPU_MEM_UB, field, 32ull * b.at[i] + (high ? 16 : 0),
                                 bytes, a->repeat, stride),
                     kind);
    }
}

static void vtransdata_touch(const struct op_ctx *c, const struct touch *t)
{
    touch_list(c, t, TOUCH_READS);
    touch_list(c, t, TOUCH_WRITES);
}

const struct operation op_VTRANSDATA = {.plan = vtransdata_plan,
                                        .run = vtransdata_run,
                                        .store = vtransdata_store,
                                        .touch = vtransdata_touch,
                                        .flow = flow_move};
