/* SPDX-License-Identifier: MIT
 *
 * Registers. All are 64 bits wide and 8 bytes apart; a 4-byte read takes either
 * half, a 4-byte write only the low one, zero-extended. Here is what writes them; see regs.h.
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
    struct reg_at at;

    now = now > n->s->now ? now : n->s->now;
    return regs_find(n, now, core, offset, size, &at) ? regs_read(n, &at, offset, size) : 0;
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
    struct reg_at at;
    uint64_t v;

    npu_advance(n, now);
    if (!regs_find(n, n->s->now, core, offset, size, &at)) {
        bad_access(n, core, NPU_ERR_ACCESS,
                   &(struct reg_access){.offset = offset, .size = (uint8_t)size});
        return 0;
    }
    v = regs_read(n, &at, offset, size);
    if (v == 0 && at.index == REG_INDEX_CHIP_BUSY) {
        event_access(n, NPU_DRAINED, NPU_CHIP, NPU_BY_HART, 0, 0);
    } else if (at.index == REG_INDEX_CHIP_CYCLE) {
        event_access(n, NPU_CLOCKED, NPU_CHIP, NPU_BY_HART, 0, 0);
    } else if (v == 0 && at.index == REG_INDEX_PIPE_LEFT) {
        event_access(n, NPU_DRAINED, core, at.pipe, 0, 0);
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

/* --- what a write to each does: 0 or an enum npu_error --- */

#define UNUSED __attribute__((unused))
#define WRITE(name)                                                                      \
    static unsigned write_##name(struct npu *n, const struct reg_at *at UNUSED, uint64_t value)

WRITE(PIPE_PUSH)
{
    pipe_push(n, at->core, at->pipe, value);
    return 0;
}

WRITE(PIPE_ARM)
{
    n->s->core[at->core].pipe[at->pipe].arm = (uint16_t)field_get(PIPE_ARM_SLOTS, value);
    return 0;
}

WRITE(PIPE_CTRL)
{
    if (value & PIPE_CTRL_RESET) {
        pipe_reset(n, at->core, at->pipe, n->s->now);
        event_access(n, NPU_RESETS, at->core, at->pipe, 0, 0);
    }
    return 0;
}

static struct sem_user hart_of(const struct reg_at *at)
{
    return (struct sem_user){(uint8_t)at->core, NPU_BY_HART, 0};
}

WRITE(SEM_POST)
{
    return value <= SEM_MAX && sem_post(n, hart_of(at), at->core, at->i, (unsigned)value)
               ? 0
               : NPU_ERR_SEM_OVERFLOW;
}

WRITE(SEM_TAKE)
{
    struct npu_core *c = &n->s->core[at->core];
    uint8_t sem = (uint8_t)at->i, count = (uint8_t)value;

    c->taken = value <= SEM_MAX && sem_take(n, at->core, &sem, &count, 1);
    if (c->taken) {
        sem_taken(n, hart_of(at), at->core, &sem, &count, 1);
    } else if (value <= SEM_MAX) {
        event_sem(n, NPU_LACKS, hart_of(at),
                  (struct sem_units){at->core, sem, count, sem_value(n, at->core, sem)});
    }
    return 0;
}

WRITE(SEM_ARM)
{
    struct npu_core *c = &n->s->core[at->core];
    unsigned i = at->i;
    uint64_t bit = 1ull << (i % 64);

    c->arm[i] = (uint8_t)field_get(SEM_ARM_COUNT, value);
    c->armed[i / 64] = c->arm[i] ? c->armed[i / 64] | bit : c->armed[i / 64] & ~bit;
    return 0;
}

WRITE(PMU_SELECT)
{
    n->s->core[at->core].pmu_select[at->i] = (uint16_t)field_get(PMU_SELECT_EVENT, value);
    return 0;
}

WRITE(CORE_CTRL)
{
    if (value & CORE_CTRL_RESET) {
        core_reset(n, at->core);
    }
    if (value & CORE_CTRL_CLEAR) {
        clear_fault(&n->s->core[at->core]);
    }
    if (value & CORE_CTRL_PMU) {
        pmu_reset(n, at->core);
    }
    return 0;
}

WRITE(CORE_IRQ_ENABLE)
{
    n->s->core[at->core].irq_enable = (uint8_t)field_get(CORE_IRQ_ENABLE_BITS, value);
    return 0;
}

WRITE(CORE_ALARM)
{
    n->s->core[at->core].alarm = value;
    return 0;
}

WRITE(CHIP_TRACE)
{
    unsigned of = (unsigned)field_get(CHIP_TRACE_CORE, value);

    hart_works(n, of);
    event_access(n, NPU_NAMES, of && of <= n->s->cores ? of - 1 : NPU_CHIP, NPU_BY_HART, 0,
                 field_get(CHIP_TRACE_ADDR, value));
    return 0;
}

WRITE(CHIP_HINT)
{
    event_access(n, NPU_HINTS, NPU_CHIP, NPU_BY_HART, 0, field_get(CHIP_HINT_ADDR, value));
    return 0;
}

WRITE(CHIP_SHARE)
{
    hart_share(n, value);
    return 0;
}

WRITE(CHIP_BARRIER)
{
    n->s->barrier[at->i] = value & BARRIER_FIELDS;
    barrier_run(n, SEM_CORE + (unsigned)field_get(CHIP_BARRIER_WATCH, value));
    return 0;
}

WRITE(CHIP_CTRL)
{
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

/* --- all of them --- */

static unsigned write_nothing(struct npu *n UNUSED, const struct reg_at *at UNUSED,
                              uint64_t value UNUSED)
{
    return NPU_ERR_READ_ONLY;
}

#define WRITE_WO(name)                                 [REG_INDEX_##name] = write_##name,
#define WRITE_RW(name)                                 WRITE_WO(name)
#define WRITE_RO(name)                                 [REG_INDEX_##name] = write_nothing,
#define REG(name, offset, access, reset, text)         WRITE_##access(name)
#define REGS(name, offset, count, access, reset, text) WRITE_##access(name)
#define COUNTER(name, offset, text)                    WRITE_RO(PMU_##name)
static unsigned (*const writes[])(struct npu *n, const struct reg_at *at, uint64_t value) = {
#include "hal/contract/all.h"
};

void npu_write(struct npu *n, uint64_t now, unsigned core, uint32_t offset,
               uint64_t value, unsigned size)
{
    struct reg_at at;
    unsigned code = NPU_ERR_ACCESS;

    npu_advance(n, now);
    value = size == 8 ? value : (uint32_t)value;
    if (offset % 8 == 0 && regs_find(n, n->s->now, core, offset, size, &at)) {
        code = writes[at.index](n, &at, value);
    }
    if (code) {
        bad_access(n, core, code,
                   &(struct reg_access){offset, (uint8_t)size, true, value});
        return;
    }
    /* A post to a semaphore of the chip, or a barrier, may let a pipe of any core begin. */
    bool all = core == NPU_CHIP
                   ? at.index != REG_INDEX_CHIP_TRACE && at.index != REG_INDEX_CHIP_HINT
                   : at.index == REG_INDEX_SEM_POST && at.i >= SEM_CORE;
    npu_kick(n, all ? UINT32_MAX : core == NPU_CHIP ? 0 : 1u << core);
}
