/* SPDX-License-Identifier: MIT
 *
 * VTRANSDATA: 16 blocks anywhere in UB, transposed into 16 others. Their addresses are
 * special registers, so the rules on them stand here and not in the tables. Source:
 * hal/contract/vector_move.md, "Transposing blocks".
 */
#include "tools/emu/model/vec_move.h"

static unsigned set_va_plan(const struct op_ctx *c, const union cmd *cmd,
                            struct plan *plan, uint8_t *field)
{
    (void)c;
    (void)cmd;
    (void)field;
    plan->fixed = 1;
    return 0;
}

static void set_va_run(const struct op_ctx *c, const union cmd *cmd,
                       const struct plan *plan, const uint8_t *const src[3],
                       uint8_t *stage)
{
    bool dst = cmd->head.flags & SET_VA_DST;

    (void)plan;
    (void)src;
    (void)stage;
    memcpy(&c->pipe->special[dst ? SPECIAL_VA_DST : SPECIAL_VA_SRC],
           cmd->bytes + offsetof(struct cmd_set_va, block0), 32);
}

const struct operation op_SET_VA = {set_va_plan, set_va_run, NULL};

/* Number of the block `i` of a list in a repeat, in units of 32 bytes. */
static uint32_t va(const struct op_ctx *c, unsigned list, unsigned i, unsigned repeat,
                   unsigned stride)
{
    return (uint32_t)(c->pipe->special[list + i / 4] >> (16 * (i % 4)) & 0xffff) +
           repeat * stride;
}

/* All that a list touches, `bytes` of it. Its blocks keep apart by touched(). */
static struct access list_access(const struct op_ctx *c, unsigned list, size_t field,
                                 unsigned repeats, unsigned stride, uint32_t bytes)
{
    uint32_t first = UINT32_MAX, last = 0;

    for (unsigned i = 0; i < 16; i++) {
        uint32_t block = va(c, list, i, 0, 0);
        first = block < first ? block : first;
        last = block > last ? block : last;
    }
    if (repeats == 0) {
        return vec_row(field, 32 * first, 0);
    }
    last += (repeats - 1) * stride + 1;
    return vec_hull(field, 32ull * first, 32ull * (last - first), bytes);
}

#define BLOCKS_MAX 8192 /* the largest UB has so many */

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
static unsigned check_blocks(const struct op_ctx *c, const struct cmd_vec_transdata *a,
                             uint8_t *field)
{
    uint64_t set[BLOCKS_MAX / 64] = {0};

    for (unsigned i = 0; i < 16u * a->repeat; i++) {
        if (touched(set, va(c, SPECIAL_VA_DST, i % 16, i / 16, a->dst_rep))) {
            *field = offsetof(struct cmd_vec_transdata, dst_rep);
            return NPU_ERR_OVERLAP;
        }
    }
    for (unsigned i = 0; i < 16u * a->repeat && a->repeat > 1; i++) {
        uint32_t block = va(c, SPECIAL_VA_SRC, i % 16, i / 16, a->src_rep);
        if (block < BLOCKS_MAX && set[block / 64] >> (block % 64) & 1) {
            *field = offsetof(struct cmd_vec_transdata, src_rep);
            return NPU_ERR_OVERLAP;
        }
    }
    return 0;
}

static unsigned vtransdata_plan(const struct op_ctx *c, const union cmd *cmd,
                                struct plan *plan, uint8_t *field)
{
    const struct cmd_vec_transdata *a = &cmd->vec_transdata;
    unsigned esize = vec_esize(cmd);
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
    vec_cost(cmd, a->repeat, plan);
    plan->ops = a->repeat * (esize == 1 ? 256ull : 512ull / esize);
    if (esize != 1 && a->head.flags) {
        *field = offsetof(struct cmd_head, flags);
        return NPU_ERR_FLAGS;
    }
    return check_blocks(c, a, field);
}

/* The stage has the blocks (of 8-bit types the halves) in the order of the list. */
static void vtransdata_run(const struct op_ctx *c, const union cmd *cmd,
                           const struct plan *plan, const uint8_t *const src[3],
                           uint8_t *stage)
{
    const struct cmd_vec_transdata *a = &cmd->vec_transdata;
    const uint8_t *ub = src[0] - plan->src[0].base;
    unsigned esize = vec_esize(cmd), columns = esize == 4 ? 8 : 16;
    unsigned high = a->head.flags & VTRANSDATA_SRC_HIGH ? 16 : 0;

    for (unsigned r = 0; r < a->repeat; r++) {
        for (unsigned j = 0; j < columns; j++) {
            for (unsigned i = 0; i < 16; i++, stage += esize) {
                uint32_t block = va(c, SPECIAL_VA_SRC, i, r, a->src_rep);
                memcpy(stage, ub + 32ull * block + high + j * esize, esize);
            }
        }
    }
}

static void vtransdata_store(const struct op_ctx *c, const union cmd *cmd,
                             const struct plan *plan, uint8_t *to, const uint8_t *stage)
{
    const struct cmd_vec_transdata *a = &cmd->vec_transdata;
    unsigned high = a->head.flags & VTRANSDATA_DST_HIGH ? 16 : 0;
    unsigned bytes = vec_esize(cmd) == 1 ? 16 : 32;
    uint8_t *ub = to - plan->dst.base;

    for (unsigned i = 0; i < 16u * a->repeat; i++, stage += bytes) {
        uint32_t block = va(c, SPECIAL_VA_DST, i % 16, i / 16, a->dst_rep);
        memcpy(ub + 32ull * block + high, stage, bytes);
    }
}

const struct operation op_VTRANSDATA = {vtransdata_plan, vtransdata_run,
                                        vtransdata_store};
