/* SPDX-License-Identifier: MIT
 *
 * A pipe: a queue of commands and the one that runs. Sources are read when a command
 * begins, into the pipe's stage; destinations change when it ends. A command that
 * breaks a rule stops its pipe and has no effect: rules are checked as soon as it is
 * the head, before it takes a semaphore.
 */
#include "tools/emu/model/machine/state.h"

#include "tools/emu/model/mem.h"
#include "tools/emu/model/arith/move.h"
#include "tools/emu/model/arith/num.h"

enum npu_mem pipe_stage(unsigned pipe)
{
#define PIPE(NAME, name, number, stage, text) [number] = NPU_MEM_##stage,
    static const uint8_t stages[NPU_PIPES] = {
#include "hal/contract/all.h"
    };

    return (enum npu_mem)stages[pipe];
}

void pipe_account(struct npu_pipe *p, uint64_t now)
{
    static const uint8_t counters[] = {
        [PIPE_EMPTY] = PMU_INDEX(PMU_STALL_EMPTY),
        [PIPE_WAITING] = PMU_INDEX(PMU_STALL_SEM),
        [PIPE_RUNNING] = PMU_INDEX(PMU_BUSY),
        [PIPE_STOPPED] = PMU_INDEX(PMU_STALL_EMPTY),
    };

    p->counter[counters[p->state]] += now - p->since;
    p->since = now;
}

/* A counter as pipe_account would leave it. */
uint64_t pipe_counter(const struct npu_pipe *p, unsigned index, uint64_t now)
{
    struct npu_pipe copy;

    memcpy(&copy, p, offsetof(struct npu_pipe, queue));
    pipe_account(&copy, now);
    return copy.counter[index];
}

static uint64_t plan_bytes_read(const struct plan *plan)
{
    uint64_t bytes = 0;

    for (unsigned i = 0; i < plan->n_src; i++) {
        bytes += access_bytes(&plan->src[i]);
    }
    return bytes;
}

static uint64_t plan_bytes_written(const struct plan *plan)
{
    return plan->has_dst ? access_bytes(&plan->dst) + access_bytes(&plan->also) : 0;
}

/* Tells the host what happens to a command of the queue, or, with PIPE_DEPTH, to the pipe
 * alone; plan: NULL before it begins. */
static void pipe_event(struct npu *n, unsigned core, unsigned pipe, enum npu_happens what,
                       unsigned slot, const struct plan *plan)
{
    const struct npu_pipe *p = &n->s->core[core].pipe[pipe];
    struct npu_event event = {
        .what = what,
        .now = n->s->now,
        .core = core,
        .pipe = pipe,
        .slot = slot,
        .cmd = slot < PIPE_DEPTH ? &p->queue[slot] : NULL,
        .number = p->serial + (what == NPU_PUSHED ? p->count : 0u),
        .fault = p->fault.code,
        .head_since = p->head_since,
        .begin = p->begin,
        .end = p->end,
    };

    if (!n->host->event) {
        return;
    }
    if (plan) {
        event.src = plan->src;
        event.n_src = plan->n_src;
        event.dst = plan->has_dst ? &plan->dst : NULL;
        event.also = access_bytes(&plan->also) ? &plan->also : NULL;
        event.bytes_read = plan_bytes_read(plan);
        event.bytes_written = plan_bytes_written(plan);
        event.ops = plan->ops;
    }
    n->host->event(n->ctx, &event);
}

uint64_t npu_head_number(const struct npu *n, unsigned core, unsigned pipe)
{
    return n->s->core[core].pipe[pipe].serial;
}

static void pipe_stop(struct npu *n, unsigned core, unsigned pipe,
                      const struct npu_fault *fault, const struct cmd_head *head)
{
    struct npu_pipe *p = &n->s->core[core].pipe[pipe];

    if (p->state == PIPE_STOPPED) {
        return; /* the first error is the one to look at */
    }
    pipe_account(p, n->s->now);
    if (p->state == PIPE_RUNNING) {
        unit_reset(n, core, pipe);
    }
    p->state = PIPE_STOPPED;
    p->hold = 0;
    p->flow.pools = 0;
    flow_update(n);
    p->fault = *fault;
    if (head) {
        p->fault.opcode = head->opcode;
        p->fault.tag = head->tag;
        p->fault.pc = head->pc;
    }
    pipe_event(n, core, pipe, NPU_FAULTS, head ? p->head : PIPE_DEPTH, NULL);
}

void pipe_reset(struct npu *n, unsigned core, unsigned pipe, uint64_t now)
{
    struct npu_pipe *p = &n->s->core[core].pipe[pipe];
    struct npu_pipe fresh = {.state = PIPE_EMPTY,
                             .arm = p->arm,
                             .since = now,
                             .end = NPU_NEVER,
                             .serial = p->serial + p->count + (p->serial == 0),
                             .special = {[SPECIAL_MASK_LO] = UINT64_MAX,
                                         [SPECIAL_MASK_HI] = UINT64_MAX,
                                         [SPECIAL_DEQ_SCALE] = NUM_F16_ONE,
                                         [SPECIAL_LOAD3D_TIMES] = 1}};

    pipe_account(p, now);
    memcpy(fresh.counter, p->counter, sizeof(fresh.counter));
    *p = fresh;
    unit_reset(n, core, pipe);
    flow_update(n);
}

/* value: address and number of further commands, see PIPE_PUSH. */
void pipe_push(struct npu *n, unsigned core, unsigned pipe, uint64_t value)
{
    struct npu_state *s = n->s;
    struct npu_pipe *p = &s->core[core].pipe[pipe];
    uint64_t addr = field_get(PIPE_PUSH_ADDR, value);
    unsigned count = (unsigned)field_get(PIPE_PUSH_MORE, value) + 1;
    struct npu_fault fault = {.addr = addr, .value = value};
    const void *from;

    if (count > PIPE_DEPTH - (unsigned)p->count) {
        fault.code = NPU_ERR_QUEUE_FULL;
        pipe_stop(n, core, pipe, &fault, NULL);
        return;
    }
    from = addr % 8 || addr < s->gm_base
               ? NULL
               : n->host->gm_map(n->ctx, addr, count * CMD_BYTES, false);
    if (!from) {
        fault.code = NPU_ERR_PUSH_ADDR;
        pipe_stop(n, core, pipe, &fault, NULL);
        return;
    }
    p->head_since = p->count ? p->head_since : s->now;
    for (unsigned i = 0; i < count; i++) {
        memcpy(&p->queue[(p->head + p->count) % PIPE_DEPTH],
               (const uint8_t *)from + i * CMD_BYTES, CMD_BYTES);
        pipe_event(n, core, pipe, NPU_PUSHED, (p->head + p->count) % PIPE_DEPTH, NULL);
        p->count++;
    }
    n->host->gm_unmap(n->ctx, (void *)(uintptr_t)from, addr, count * CMD_BYTES, false);
}

/* Works out and checks the plan; 0 or the error, with *fault filled in. */
unsigned pipe_plan(struct npu *n, unsigned core, unsigned pipe,
                   const struct operation *op, struct plan *plan, struct npu_fault *fault)
{
    struct npu_pipe *p = &n->s->core[core].pipe[pipe];
    const union cmd *cmd = &p->queue[p->head];
    struct op_ctx ctx = {
        .s = n->s, .pipe = p, .behind = p->end == n->s->now ? p->ended : 0};
    unsigned code;

    memset(plan, 0, sizeof(*plan));
    plan->rate = 1;
    code = op->plan(&ctx, cmd, plan, &fault->field);
    if (code) {
        const struct cmd_arg *arg = cmd_arg_at(cmd_find(cmd->head.opcode), fault->field);
        fault->code = (uint16_t)code;
        fault->value = arg ? cmd_arg_value(cmd, arg) : cmd->bytes[fault->field];
        fault->addr = arg ? fault->value : 0;
        return code;
    }
    return check_plan(n, pipe, cmd, plan, fault);
}

bool pipe_valid(struct npu *n, unsigned core, unsigned pipe)
{
    const struct npu_pipe *p = &n->s->core[core].pipe[pipe];
    const union cmd *cmd = &p->queue[p->head];
    struct npu_fault ignored = {0};
    struct plan plan;

    if (p->hold && (p->state != PIPE_WAITING || !p->checked)) {
        return false;
    }
    return (p->state != PIPE_RUNNING && !p->checked) ||
           (p->count != 0 && !check_command(n, pipe, cmd, &ignored) &&
            !pipe_plan(n, core, pipe, operation_find(cmd->head.opcode), &plan, &ignored));
}

static bool pipe_check(struct npu *n, unsigned core, unsigned pipe)
{
    struct npu_pipe *p = &n->s->core[core].pipe[pipe];
    const union cmd *cmd = &p->queue[p->head];
    struct npu_fault fault = {0};
    struct plan plan;

    if (check_command(n, pipe, cmd, &fault) ||
        pipe_plan(n, core, pipe, operation_find(cmd->head.opcode), &plan, &fault)) {
        pipe_stop(n, core, pipe, &fault, &cmd->head);
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

/* Reads the sources and computes; false if guest memory is not where it should be. */
static bool pipe_run(struct npu *n, unsigned core, unsigned pipe,
                     const struct operation *op, const struct plan *plan)
{
    struct npu_pipe *p = &n->s->core[core].pipe[pipe];
    struct op_ctx ctx = {.s = n->s, .pipe = p};
    const uint8_t *src[4] = {NULL, NULL, NULL, NULL};
    bool mapped = map_sources(n, core, plan, src);
    bool nothing = plan->has_dst && access_bytes(&plan->dst) == 0;

    if (mapped && op->run && !nothing) {
        op->run(&ctx, &p->queue[p->head], plan, src, n->mem[core][pipe_stage(pipe)]);
        if (plan->has_dst && n->host->mem_dirty) {
            n->host->mem_dirty(n->ctx, core, pipe_stage(pipe), 0,
                               (uint32_t)(plan->stage_bytes ? plan->stage_bytes
                                                            : plan_bytes_written(plan)));
        }
    }
    unmap_sources(n, plan, src);
    return mapped;
}

/* Whether marks and semaphores let the head begin; takes the semaphores. */
static bool pipe_may_begin(struct npu *n, unsigned core, unsigned pipe,
                           const struct operation *op)
{
    struct npu_pipe *p = &n->s->core[core].pipe[pipe];
    const union cmd *cmd = &p->queue[p->head];
    struct npu_fault ignored = {0};
    struct plan plan;

    p->for_units = 0;
    if (unit_mode(cmd) != UNIT_NONE) {
        pipe_plan(n, core, pipe, op, &plan, &ignored);
        p->for_units = !unit_ready(n, core, pipe, cmd, &plan);
    }
    return !perturb_hold(n, core, pipe, !p->for_units) && !p->for_units &&
           sem_take(n, core, cmd->head.wait_sem, cmd->head.wait_n, 2);
}

void pipe_start(struct npu *n, unsigned core, unsigned pipe)
{
    struct npu_core *c = &n->s->core[core];
    struct npu_pipe *p = &c->pipe[pipe];
    const union cmd *cmd = &p->queue[p->head];
    const struct operation *op;
    struct npu_fault fault = {0};
    struct plan plan;

    if (p->state == PIPE_RUNNING || p->state == PIPE_STOPPED || p->count == 0) {
        return;
    }
    if (!p->checked && !pipe_check(n, core, pipe)) {
        return;
    }
    pipe_account(p, n->s->now);
    op = operation_find(cmd->head.opcode);
    if (!pipe_may_begin(n, core, pipe, op)) {
        p->state = PIPE_WAITING;
        return;
    }
    pipe_plan(n, core, pipe, op, &plan, &fault);
    if (!unit_legal(n, core, pipe, cmd, &plan, &fault)) {
        pipe_stop(n, core, pipe, &fault, &cmd->head);
        return;
    }
    unit_begin(n, core, pipe, cmd, &plan);
    if (!pipe_run(n, core, pipe, op, &plan)) {
        fault.code = NPU_ERR_GM;
        fault.field = plan.src[0].field;
        fault.addr = plan.src[0].base;
        pipe_stop(n, core, pipe, &fault, &cmd->head);
        return;
    }
    if (p->fault.code) { /* run() found it in the data */
        fault = p->fault;
        unit_reset(n, core, pipe);
        pipe_stop(n, core, pipe, &fault, &cmd->head);
        return;
    }
    p->state = PIPE_RUNNING;
    plan.fixed += perturb_end(n, core, pipe);
    flow_begin(n, p, &plan);
    pipe_event(n, core, pipe, NPU_BEGINS, p->head, &plan);
    c->pmu_first = c->pmu_first == NPU_NEVER ? n->s->now : c->pmu_first;
}

/* Copies the packed rows of the stage to where they belong. */
void store_rows(uint8_t *to, const uint8_t *stage, const struct access *a)
{
    for (uint32_t k = 0; k < a->n[2]; k++) {
        for (uint32_t j = 0; j < a->n[1]; j++) {
            uint8_t *row = to + k * a->stride[2] + j * a->stride[1];
            move_rows(row, a->stride[0], stage, a->row_bytes, a->row_bytes, a->n[0]);
            stage += (size_t)a->row_bytes * a->n[0];
        }
    }
}

/* From the stage to `to`, the host's address of the destination. */
static void pipe_store(struct npu *n, unsigned core, unsigned pipe,
                       const struct operation *op, const struct plan *plan, uint8_t *to)
{
    struct npu_pipe *p = &n->s->core[core].pipe[pipe];
    struct op_ctx ctx = {.s = n->s, .pipe = p};
    const uint8_t *stage = n->mem[core][pipe_stage(pipe)];

    if (op->store) {
        op->store(&ctx, &p->queue[p->head], plan, to, stage);
    } else {
        store_rows(to, stage, &plan->dst);
    }
}

static void store_also(struct npu *n, unsigned core, unsigned pipe,
                       const struct plan *plan)
{
    const struct access *also = &plan->also;
    const uint8_t *stage = n->mem[core][pipe_stage(pipe)] + access_bytes(&plan->dst);

    if (access_bytes(also) == 0) {
        return;
    }
    store_rows(n->mem[core][also->mem] + also->base, stage, also);
    if (n->host->mem_dirty) {
        n->host->mem_dirty(n->ctx, core, (enum npu_mem)also->mem, (uint32_t)also->base,
                           (uint32_t)access_extent(also));
    }
}

static bool pipe_commit(struct npu *n, unsigned core, unsigned pipe,
                        const struct operation *op, const struct plan *plan)
{
    const struct access *dst = &plan->dst;
    uint64_t extent = access_extent(dst);
    uint8_t *to;

    if (extent == 0) {
        return true;
    }
    if (dst->mem != NPU_MEM_GM) {
        pipe_store(n, core, pipe, op, plan, n->mem[core][dst->mem] + dst->base);
        if (n->host->mem_dirty) {
            n->host->mem_dirty(n->ctx, core, (enum npu_mem)dst->mem, (uint32_t)dst->base,
                               (uint32_t)extent);
        }
        store_also(n, core, pipe, plan);
        return true;
    }
    to = n->host->gm_map(n->ctx, dst->base, extent, true);
    if (!to) {
        return false;
    }
    pipe_store(n, core, pipe, op, plan, to);
    n->host->gm_unmap(n->ctx, to, dst->base, extent, true);
    return true;
}

static void pipe_count(struct npu_pipe *p, const struct plan *plan)
{
    uint64_t *counter = p->counter;
    uint64_t shared = p->end > p->nominal ? p->end - p->nominal : 0;

    if (shared > counter[PMU_INDEX(PMU_BUSY)]) {
        shared = counter[PMU_INDEX(PMU_BUSY)]; /* the counters were reset meanwhile */
    }
    counter[PMU_INDEX(PMU_BUSY)] -= shared;
    counter[PMU_INDEX(PMU_STALL_BW)] += shared;
    counter[PMU_INDEX(PMU_BYTES_READ)] += plan_bytes_read(plan);
    counter[PMU_INDEX(PMU_BYTES_WRITTEN)] += plan_bytes_written(plan);
    counter[PMU_INDEX(PMU_COMMANDS)]++;
    counter[PMU_INDEX(PMU_OPS)] += plan->ops;
    counter[PMU_INDEX(PMU_BANK_GROUP)] += plan->bank_group;
    counter[PMU_INDEX(PMU_BANK)] += plan->bank;
}

bool pipe_finish(struct npu *n, unsigned core, unsigned pipe)
{
    struct npu_core *c = &n->s->core[core];
    struct npu_pipe *p = &c->pipe[pipe];
    const struct cmd_head head = p->queue[p->head].head;
    const struct operation *op = operation_find(head.opcode);
    struct npu_fault fault = {0};
    struct plan plan;
    bool chip = false;

    pipe_plan(n, core, pipe, op, &plan, &fault);
    pipe_account(p, n->s->now);
    if (plan.has_dst && !pipe_commit(n, core, pipe, op, &plan)) {
        fault.code = NPU_ERR_GM;
        fault.field = plan.dst.field;
        fault.addr = plan.dst.base;
        pipe_stop(n, core, pipe, &fault, &head);
        return false;
    }
    unit_end(n, core, pipe, &p->queue[p->head], &plan);
    pipe_count(p, &plan);
    pipe_event(n, core, pipe, NPU_ENDS, p->head, &plan);
    p->flow.pools = 0;
    p->head = (uint8_t)((p->head + 1) % PIPE_DEPTH);
    p->count--;
    p->head_since = n->s->now;
    p->checked = 0;
    p->ended = head.opcode;
    p->serial++;
    p->tries = 0;
    p->state = PIPE_EMPTY;
    c->pmu_last = n->s->now;
    for (unsigned i = 0; i < 2; i++) {
        if (!sem_post(n, core, head.post_sem[i], head.post_n[i])) {
            fault.code = NPU_ERR_SEM_OVERFLOW;
            fault.field = (uint8_t)(offsetof(struct cmd_head, post_sem) + i);
            fault.value = head.post_sem[i];
            pipe_stop(n, core, pipe, &fault, &head);
            return chip;
        }
        chip |= head.post_n[i] && head.post_sem[i] >= SEM_CORE;
    }
    return chip;
}
