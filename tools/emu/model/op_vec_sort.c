/* SPDX-License-Identifier: MIT
 *
 * Sorting on the Vector: 32 values with their indices, and merging of sorted lists.
 * Largest first, equal ones in the order they came in, NaN before all. A pair is 8 bytes:
 * the value (F16: and two bytes of 0), then 32 bits of index. Source:
 * hal/contract/vector_move.md, "Sorting"; lists of region proposals: vector_more.md.
 */
#include "tools/emu/model/vec_move.h"

/* Rank of a value: NaN are equal, and so are the two zeros. */
static uint32_t rank(const uint8_t *value, unsigned esize)
{
    uint32_t f32 = vec_f32(value, esize);

    return vec_key(f32 == 0x80000000u ? 0 : f32);
}

/* --- VSORT32 --- */

static unsigned vsort32_plan(const struct op_ctx *c, const union cmd *cmd,
                             struct plan *plan, uint8_t *field)
{
    const struct cmd_vec_sort *a = &cmd->vec_sort;

    (void)c;
    plan->src[0] = vec_row(offsetof(struct cmd_vec_sort, src), a->src,
                           32ull * vec_esize(cmd) * a->repeat);
    plan->src[1] =
        vec_row(offsetof(struct cmd_vec_sort, index), a->index, 128ull * a->repeat);
    plan->n_src = 2;
    plan->dst = vec_row(offsetof(struct cmd_vec_sort, dst), a->dst, 256ull * a->repeat);
    plan->has_dst = true;
    vec_cost(cmd, a->repeat, plan);
    plan->ops = 32ull * a->repeat;
    for (unsigned i = 0; i < 2; i++) {
        if (!vec_apart(&plan->dst, &plan->src[i])) {
            *field = plan->src[i].field;
            return NPU_ERR_OVERLAP;
        }
    }
    return 0;
}

static void vsort32_run(const struct op_ctx *c, const union cmd *cmd,
                        const struct plan *plan, const uint8_t *const src[4],
                        uint8_t *stage)
{
    unsigned esize = vec_esize(cmd), order[32];
    uint32_t ranks[32];

    (void)c;
    (void)plan;
    for (unsigned r = 0; r < cmd->vec_sort.repeat; r++) {
        const uint8_t *value = src[0] + r * 32 * esize, *index = src[1] + r * 128;
        for (unsigned i = 0; i < 32; i++) {
            unsigned at = i;
            ranks[i] = rank(value + i * esize, esize);
            for (; at > 0 && ranks[order[at - 1]] < ranks[i]; at--) {
                order[at] = order[at - 1];
            }
            order[at] = i;
        }
        for (unsigned i = 0; i < 32; i++, stage += 8) {
            memset(stage, 0, 4);
            memcpy(stage, value + order[i] * esize, esize);
            memcpy(stage + 4, index + order[i] * 4, 4);
        }
    }
}

const struct operation op_VSORT32 = {vsort32_plan, vsort32_run, NULL};

/* --- VMRGSORT --- */

struct lists {
    unsigned n_lists;
    unsigned bytes, value; /* of a pair or proposal; where its value is */
    uint32_t base[4], n[4];
    uint32_t total; /* pairs of a repeat */
};

static struct lists merge_lists(const struct cmd_vec_merge *a)
{
    struct lists l = {.n_lists = a->valid == 15  ? 4
                                 : a->valid == 7 ? 3
                                                 : 2,
                      .base = {a->src0, a->src1, a->src2, a->src3},
                      .n = {a->n0, a->n1, a->n2, a->n3}};

    l.bytes = 8;
    if (a->head.flags & VMRGSORT_PROPOSALS) {
        l.bytes = PROPOSAL_ELEMENTS * type_bits(a->head.type) / 8;
        l.value = PROPOSAL_SCORE * type_bits(a->head.type) / 8;
    }
    for (unsigned i = 0; i < l.n_lists; i++) {
        l.total += l.n[i];
    }
    return l;
}

static unsigned merge_check(const struct cmd_vec_merge *a, const struct lists *l,
                            const struct plan *plan, uint8_t *field)
{
    bool regular = l->n_lists == 4 && !(a->head.flags & VMRGSORT_SUSPEND);

    for (unsigned i = 1; i < 4; i++) {
        regular = regular && l->n[i] == l->n[0] &&
                  l->base[i] == l->base[i - 1] + (uint64_t)l->bytes * l->n[0];
    }
    if (a->valid != 3 && a->valid != 7 && a->valid != 15) {
        *field = offsetof(struct cmd_vec_merge, valid);
        return NPU_ERR_RANGE;
    }
    for (unsigned i = 0; i < l->n_lists; i++) {
        if (l->base[i] % l->bytes) {
            *field = plan->src[i].field;
            return NPU_ERR_ALIGN;
        }
    }
    if (a->repeat > 1 && !regular) {
        *field = offsetof(struct cmd_vec_merge, repeat);
        return NPU_ERR_RANGE;
    }
    for (unsigned i = 0; i < l->n_lists; i++) {
        if (!vec_apart(&plan->dst, &plan->src[i])) {
            *field = plan->src[i].field;
            return NPU_ERR_OVERLAP;
        }
    }
    return 0;
}

static unsigned vmrgsort_plan(const struct op_ctx *c, const union cmd *cmd,
                              struct plan *plan, uint8_t *field)
{
    const struct cmd_vec_merge *a = &cmd->vec_merge;
    struct lists l = merge_lists(a);
    uint64_t bytes = (uint64_t)l.bytes * l.total * a->repeat;

    (void)c;
    for (unsigned i = 0; i < l.n_lists; i++) {
        plan->src[i] = vec_row(offsetof(struct cmd_vec_merge, src0) + 4 * i, l.base[i],
                               (uint64_t)l.bytes * l.n[i]);
        plan->src[i].n[1] = a->repeat;
        plan->src[i].stride[1] = (uint64_t)l.bytes * l.total;
    }
    plan->n_src = (uint8_t)l.n_lists;
    plan->dst = vec_row(offsetof(struct cmd_vec_merge, dst), a->dst, bytes);
    plan->has_dst = true;
    vec_cost(cmd, div_up(bytes, 256), plan);
    plan->ops = (uint64_t)l.total * a->repeat;
    return merge_check(a, &l, plan, field);
}

/* The list whose next pair is the largest, the first of equal ones; or none. */
static unsigned next_list(const struct lists *l, const uint8_t *const next[4],
                          const uint32_t taken[4], unsigned esize)
{
    unsigned best = l->n_lists;
    uint32_t highest = 0;

    for (unsigned i = 0; i < l->n_lists; i++) {
        uint32_t key = taken[i] < l->n[i] ? rank(next[i] + l->value, esize) : 0;
        if (key > highest) { /* no value has the rank 0 */
            highest = key;
            best = i;
        }
    }
    return best;
}

static bool exhausted(const struct lists *l, const uint32_t taken[4])
{
    bool any = false;

    for (unsigned i = 0; i < l->n_lists; i++) {
        any |= taken[i] == l->n[i];
    }
    return any;
}

static void vmrgsort_run(const struct op_ctx *c, const union cmd *cmd,
                         const struct plan *plan, const uint8_t *const src[4],
                         uint8_t *stage)
{
    const struct cmd_vec_merge *a = &cmd->vec_merge;
    struct lists l = merge_lists(a);
    unsigned esize = vec_esize(cmd);
    uint32_t taken[4] = {0};

    (void)plan;
    for (unsigned r = 0; r < a->repeat; r++) {
        const uint8_t *next[4] = {NULL};
        memset(taken, 0, sizeof(taken));
        for (unsigned i = 0; i < l.n_lists; i++) {
            next[i] = src[i] + r * (size_t)l.bytes * l.total;
        }
        while (!(a->head.flags & VMRGSORT_SUSPEND) || !exhausted(&l, taken)) {
            unsigned i = next_list(&l, next, taken, esize);
            if (i == l.n_lists) {
                break;
            }
            memcpy(stage, next[i], l.bytes);
            stage += l.bytes;
            next[i] += l.bytes;
            taken[i]++;
        }
    }
    c->pipe->special[SPECIAL_MERGED] = 0;
    for (unsigned i = 0; i < 4; i++) {
        c->pipe->special[SPECIAL_MERGED] |= (uint64_t)taken[i] << (16 * i);
    }
}

/* With SUSPEND only what was taken is written. */
static void vmrgsort_store(const struct op_ctx *c, const union cmd *cmd,
                           const struct plan *plan, uint8_t *to, const uint8_t *stage)
{
    struct lists l = merge_lists(&cmd->vec_merge);
    uint64_t taken = c->pipe->special[SPECIAL_MERGED], bytes = 0;
    uint64_t room = access_bytes(&plan->dst);

    for (unsigned i = 0; i < 4; i++) {
        bytes += l.bytes * (taken >> (16 * i) & 0xffff);
    }
    if (!(cmd->head.flags & VMRGSORT_SUSPEND) || bytes > room) {
        bytes = room;
    }
    memcpy(to, stage, bytes);
}

const struct operation op_VMRGSORT = {vmrgsort_plan, vmrgsort_run, vmrgsort_store};
