/* SPDX-License-Identifier: MIT
 *
 * Commands of the Vector whose addresses come from data: gather and scatter. What the data
 * leads astray is found in run(), before anything is written. Source:
 * hal/contract/vector_gather.md, "Gather and scatter".
 */
#include "tools/emu/model/ops/flow.h"
#include "tools/emu/model/ops/vector/vector.h"

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
    plan->dst = vec_access(
        c, repeats,
        vec_elements(offsetof(struct cmd_vec_gather, dst), a->dst, esize, 1, a->dst_rep));
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

    vec_store(c, a->repeat, 1, a->dst_rep);
}

/* The offsets of the lanes that are on, and where they lead to. */
static void touch_offsets(const struct op_ctx *c, const struct touch *t, size_t field,
                          uint32_t base, unsigned repeat)
{
    struct vec_lane_set l = vec_lanes_of(c, vec_esize(c), repeat);
    struct vec_elements e = {
        field, base, 4, l.per_repeat, 4ull * l.per_repeat, 4ull * l.per_repeat};

    vec_touch(t, TOUCH_READS, &e, &l);
}

static void vgather_touch(const struct op_ctx *c, const struct touch *t)
{
    const struct cmd_vec_gather *a = &c->cmd->vec_gather;
    unsigned esize = vec_esize(c), n = 256 / esize;
    struct vec_lane_set l = vec_lanes_of(c, esize, a->repeat);
    struct vec_elements dst =
        vec_elements(offsetof(struct cmd_vec_gather, dst), a->dst, esize, 1, a->dst_rep);
    uint64_t repeats = vec_repeats(c, esize, a->repeat);

    touch_offsets(c, t, c->plan->src[1].field, a->offsets, a->repeat);
    for (uint64_t r = 0; r < repeats; r++) {
        struct lanes lanes = lanes_of(c, esize, r);
        for (unsigned i = 0; i < n; i++) {
            if (takes_part(&lanes, i)) {
                vec_touch_row(t, TOUCH_READS, c->plan->src[0].field,
                              (uint64_t)a->src + vec_word(c->src[1] + 4 * (r * n + i)),
                              esize);
            }
        }
    }
    vec_touch(t, TOUCH_WRITES, &dst, &l);
}

const struct operation op_VGATHER = {.decides = true, .plan = vgather_plan,
                                     .run = vgather_run,
                                     .store = vgather_store,
                                     .touch = vgather_touch,
                                     .flow = flow_move,
                                     .offsets = 2};

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

static void vgatherb_touch(const struct op_ctx *c, const struct touch *t)
{
    const struct cmd_vec_gatherb *a = &c->cmd->vec_gatherb;

    touch_access(t, c->plan->src[1], TOUCH_READS);
    for (unsigned i = 0; i < 8u * a->repeat; i++) {
        vec_touch_row(t, TOUCH_READS, c->plan->src[0].field,
                      (uint64_t)a->src + vec_word(c->src[1] + 4ull * i), 32);
    }
    touch_access(t, c->plan->dst, TOUCH_WRITES);
}

const struct operation op_VGATHERB = {.decides = true, .plan = vgatherb_plan,
                                      .run = vgatherb_run,
                                      .touch = vgatherb_touch,
                                      .flow = flow_move,
                                      .offsets = 2};

/* --- VSCATTER --- */

static unsigned vscatter_plan(const struct op_ctx *c)
{
    struct plan *plan = c->plan;
    const struct cmd_vec_scatter *a = &c->cmd->vec_scatter;
    unsigned esize = vec_esize(c);
    uint64_t repeats = vec_repeats(c, esize, a->repeat), ub = vec_ub_bytes(c);
    uint64_t n = n_offsets(c, esize, repeats), bytes = n * esize;
    uint64_t room = a->dst < ub ? ub - a->dst : 32;

    plan->src[0] = vec_access(c, repeats,
                              vec_elements(offsetof(struct cmd_vec_scatter, src), a->src,
                                           esize, 1, a->src_rep));
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

/* Where it writes stands in the stage. */
static void vscatter_touch(const struct op_ctx *c, const struct touch *t)
{
    const uint8_t *stage = c->stage;
    const struct cmd_vec_scatter *a = &c->cmd->vec_scatter;
    unsigned esize = vec_esize(c), n = 256 / esize;
    uint64_t left = n_offsets(c, esize, vec_repeats(c, esize, a->repeat));
    struct vec_lane_set l = vec_lanes_of(c, esize, a->repeat);
    struct vec_elements src =
        vec_elements(offsetof(struct cmd_vec_scatter, src), a->src, esize, 1, a->src_rep);

    vec_touch(t, TOUCH_READS, &src, &l);
    touch_offsets(c, t, c->plan->src[1].field, a->offsets, a->repeat);
    for (uint64_t r = 0; left; r++) {
        struct lanes lanes = lanes_of(c, esize, r);
        for (unsigned i = 0; i < n && left; i++, left--, stage += 4 + esize) {
            if (takes_part(&lanes, i)) {
                vec_touch_row(t, TOUCH_WRITES, c->plan->dst.field,
                              (uint64_t)a->dst + vec_word(stage), esize);
            }
        }
    }
}

const struct operation op_VSCATTER = {.decides = true, .plan = vscatter_plan,
                                      .run = vscatter_run,
                                      .store = vscatter_store,
                                      .touch = vscatter_touch,
                                      .flow = flow_move,
                                      .offsets = 2};
