/* SPDX-License-Identifier: MIT
 *
 * What holds of every field of the state between two calls of the model, and so of every
 * snapshot; one that breaks it is damaged, and the machine could run for ever or leave
 * its memories with it. A function for each struct of state.h, in the order of its
 * fields; those that are not named may have any value. Rates and plans are compared with
 * what follows from the rest (flow_valid, pipe_planned).
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
#include "tools/emu/model/machine/unit.h"
#include "tools/emu/model/mem.h"

_Static_assert(SEM_MAX == UINT8_MAX && SEM_ARM_COUNT == UINT8_MAX,
               "every value of these bytes is one that a register can have");

static bool in_past(const struct npu *n, uint64_t cycle)
{
    return cycle <= n->s->now;
}

/* The highest value of an operand. */
static uint64_t most(unsigned opcode, size_t field)
{
    const struct cmd_info *info = cmd_find(opcode);

    return cmd_range(info, cmd_arg_at(info, (unsigned)field))->max;
}

/* --- special registers --- */

static bool atomic_valid(uint64_t value)
{
    unsigned type = (unsigned)(value >> 8);

    return value <= UINT16_MAX && (value & UINT8_MAX) <= ATOMIC_MIN &&
           type < TYPE_COUNT && (cmd_find(OP_SET_ATOMIC_MTE3)->types >> type & 1);
}

static bool boundary_valid(const struct npu *n, uint64_t value)
{
    return value == 0 ||
           (value % 32 == 0 && value >= LOAD3D_BOUNDARY_MIN &&
            value <= npu_mem_size((enum npu_profile)n->s->profile, NPU_MEM_L1));
}

/* What a command of this pipe can have set `number` to. */
static bool special_settable(const struct npu *n, unsigned pipe, unsigned number,
                             const uint64_t *special)
{
    uint64_t value = special[number];
    bool v = pipe == PIPE_V, fix = pipe == PIPE_FIX, mte1 = pipe == PIPE_MTE1;

    switch (number) {
    case SPECIAL_MASK_COUNTER: /* so that no number of bytes wraps around */
        return v && value == SET_MASK_COUNTER && special[SPECIAL_MASK_HI] == 0 &&
               special[SPECIAL_MASK_LO] <= UINT32_MAX;
    case SPECIAL_ATOMIC:
        return (fix || pipe == PIPE_MTE3) && atomic_valid(value);
    case SPECIAL_PAD:
        return (mte1 || pipe == PIPE_MTE2) && value <= UINT32_MAX;
    case SPECIAL_QUANT:
        return fix && value <= most(OP_SET_QUANT, offsetof(struct cmd_set_quant, word));
    case SPECIAL_RELU:
        return fix;
    case SPECIAL_KEPT:
        return v && value <= npu_mem_size((enum npu_profile)n->s->profile, NPU_MEM_UB);
    case SPECIAL_MASK_LO:
    case SPECIAL_MASK_HI:
    case SPECIAL_CMPMASK_LO:
    case SPECIAL_CMPMASK_HI:
    case SPECIAL_MERGED:
        return v;
    case SPECIAL_SATURATE:
        return value == SET_CTRL_SATURATE;
    case SPECIAL_DEQ_SCALE:
        return v && value <= UINT16_MAX;
    case SPECIAL_DEQ_WORD:
        return v &&
               value <= most(OP_SET_DEQSCALE, offsetof(struct cmd_set_deqscale, word));
    case SPECIAL_LOAD3D_STRIDE:
        return mte1 && value <= UINT16_MAX;
    case SPECIAL_LOAD3D_TIMES:
        return mte1 && value <= UINT8_MAX;
    case SPECIAL_LOAD3D_ALONG_K:
        return mte1 && value <= 1;
    case SPECIAL_LOAD3D_BOUNDARY:
        return mte1 && boundary_valid(n, value);
    default: /* any blocks, as far as there are any */
        return v && number >= SPECIAL_VA_DST && number < SPECIAL_SATURATE;
    }
}

static bool specials_valid(const struct npu *n, unsigned pipe, const uint64_t *special)
{
    uint64_t reset[SPECIALS];

    op_reset_special(reset);
    for (unsigned i = 0; i < SPECIALS; i++) {
        if (special[i] != reset[i] && !special_settable(n, pipe, i, special)) {
            return false;
        }
    }
    return true;
}

/* --- pipes --- */

static bool fault_valid(const struct npu_fault *f)
{
    return f->code < NPU_ERR_COUNT && f->field < CMD_BYTES;
}

/* How long at most a running command of the fixpipe waits for the Cube: no MMAD takes as
 * many cycles as there are pairs of bytes in its operands' memories. */
static uint64_t waits_most(const struct npu *n, unsigned core, unsigned pipe)
{
    enum npu_profile profile = (enum npu_profile)n->s->profile;
    bool follows = pipe == PIPE_FIX &&
                   unit_mode(pipe_head(&n->s->core[core].pipe[pipe])) != UNIT_NONE;

    return follows ? (uint64_t)npu_mem_size(profile, NPU_MEM_L0A) *
                         npu_mem_size(profile, NPU_MEM_L0B)
                   : 0;
}

/* What is held waits for its scalar unit or, with a seed, a while. */
static bool hold_valid(const struct npu *n, const struct npu_pipe *p)
{
    return p->ahead ? p->hold == p->from[p->head].scalar
                    : (n->s->seed != 0 && p->hold - n->s->now < PERTURB_MOST);
}

static bool pushes_valid(const struct npu *n, const struct npu_pipe *p)
{
    for (unsigned i = 0; i < PIPE_DEPTH; i++) {
        if (p->from[i].scalar > hart_ahead(n->s) || !in_past(n, p->pushed[i])) {
            return false;
        }
    }
    return true;
}

/* What the state of a pipe says of the rest of it. */
static bool progress_valid(struct npu *n, unsigned core, unsigned pipe)
{
    const struct npu_pipe *p = &n->s->core[core].pipe[pipe];
    bool running = p->state == PIPE_RUNNING, stopped = p->state == PIPE_STOPPED;
    bool waiting = p->state == PIPE_WAITING;

    if (p->state > PIPE_STOPPED || stopped != (p->fault.code != 0)) {
        return false;
    }
    if (!stopped && ((p->count == 0) != (p->state == PIPE_EMPTY) ||
                     (p->count != 0) != (p->checked != 0))) {
        return false;
    }
    if (running ? in_past(n, p->end)
                : !stopped && p->end != NPU_NEVER && !in_past(n, p->end)) {
        return false;
    }
    if ((p->ahead != 0 && p->hold == 0) || p->ahead > 1) {
        return false;
    }
    if (p->hold && (!waiting || in_past(n, p->hold) || !hold_valid(n, p))) {
        return false;
    }
    return (running || p->flow.pools == 0) && (!p->for_units || waiting || stopped) &&
           (!p->checked || pipe_planned(n, core, pipe)) &&
           (!running || flow_plausible(n, core, pipe, waits_most(n, core, pipe)));
}

static bool pipe_valid(struct npu *n, unsigned core, unsigned pipe)
{
    const struct npu_pipe *p = &n->s->core[core].pipe[pipe];

    return p->head < PIPE_DEPTH && p->count <= PIPE_DEPTH && p->checked <= 1 &&
           p->checked <= p->count && p->for_units <= 1 && p->arm <= PIPE_ARM_SLOTS &&
           (p->ended == 0 || cmd_find(p->ended)) && specials_valid(n, pipe, p->special) &&
           in_past(n, p->since) && in_past(n, p->head_since) && in_past(n, p->begin) &&
           p->serial != 0 && fault_valid(&p->fault) && pushes_valid(n, p) &&
           progress_valid(n, core, pipe);
}

/* --- cores --- */

/* The line is where it belongs, or with a seed on its way up. */
static bool line_valid(const struct npu *n, unsigned core)
{
    const struct npu_core *c = &n->s->core[core];
    bool wanted = npu_irq_status(n, core) & c->irq_enable;

    if (c->line_due == 0) {
        return c->irq_level == wanted;
    }
    return n->s->seed != 0 && wanted && c->irq_level == 0 && !in_past(n, c->line_due) &&
           c->line_due - n->s->now < PERTURB_MOST;
}

static bool armed_valid(const struct npu_core *c)
{
    for (unsigned i = 0; i < SEM_COUNT; i++) {
        if ((c->armed[i / 64] >> i % 64 & 1) != (c->arm[i] != 0)) {
            return false;
        }
    }
    return true;
}

/* Marks are of L0C's units; FIX looks again no later than the Cube ends. */
static bool units_valid(const struct npu *n, unsigned core)
{
    const struct npu_core *c = &n->s->core[core];
    const struct npu_pipe *m = &c->pipe[PIPE_M];
    unsigned units =
        npu_mem_size((enum npu_profile)n->s->profile, NPU_MEM_L0C) / UNIT_BYTES;

    for (unsigned u = units; u < 64 * ROW_UNIT_MARK; u++) {
        if (c->unit_mark[u / 64] >> u % 64 & 1) {
            return false;
        }
    }
    return in_past(n, c->unit_at) || (m->state == PIPE_RUNNING && c->unit_at <= m->end);
}

static bool core_valid(struct npu *n, unsigned core)
{
    const struct npu_core *c = &n->s->core[core];

    for (unsigned p = 0; p < NPU_PIPES; p++) {
        if (!pipe_valid(n, core, p)) {
            return false;
        }
    }
    return armed_valid(c) && c->taken <= 1 && c->irq_enable <= CORE_IRQ_ENABLE_BITS &&
           c->irq_level <= 1 && fault_valid(&c->fault) && c->fault_size <= 8 &&
           c->fault_write <= 1 && units_valid(n, core) && c->scalar <= hart_ahead(n->s) &&
           (in_past(n, c->start) ||
            (n->s->seed != 0 && c->start - n->s->now < PERTURB_MOST)) &&
           (c->pmu_first == NPU_NEVER || in_past(n, c->pmu_first)) &&
           in_past(n, c->pmu_last) && line_valid(n, core) && c->next == npu_due(c);
}

/* --- the chip --- */

static bool costs_valid(const struct npu_state *s, const struct npu_config *config)
{
    const struct npu_changes *changes = config->changes;

    for (enum npu_cost c = 0; c < COST_COUNT; c++) {
        if (s->cost[c] != npu_config_cost(config, c)) {
            return false;
        }
    }
    return s->free_hart == (changes && changes->free_hart) &&
           s->free_banks == (changes && changes->free_banks) && !s->endless &&
           !(changes && changes->endless); /* what it spills is in no snapshot */
}

static bool config_valid(const struct npu_state *s, const struct npu_config *config)
{
    return s->magic == NPU_STATE_MAGIC && s->cores == config->cores &&
           s->profile == (uint32_t)config->profile &&
           s->timing == (uint32_t)config->timing && s->gm_base == config->gm_base &&
           s->gm_size == config->gm_size && s->seed == config->seed &&
           s->only == perturb_digest(config->only) && defect_restored(s, config) &&
           costs_valid(s, config);
}

/* The hart is late within the time that there was, and its clock is not yet behind what it
 * is counted from. */
static bool hart_valid(const struct npu *n)
{
    const struct npu_state *s = n->s;
    const struct npu_hart *h = &s->hart;
    uint64_t now = n->host->clock ? n->host->clock(n->ctx) : h->since;

    return s->hart_late <= s->now && (s->seed != 0 || s->hart_late == 0) &&
           h->share != 0 && h->share <= s->cores && h->of <= s->cores &&
           h->since <= now && h->clock <= now && h->cycle <= s->now - s->hart_late &&
           (s->timing != TIMING_v1 || h->share == s->cores);
}

/* A unit that could release does so at once. */
static bool barriers_valid(const struct npu_state *s)
{
    for (unsigned i = 0; i < ROW_CHIP_BARRIER; i++) {
        uint64_t reg = s->barrier[i], count = field_get(CHIP_BARRIER_COUNT, reg);

        if ((reg & ~BARRIER_FIELDS) ||
            (count && s->sem[field_get(CHIP_BARRIER_WATCH, reg)] >= count)) {
            return false;
        }
    }
    return true;
}

bool npu_restored(struct npu *n, const struct npu_config *config, uint64_t now)
{
    const struct npu_state *s = n->s;

    if (!config_valid(s, config) || !hart_valid(n) || s->now > now ||
        !barriers_valid(s) || !l2_valid(n)) {
        return false;
    }
    for (unsigned c = 0; c < s->cores; c++) {
        memset(n->later[c].results, 0, sizeof(n->later[c].results));
    }
    for (unsigned c = 0; c < s->cores; c++) {
        if (!core_valid(n, c)) {
            return false;
        }
    }
    if (!flow_valid(n)) {
        return false;
    }
    for (unsigned c = 0; c < s->cores; c++) {
        n->host->irq(n->ctx, c, s->core[c].irq_level);
    }
    return true;
}
