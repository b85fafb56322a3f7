/* SPDX-License-Identifier: MIT
 *
 * A pipe: a queue of commands and the one that runs. Sources are read when a command
 * begins, into the pipe's stage; destinations change when it ends. A command that
 * breaks a rule stops its pipe and has no effect: rules are checked as soon as it is
 * the head, before it takes a semaphore. What it will do is worked out then, once, and
 * stays in n->plan until it has ended.
 */
#include "tools/emu/model/machine/pipe.h"

#include "tools/emu/model/machine/state/defect.h"
#include "tools/emu/model/machine/event.h"
#include "tools/emu/model/machine/flow.h"
#include "tools/emu/model/machine/hart.h"
#include "tools/emu/model/machine/later.h"
#include "tools/emu/model/machine/perturb.h"
#include "tools/emu/model/machine/rules.h"
#include "tools/emu/model/machine/sem.h"
#include "tools/emu/model/machine/state/spill.h"
#include "tools/emu/model/machine/touch.h"
#include "tools/emu/model/machine/unit.h"
#include "tools/emu/model/mem.h"

enum npu_mem pipe_stage(unsigned pipe)
{
#define PIPE(NAME, name, number, stage, text) [number] = NPU_MEM_##stage,
    static const uint8_t stages[NPU_PIPES] = {
#include "hal/contract/all.h"
    };

    return (enum npu_mem)stages[pipe];
}

static void pipe_account(struct npu_pipe *p, uint64_t now)
{
    static const uint8_t counters[] = {
        [PIPE_EMPTY] = PMU_INDEX_STALL_EMPTY,
        [PIPE_WAITING] = PMU_INDEX_STALL_SEM,
        [PIPE_RUNNING] = PMU_INDEX_BUSY,
        [PIPE_STOPPED] = PMU_INDEX_STALL_EMPTY,
    };

    p->counter[p->ahead ? PMU_INDEX_STALL_EMPTY : counters[p->state]] += now - p->since;
    p->since = now;
}

/* As pipe_account would leave it. */
uint64_t pipe_counter(const struct npu_pipe *p, enum pmu_index counter, uint64_t now)
{
    struct npu_pipe copy;

    memcpy(&copy, p, offsetof(struct npu_pipe, queue));
    pipe_account(&copy, now);
    return copy.counter[counter];
}

uint64_t npu_head_number(const struct npu *n, unsigned core, unsigned pipe)
{
    return n->s->core[core].pipe[pipe].serial;
}

void pipe_stop(struct npu *n, unsigned core, unsigned pipe, const struct npu_fault *fault,
               const struct cmd_head *head)
{
    struct npu_pipe *p = &n->s->core[core].pipe[pipe];

    if (p->state == PIPE_STOPPED) {
        return; /* the first error is the one to look at */
    }
    pipe_account(p, n->s->now);
    if (p->state == PIPE_RUNNING) {
        unit_reset(n, core, pipe);
    }
    flow_end(n, core, pipe);
    p->state = PIPE_STOPPED;
    p->ahead = 0;
    p->hold = 0;
    flow_update(n);
    p->fault = *fault;
    if (head) {
        p->fault.opcode = head->opcode;
        p->fault.tag = head->tag;
        p->fault.pc = head->pc;
    }
    event_command(n, core, pipe, NPU_FAULTS, head ? p->head : PIPE_DEPTH,
                  head && p->checked ? &n->plan[core][pipe] : NULL);
}

void pipe_reset(struct npu *n, unsigned core, unsigned pipe, uint64_t now)
{
    struct npu_pipe *p = &n->s->core[core].pipe[pipe];
    struct npu_pipe fresh = {.state = PIPE_EMPTY,
                             .arm = p->arm,
                             .since = now,
                             .end = NPU_NEVER,
                             .serial = p->serial + p->count + spilled(n, core, pipe) +
                                       (p->serial == 0)};

    op_reset_special(fresh.special);
    pipe_account(p, now);
    flow_end(n, core, pipe);
    memcpy(fresh.counter, p->counter, sizeof(fresh.counter));
    *p = fresh;
    if (n->spill) {
        spill_of(n, core, pipe)->n = 0;
    }
    unit_reset(n, core, pipe);
    flow_update(n);
}

struct op_ctx pipe_context(struct npu *n, unsigned core, unsigned pipe,
                           struct npu_fault *fault)
{
    struct npu_pipe *p = &n->s->core[core].pipe[pipe];
    uint8_t *results = n->later[core].results[pipe];

    return (struct op_ctx){.cmd = pipe_head(p),
                           .profile = (enum npu_profile)n->s->profile,
                           .cost = n->s->cost,
                           .free_banks = n->s->free_banks,
                           .special = p->special,
                           .plan = &n->plan[core][pipe],
                           .fault = fault,
                           .stage = results ? results : n->mem[core][pipe_stage(pipe)]};
}

/* Checks the head and works out its plan; 0 or the error, with *fault filled in. */
static unsigned pipe_plan(struct npu *n, unsigned core, unsigned pipe,
                          struct npu_fault *fault)
{
    struct op_ctx c = pipe_context(n, core, pipe, fault);
    unsigned code = check_command(n, pipe, c.cmd, fault);

    if (code) {
        return code;
    }
    *c.plan = (struct plan){.rate = 1};
    code = op_find(c.cmd->head.opcode)->plan(&c);
    if (code) {
        const struct cmd_info *info = cmd_find(c.cmd->head.opcode);
        const struct cmd_arg *arg = cmd_arg_at(info, fault->field);
        fault->code = (uint16_t)code;
        fault->value = arg ? cmd_arg_value(c.cmd, arg) : c.cmd->bytes[fault->field];
        fault->addr = arg ? fault->value : 0;
        return code;
    }
    return check_plan(n, pipe, c.plan, fault);
}

bool pipe_planned(struct npu *n, unsigned core, unsigned pipe)
{
    struct npu_fault ignored = {0};

    return !pipe_plan(n, core, pipe, &ignored);
}

static bool pipe_check(struct npu *n, unsigned core, unsigned pipe)
{
    struct npu_pipe *p = &n->s->core[core].pipe[pipe];
    struct npu_fault fault = {0};

    if (pipe_plan(n, core, pipe, &fault)) {
        pipe_stop(n, core, pipe, &fault, &pipe_head(p)->head);
        return false;
    }
    p->checked = 1;
    return true;
}

/* Host pointers of the sources; false if the host cannot give one. */
static bool map_sources(struct npu *n, unsigned core, const struct plan *plan,
                        const uint8_t *src[4])
{
    for (unsigned i = 0; i < plan->n_src; i++) {
        const struct access *a = &plan->src[i];
        uint64_t extent = access_extent(a);
        if (a->mem != NPU_MEM_GM) {
            src[i] = n->mem[core][a->mem] + (extent ? a->base : 0);
        } else if (extent) {
            src[i] = n->host->gm_map(n->ctx, a->base, extent, false);
            if (!src[i]) {
                return false;
            }
        }
    }
    return true;
}

static void unmap_sources(struct npu *n, const struct plan *plan, const uint8_t *src[4])
{
    for (unsigned i = 0; i < plan->n_src; i++) {
        const struct access *a = &plan->src[i];
        if (a->mem == NPU_MEM_GM && src[i]) {
            n->host->gm_unmap(n->ctx, (void *)(uintptr_t)src[i], a->base,
                              access_extent(a), false);
        }
    }
}

/* Reads the sources and computes; false, with *fault filled in, if guest memory is not
 * where it should be or the data are not what they should be. */
static bool pipe_run(struct npu *n, unsigned core, unsigned pipe, struct npu_fault *fault)
{
    struct op_ctx c = pipe_context(n, core, pipe, fault);
    const struct operation *op = op_find(c.cmd->head.opcode);
    const struct plan *plan = c.plan;
    bool nothing = plan->has_dst && access_bytes(&plan->dst) == 0;

    if (!map_sources(n, core, plan, c.src)) {
        fault->code = NPU_ERR_GM;
        fault->field = plan->src[0].field;
        fault->addr = plan->src[0].base;
    } else if (op->run && !nothing) {
        n->works = (uint8_t)pipe;
        later_run(n, core, pipe, &c);
        n->works = 0;
        if (plan->has_dst && n->host->mem_dirty) {
            n->host->mem_dirty(n->ctx, core, pipe_stage(pipe), 0,
                               (uint32_t)(plan->stage_bytes ? plan->stage_bytes
                                                            : plan_bytes_written(plan)));
        }
    }
    unmap_sources(n, plan, c.src);
    return fault->code == 0;
}

/* Whether the core's scalar unit has come to the push of the head. */
static bool pipe_has_head(const struct npu *n, struct npu_pipe *p)
{
    uint64_t at = p->from[p->head].scalar;

    p->ahead = n->s->now < at;
    p->hold = p->ahead ? at : p->hold == at ? 0 : p->hold;
    return !p->ahead;
}

/* Whether the scalar unit, marks and semaphores let the head begin; takes the semaphores. */
static bool pipe_may_begin(struct npu *n, unsigned core, unsigned pipe)
{
    struct npu_pipe *p = &n->s->core[core].pipe[pipe];
    const union cmd *cmd = pipe_head(p);

    if (!pipe_has_head(n, p)) {
        return false;
    }
    p->for_units = unit_mode(cmd) != UNIT_NONE && !unit_ready(n, core, pipe);
    return !perturb_hold(n, core, pipe, !p->for_units) && !p->for_units &&
           sem_take(n, core, cmd->head.wait_sem, cmd->head.wait_n, 2);
}

/* Cycles of the head besides its work, if it begins now. */
static uint32_t pipe_fixed(const struct npu_pipe *p, const struct plan *plan,
                           uint64_t now)
{
    unsigned behind = p->end == now ? p->ended : 0; /* ended in this very cycle */
    uint64_t scalar = p->from[p->head].scalar, pushed = p->pushed[p->head];
    uint64_t known = scalar > pushed ? scalar : pushed;
    uint64_t waited = now > known ? now - known : 0;
    uint64_t most = plan->fixed > plan->fixed_next ? plan->fixed - plan->fixed_next : 0;
    bool next = plan->behind == BEHIND_ANY ? behind != 0
                                           : plan->behind == BEHIND_ITS_KIND &&
                                                 behind == pipe_head(p)->head.opcode;

    if (plan->behind == BEHIND_WAITING) {
        return plan->fixed - (uint32_t)(waited < most ? waited : most);
    }
    return next ? plan->fixed_next : plan->fixed;
}

/* Begins the head, which has taken from its semaphores; it may still be at fault. */
static void pipe_begin(struct npu *n, unsigned core, unsigned pipe)
{
    struct npu_core *c = &n->s->core[core];
    struct npu_pipe *p = &c->pipe[pipe];
    const struct plan *plan = &n->plan[core][pipe];
    uint32_t slow = defect_slow(n->s, core, pipe);
    struct npu_fault fault = {0};

    unit_begin(n, core, pipe);
    if (!pipe_run(n, core, pipe, &fault)) {
        unit_reset(n, core, pipe);
        pipe_stop(n, core, pipe, &fault, &pipe_head(p)->head);
        return;
    }
    p->state = PIPE_RUNNING;
    flow_begin(n, core, pipe,
               pipe_fixed(p, plan, n->s->now) * slow + perturb_end(n, core, pipe), slow);
    event_command(n, core, pipe, NPU_BEGINS, p->head, plan);
    c->pmu_first = c->pmu_first == NPU_NEVER ? n->s->now : c->pmu_first;
}

static struct sem_user as_user(unsigned core, unsigned pipe)
{
    return (struct sem_user){(uint8_t)core, (uint8_t)pipe, 0};
}

void pipe_start(struct npu *n, unsigned core, unsigned pipe)
{
    struct npu_pipe *p = &n->s->core[core].pipe[pipe];
    const struct cmd_head *head = &pipe_head(p)->head;
    struct npu_fault fault = {0};

    if (p->state == PIPE_RUNNING || p->state == PIPE_STOPPED || p->count == 0) {
        return;
    }
    if (!p->checked && !pipe_check(n, core, pipe)) {
        return;
    }
    pipe_account(p, n->s->now);
    if (defect_dead(n->s, core) || !pipe_may_begin(n, core, pipe)) {
        p->state = PIPE_WAITING;
        return;
    }
    if (!unit_legal(n, core, pipe, &fault)) {
        pipe_stop(n, core, pipe, &fault, head);
    } else {
        pipe_begin(n, core, pipe);
    }
    sem_taken(n, as_user(core, pipe), core, head->wait_sem, head->wait_n, 2);
}

static void mark_dirty(struct npu *n, unsigned core, const struct access *a)
{
    if (n->host->mem_dirty) {
        n->host->mem_dirty(n->ctx, core, (enum npu_mem)a->mem, (uint32_t)a->base,
                           (uint32_t)access_extent(a));
    }
}

static void store_local(struct npu *n, unsigned core, unsigned pipe, struct op_ctx *c)
{
    const struct access *dst = &c->plan->dst, *also = &c->plan->also;
    bool second = access_bytes(also) != 0;

    c->to = n->mem[core][dst->mem] + dst->base;
    later_store(n, core, pipe, c, second ? n->mem[core][also->mem] + also->base : NULL);
    mark_dirty(n, core, dst);
    if (second) {
        mark_dirty(n, core, also);
    }
}

/* Destinations change; false, with *fault filled in, if guest memory is not where it
 * should be. */
static bool pipe_commit(struct npu *n, unsigned core, unsigned pipe,
                        struct npu_fault *fault)
{
    struct op_ctx c = pipe_context(n, core, pipe, fault);
    const struct access *dst = &c.plan->dst;
    uint64_t extent = c.plan->has_dst ? access_extent(dst) : 0;
    uint8_t *to;

    if (extent == 0) {
        return true;
    }
    if (dst->mem != NPU_MEM_GM) {
        n->works = (uint8_t)pipe;
        store_local(n, core, pipe, &c);
        n->works = 0;
        return true;
    }
    to = n->host->gm_map(n->ctx, dst->base, extent, true);
    if (!to) {
        fault->code = NPU_ERR_GM;
        fault->field = dst->field;
        fault->addr = dst->base;
        return false;
    }
    later_wait(n, core, pipe);
    n->works = (uint8_t)pipe;
    c.to = to;
    later_store_now(&c, NULL);
    n->works = 0;
    n->host->gm_unmap(n->ctx, to, dst->base, extent, true);
    return true;
}

static void pipe_count(struct npu_pipe *p, const struct plan *plan)
{
    uint64_t *counter = p->counter;
    uint64_t shared = p->end > p->nominal ? p->end - p->nominal : 0;

    if (shared > counter[PMU_INDEX_BUSY]) {
        shared = counter[PMU_INDEX_BUSY]; /* the counters were reset meanwhile */
    }
    counter[PMU_INDEX_BUSY] -= shared;
    counter[PMU_INDEX_STALL_BW] += shared;
    counter[PMU_INDEX_BYTES_READ] += plan_bytes_read(plan);
    counter[PMU_INDEX_BYTES_WRITTEN] += plan_bytes_written(plan);
    counter[PMU_INDEX_COMMANDS]++;
    counter[PMU_INDEX_OPS] += plan->ops;
    counter[PMU_INDEX_BANK_GROUP] += plan->bank_group;
    counter[PMU_INDEX_BANK] += plan->bank;
    counter[PMU_INDEX_L2_HIT] += p->flow.hits;
    counter[PMU_INDEX_L2_MISS] += p->flow.misses;
}

/* Posts what a command that has ended posts; whether to a semaphore of the chip. The pipe
 * stops if one would pass its maximum. */
static bool pipe_post(struct npu *n, unsigned core, unsigned pipe,
                      const struct cmd_head *head)
{
    bool chip = false;

    for (unsigned i = 0; i < 2; i++) {
        if (head->post_n[i] && defect_loses_post(n->s)) {
            continue;
        }
        if (!sem_post(n, as_user(core, pipe), core, head->post_sem[i], head->post_n[i])) {
            struct npu_fault fault = {
                .code = NPU_ERR_SEM_OVERFLOW,
                .field = (uint8_t)(offsetof(struct cmd_head, post_sem) + i),
                .value = head->post_sem[i]};
            pipe_stop(n, core, pipe, &fault, head);
            return chip;
        }
        chip |= head->post_n[i] && head->post_sem[i] >= SEM_CORE;
    }
    return chip;
}

bool pipe_finish(struct npu *n, unsigned core, unsigned pipe)
{
    struct npu_core *c = &n->s->core[core];
    struct npu_pipe *p = &c->pipe[pipe];
    const struct cmd_head head = pipe_head(p)->head;
    const struct plan *plan = &n->plan[core][pipe];
    struct npu_fault fault = {0};
    bool chip;

    pipe_account(p, n->s->now);
    touch_keep(n, core, pipe);
    if (!pipe_commit(n, core, pipe, &fault)) {
        touch_drop(n);
        pipe_stop(n, core, pipe, &fault, &head);
        return false;
    }
    unit_end(n, core, pipe);
    pipe_count(p, plan);
    event_command(n, core, pipe, NPU_ENDS, p->head, plan);
    touch_drop(n);
    flow_end(n, core, pipe);
    p->state = PIPE_EMPTY;
    chip = pipe_post(n, core, pipe, &head); /* a fault is still the head's */
    p->head = (uint8_t)((p->head + 1) % PIPE_DEPTH);
    p->count--;
    p->head_since = n->s->now;
    p->checked = 0;
    p->ended = head.opcode;
    p->serial++;
    p->tries = 0;
    c->pmu_last = n->s->now;
    pipe_refill(n, core, pipe);
    return chip;
}
