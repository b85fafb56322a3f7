/* SPDX-License-Identifier: MIT
 *
 * The event loop: time goes from one end of a command to the next. In a cycle all
 * commands that end in it end first (core by core, pipe by pipe), then whatever may
 * begin begins, in the same order (perturb.c knows others). Beginning posts nothing, so
 * one pass is enough.
 */
#include "tools/emu/model/machine/state/defect.h"
#include "tools/emu/model/machine/event.h"
#include "tools/emu/model/machine/flow.h"
#include "tools/emu/model/machine/hart.h"
#include "tools/emu/model/machine/l2.h"
#include "tools/emu/model/machine/perturb.h"
#include "tools/emu/model/machine/pipe.h"
#include "tools/emu/model/machine/api/restore.h"
#include "tools/emu/model/machine/sem.h"
#include "tools/emu/model/machine/state/spill.h"
#include "tools/emu/model/mem.h"

size_t npu_state_size(void)
{
    return sizeof(struct npu_state);
}

size_t npu_spill_bytes(unsigned cores)
{
    return cores * NPU_PIPES * sizeof(struct npu_spill);
}

uint32_t npu_config_cost(const struct npu_config *config, enum npu_cost c)
{
    return config->changes && config->changes->changed[c]
               ? config->changes->cost[c]
               : npu_profile_cost(config->profile, config->timing, c);
}

static void set_costs(struct npu_state *s, const struct npu_config *config)
{
    for (enum npu_cost c = 0; c < COST_COUNT; c++) {
        s->cost[c] = npu_config_cost(config, c);
    }
    s->free_hart = config->changes && config->changes->free_hart;
    s->free_banks = config->changes && config->changes->free_banks;
    s->endless = config->changes && config->changes->endless;
}

void npu_init(struct npu *n, const struct npu_config *config)
{
    struct npu_state *s = n->s;

    memset(s, 0, sizeof(*s));
    s->magic = NPU_STATE_MAGIC;
    s->cores = config->cores;
    s->profile = config->profile;
    s->timing = config->timing;
    s->gm_base = config->gm_base;
    s->gm_size = config->gm_size;
    s->seed = config->seed;
    s->only = perturb_digest(config->only);
    n->only = config->only;
    s->n_defects = config->n_defects;
    set_costs(s, config);
    memcpy(s->defect, config->defect, sizeof(s->defect));
    npu_reset(n, 0);
}

void npu_reset(struct npu *n, uint64_t now)
{
    struct npu_state *s = n->s;

    s->now = now;
    s->flow_next = NPU_NEVER;
    hart_reset(n);
    l2_empty(n);
    memset(s->sem, 0, sizeof(s->sem));
    memset(s->barrier, 0, sizeof(s->barrier));
    for (unsigned c = 0; c < s->cores; c++) {
        bool level = s->core[c].irq_level;
        memset(&s->core[c], 0, sizeof(s->core[c]));
        s->core[c].next = NPU_NEVER;
        s->core[c].pmu_first = NPU_NEVER;
        for (unsigned p = 0; p < NPU_PIPES; p++) {
            s->core[c].pipe[p].since = now;
            pipe_reset(n, c, p, now);
        }
        if (level) {
            n->host->irq(n->ctx, c, false);
        }
        event_access(n, NPU_RESETS, c, NPU_BY_HART, 0, 0);
    }
    event_access(n, NPU_RESETS, NPU_CHIP, NPU_BY_HART, 0, 0);
}

uint64_t npu_next(const struct npu *n)
{
    uint64_t next = defect_next(n->s);

    next = n->s->flow_next < next ? n->s->flow_next : next;
    for (unsigned c = 0; c < n->s->cores; c++) {
        const struct npu_core *core = &n->s->core[c];
        next = core->next < next ? core->next : next;
        next = core->alarm > n->s->now && core->alarm < next ? core->alarm : next;
        next = core->unit_at > n->s->now && core->unit_at < next ? core->unit_at : next;
    }
    return next;
}

uint64_t npu_due(const struct npu_core *core)
{
    uint64_t next = core->line_due ? core->line_due : NPU_NEVER;

    for (unsigned p = 0; p < NPU_PIPES; p++) {
        const struct npu_pipe *pipe = &core->pipe[p];
        uint64_t due = pipe->state == PIPE_RUNNING ? pipe->end : pipe->hold;
        if (pipe_in_flight(pipe) && due < next) {
            next = due;
        }
    }
    return next;
}

void npu_update_next(struct npu_core *core)
{
    core->next = npu_due(core);
}

/* The i-th core in this cycle. */
static unsigned core_at(const struct npu_state *s, struct order order, unsigned i)
{
    unsigned c = order.core + i;

    return c < s->cores ? c : c - s->cores;
}

/* Begins what may begin on the cores whose bits are set. */
void npu_kick(struct npu *n, uint32_t cores)
{
    struct order order = perturb_order(n);

    for (unsigned i = 0; i < n->s->cores; i++) {
        unsigned c = core_at(n->s, order, i);
        if (cores & (1u << c)) {
            for (unsigned p = 0; p < NPU_PIPES; p++) {
                pipe_start(n, c, p ^ order.pipe);
            }
            npu_update_next(&n->s->core[c]);
        }
    }
    /* What one core takes from the chip's semaphores the others may have armed. */
    for (unsigned c = 0; c < n->s->cores; c++) {
        if ((cores & (1u << c)) || n->s->core[c].armed[1]) {
            npu_update_irq(n, c);
        }
    }
}

/* Ends what ends now; returns the cores on which something may begin. */
static uint32_t finish_due(struct npu *n)
{
    struct order order = perturb_order(n);
    uint64_t now = n->s->now;
    uint32_t touched = 0;

    for (unsigned i = 0; i < n->s->cores; i++) {
        unsigned c = core_at(n->s, order, i);
        if (n->s->core[c].next > now) {
            continue;
        }
        touched |= 1u << c;
        for (unsigned j = 0; j < NPU_PIPES; j++) {
            unsigned p = j ^ order.pipe;
            const struct npu_pipe *pipe = &n->s->core[c].pipe[p];
            if (pipe->state == PIPE_RUNNING && pipe->end <= now && pipe_finish(n, c, p)) {
                touched = UINT32_MAX;
            }
        }
    }
    return touched;
}

/* Cores whose alarm goes off now, or on which a unit of L0C gets ready. */
static uint32_t alarms_due(const struct npu *n)
{
    uint32_t cores = 0;

    for (unsigned c = 0; c < n->s->cores; c++) {
        const struct npu_core *core = &n->s->core[c];
        bool due = core->alarm == n->s->now || core->unit_at == n->s->now;
        cores |= (uint32_t)due << c;
    }
    return cores;
}

void npu_advance(struct npu *n, uint64_t now)
{
    struct npu_state *s = n->s;
    uint64_t next;

    while ((next = npu_next(n)) <= now) {
        s->now = next;
        defect_flip(n); /* what ends now is written over it */
        uint32_t touched = finish_due(n) | alarms_due(n);
        if (s->flow_next <= next) {
            flow_update(n);
        }
        npu_kick(n, touched);
    }
    if (now > s->now) {
        s->now = now;
    }
}

uint64_t npu_sem_ready(const struct npu *n, unsigned core, unsigned word)
{
    const struct npu_core *c = &n->s->core[core];
    uint64_t ready = 0;

    for (uint64_t left = c->armed[word]; left; left &= left - 1) {
        unsigned bit = (unsigned)__builtin_ctzll(left);
        unsigned sem = 64 * word + bit;
        if (sem_value(n, core, sem) >= c->arm[sem]) {
            ready |= 1ull << bit;
        }
    }
    return ready;
}

uint64_t npu_irq_status(const struct npu *n, unsigned core)
{
    const struct npu_core *c = &n->s->core[core];
    bool fault = c->fault.code != 0;
    bool room = false, running = false;

    for (unsigned p = 0; p < NPU_PIPES; p++) {
        const struct npu_pipe *pipe = &c->pipe[p];
        fault |= pipe->state == PIPE_STOPPED;
        running |= pipe_in_flight(pipe);
        room |= pipe->arm && queue_free(n, core, p) >= pipe->arm;
    }
    return (fault ? CORE_IRQ_STATUS_FAULT : 0) |
           (npu_sem_ready(n, core, 0) || npu_sem_ready(n, core, 1) ? CORE_IRQ_STATUS_SEM
                                                                   : 0) |
           (room ? CORE_IRQ_STATUS_QUEUE : 0) | (running ? 0 : CORE_IRQ_STATUS_IDLE) |
           (c->alarm && c->alarm <= n->s->now ? CORE_IRQ_STATUS_ALARM : 0);
}

void npu_update_irq(struct npu *n, unsigned core)
{
    struct npu_core *c = &n->s->core[core];
    bool level = c->irq_enable && (npu_irq_status(n, core) & c->irq_enable);

    if (!c->irq_level && perturb_line(n, core, level)) {
        return;
    }
    if (level != c->irq_level) {
        c->irq_level = level;
        if (level) {
            hart_wanted(n, core);
        }
        n->host->irq(n->ctx, core, level);
        event_line(n, core);
    }
}
