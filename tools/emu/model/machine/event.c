/* SPDX-License-Identifier: MIT
 *
 * The stream of events, see npu.h: everything is told from here. Nothing here
 * changes the state but core_fail(), and nothing is worked out when nobody listens.
 */
#include "tools/emu/model/machine/event.h"

#include "tools/emu/model/machine/flow.h"
#include "tools/emu/model/machine/unit.h"
#include "tools/emu/model/ops/atomic.h"

/* Where a command of a queue comes from, and since when it is there. */
static void add_command(struct npu_event *e, const struct npu_pipe *p, unsigned slot)
{
    e->slot = slot;
    e->known =
        p->pushed[slot] > p->from[slot].scalar ? p->pushed[slot] : p->from[slot].scalar;
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
    e->bank_groups = plan->bank_group;
    e->banks = plan->bank;
    e->hits = p->flow.hits;
    e->misses = p->flow.misses;
    if (e->dst && e->dst->mem == NPU_MEM_GM && atomic_active(&c)) {
        e->atomic_op = ATOMIC_OP(&c);
        e->atomic_type = ATOMIC_TYPE(&c);
    }
}

/* What every event has. */
static struct npu_event event_of(const struct npu *n, enum npu_happens what,
                                 unsigned core, unsigned pipe)
{
    return (struct npu_event){
        .what = what, .npu = n, .now = n->s->now, .core = core, .pipe = pipe};
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
    event = event_of(n, what, core, pipe);
    event.slot = slot;
    event.number = p->serial + (what == NPU_PUSHED ? p->count : 0u);
    event.fault = p->fault.code;
    event.head_since = p->head_since;
    event.begin = p->begin;
    event.end = p->end;
    event.shared = p->end > p->nominal ? p->end - p->nominal : 0;
    if (slot < PIPE_DEPTH) {
        add_command(&event, p, slot);
    }
    if (plan) {
        add_plan(&event, p, plan);
        event.missed = flow_missed(n, core, pipe);
        event.unit = unit_mode(event.cmd);
        event.units =
            event.unit != UNIT_NONE && unit_set(n, core, pipe, units) ? units : NULL;
    }
    n->host->event(n->ctx, &event);
}

void event_sem(const struct npu *n, enum npu_happens what, struct sem_user by,
               struct sem_units units)
{
    struct npu_event event;

    if (!n->host->event) {
        return;
    }
    event = event_of(n, what, by.core, by.pipe);
    event.barrier = by.barrier;
    event.sem_core = units.sem < SEM_CORE ? units.core : NPU_CHIP;
    event.sem = units.sem;
    event.count = units.count;
    event.value = units.value;
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
    struct npu_event event = event_of(n, what, core, pipe);

    event.fault = fault;
    event.name = name;
    if (n->host->event) {
        n->host->event(n->ctx, &event);
    }
}

void core_fail(struct npu *n, unsigned core, unsigned code, const struct reg_access *a)
{
    struct npu_core *c = &n->s->core[core];

    if (c->fault.code == 0) {
        c->fault = (struct npu_fault){
            .code = (uint16_t)code, .addr = a->offset, .value = a->value};
        c->fault_size = a->size;
        c->fault_write = a->write;
        event_access(n, NPU_FAULTS, core, NPU_BY_HART, code, 0);
    }
}

void event_delay(const struct npu *n, enum npu_delay what, unsigned core, unsigned pipe,
                 uint64_t key, unsigned cycles)
{
    struct npu_event event = event_of(n, NPU_DELAYS, core, pipe);

    event.delay = what;
    event.key = key;
    event.cycles = cycles;
    if (pipe < NPU_PIPES) {
        const struct npu_pipe *p = &n->s->core[core].pipe[pipe];
        event.number = p->serial;
        add_command(&event, p, p->head);
    }
    if (n->host->event) {
        n->host->event(n->ctx, &event);
    }
}

void event_line(const struct npu *n, unsigned core)
{
    struct npu_event event = event_of(n, NPU_LINE, core, NPU_BY_HART);

    event.level = n->s->core[core].irq_level;
    if (n->host->event) {
        n->host->event(n->ctx, &event);
    }
}

void event_called(const struct npu *n, unsigned price)
{
    struct npu_event event = event_of(n, NPU_CALLED, NPU_CHIP, NPU_BY_HART);

    event.cycles = price;
    if (n->host->event) {
        n->host->event(n->ctx, &event);
    }
}
