/* SPDX-License-Identifier: MIT
 *
 * Registers. All are 64 bits wide and 8 bytes apart; a 4-byte read takes either
 * half, a 4-byte write only the low one, zero-extended. read_core and read_chip are
 * pure, so a debugger may look at everything; what no line handles is an error.
 */
#include "tools/emu/model/machine/state.h"

#include "tools/emu/model/mem.h"

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

static bool read_pipe(const struct npu_pipe *p, uint64_t now, uint32_t reg, uint64_t *v)
{
    uint64_t words[5];

    switch (reg) {
    case PIPE_PUSH:
    case PIPE_CTRL:
        *v = 0;
        return true;
    case PIPE_FREE:
        *v = PIPE_DEPTH - (uint64_t)p->count;
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
    default:
        if (reg < PMU_BUSY || reg >= PMU_BUSY + 8 * PMU_COUNTERS) {
            return false;
        }
        *v = pipe_counter(p, PMU_INDEX(reg), now);
        return true;
    }
}

static uint64_t event_count(const struct npu_core *c, unsigned event, uint64_t now)
{
    switch (event) {
#define EVENT(name, number, pipe_name, counter_name, text)                               \
    case number:                                                                         \
        return pipe_counter(&c->pipe[PIPE_##pipe_name], PMU_INDEX(PMU_##counter_name),   \
                            now);
#include "hal/contract/all.h"
    default:
        return 0;
    }
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

/* Index into a row of registers that begins at `first`, or -1. */
static int row_index(uint32_t reg, uint32_t first, unsigned count)
{
    return reg >= first && reg < first + 8 * count ? (int)(reg - first) / 8 : -1;
}

static bool is_pipe(uint32_t reg, unsigned *pipe)
{
    *pipe = (reg - PIPE_BASE) / PIPE_STRIDE;
    return reg >= PIPE_BASE && *pipe < NPU_PIPES && pipe_name(*pipe)[0] != '?';
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

    if ((i = row_index(reg, SEM_VALUE, SEM_COUNT)) >= 0) {
        *v = sem_value(n, core, (unsigned)i);
    } else if (row_index(reg, SEM_POST, SEM_COUNT) >= 0 ||
               row_index(reg, SEM_TAKE, SEM_COUNT) >= 0) {
        *v = 0;
    } else if ((i = row_index(reg, SEM_ARM, SEM_COUNT)) >= 0) {
        *v = c->arm[i];
    } else if ((i = row_index(reg, SEM_READY, 2)) >= 0) {
        *v = npu_sem_ready(n, core, (unsigned)i);
    } else if ((i = row_index(reg, QUEUE_CMD, ROW_QUEUE_CMD)) >= 0) {
        *v = queue_word(c, (unsigned)i);
    } else if ((i = row_index(reg, UNIT_MARK, ROW_UNIT_MARK)) >= 0) {
        *v = c->unit_mark[i];
    } else if ((i = row_index(reg, PMU_SELECT, 8)) >= 0) {
        *v = c->pmu_select[i];
    } else if ((i = row_index(reg, PMU_COUNT, 8)) >= 0) {
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
            return read_pipe(&c->pipe[pipe], now, (reg - PIPE_BASE) % PIPE_STRIDE, v);
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
    case CHIP_GM_BASE:
        *v = s->gm_base;
        return true;
    case CHIP_GM_SIZE:
        *v = s->gm_size;
        return true;
    case CHIP_CTRL:
    case CHIP_TRACE:
        *v = 0;
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
        i = row_index(reg, CHIP_BARRIER, ROW_CHIP_BARRIER);
        if (i >= 0) {
            *v = s->barrier[i];
            return true;
        }
        i = row_index(reg, CHIP_COST, ROW_CHIP_COST);
        *v = i >= 0 && i < COST_COUNT ? cost(s, (enum npu_cost)i) : 0;
        return i >= 0;
    }
}

static bool read_reg(const struct npu *n, uint64_t now, unsigned core, uint32_t offset,
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

uint64_t npu_peek(const struct npu *n, uint64_t now, unsigned core, uint32_t offset,
                  unsigned size)
{
    uint64_t v;

    now = now > n->s->now ? now : n->s->now;
    return read_reg(n, now, core, offset, size, &v) ? v : 0;
}

void core_fail(struct npu *n, unsigned core, unsigned code, uint32_t offset,
               uint64_t value, unsigned size, bool write)
{
    struct npu_core *c = &n->s->core[core];

    if (c->fault.code == 0) {
        c->fault =
            (struct npu_fault){.code = (uint16_t)code, .addr = offset, .value = value};
        c->fault_size = (uint8_t)size;
        c->fault_write = write;
        if (n->host->event) {
            struct npu_event e = {.what = NPU_FAULTS,
                                  .now = n->s->now,
                                  .core = core,
                                  .pipe = NPU_PIPES,
                                  .fault = code};
            n->host->event(n->ctx, &e);
        }
    }
}

static void bad_access(struct npu *n, unsigned core, unsigned code, uint32_t offset,
                       uint64_t value, unsigned size, bool write)
{
    core = core == NPU_CHIP ? 0 : core;
    core_fail(n, core, code, offset, value, size, write);
    npu_update_irq(n, core);
}

uint64_t npu_read(struct npu *n, uint64_t now, unsigned core, uint32_t offset,
                  unsigned size)
{
    uint64_t v;

    npu_advance(n, now);
    if (!read_reg(n, n->s->now, core, offset, size, &v)) {
        bad_access(n, core, NPU_ERR_ACCESS, offset, 0, size, false);
        return 0;
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
        }
        return 0;
    default:
        return NPU_ERR_READ_ONLY;
    }
}

static unsigned write_sem(struct npu *n, unsigned core, uint32_t reg, uint64_t value)
{
    struct npu_core *c = &n->s->core[core];
    int i;

    if ((i = row_index(reg, SEM_POST, SEM_COUNT)) >= 0) {
        return value <= SEM_MAX && sem_post(n, core, (unsigned)i, (unsigned)value)
                   ? 0
                   : NPU_ERR_SEM_OVERFLOW;
    }
    if ((i = row_index(reg, SEM_TAKE, SEM_COUNT)) >= 0) {
        uint8_t sem = (uint8_t)i, count = (uint8_t)value;
        c->taken = value <= SEM_MAX && sem_take(n, core, &sem, &count, 1);
        return 0;
    }
    if ((i = row_index(reg, SEM_ARM, SEM_COUNT)) >= 0) {
        uint64_t bit = 1ull << (i % 64);
        c->arm[i] = (uint8_t)field_get(SEM_ARM_COUNT, value);
        c->armed[i / 64] = c->arm[i] ? c->armed[i / 64] | bit : c->armed[i / 64] & ~bit;
        return 0;
    }
    if ((i = row_index(reg, PMU_SELECT, 8)) >= 0) {
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
    const uint64_t fields = CHIP_BARRIER_WATCH | CHIP_BARRIER_COUNT |
                            CHIP_BARRIER_TARGET | CHIP_BARRIER_CORES;

    if (reg == CHIP_TRACE) {
        if (n->host->mark) {
            n->host->mark(n->ctx, n->s->now, field_get(CHIP_TRACE_ADDR, value));
        }
        return 0;
    }
    if (row_index(reg, CHIP_BARRIER, ROW_CHIP_BARRIER) >= 0) {
        n->s->barrier[row_index(reg, CHIP_BARRIER, ROW_CHIP_BARRIER)] = value & fields;
        barrier_run(n, SEM_CORE + (unsigned)field_get(CHIP_BARRIER_WATCH, value));
        return 0;
    }
    if (reg != CHIP_CTRL) {
        return NPU_ERR_READ_ONLY;
    }
    if (value & CHIP_CTRL_RESET) {
        memset(n->s->sem, 0, sizeof(n->s->sem));
        memset(n->s->barrier, 0, sizeof(n->s->barrier));
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
    if (offset % 8 || !read_reg(n, n->s->now, core, offset, size, &old)) {
        code = NPU_ERR_ACCESS;
    } else if (core == NPU_CHIP) {
        code = write_chip(n, offset, value);
    } else {
        code = write_core(n, core, offset, value);
    }
    if (code) {
        bad_access(n, core, code, offset, value, size, true);
        return;
    }
    /* A post to a semaphore of the chip, or a barrier, may let a pipe of any core begin.
     */
    bool all = core == NPU_CHIP ? offset != CHIP_TRACE
                                : row_index(offset, SEM_POST, SEM_COUNT) >= SEM_CORE;
    npu_kick(n, all ? UINT32_MAX : core == NPU_CHIP ? 0 : 1u << core);
}
