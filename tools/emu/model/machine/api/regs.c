/* SPDX-License-Identifier: MIT
 *
 * Registers. All are 64 bits wide and 8 bytes apart; a 4-byte read takes either
 * half, a 4-byte write only the low one, zero-extended. What no line handles, here or in
 * regs_read.c, is an error.
 */
#include "tools/emu/model/machine/api/regs.h"

#include "tools/emu/model/machine/event.h"
#include "tools/emu/model/machine/hart.h"
#include "tools/emu/model/machine/l2.h"
#include "tools/emu/model/machine/pipe.h"
#include "tools/emu/model/machine/sem.h"
#include "tools/emu/model/mem.h"

uint64_t npu_peek(const struct npu *n, uint64_t now, unsigned core, uint32_t offset,
                  unsigned size)
{
    uint64_t v;

    now = now > n->s->now ? now : n->s->now;
    return regs_read(n, now, core, offset, size, &v) ? v : 0;
}

static void bad_access(struct npu *n, unsigned core, unsigned code,
                       const struct reg_access *a)
{
    core = core == NPU_CHIP ? 0 : core;
    core_fail(n, core, code, a);
    npu_update_irq(n, core);
}

uint64_t npu_read(struct npu *n, uint64_t now, unsigned core, uint32_t offset,
                  unsigned size)
{
    unsigned pipe;
    uint64_t v;

    npu_advance(n, now);
    if (!regs_read(n, n->s->now, core, offset, size, &v)) {
        bad_access(n, core, NPU_ERR_ACCESS,
                   &(struct reg_access){.offset = offset, .size = (uint8_t)size});
        return 0;
    }
    if (v == 0 && core == NPU_CHIP && offset == CHIP_BUSY) {
        event_access(n, NPU_DRAINED, NPU_CHIP, NPU_BY_HART, 0, 0);
    } else if (core == NPU_CHIP && offset == CHIP_CYCLE) {
        event_access(n, NPU_CLOCKED, NPU_CHIP, NPU_BY_HART, 0, 0);
    } else if (v == 0 && core != NPU_CHIP && is_pipe(offset, &pipe) &&
               (offset - PIPE_BASE) % PIPE_STRIDE == PIPE_LEFT) {
        event_access(n, NPU_DRAINED, core, pipe, 0, 0);
    }
    return v;
}

static void clear_fault(struct npu_core *c)
{
    memset(&c->fault, 0, sizeof(c->fault));
    c->fault_size = c->fault_write = 0;
}

static void core_reset(struct npu *n, unsigned core)
{
    struct npu_core *c = &n->s->core[core];

    for (unsigned p = 0; p < NPU_PIPES; p++) {
        c->pipe[p].arm = 0;
        pipe_reset(n, core, p, n->s->now);
    }
    memset(c->sem, 0, sizeof(c->sem));
    memset(c->arm, 0, sizeof(c->arm));
    memset(c->armed, 0, sizeof(c->armed));
    clear_fault(c);
    c->alarm = 0;
    c->taken = 0;
    event_access(n, NPU_RESETS, core, NPU_BY_HART, 0, 0);
}

static void pmu_reset(struct npu *n, unsigned core)
{
    struct npu_core *c = &n->s->core[core];

    for (unsigned p = 0; p < NPU_PIPES; p++) {
        memset(c->pipe[p].counter, 0, sizeof(c->pipe[p].counter));
        c->pipe[p].since = n->s->now;
    }
    c->pmu_first = NPU_NEVER;
    c->pmu_last = 0;
}

static unsigned write_pipe(struct npu *n, unsigned core, unsigned pipe, uint32_t reg,
                           uint64_t value)
{
    struct npu_pipe *p = &n->s->core[core].pipe[pipe];

    switch (reg) {
    case PIPE_PUSH:
        pipe_push(n, core, pipe, value);
        return 0;
    case PIPE_ARM:
        p->arm = (uint16_t)field_get(PIPE_ARM_SLOTS, value);
        return 0;
    case PIPE_CTRL:
        if (value & PIPE_CTRL_RESET) {
            pipe_reset(n, core, pipe, n->s->now);
            event_access(n, NPU_RESETS, core, pipe, 0, 0);
        }
        return 0;
    default:
        return NPU_ERR_READ_ONLY;
    }
}

static unsigned write_sem(struct npu *n, unsigned core, uint32_t reg, uint64_t value)
{
    struct npu_core *c = &n->s->core[core];
    struct sem_user hart = {(uint8_t)core, NPU_BY_HART, 0};
    int i;

    if ((i = ROW(reg, SEM_POST)) >= 0) {
        return value <= SEM_MAX && sem_post(n, hart, core, (unsigned)i, (unsigned)value)
                   ? 0
                   : NPU_ERR_SEM_OVERFLOW;
    }
    if ((i = ROW(reg, SEM_TAKE)) >= 0) {
        uint8_t sem = (uint8_t)i, count = (uint8_t)value;
        c->taken = value <= SEM_MAX && sem_take(n, core, &sem, &count, 1);
        if (c->taken) {
            sem_taken(n, hart, core, &sem, &count, 1);
        } else if (value <= SEM_MAX) {
            event_sem(n, NPU_LACKS, hart,
                      (struct sem_units){core, sem, count, sem_value(n, core, sem)});
        }
        return 0;
    }
    if ((i = ROW(reg, SEM_ARM)) >= 0) {
        uint64_t bit = 1ull << (i % 64);
        c->arm[i] = (uint8_t)field_get(SEM_ARM_COUNT, value);
        c->armed[i / 64] = c->arm[i] ? c->armed[i / 64] | bit : c->armed[i / 64] & ~bit;
        return 0;
    }
    if ((i = ROW(reg, PMU_SELECT)) >= 0) {
        c->pmu_select[i] = (uint16_t)field_get(PMU_SELECT_EVENT, value);
        return 0;
    }
    return NPU_ERR_READ_ONLY;
}

static unsigned write_core(struct npu *n, unsigned core, uint32_t reg, uint64_t value)
{
    unsigned pipe;

    switch (reg) {
    case CORE_CTRL:
        if (value & CORE_CTRL_RESET) {
            core_reset(n, core);
        }
        if (value & CORE_CTRL_CLEAR) {
            clear_fault(&n->s->core[core]);
        }
        if (value & CORE_CTRL_PMU) {
            pmu_reset(n, core);
        }
        return 0;
    case CORE_IRQ_ENABLE:
        n->s->core[core].irq_enable = (uint8_t)field_get(CORE_IRQ_ENABLE_BITS, value);
        return 0;
    case CORE_ALARM:
        n->s->core[core].alarm = value;
        return 0;
    default:
        if (is_pipe(reg, &pipe)) {
            return write_pipe(n, core, pipe, (reg - PIPE_BASE) % PIPE_STRIDE, value);
        }
        return write_sem(n, core, reg, value);
    }
}

static unsigned write_chip(struct npu *n, uint32_t reg, uint64_t value)
{
    unsigned of = (unsigned)field_get(CHIP_TRACE_CORE, value);

    if (reg == CHIP_TRACE) {
        hart_works(n, of);
        event_access(n, NPU_NAMES, of && of <= n->s->cores ? of - 1 : NPU_CHIP,
                     NPU_BY_HART, 0, field_get(CHIP_TRACE_ADDR, value));
        return 0;
    }
    if (reg == CHIP_HINT) {
        event_access(n, NPU_HINTS, NPU_CHIP, NPU_BY_HART, 0,
                     field_get(CHIP_HINT_ADDR, value));
        return 0;
    }
    if (reg == CHIP_SHARE) {
        hart_share(n, value);
        return 0;
    }
    if (ROW(reg, CHIP_BARRIER) >= 0) {
        n->s->barrier[ROW(reg, CHIP_BARRIER)] = value & BARRIER_FIELDS;
        barrier_run(n, SEM_CORE + (unsigned)field_get(CHIP_BARRIER_WATCH, value));
        return 0;
    }
    if (reg != CHIP_CTRL) {
        return NPU_ERR_READ_ONLY;
    }
    if (value & CHIP_CTRL_L2) {
        l2_empty(n);
    }
    if (value & CHIP_CTRL_RESET) {
        memset(n->s->sem, 0, sizeof(n->s->sem));
        memset(n->s->barrier, 0, sizeof(n->s->barrier));
        event_access(n, NPU_RESETS, NPU_CHIP, NPU_BY_HART, 0, 0);
    }
    return 0;
}

void npu_write(struct npu *n, uint64_t now, unsigned core, uint32_t offset,
               uint64_t value, unsigned size)
{
    uint64_t old;
    unsigned code;

    npu_advance(n, now);
    value = size == 8 ? value : (uint32_t)value;
    if (offset % 8 || !regs_read(n, n->s->now, core, offset, size, &old)) {
        code = NPU_ERR_ACCESS;
    } else if (core == NPU_CHIP) {
        code = write_chip(n, offset, value);
    } else {
        code = write_core(n, core, offset, value);
    }
    if (code) {
        bad_access(n, core, code,
                   &(struct reg_access){offset, (uint8_t)size, true, value});
        return;
    }
    /* A post to a semaphore of the chip, or a barrier, may let a pipe of any core begin.
     */
    bool all = core == NPU_CHIP ? offset != CHIP_TRACE && offset != CHIP_HINT
                                : ROW(offset, SEM_POST) >= SEM_CORE;
    npu_kick(n, all ? UINT32_MAX : core == NPU_CHIP ? 0 : 1u << core);
}
