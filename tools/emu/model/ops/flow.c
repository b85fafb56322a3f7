/* SPDX-License-Identifier: MIT
 *
 * How undefined bytes travel, see op.h: an operation's flow() is given shadows in the
 * place of its memories, bytes of 0 where something is defined and of FLOW_UNDEFINED where
 * not, and leaves the shadow of its destination.
 *
 * What only moves bytes does so with those of the shadow, padding being 0; so it needs no
 * second description of where they go.
 */
#include "tools/emu/model/ops/flow.h"

#include "tools/emu/model/mem.h"
#include "tools/emu/model/ops/atomic.h"

bool flow_any(const uint8_t *shadow, uint64_t bytes)
{
    for (uint64_t i = 0; i < bytes; i++) {
        if (shadow[i]) {
            return true;
        }
    }
    return false;
}

void flow_set(uint8_t *shadow, bool undefined, uint64_t bytes)
{
    memset(shadow, undefined ? FLOW_UNDEFINED : 0, bytes);
}

/* Elements that combine: undefined if one of the two is. */
static void combine(const struct op_ctx *c, unsigned esize)
{
    const struct access *dst = &c->plan->dst;
    const uint8_t *stage = c->stage;

    for (uint32_t k = 0; k < dst->n[2]; k++) {
        for (uint32_t j = 0; j < dst->n[1]; j++) {
            for (uint32_t i = 0; i < dst->n[0]; i++) {
                uint8_t *to =
                    c->to + k * dst->stride[2] + j * dst->stride[1] + i * dst->stride[0];
                for (uint32_t at = 0; at < dst->row_bytes; at += esize, stage += esize) {
                    bool any = flow_any(to + at, esize) || flow_any(stage, esize);
                    flow_set(to + at, any, esize);
                }
            }
        }
    }
}

void flow_store(const struct op_ctx *c)
{
    const struct operation *op = op_find(c->cmd->head.opcode);

    if (!c->plan->has_dst) {
        return; /* the compare mask register has it */
    }
    if (op_stores(c) == TOUCH_COMBINES) {
        combine(c, type_bits(ATOMIC_TYPE(c)) / 8);
    } else if (op->store) {
        op->store(c);
    } else {
        op_store_rows(c->to, c->stage, &c->plan->dst);
    }
}

void flow_move(const struct op_ctx *c)
{
    op_find(c->cmd->head.opcode)->run(c);
    flow_store(c);
}

void flow_defined(const struct op_ctx *c)
{
    flow_set(c->stage, false, plan_bytes_written(c->plan));
    flow_store(c);
}

struct gathering {
    const uint8_t *ub;
    bool any;
};

static bool gather(void *ctx, uint64_t first, uint64_t bytes)
{
    struct gathering *g = ctx;

    g->any = g->any || flow_any(g->ub + first, bytes);
    return !g->any;
}

static void gather_reads(void *opaque, const struct access *a, enum touch_kind kind)
{
    if (kind == TOUCH_READS) {
        access_each(a, gather, opaque);
    }
}

void flow_all(const struct op_ctx *c)
{
    const struct operation *op = op_find(c->cmd->head.opcode);
    struct gathering g = {NULL, false};
    const struct touch t = {gather_reads, &g};

    for (unsigned i = 0; i < c->plan->n_src; i++) {
        if (c->src[i] && i + 1 != op->offsets) {
            g.ub = c->src[i] - c->plan->src[i].base;
        }
    }
    if (op->touch) {
        op->touch(c, &t);
    } else {
        op_touch(c, &t);
    }
    flow_set(c->stage, g.any, plan_bytes_written(c->plan));
    flow_store(c);
}
