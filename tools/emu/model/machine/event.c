/* SPDX-License-Identifier: MIT
 *
 * The stream of events, see npu.h: everything is told from here. Nothing here changes the
 * state, and nothing is worked out when nobody listens.
 */
#include "tools/emu/model/machine/event.h"

#include "tools/emu/model/machine/unit.h"
#include "tools/emu/model/ops/atomic.h"

/* Where a command of a queue comes from. */
static void add_command(struct npu_event *e, const struct npu_pipe *p, unsigned slot)
{
    e->slot = slot;
    e->cmd = &p->queue[slot];
    e->pc = e->cmd->head.pc ? e->cmd->head.pc : p->from[slot].pc;
    e->ra = e->cmd->head.pc ? 0 : p->from[slot].ra;
}

static void add_plan(struct npu_event *e, const struct npu_pipe *p,
                     const struct plan *plan)
{
    const struct op_ctx c = {.special = (uint64_t *)(uintptr_t)p->special};

    e->src = plan->src;
    e->n_src = plan->n_src;
    e->dst = plan->has_dst ? &plan->dst : NULL;
    e->also = access_bytes(&plan->also) ? &plan->also : NULL;
    e->bytes_read = plan_bytes_read(plan);
    e->bytes_written = plan_bytes_written(plan);
    e->ops = plan->ops;
    if (e->dst && e->dst->mem == NPU_MEM_GM && atomic_active(&c)) {
        e->atomic_op = ATOMIC_OP(&c);
        e->atomic_type = ATOMIC_TYPE(&c);
    }
}

void event_command(const struct npu *n, unsigned core, unsigned pipe,
                   enum npu_happens what, unsigned slot, const struct plan *plan)
{
    const struct npu_pipe *p = &n->s->core[core].pipe[pipe];
    uint64_t units[ROW_UNIT_MARK];
    struct npu_event event;

    if (!n->host->event) {
        return;
    }
    event = (struct npu_event){
        .what = what,
        .npu = n,
        .now = n->s->now,
        .core = core,
        .pipe = pipe,
        .slot = slot,
        .number = p->serial + (what == NPU_PUSHED ? p->count : 0u),
        .fault = p->fault.code,
        .head_since = p->head_since,
        .begin = p->begin,
        .end = p->end,
    };
    if (slot < PIPE_DEPTH) {
        add_command(&event, p, slot);
    }
    if (plan) {
        add_plan(&event, p, plan);
        event.unit = unit_mode(event.cmd);
        event.units =
            event.unit != UNIT_NONE && unit_set(n, core, pipe, units) ? units : NULL;
    }
    n->host->event(n->ctx, &event);
}

void event_sem(const struct npu *n, enum npu_happens what, struct sem_user by,
               unsigned core, unsigned sem, unsigned count, unsigned value)
{
    struct npu_event event;

    if (!n->host->event) {
        return;
    }
    event = (struct npu_event){
        .what = what,
        .npu = n,
        .now = n->s->now,
        .core = by.core,
        .pipe = by.pipe,
        .barrier = by.barrier,
        .sem_core = sem < SEM_CORE ? core : NPU_CHIP,
        .sem = sem,
        .count = count,
        .value = value,
    };
    if (by.pipe < NPU_PIPES) {
        const struct npu_pipe *p = &n->s->core[by.core].pipe[by.pipe];
        event.number = p->serial;
        add_command(&event, p, p->head);
    } else if (by.pipe == NPU_BY_HART && n->host->hart) {
        n->host->hart(n->ctx, &event.pc, &event.ra);
    }
    n->host->event(n->ctx, &event);
}

void event_access(const struct npu *n, enum npu_happens what, unsigned core,
                  unsigned pipe, unsigned fault, uint64_t name)
{
    struct npu_event event = {.what = what,
                              .npu = n,
                              .now = n->s->now,
                              .core = core,
                              .pipe = pipe,
                              .fault = fault,
                              .name = name};

    if (n->host->event) {
        n->host->event(n->ctx, &event);
    }
}

void event_delay(const struct npu *n, enum npu_delay what, unsigned core, unsigned pipe,
                 uint64_t key, unsigned cycles)
{
    struct npu_event event = {.what = NPU_DELAYS,
                              .npu = n,
                              .now = n->s->now,
                              .core = core,
                              .pipe = pipe,
                              .delay = what,
                              .key = key,
                              .cycles = cycles};

    if (pipe < NPU_PIPES) {
        const struct npu_pipe *p = &n->s->core[core].pipe[pipe];
        event.number = p->serial;
        add_command(&event, p, p->head);
    }
    if (n->host->event) {
        n->host->event(n->ctx, &event);
    }
}
