/* SPDX-License-Identifier: MIT
 *
 * Compaction: VREDUCEV2, whose results are as many as the data have it, and GET_COUNT,
 * which tells how many. Source: hal/contract/vector_gather.md, "Compaction".
 */
#include "tools/emu/model/ops/flow.h"
#include "tools/emu/model/ops/vector/vector.h"

/* --- VREDUCEV2 --- */

/* Elements of a repeat. */
static uint64_t squeeze_length(const struct op_ctx *c)
{
    return c->special[SPECIAL_MASK_COUNTER] ? c->special[SPECIAL_MASK_LO]
                                            : 256 / vec_esize(c);
}

/* The most that n elements can leave. */
static uint64_t most_kept(unsigned pattern, uint64_t n)
{
    uint64_t step = pattern == 0 || pattern == 7 ? 1 : pattern < 3 ? 2 : 4;
    uint64_t first = step == 1 ? 0 : step == 2 ? pattern - 1 : pattern - 3;

    return n > first ? div_up(n - first, step) : 0;
}

static unsigned squeeze_check(const struct op_ctx *c)
{
    struct plan *plan = c->plan;
    const struct cmd_vec_squeeze *a = &c->cmd->vec_squeeze;
    uint64_t bytes = squeeze_length(c) * vec_esize(c);
    bool in_place = a->dst == a->src && (a->src_blk == 1 || bytes <= 32) &&
                    (a->repeat == 1 || 32ull * a->src_rep >= bytes);

    if (a->pattern && a->bits) {
        return op_fail(c, offsetof(struct cmd_vec_squeeze, bits), NPU_ERR_RANGE);
    }
    if (a->repeat && bytes > vec_ub_bytes(c)) {
        return op_fail(c, offsetof(struct cmd_vec_squeeze, src), NPU_ERR_BOUNDS);
    }
    if (!access_apart(&plan->dst, &plan->src[0]) && !in_place) {
        return op_fail(c, plan->src[0].field, NPU_ERR_OVERLAP);
    }
    if (plan->n_src == 2 && !access_apart(&plan->dst, &plan->src[1])) {
        return op_fail(c, plan->src[1].field, NPU_ERR_OVERLAP);
    }
    return 0;
}

static unsigned vreducev2_plan(const struct op_ctx *c)
{
    struct plan *plan = c->plan;
    const struct cmd_vec_squeeze *a = &c->cmd->vec_squeeze;
    unsigned esize = vec_esize(c);
    uint64_t n = squeeze_length(c), bytes = n * esize, ub = vec_ub_bytes(c);
    uint64_t most = most_kept(a->pattern, n) * esize * a->repeat;
    struct access *src = plan->src;

    src[0] = vec_row(offsetof(struct cmd_vec_squeeze, src), a->src, bytes);
    src[1] = vec_row(offsetof(struct cmd_vec_squeeze, bits), a->bits, div_up(n, 8));
    if (a->src_blk != 1 && n) {
        src[0].row_bytes = 32;
        src[0].n[0] = (uint32_t)div_up(bytes, 32);
        src[0].stride[0] = 32ull * a->src_blk;
    }
    src[0].n[1] = src[1].n[1] = a->repeat;
    src[0].stride[1] = 32ull * a->src_rep;
    src[1].stride[1] = 32ull * a->bits_rep;
    plan->n_src = a->pattern ? 1 : 2;
    if (a->pattern == 0 && a->dst < ub && most > ub - a->dst) {
        most = ub - a->dst; /* run() sees whether that is enough */
    }
    plan->dst = vec_row(offsetof(struct cmd_vec_squeeze, dst), a->dst, most);
    plan->has_dst = true;
    vec_cost(c, div_up(bytes, 256) * a->repeat);
    plan->ops = n * a->repeat;
    return squeeze_check(c);
}

/* Which of the elements of a block are kept; it begins with element i of n of a repeat, a
 * multiple of 8. */
static unsigned kept_of_block(unsigned pattern, const uint8_t *bits, uint64_t i,
                              uint64_t n)
{
    static const uint16_t patterns[8] = {0,      0x5555, 0xaaaa, 0x1111,
                                         0x2222, 0x4444, 0x8888, 0xffff};
    unsigned keep = patterns[pattern];

    if (bits) {
        keep = bits[i / 8] | (n - i > 8 ? (unsigned)bits[i / 8 + 1] << 8 : 0);
    }
    return n - i < 16 ? keep & ((1u << (n - i)) - 1) : keep;
}

/* Copies them side by side and says how many there are. Without a branch: `to` has room
 * for the whole block, of which all is read. */
static inline unsigned squeeze_block(uint8_t *to, const uint8_t *block, unsigned keep,
                                     unsigned esize)
{
    unsigned n = 0;

    for (unsigned i = 0; i < 32 / esize; i++) {
        vec_put(to + n * esize, block + i * esize, esize);
        n += keep >> i & 1;
    }
    return n;
}

static void vreducev2_run(const struct op_ctx *c)
{
    struct plan *plan = c->plan;
    const struct cmd_vec_squeeze *a = &c->cmd->vec_squeeze;
    unsigned esize = vec_esize(c), per_block = 32 / esize;
    uint64_t n = squeeze_length(c), room = access_bytes(&plan->dst), at = 0;
    uint8_t last[32];

    for (unsigned r = 0; r < a->repeat; r++) {
        const uint8_t *bits = a->pattern ? NULL : c->src[1] + r * 32ull * a->bits_rep;
        const uint8_t *block = c->src[0] + r * 32ull * a->src_rep;
        for (uint64_t i = 0; i < n; i += per_block, block += 32ull * a->src_blk) {
            unsigned keep = kept_of_block(a->pattern, bits, i, n), bytes;
            uint8_t *to = room - at < 32 ? last : c->stage + at;
            bytes = esize * (esize == 4 ? squeeze_block(to, block, keep, 4)
                                        : squeeze_block(to, block, keep, 2));
            if (bytes > room - at) {
                *c->fault = (struct npu_fault){.code = NPU_ERR_BOUNDS,
                                               .field = plan->dst.field,
                                               .addr = a->dst,
                                               .value = a->dst + room + esize};
                return;
            }
            if (to == last) {
                memcpy(c->stage + at, last, bytes);
            }
            at += bytes;
        }
    }
    c->special[SPECIAL_KEPT] = at / esize;
}

static void vreducev2_store(const struct op_ctx *c)
{
    uint64_t bytes = c->special[SPECIAL_KEPT] * vec_esize(c);
    uint64_t room = access_bytes(&c->plan->dst);

    memcpy(c->to, c->stage, bytes < room ? bytes : room);
}

/* The elements of each repeat, of its last block no more than there are; and the results,
 * as many as were kept. */
static void vreducev2_touch(const struct op_ctx *c, const struct touch *t)
{
    const struct cmd_vec_squeeze *a = &c->cmd->vec_squeeze;
    const struct plan *plan = c->plan;
    unsigned esize = vec_esize(c);
    uint64_t bytes = squeeze_length(c) * esize;
    struct access src = plan->src[0], last = src;

    if (src.row_bytes == 32 && a->src_blk != 1 && bytes % 32) {
        src.n[0]--;
        last.base += src.n[0] * src.stride[0];
        last.n[0] = 1;
        last.row_bytes = (uint32_t)(bytes % 32);
        touch_access(t, last, TOUCH_READS);
    }
    touch_access(t, src, TOUCH_READS);
    if (plan->n_src == 2) {
        touch_access(t, plan->src[1], TOUCH_READS);
    }
    vec_touch_row(t, TOUCH_WRITES, plan->dst.field, a->dst,
                  c->special[SPECIAL_KEPT] * esize);
}

const struct operation op_VREDUCEV2 = {.decides = true, .plan = vreducev2_plan,
                                       .run = vreducev2_run,
                                       .store = vreducev2_store,
                                       .touch = vreducev2_touch,
                                       .flow = flow_move,
                                       .offsets = 2};

/* --- GET_COUNT --- */

static unsigned get_count_plan(const struct op_ctx *c)
{
    struct plan *plan = c->plan;

    plan->dst = vec_row(offsetof(struct cmd_get_count, dst), c->cmd->get_count.dst, 32);
    plan->has_dst = true;
    plan->fixed = 1;
    return 0;
}

static void get_count_run(const struct op_ctx *c)
{
    uint32_t words[8] = {(uint32_t)c->special[SPECIAL_KEPT]};

    for (unsigned i = 0; i < 4; i++) {
        words[1 + i] = c->special[SPECIAL_MERGED] >> (16 * i) & 0xffff;
    }
    memcpy(c->stage, words, 32);
}

const struct operation op_GET_COUNT = {
    .plan = get_count_plan, .run = get_count_run, .flow = flow_defined};
