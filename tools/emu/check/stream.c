/* SPDX-License-Identifier: MIT
 *
 * From the model's events to the race check; see stream.h.
 */
#include "tools/emu/check/stream.h"

static bool range(void *ctx, uint64_t first, uint64_t bytes)
{
    race_range(ctx, first, bytes);
    return true;
}

static void operand(struct race *r, const struct npu_event *e, const struct access *a,
                    unsigned kind, bool results)
{
    struct race_operand o = {.kind = (uint8_t)kind,
                             .field = a->field,
                             .mem = a->mem,
                             .results = results,
                             .base = a->base,
                             .bytes = access_extent(a)};

    if (o.bytes) {
        race_operand(r, e->core, e->pipe, &o);
        access_each(a, range, r);
    }
}

/* How a command writes its destination. Minima, maxima and sums of integers come out alike
 * in any order, with and without saturation as long as all of them are of one type. */
static unsigned kind_of(const struct npu_event *e)
{
    unsigned type = e->atomic_type;
    bool inexact = e->atomic_op == ATOMIC_ADD &&
                   (type == TYPE_F32 || type == TYPE_F16 || type == TYPE_BF16);

    if (e->dst->mem != NPU_MEM_GM || e->atomic_op == ATOMIC_NONE) {
        return ACCESS_WRITE;
    }
    return (ACCESS_ATOMIC + type + TYPE_COUNT * (e->atomic_op - ATOMIC_ADD)) |
           (inexact ? ACCESS_INEXACT : 0);
}
_Static_assert(ACCESS_ATOMIC + TYPE_COUNT * ATOMIC_MIN <= ACCESS_INEXACT, "kinds");

/* An Mmad whose result the fixpipe may take before it has ended. */
static bool hands_on(const struct npu_event *e)
{
    return e->pipe == PIPE_M && e->unit == UNIT_PASS && e->units;
}

static void begins(struct race *r, const struct npu_event *e)
{
    const struct cmd_head *head = &e->cmd->head;

    for (unsigned i = 0; i < 2; i++) {
        if (head->wait_n[i]) {
            race_take(r, e->core, e->pipe, head->wait_sem[i], head->wait_n[i]);
        }
    }
    race_begin(r, e->core, e->pipe, e->now);
    if (e->units) {
        race_units_wait(r, e->core, e->pipe, e->units);
    }
    if (hands_on(e)) {
        race_units_pass(r, e->core, e->pipe, e->units);
        operand(r, e, e->dst, ACCESS_WRITE, true);
    }
}

static void ends(struct race *r, const struct npu_event *e)
{
    race_end(r, e->core, e->pipe, e->now);
    for (unsigned i = 0; i < e->n_src; i++) {
        operand(r, e, &e->src[i], ACCESS_READ, false);
    }
    if (e->dst && !hands_on(e)) {
        operand(r, e, e->dst, kind_of(e), false);
    }
    if (e->also) {
        operand(r, e, e->also, ACCESS_WRITE, false);
    }
    if (e->pipe == PIPE_FIX && e->unit == UNIT_PASS && e->units) {
        race_units_pass(r, e->core, e->pipe, e->units);
    }
}

static void push(struct race *r, const struct npu_event *e)
{
    struct race_site site = {.pc = e->pc,
                             .caller = e->ra,
                             .tag = e->cmd->head.tag,
                             .opcode = e->cmd->head.opcode};

    race_push(r, e->core, e->pipe, &site);
}

static unsigned who(const struct npu_event *e)
{
    return e->pipe == NPU_BY_HART      ? RACE_HART
           : e->pipe == NPU_BY_BARRIER ? RACE_BARRIER
                                       : e->pipe;
}

/* A semaphore of the chip is in the page of each core. */
static unsigned page_of(const struct npu_event *e)
{
    return who(e) != RACE_BARRIER ? e->core : e->sem_core == NPU_CHIP ? 0 : e->sem_core;
}

static void reset(struct race *r, const struct npu_event *e)
{
    if (e->core == NPU_CHIP) {
        race_reset_chip(r);
    } else if (e->pipe == NPU_BY_HART) {
        race_reset_core(r, e->core);
    } else {
        race_reset_pipe(r, e->core, e->pipe);
    }
}

static void drained(struct race *r, const struct npu_event *e)
{
    for (unsigned c = 0; c < race_cores(r); c++) {
        for (unsigned p = 0; p < NPU_PIPES; p++) {
            if (e->core == NPU_CHIP || (e->core == c && e->pipe == p)) {
                race_drained(r, c, p);
            }
        }
    }
}

void race_event(struct race *r, const struct npu_event *e)
{
    switch (e->what) {
    case NPU_PUSHED:
        push(r, e);
        break;
    case NPU_BEGINS:
        begins(r, e);
        break;
    case NPU_ENDS:
        ends(r, e);
        break;
    case NPU_TAKES: /* what a command takes, it takes where it begins */
        if (who(e) >= NPU_PIPES) {
            race_take(r, page_of(e), who(e), e->sem, e->count);
        }
        break;
    case NPU_POSTS:
        race_post(r, page_of(e), who(e), e->sem, e->count);
        break;
    case NPU_RESETS:
        reset(r, e);
        break;
    case NPU_DRAINED:
        drained(r, e);
        break;
    case NPU_NAMES:
        race_task(r, e->name);
        break;
    case NPU_FAULTS:
    default:
        break;
    }
}
