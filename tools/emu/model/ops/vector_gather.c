/* SPDX-License-Identifier: MIT
 *
 * Commands of the Vector whose addresses or lengths come from data: gather, scatter and
 * compaction. What the data leads astray is found in run(), before anything is written.
 * Source: hal/contract/vector_gather.md, "Gather and scatter", "Compaction".
 */
#include "tools/emu/model/ops/vector.h"

/* Stops the command: the offset in `field` leads to addr. */
static void stop(const struct op_ctx *c, unsigned code, size_t field, uint64_t addr,
                 uint64_t value)
{
    *c->fault = (struct npu_fault){
        .code = (uint16_t)code, .field = (uint8_t)field, .addr = addr, .value = value};
}

/* Whether `size` bytes at addr are one thing in UB, which has ub_bytes. */
static inline bool in_ub(uint64_t addr, unsigned size, uint64_t ub_bytes)
{
    return (addr & (size - 1)) == 0 && addr + size <= ub_bytes;
}

/* The lanes of repeat r; true if element i of it takes part. */
struct lanes {
    bool all;
    uint64_t bits[2];
};

static struct lanes lanes_of(const struct op_ctx *c, unsigned esize, uint64_t r)
{
    struct lanes l;

    vec_lanes(c, esize, r, l.bits);
    l.all = !~l.bits[0] && (esize == 4 || !~l.bits[1]);
    return l;
}

static inline bool takes_part(const struct lanes *l, unsigned i)
{
    return l->all || l->bits[i / 64] >> (i % 64) & 1;
}

/* Elements that the offsets of a command with masks are for. */
static uint64_t n_offsets(const struct op_ctx *c, unsigned esize, uint64_t repeats)
{
    return vec_ops(c, esize, repeats);
}

/* --- VGATHER --- */

static unsigned vgather_plan(const struct op_ctx *c)
{
    struct plan *plan = c->plan;
    const struct cmd_vec_gather *a = &c->cmd->vec_gather;
    unsigned esize = vec_esize(c);
    uint64_t repeats = vec_repeats(c, esize, a->repeat);
    uint64_t n = n_offsets(c, esize, repeats);
    bool in_place =
        a->dst == a->offsets && esize == 4 && (repeats <= 1 || a->dst_rep == 8);

    plan->src[0] = access_rows(NPU_MEM_UB, offsetof(struct cmd_vec_gather, src), a->src,
                               esize, (uint32_t)n, 0);
    plan->src[1] = vec_row(offsetof(struct cmd_vec_gather, offsets), a->offsets, 4 * n);
    plan->n_src = 2;
    plan->dst = vec_access(c, offsetof(struct cmd_vec_gather, dst), esize, repeats,
                           a->dst, 1, a->dst_rep);
    plan->has_dst = true;
    vec_cost(c, repeats);
    plan->ops = n;
    if (!access_apart(&plan->dst, &plan->src[1]) && !in_place) {
        return op_fail(c, plan->src[1].field, NPU_ERR_OVERLAP);
    }
    return 0;
}

static void vgather_run(const struct op_ctx *c)
{
    struct plan *plan = c->plan;
    uint8_t *stage = c->stage;
    const struct cmd_vec_gather *a = &c->cmd->vec_gather;
    unsigned esize = vec_esize(c), n = 256 / esize;
    uint64_t repeats = vec_repeats(c, esize, a->repeat), ub_bytes = vec_ub_bytes(c);
    const uint8_t *ub = c->src[0] - plan->src[0].base, *offset = c->src[1];

    for (uint64_t r = 0; r < repeats; r++) {
        struct lanes lanes = lanes_of(c, esize, r);
        for (unsigned i = 0; i < n; i++, offset += 4, stage += esize) {
            uint64_t addr;
            if (!takes_part(&lanes, i)) {
                continue;
            }
            addr = (uint64_t)a->src + vec_word(offset);
            if (!in_ub(addr, esize, ub_bytes)) {
                stop(c, NPU_ERR_OFFSET, plan->src[1].field, addr, vec_word(offset));
                return;
            }
            vec_put(stage, ub + addr, esize);
        }
    }
}

static void vgather_store(const struct op_ctx *c)
{
    const struct cmd_vec_gather *a = &c->cmd->vec_gather;

    vec_store(c, vec_esize(c), a->repeat, 1, a->dst_rep, c->to, c->stage);
}

const struct operation op_VGATHER = {vgather_plan, vgather_run, vgather_store};

/* --- VGATHERB --- */

static unsigned vgatherb_plan(const struct op_ctx *c)
{
    struct plan *plan = c->plan;
    const struct cmd_vec_gatherb *a = &c->cmd->vec_gatherb;

    plan->src[0] = access_rows(NPU_MEM_UB, offsetof(struct cmd_vec_gatherb, src), a->src,
                               32, 8u * a->repeat, 0);
    plan->src[1] =
        vec_row(offsetof(struct cmd_vec_gatherb, offsets), a->offsets, 32ull * a->repeat);
    plan->n_src = 2;
    plan->dst = access_rows(NPU_MEM_UB, offsetof(struct cmd_vec_gatherb, dst), a->dst, 32,
                            8, 32ull * a->dst_blk);
    plan->dst.n[1] = a->repeat;
    plan->dst.stride[1] = 32ull * a->dst_rep;
    plan->has_dst = true;
    vec_cost(c, a->repeat);
    plan->ops = 256ull / vec_esize(c) * a->repeat;
    if (!access_apart(&plan->dst, &plan->src[1])) {
        return op_fail(c, plan->src[1].field, NPU_ERR_OVERLAP);
    }
    return 0;
}

static void vgatherb_run(const struct op_ctx *c)
{
    struct plan *plan = c->plan;
    uint8_t *stage = c->stage;
    const struct cmd_vec_gatherb *a = &c->cmd->vec_gatherb;
    const uint8_t *ub = c->src[0] - plan->src[0].base;
    uint64_t ub_bytes = vec_ub_bytes(c);

    for (unsigned i = 0; i < 8u * a->repeat; i++, stage += 32) {
        uint32_t offset = vec_word(c->src[1] + 4 * i);
        uint64_t addr = (uint64_t)a->src + offset;
        if (!in_ub(addr, 32, ub_bytes)) {
            stop(c, NPU_ERR_OFFSET, plan->src[1].field, addr, offset);
            return;
        }
        memcpy(stage, ub + addr, 32);
    }
}

const struct operation op_VGATHERB = {vgatherb_plan, vgatherb_run, NULL};

/* --- VSCATTER --- */

static unsigned vscatter_plan(const struct op_ctx *c)
{
    struct plan *plan = c->plan;
    const struct cmd_vec_scatter *a = &c->cmd->vec_scatter;
    unsigned esize = vec_esize(c);
    uint64_t repeats = vec_repeats(c, esize, a->repeat), ub = vec_ub_bytes(c);
    uint64_t n = n_offsets(c, esize, repeats), bytes = n * esize;
    uint64_t room = a->dst < ub ? ub - a->dst : 32;

    plan->src[0] = vec_access(c, offsetof(struct cmd_vec_scatter, src), esize, repeats,
                              a->src, 1, a->src_rep);
    plan->src[1] = vec_row(offsetof(struct cmd_vec_scatter, offsets), a->offsets, 4 * n);
    plan->n_src = 2;
    plan->dst = vec_hull(offsetof(struct cmd_vec_scatter, dst), a->dst, room,
                         bytes < room ? bytes : room);
    plan->has_dst = true;
    plan->stage_bytes = n * (4 + esize);
    vec_cost(c, repeats);
    plan->ops = n;
    if (4 * n <= ub && plan->stage_bytes > ub) { /* more offsets are out of bounds */
        return op_fail(c, plan->src[1].field, NPU_ERR_CAPACITY);
    }
    return 0;
}

/* The stage has an address and an element for every lane. */
static void vscatter_run(const struct op_ctx *c)
{
    uint8_t *stage = c->stage;
    const struct cmd_vec_scatter *a = &c->cmd->vec_scatter;
    unsigned esize = vec_esize(c), n = 256 / esize;
    uint64_t left = n_offsets(c, esize, vec_repeats(c, esize, a->repeat));
    uint64_t ub_bytes = vec_ub_bytes(c);
    const uint8_t *offset = c->src[1];

    for (uint64_t r = 0; left; r++) {
        struct lanes lanes = lanes_of(c, esize, r);
        const uint8_t *from = c->src[0] + r * 32 * a->src_rep;
        for (unsigned i = 0; i < n && left;
             i++, left--, offset += 4, stage += 4 + esize) {
            uint32_t to = vec_word(offset);
            uint64_t addr = (uint64_t)a->dst + to;
            if (!takes_part(&lanes, i)) {
                continue;
            }
            if (!in_ub(addr, esize, ub_bytes)) {
                stop(c, NPU_ERR_OFFSET, c->plan->src[1].field, addr, to);
                return;
            }
            memcpy(stage, &to, 4);
            vec_put(stage + 4, from + i * esize, esize);
        }
    }
}

static void vscatter_store(const struct op_ctx *c)
{
    const uint8_t *stage = c->stage;
    const struct cmd_vec_scatter *a = &c->cmd->vec_scatter;
    unsigned esize = vec_esize(c), n = 256 / esize;
    uint64_t left = n_offsets(c, esize, vec_repeats(c, esize, a->repeat));
    uint64_t room = access_extent(&c->plan->dst);

    for (uint64_t r = 0; left; r++) {
        struct lanes lanes = lanes_of(c, esize, r);
        for (unsigned i = 0; i < n && left; i++, left--, stage += 4 + esize) {
            /* The second condition holds unless a snapshot's stage was tampered with. */
            if (takes_part(&lanes, i) && (uint64_t)vec_word(stage) + esize <= room) {
                vec_put(c->to + vec_word(stage), stage + 4, esize);
            }
        }
    }
}

const struct operation op_VSCATTER = {vscatter_plan, vscatter_run, vscatter_store};

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
                stop(c, NPU_ERR_BOUNDS, plan->dst.field, a->dst, a->dst + room + esize);
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

const struct operation op_VREDUCEV2 = {vreducev2_plan, vreducev2_run, vreducev2_store};

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

const struct operation op_GET_COUNT = {get_count_plan, get_count_run, NULL};
