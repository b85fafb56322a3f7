/* SPDX-License-Identifier: MIT
 *
 * Sorting on the Vector: 32 values with their indices, region proposals by their score,
 * and merging of sorted lists. Largest first, equal ones in the order they came in, NaN
 * before all. A pair is 8 bytes: the value (F16: and two bytes of 0), then 32 bits of
 * index. Source: hal/contract/vector_sort.md.
 */
#include "tools/emu/model/ops/flow.h"
#include "tools/emu/model/ops/vector/vector.h"

/* In the order of values, NaN above all; the two zeros are equal. */
static int32_t rank(const uint8_t *value, unsigned esize)
{
    uint32_t word = 0;

    vec_put(&word, value, esize);
    word <<= 32 - 8 * esize;
    return vec_order(word == 0x80000000u ? 0 : word,
                     esize == 4 ? NUM_F32_INF : (uint32_t)NUM_F16_INF << 16);
}

enum { SORTED = 32 };

/* place[i]: where element i of n goes, highest rank first, equal ones in their order.
 * Each counts those that come before it, so that no branch depends on the data. */
static inline void places(const int32_t *ranks, uint32_t *place, unsigned n)
{
    static const int32_t ones[2 * SORTED] = {[SORTED] = 1,
                                             1,
                                             1,
                                             1,
                                             1,
                                             1,
                                             1,
                                             1,
                                             1,
                                             1,
                                             1,
                                             1,
                                             1,
                                             1,
                                             1,
                                             1,
                                             1,
                                             1,
                                             1,
                                             1,
                                             1,
                                             1,
                                             1,
                                             1,
                                             1,
                                             1,
                                             1,
                                             1,
                                             1,
                                             1,
                                             1,
                                             1};

    memset(place, 0, n * sizeof(*place));
    for (unsigned i = 0; i < n; i++) {
        const int32_t *behind = ones + SORTED - 1 - i; /* behind[j] = j > i */
        for (unsigned j = 0; j < n; j++) {
            place[j] += ranks[i] > ranks[j] - behind[j];
        }
    }
}

/* --- VSORT32 --- */

static unsigned vsort32_plan(const struct op_ctx *c)
{
    struct plan *plan = c->plan;
    const struct cmd_vec_sort *a = &c->cmd->vec_sort;

    plan->src[0] = vec_row(offsetof(struct cmd_vec_sort, src), a->src,
                           32ull * vec_esize(c) * a->repeat);
    plan->src[1] =
        vec_row(offsetof(struct cmd_vec_sort, index), a->index, 128ull * a->repeat);
    plan->n_src = 2;
    plan->dst = vec_row(offsetof(struct cmd_vec_sort, dst), a->dst, 256ull * a->repeat);
    plan->has_dst = true;
    vec_cost(c, a->repeat);
    plan->ops = 32ull * a->repeat;
    for (unsigned i = 0; i < 2; i++) {
        if (!access_apart(&plan->dst, &plan->src[i])) {
            return op_fail(c, plan->src[i].field, NPU_ERR_OVERLAP);
        }
    }
    return 0;
}

static void vsort32_run(const struct op_ctx *c)
{
    uint8_t *stage = c->stage;
    unsigned esize = vec_esize(c);
    int32_t ranks[SORTED];
    uint32_t place[SORTED];

    for (unsigned r = 0; r < c->cmd->vec_sort.repeat; r++, stage += 8 * SORTED) {
        const uint8_t *value = c->src[0] + r * SORTED * esize;
        for (unsigned i = 0; i < SORTED; i++) {
            ranks[i] = rank(value + i * esize, esize);
        }
        places(ranks, place, SORTED);
        for (unsigned i = 0; i < SORTED; i++) {
            uint32_t pair[2] = {0, vec_word(c->src[1] + 4 * (r * SORTED + i))};
            vec_put(pair, value + i * esize, esize);
            memcpy(stage + 8 * place[i], pair, 8);
        }
    }
}

const struct operation op_VSORT32 = {
    .plan = vsort32_plan, .run = vsort32_run, .flow = flow_all};

/* --- VRPSORT16 --- */

enum { PROPOSALS = 16 };

static unsigned vrpsort16_plan(const struct op_ctx *c)
{
    struct plan *plan = c->plan;
    const struct cmd_vec_rpsort *a = &c->cmd->vec_rpsort;
    uint64_t bytes = (uint64_t)PROPOSALS * PROPOSAL_ELEMENTS * vec_esize(c) * a->repeat;

    plan->src[0] = vec_row(offsetof(struct cmd_vec_rpsort, src), a->src, bytes);
    plan->n_src = 1;
    plan->dst = vec_row(offsetof(struct cmd_vec_rpsort, dst), a->dst, bytes);
    plan->has_dst = true;
    vec_cost(c, a->repeat);
    plan->ops = (uint64_t)PROPOSALS * a->repeat;
    return a->dst != a->src && !access_apart(&plan->dst, &plan->src[0])
               ? op_fail(c, plan->src[0].field, NPU_ERR_OVERLAP)
               : 0;
}

static void vrpsort16_run(const struct op_ctx *c)
{
    uint8_t *stage = c->stage;
    unsigned esize = vec_esize(c), bytes = PROPOSAL_ELEMENTS * esize;
    int32_t ranks[PROPOSALS];
    uint32_t place[PROPOSALS];
    const uint8_t *from = c->src[0];

    for (unsigned r = 0; r < c->cmd->vec_rpsort.repeat; r++) {
        for (unsigned i = 0; i < PROPOSALS; i++) {
            ranks[i] = rank(from + i * bytes + PROPOSAL_SCORE * esize, esize);
        }
        places(ranks, place, PROPOSALS);
        for (unsigned i = 0; i < PROPOSALS; i++, from += bytes) {
            memcpy(stage + place[i] * bytes, from, bytes);
        }
        stage += PROPOSALS * bytes;
    }
}

const struct operation op_VRPSORT16 = {
    .plan = vrpsort16_plan, .run = vrpsort16_run, .flow = flow_all};

/* --- VMRGSORT --- */

struct lists {
    unsigned n_lists, esize;
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

    l.esize = type_bits(a->head.type) / 8;
    l.bytes = 8;
    if (a->head.flags & VMRGSORT_PROPOSALS) {
        l.bytes = PROPOSAL_ELEMENTS * l.esize;
        l.value = PROPOSAL_SCORE * l.esize;
    }
    for (unsigned i = 0; i < l.n_lists; i++) {
        l.total += l.n[i];
    }
    return l;
}

static unsigned merge_check(const struct op_ctx *c, const struct cmd_vec_merge *a,
                            const struct lists *l, const struct plan *plan)
{
    bool regular = l->n_lists == 4 && !(a->head.flags & VMRGSORT_SUSPEND);

    for (unsigned i = 1; i < 4; i++) {
        regular = regular && l->n[i] == l->n[0] &&
                  l->base[i] == l->base[i - 1] + (uint64_t)l->bytes * l->n[0];
    }
    if (a->valid != 3 && a->valid != 7 && a->valid != 15) {
        return op_fail(c, offsetof(struct cmd_vec_merge, valid), NPU_ERR_RANGE);
    }
    for (unsigned i = 0; i < l->n_lists; i++) {
        if (l->base[i] % l->bytes) {
            return op_fail(c, plan->src[i].field, NPU_ERR_ALIGN);
        }
    }
    if (a->repeat > 1 && !regular) {
        return op_fail(c, offsetof(struct cmd_vec_merge, repeat), NPU_ERR_RANGE);
    }
    for (unsigned i = 0; i < l->n_lists; i++) {
        if (!access_apart(&plan->dst, &plan->src[i])) {
            return op_fail(c, plan->src[i].field, NPU_ERR_OVERLAP);
        }
    }
    return 0;
}

static unsigned vmrgsort_plan(const struct op_ctx *c)
{
    struct plan *plan = c->plan;
    const struct cmd_vec_merge *a = &c->cmd->vec_merge;
    struct lists l = merge_lists(a);
    uint64_t bytes = (uint64_t)l.bytes * l.total * a->repeat;

    for (unsigned i = 0; i < l.n_lists; i++) {
        plan->src[i] = vec_row(offsetof(struct cmd_vec_merge, src0) + 4 * i, l.base[i],
                               (uint64_t)l.bytes * l.n[i]);
        plan->src[i].n[1] = a->repeat;
        plan->src[i].stride[1] = (uint64_t)l.bytes * l.total;
    }
    plan->n_src = (uint8_t)l.n_lists;
    plan->dst = vec_row(offsetof(struct cmd_vec_merge, dst), a->dst, bytes);
    plan->has_dst = true;
    vec_cost(c, div_up(bytes, 256));
    plan->ops = (uint64_t)l.total * a->repeat;
    return merge_check(c, a, &l, plan);
}

#define NOTHING INT32_MIN /* left of a list; no value has this rank */

static int32_t next_rank(const struct lists *l, unsigned i, const uint8_t *next,
                         uint32_t taken)
{
    return taken < l->n[i] ? rank(next + l->value, l->esize) : NOTHING;
}

/* Merges the lists that begin at next[]; taken[] says how much of each. */
static void merge(const struct lists *l, const uint8_t *next[4], uint32_t taken[4],
                  bool suspend, uint8_t *stage)
{
    int32_t ranks[4] = {NOTHING, NOTHING, NOTHING, NOTHING};
    bool stop = false;

    for (unsigned i = 0; i < l->n_lists; i++) {
        ranks[i] = next_rank(l, i, next[i], 0);
        stop |= suspend && l->n[i] == 0;
    }
    while (!stop) {
        unsigned low = ranks[1] > ranks[0], high = 2 + (ranks[3] > ranks[2]);
        unsigned best = ranks[high] > ranks[low] ? high : low; /* of equals the first */
        if (ranks[best] == NOTHING) {
            break;
        }
        for (unsigned i = 0; i < l->bytes; i += 8) {
            memcpy(stage + i, next[best] + i, 8);
        }
        stage += l->bytes;
        next[best] += l->bytes;
        taken[best]++;
        ranks[best] = next_rank(l, best, next[best], taken[best]);
        stop = suspend && ranks[best] == NOTHING;
    }
}

static void vmrgsort_run(const struct op_ctx *c)
{
    const struct cmd_vec_merge *a = &c->cmd->vec_merge;
    struct lists l = merge_lists(a);
    size_t step = (size_t)l.bytes * l.total;
    uint32_t taken[4] = {0};

    for (unsigned r = 0; r < a->repeat; r++) {
        const uint8_t *next[4] = {NULL};
        memset(taken, 0, sizeof(taken));
        for (unsigned i = 0; i < l.n_lists; i++) {
            next[i] = c->src[i] + r * step;
        }
        merge(&l, next, taken, a->head.flags & VMRGSORT_SUSPEND, c->stage + r * step);
    }
    c->special[SPECIAL_MERGED] = 0;
    for (unsigned i = 0; i < 4; i++) {
        c->special[SPECIAL_MERGED] |= (uint64_t)taken[i] << (16 * i);
    }
}

/* With SUSPEND only what was taken is written. */
static void vmrgsort_store(const struct op_ctx *c)
{
    struct lists l = merge_lists(&c->cmd->vec_merge);
    uint64_t taken = c->special[SPECIAL_MERGED], bytes = 0;
    uint64_t room = access_bytes(&c->plan->dst);

    for (unsigned i = 0; i < 4; i++) {
        bytes += l.bytes * (taken >> (16 * i) & 0xffff);
    }
    if (!(c->cmd->head.flags & VMRGSORT_SUSPEND) || bytes > room) {
        bytes = room;
    }
    memcpy(c->to, c->stage, bytes);
}

/* What has been taken, and of lists that have not run out the value that came next. */
static void touch_suspended(const struct op_ctx *c, const struct touch *t)
{
    struct lists l = merge_lists(&c->cmd->vec_merge);
    uint64_t bytes = 0;

    for (unsigned i = 0; i < l.n_lists; i++) {
        uint32_t taken = c->special[SPECIAL_MERGED] >> (16 * i) & 0xffff;
        uint64_t of_list = (uint64_t)taken * l.bytes;
        uint8_t field = c->plan->src[i].field;

        bytes += of_list;
        vec_touch_row(t, TOUCH_READS, field, l.base[i], of_list);
        if (taken < l.n[i]) {
            vec_touch_row(t, TOUCH_READS, field, l.base[i] + of_list + l.value, l.esize);
        }
    }
    vec_touch_row(t, TOUCH_WRITES, c->plan->dst.field, c->plan->dst.base, bytes);
}

static void vmrgsort_touch(const struct op_ctx *c, const struct touch *t)
{
    if (c->cmd->head.flags & VMRGSORT_SUSPEND) {
        touch_suspended(c, t);
    } else {
        op_touch(c, t);
    }
}

const struct operation op_VMRGSORT = {.decides = true, .plan = vmrgsort_plan,
                                      .run = vmrgsort_run,
                                      .store = vmrgsort_store,
                                      .touch = vmrgsort_touch,
                                      .flow = flow_all};
