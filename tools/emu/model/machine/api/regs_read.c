/* SPDX-License-Identifier: MIT
 *
 * Registers, as they are found and read; see regs.h. Pure, so that a debugger may look at
 * everything.
 */
#include "tools/emu/model/machine/api/regs.h"

#include "tools/emu/model/machine/event.h"
#include "tools/emu/model/machine/pipe.h"
#include "tools/emu/model/machine/sem.h"
#include "tools/emu/model/machine/state/spill.h"

/* --- which one it is --- */

/* Eight bytes of the chip's page, of a pipe's and of a core's are a slot each. */
enum {
    SLOT_CHIP = 0,
    SLOT_PIPE = SLOT_CHIP + CHIP_COST / 8 + ROW_CHIP_COST,
    SLOT_CORE = SLOT_PIPE + PIPE_STRIDE / 8,
};
#define SLOT(offset)                                                                     \
    (CONTRACT_PAGE(offset, SLOT_CHIP, SLOT_PIPE, SLOT_CORE) + (offset) / 8)

/* Number of the register in a slot, from 1 on; 0: there is none. Two in one slot do not
 * compile. */
#define REG(name, offset, access, reset, text) [SLOT(offset)] = REG_INDEX_##name + 1,
#define REGS(name, offset, count, access, reset, text)                                   \
    [SLOT(offset)... SLOT(offset) + (count)-1] = REG_INDEX_##name + 1,
#define COUNTER(name, offset, text) [SLOT_PIPE + (offset) / 8] = REG_INDEX_PMU_##name + 1,
static const uint8_t slots[] = {
#include "hal/contract/all.h"
};
_Static_assert(REG_INDEXES < UINT8_MAX, "slots");

#define SLOTS (sizeof(slots) / sizeof(slots[0]))

/* The first slot of each. */
#define REG(name, offset, access, reset, text)         SLOT(offset),
#define REGS(name, offset, count, access, reset, text) SLOT(offset),
#define COUNTER(name, offset, text)                    SLOT_PIPE + (offset) / 8,
static const uint16_t first_slot[] = {
#include "hal/contract/all.h"
};

/* Whether it is a register of a pipe; which. */
static bool is_pipe(uint32_t offset, unsigned *pipe)
{
    *pipe = (offset - PIPE_BASE) / PIPE_STRIDE;
    return offset >= PIPE_BASE && *pipe < NPU_PIPES && pipe_name(*pipe)[0] != '?';
}

bool regs_find(const struct npu *n, uint64_t now, unsigned core, uint32_t offset,
               unsigned size, struct reg_at *at)
{
    bool chip = core == NPU_CHIP;
    uint32_t begin = chip ? SLOT_CHIP : SLOT_CORE, end = chip ? SLOT_PIPE : SLOTS, slot;

    if ((size != 4 && size != 8) || offset % size) {
        return false;
    }
    *at = (struct reg_at){.core = core, .now = now, .c = chip ? NULL : &n->s->core[core]};
    if (!chip && is_pipe(offset, &at->pipe)) {
        at->p = &at->c->pipe[at->pipe];
        offset = (offset - PIPE_BASE) % PIPE_STRIDE;
        begin = SLOT_PIPE;
        end = SLOT_CORE;
    }
    slot = begin + offset / 8;
    if (slot >= end || slots[slot] == 0) {
        return false;
    }
    at->index = (enum reg_index)(slots[slot] - 1);
    at->i = slot - first_slot[at->index];
    return true;
}

/* --- what each reads as --- */

#define UNUSED __attribute__((unused))
#define READ(name)                                                                       \
    static uint64_t read_##name(const struct npu *n UNUSED, const struct reg_at *at UNUSED)

/* Of a pipe. */
READ(PIPE_FREE)
{
    return queue_free(n, at->core, at->pipe);
}

READ(PIPE_LEFT)
{
    return at->p->count + spilled(n, at->core, at->pipe);
}

READ(PIPE_ARM)
{
    return at->p->arm;
}

READ(PIPE_STATUS)
{
    const struct npu_pipe *p = at->p;

    return field_put(PIPE_STATUS_STATE, p->state) |
           field_put(PIPE_STATUS_DEPTH, p->count) |
           field_put(PIPE_STATUS_UNITS, p->state == PIPE_WAITING && p->for_units);
}

READ(PIPE_SINCE)
{
    const struct npu_pipe *p = at->p;

    return p->count == 0 ? 0 : p->state == PIPE_RUNNING ? p->begin : p->head_since;
}

READ(PIPE_UNTIL)
{
    return at->p->state == PIPE_RUNNING ? at->p->end : 0;
}

READ(PIPE_ERROR)
{
    return field_put(PIPE_ERROR_CODE, at->p->fault.code) |
           field_put(PIPE_ERROR_FIELD, at->p->fault.field) |
           field_put(PIPE_ERROR_OPCODE, at->p->fault.opcode);
}

READ(PIPE_ERROR_ADDR)
{
    return at->p->fault.addr;
}

READ(PIPE_ERROR_VALUE)
{
    return at->p->fault.value;
}

READ(PIPE_ERROR_TAG)
{
    return at->p->fault.tag;
}

READ(PIPE_ERROR_PC)
{
    return at->p->fault.pc;
}

static uint64_t read_counter(const struct npu *n UNUSED, const struct reg_at *at)
{
    static const uint8_t counters[REG_INDEXES] = {
#define COUNTER(name, offset, text) [REG_INDEX_PMU_##name] = PMU_INDEX_##name,
#include "hal/contract/all.h"
    };

    return pipe_counter(at->p, (enum pmu_index)counters[at->index], at->now);
}

/* Of a core. */
static uint64_t event_count(const struct npu_core *c, unsigned event, uint64_t now)
{
    uint64_t count = 0;

#define EVENT(name, number, pipe_name, counter_name, text)                               \
    if (event == (number)) {                                                             \
        count +=                                                                         \
            pipe_counter(&c->pipe[PIPE_##pipe_name], PMU_INDEX_##counter_name, now);     \
    }
#include "hal/contract/all.h"
    return count;
}

static uint64_t core_status(const struct npu_core *c)
{
    uint64_t busy = 0, fault = 0, running = 0;

    for (unsigned p = 0; p < NPU_PIPES; p++) {
        busy |= (uint64_t)(c->pipe[p].count && c->pipe[p].state != PIPE_STOPPED) << p;
        fault |= (uint64_t)(c->pipe[p].state == PIPE_STOPPED) << p;
        running |= (uint64_t)pipe_in_flight(&c->pipe[p]) << p;
    }
    return field_put(CORE_STATUS_BUSY, busy) | field_put(CORE_STATUS_FAULT, fault) |
           field_put(CORE_STATUS_RUNNING, running);
}

/* Word `i` of the queues of a core. The ring keeps what has ended until it is
 * overwritten, and is 0 where no command has been since the last reset. */
static uint64_t queue_word(const struct npu_core *c, unsigned i)
{
    const struct npu_pipe *p = &c->pipe[i / (PIPE_DEPTH * CMD_BYTES / 8)];
    unsigned at = i / (CMD_BYTES / 8) % PIPE_DEPTH;

    return p->queue[(p->head + at) % PIPE_DEPTH].words[i % (CMD_BYTES / 8)];
}

/* Cores whose CORE_STATUS has a bit of `mask`. */
static uint64_t chip_status(const struct npu_state *s, uint64_t mask)
{
    uint64_t cores = 0;

    for (unsigned c = 0; c < s->cores; c++) {
        cores |= (uint64_t)((core_status(&s->core[c]) & mask) != 0) << c;
    }
    return cores;
}

static uint64_t chip_wanted(const struct npu *n)
{
    uint64_t cores = 0;

    for (unsigned c = 0; c < n->s->cores; c++) {
        bool wanted = npu_irq_status(n, c) & n->s->core[c].irq_enable;
        cores |= (uint64_t)wanted << c;
    }
    return cores;
}

READ(CORE_ID)
{
    return at->core;
}

READ(CORE_STATUS)
{
    return core_status(at->c);
}

READ(CORE_CYCLE)
{
    return at->now;
}

READ(CORE_IRQ_STATUS)
{
    return npu_irq_status(n, at->core);
}

READ(CORE_IRQ_ENABLE)
{
    return at->c->irq_enable;
}

READ(CORE_FAULT)
{
    return field_put(CORE_FAULT_CODE, at->c->fault.code) |
           field_put(CORE_FAULT_SIZE, at->c->fault_size) |
           field_put(CORE_FAULT_WRITE, at->c->fault_write);
}

READ(CORE_FAULT_ADDR)
{
    return at->c->fault.addr;
}

READ(CORE_FAULT_VALUE)
{
    return at->c->fault.value;
}

READ(CORE_ALARM)
{
    return at->c->alarm;
}

READ(SEM_VALUE)
{
    return sem_value(n, at->core, at->i);
}

READ(SEM_ARM)
{
    return at->c->arm[at->i];
}

READ(SEM_READY)
{
    return npu_sem_ready(n, at->core, at->i);
}

READ(SEM_TAKEN)
{
    return at->c->taken;
}

READ(QUEUE_CMD)
{
    return queue_word(at->c, at->i);
}

READ(UNIT_MARK)
{
    return at->c->unit_mark[at->i];
}

READ(PMU_SELECT)
{
    return at->c->pmu_select[at->i];
}

READ(PMU_COUNT)
{
    return event_count(at->c, at->c->pmu_select[at->i], at->now);
}

READ(PMU_FIRST)
{
    return at->c->pmu_first == NPU_NEVER ? 0 : at->c->pmu_first;
}

READ(PMU_LAST)
{
    return at->c->pmu_last;
}

/* Of the chip. */
READ(CHIP_ID)
{
    return field_put(CHIP_ID_WORD, CHIP_ID_MAGIC) |
           field_put(CHIP_ID_VERSION, CONTRACT_VERSION);
}

READ(CHIP_CORES)
{
    return n->s->cores;
}

READ(CHIP_PROFILE)
{
    return n->s->profile;
}

READ(CHIP_TIMING)
{
    return n->s->timing;
}

READ(CHIP_GM_BASE)
{
    return n->s->gm_base;
}

READ(CHIP_GM_SIZE)
{
    return n->s->gm_size;
}

READ(CHIP_SHARE)
{
    return n->s->hart.share;
}

READ(CHIP_CYCLE)
{
    return at->now;
}

READ(CHIP_BUSY)
{
    return chip_status(n->s, CORE_STATUS_BUSY);
}

READ(CHIP_RUNNING)
{
    return chip_status(n->s, CORE_STATUS_RUNNING);
}

READ(CHIP_WANTED)
{
    return chip_wanted(n);
}

READ(CHIP_BARRIER)
{
    return n->s->barrier[at->i];
}

/* As they are, whatever the run takes for them: software does what it always does. */
READ(CHIP_COST)
{
    const struct npu_state *s = n->s;

    return at->i < COST_COUNT
               ? npu_profile_cost((enum npu_profile)s->profile,
                                  (enum npu_timing)s->timing, (enum npu_cost)at->i)
               : 0;
}

/* --- all of them --- */

READ(nothing)
{
    return 0;
}

#define READ_RO(name)                                  [REG_INDEX_##name] = read_##name,
#define READ_RW(name)                                  READ_RO(name)
#define READ_WO(name)                                  [REG_INDEX_##name] = read_nothing,
#define REG(name, offset, access, reset, text)         READ_##access(name)
#define REGS(name, offset, count, access, reset, text) READ_##access(name)
#define COUNTER(name, offset, text)                    [REG_INDEX_PMU_##name] = read_counter,
static uint64_t (*const reads[])(const struct npu *n, const struct reg_at *at) = {
#include "hal/contract/all.h"
};

uint64_t regs_read(const struct npu *n, const struct reg_at *at, uint32_t offset,
                   unsigned size)
{
    uint64_t v = reads[at->index](n, at);

    return size == 8 ? v : (uint32_t)(v >> (8 * (offset & 4)));
}
