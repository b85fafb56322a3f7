/* SPDX-License-Identifier: MIT
 *
 * Commands of the Vector that sort, largest first; F32 or F16. Each function only builds a
 * command; addresses are byte offsets in UB, multiples of 32 where not said otherwise, and
 * n is up to 255. They know no mask. Formula and numbers: hal/contract/vector_sort.md.
 */
#ifndef HAL_VECTOR_SORT_H
#define HAL_VECTOR_SORT_H

#include "hal/vector.h"

/* n times 32 values and their 32-bit indices to sorted pairs of 8 bytes. */
static inline void vector_sort32(union cmd *cmd, enum type type, uint32_t dst,
                                 uint32_t src, uint32_t index, uint32_t n)
{
    cmd_init(cmd, OP_VSORT32, type);
    cmd->vec_sort.dst = dst;
    cmd->vec_sort.src = src;
    cmd->vec_sort.index = index;
    CMD_SET(cmd->vec_sort.repeat, n);
}

/* Merges 2 to 4 sorted lists of pairs. */
struct vec_merge {
    enum type type;
    uint32_t dst;
    unsigned lists;
    uint32_t src[4]; /* of each list, a multiple of 8 */
    uint32_t n[4];   /* pairs of each list, up to 4095 */
    uint8_t flags;   /* VMRGSORT_SUSPEND, VMRGSORT_PROPOSALS: those instead of pairs */
};

static inline void vector_merge(union cmd *cmd, const struct vec_merge *v)
{
    assert(v->lists >= 2);
    assert(v->lists <= 4);
    cmd_init(cmd, OP_VMRGSORT, v->type);
    cmd->head.flags = v->flags;
    cmd->vec_merge.dst = v->dst;
    cmd->vec_merge.src0 = v->src[0];
    cmd->vec_merge.src1 = v->src[1];
    cmd->vec_merge.src2 = v->src[2];
    cmd->vec_merge.src3 = v->src[3];
    CMD_SET(cmd->vec_merge.n0, v->n[0]);
    CMD_SET(cmd->vec_merge.n1, v->n[1]);
    CMD_SET(cmd->vec_merge.n2, v->n[2]);
    CMD_SET(cmd->vec_merge.n3, v->n[3]);
    cmd->vec_merge.valid = (uint8_t)((1u << v->lists) - 1);
    cmd->vec_merge.repeat = 1;
}

/* 4 lists of n pairs each, side by side at src. */
static inline void vector_merge4(union cmd *cmd, enum type type, uint32_t dst,
                                 uint32_t src, uint32_t n)
{
    vector_merge(cmd, &(struct vec_merge){
                          .type = type,
                          .dst = dst,
                          .lists = 4,
                          .src = {src, src + 8 * n, src + 16 * n, src + 24 * n},
                          .n = {n, n, n, n},
                      });
}

/* n times 16 region proposals of PROPOSAL_ELEMENTS, each 16 sorted by score; dst may be
 * src. */
static inline void vector_sort_proposals(union cmd *cmd, enum type type, uint32_t dst,
                                         uint32_t src, uint32_t n)
{
    cmd_init(cmd, OP_VRPSORT16, type);
    cmd->vec_rpsort.dst = dst;
    cmd->vec_rpsort.src = src;
    CMD_SET(cmd->vec_rpsort.repeat, n);
}

/* VRPCONCAT: 16 n elements at src to a field of the proposals at dst; VRPEXTRACT: the
 * field of those at src to elements at dst. */
struct vec_proposals {
    enum op op;
    enum type type;
    uint32_t dst, src;
    uint32_t n;
    uint8_t field; /* PROPOSAL_ */
};

static inline void vector_proposals(union cmd *cmd, const struct vec_proposals *v)
{
    cmd_init(cmd, v->op, v->type);
    cmd->vec_rp.dst = v->dst;
    cmd->vec_rp.src = v->src;
    CMD_SET(cmd->vec_rp.repeat, v->n);
    cmd->vec_rp.field = v->field;
}

#endif
