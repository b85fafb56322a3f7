/* SPDX-License-Identifier: MIT
 *
 * Registers, as they are read. Pure, so that a debugger may look at everything.
 */
#include "tools/emu/model/machine/api/regs.h"

#include "tools/emu/model/machine/event.h"
#include "tools/emu/model/machine/pipe.h"
#include "tools/emu/model/machine/sem.h"
#include "tools/emu/model/machine/state/spill.h"

static const uint64_t *fault_words(const struct npu_fault *f, uint64_t words[5])
{
    words[0] = field_put(PIPE_ERROR_CODE, f->code) |
               field_put(PIPE_ERROR_FIELD, f->field) |
               field_put(PIPE_ERROR_OPCODE, f->opcode);
    words[1] = f->addr;
    words[2] = f->value;
    words[3] = f->tag;
    words[4] = f->pc;
    return words;
}

static bool read_pipe(const struct npu *n, unsigned core, unsigned pipe, uint64_t now,
                      uint32_t reg, uint64_t *v)
{
    const struct npu_pipe *p = &n->s->core[core].pipe[pipe];
    uint64_t words[5];

    switch (reg) {
    case PIPE_PUSH:
    case PIPE_CTRL:
        *v = 0;
        return true;
    case PIPE_FREE:
        *v = queue_free(n, core, pipe);
        return true;
    case PIPE_LEFT:
        *v = p->count + spilled(n, core, pipe);
        return true;
    case PIPE_ARM:
        *v = p->arm;
        return true;
    case PIPE_STATUS:
        *v = field_put(PIPE_STATUS_STATE, p->state) |
             field_put(PIPE_STATUS_DEPTH, p->count) |
             field_put(PIPE_STATUS_UNITS, p->state == PIPE_WAITING && p->for_units);
        return true;
    case PIPE_SINCE:
        *v = p->count == 0 ? 0 : p->state == PIPE_RUNNING ? p->begin : p->head_since;
        return true;
    case PIPE_UNTIL:
        *v = p->state == PIPE_RUNNING ? p->end : 0;
        return true;
    case PIPE_ERROR:
    case PIPE_ERROR_ADDR:
    case PIPE_ERROR_VALUE:
    case PIPE_ERROR_TAG:
    case PIPE_ERROR_PC:
        *v = fault_words(&p->fault, words)[(reg - PIPE_ERROR) / 8];
        return true;
#define COUNTER(name, offset, text)                                                      \
    case PMU_##name:                                                                     \
        *v = pipe_counter(p, PMU_INDEX_##name, now);                                     \
        return true;
#include "hal/contract/all.h"
    default:
        return false;
    }
}

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

static bool read_rows(const struct npu *n, uint64_t now, unsigned core, uint32_t reg,
                      uint64_t *v)
{
    const struct npu_core *c = &n->s->core[core];
    int i;

    if ((i = ROW(reg, SEM_VALUE)) >= 0) {
        *v = sem_value(n, core, (unsigned)i);
    } else if (ROW(reg, SEM_POST) >= 0 || ROW(reg, SEM_TAKE) >= 0) {
        *v = 0;
    } else if ((i = ROW(reg, SEM_ARM)) >= 0) {
        *v = c->arm[i];
    } else if ((i = ROW(reg, SEM_READY)) >= 0) {
        *v = npu_sem_ready(n, core, (unsigned)i);
    } else if ((i = ROW(reg, QUEUE_CMD)) >= 0) {
        *v = queue_word(c, (unsigned)i);
    } else if ((i = ROW(reg, UNIT_MARK)) >= 0) {
        *v = c->unit_mark[i];
    } else if ((i = ROW(reg, PMU_SELECT)) >= 0) {
        *v = c->pmu_select[i];
    } else if ((i = ROW(reg, PMU_COUNT)) >= 0) {
        *v = event_count(c, c->pmu_select[i], now);
    } else {
        return false;
    }
    return true;
}

static bool read_core(const struct npu *n, uint64_t now, unsigned core, uint32_t reg,
                      uint64_t *v)
{
    const struct npu_core *c = &n->s->core[core];
    unsigned pipe;

    switch (reg) {
    case CORE_ID:
        *v = core;
        return true;
    case CORE_STATUS:
        *v = core_status(c);
        return true;
    case CORE_CTRL:
        *v = 0;
        return true;
    case CORE_CYCLE:
        *v = now;
        return true;
    case CORE_IRQ_STATUS:
        *v = npu_irq_status(n, core);
        return true;
    case CORE_IRQ_ENABLE:
        *v = c->irq_enable;
        return true;
    case CORE_FAULT:
        *v = field_put(CORE_FAULT_CODE, c->fault.code) |
             field_put(CORE_FAULT_SIZE, c->fault_size) |
             field_put(CORE_FAULT_WRITE, c->fault_write);
        return true;
    case CORE_FAULT_ADDR:
        *v = c->fault.addr;
        return true;
    case CORE_FAULT_VALUE:
        *v = c->fault.value;
        return true;
    case CORE_ALARM:
        *v = c->alarm;
        return true;
    case SEM_TAKEN:
        *v = c->taken;
        return true;
    case PMU_FIRST:
        *v = c->pmu_first == NPU_NEVER ? 0 : c->pmu_first;
        return true;
    case PMU_LAST:
        *v = c->pmu_last;
        return true;
    default:
        if (is_pipe(reg, &pipe)) {
            return read_pipe(n, core, pipe, now, (reg - PIPE_BASE) % PIPE_STRIDE, v);
        }
        return read_rows(n, now, core, reg, v);
    }
}

static bool read_chip(const struct npu *n, uint64_t now, uint32_t reg, uint64_t *v)
{
    const struct npu_state *s = n->s;
    int i;

    switch (reg) {
    case CHIP_ID:
        *v = field_put(CHIP_ID_WORD, CHIP_ID_MAGIC) |
             field_put(CHIP_ID_VERSION, CONTRACT_VERSION);
        return true;
    case CHIP_CORES:
        *v = s->cores;
        return true;
    case CHIP_PROFILE:
        *v = s->profile;
        return true;
    case CHIP_TIMING:
        *v = s->timing;
        return true;
    case CHIP_GM_BASE:
        *v = s->gm_base;
        return true;
    case CHIP_GM_SIZE:
        *v = s->gm_size;
        return true;
    case CHIP_CTRL:
    case CHIP_TRACE:
    case CHIP_HINT:
        *v = 0;
        return true;
    case CHIP_SHARE:
        *v = s->hart.share;
        return true;
    case CHIP_CYCLE:
        *v = now;
        return true;
    case CHIP_BUSY:
        *v = chip_status(s, CORE_STATUS_BUSY);
        return true;
    case CHIP_RUNNING:
        *v = chip_status(s, CORE_STATUS_RUNNING);
        return true;
    case CHIP_WANTED:
        *v = chip_wanted(n);
        return true;
    default:
        i = ROW(reg, CHIP_BARRIER);
        if (i >= 0) {
            *v = s->barrier[i];
            return true;
        }
        i = ROW(reg, CHIP_COST);
        /* As they are, whatever the run takes for them: software does what it always does. */
        *v = i >= 0 && i < COST_COUNT
                 ? npu_profile_cost((enum npu_profile)s->profile,
                                    (enum npu_timing)s->timing, (enum npu_cost)i)
                 : 0;
        return i >= 0;
    }
}

bool regs_read(const struct npu *n, uint64_t now, unsigned core, uint32_t offset,
               unsigned size, uint64_t *v)
{
    bool ok;

    *v = 0;
    if ((size != 4 && size != 8) || offset % size) {
        return false;
    }
    ok = core == NPU_CHIP ? read_chip(n, now, offset & ~7u, v)
                          : read_core(n, now, core, offset & ~7u, v);
    *v = size == 8 ? *v : (uint32_t)(*v >> (8 * (offset & 4)));
    return ok;
}
