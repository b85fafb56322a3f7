/* SPDX-License-Identifier: MIT
 *
 * From the model's events to the race check; see stream.h.
 */
#include "tools/emu/check/stream.h"

/* How a command combines its results with what is there. Minima, maxima and sums of
 * integers of one type come out alike in any order, sums of floats do not. */
static unsigned kind_of(const struct npu_event *e)
{
    unsigned type = e->atomic_type;
    bool inexact = e->atomic_op == ATOMIC_ADD &&
                   (type == TYPE_F32 || type == TYPE_F16 || type == TYPE_BF16);

    return (ACCESS_ATOMIC + type + TYPE_COUNT * (e->atomic_op - ATOMIC_ADD)) |
           (inexact ? ACCESS_INEXACT : 0);
}
_Static_assert(ACCESS_ATOMIC + TYPE_COUNT * ATOMIC_MIN <= ACCESS_INEXACT, "kinds");

/* An Mmad whose result the fixpipe may take before it has ended. */
static bool hands_on(const struct npu_event *e)
{
    return e->pipe == PIPE_M && e->unit == UNIT_PASS && e->units;
}

/* The command's accesses on their way: its result that is handed on, or all else. */
struct told {
    struct race *race;
    const struct npu_event *event;
    bool results;
};

static bool range(void *ctx, uint64_t first, uint64_t bytes)
{
    race_range(ctx, first, bytes);
    return true;
}

static void told(void *opaque, const struct access *a, enum touch_kind kind)
{
    const struct told *t = opaque;
    const struct npu_event *e = t->event;
    struct race_operand o = {.kind = kind == TOUCH_READS      ? ACCESS_READ
                                     : kind == TOUCH_COMBINES ? (uint8_t)kind_of(e)
                                                              : ACCESS_WRITE,
                             .field = a->field,
                             .mem = a->mem,
                             .results = t->results,
                             .base = a->base,
                             .bytes = access_extent(a)};

    if (o.bytes && t->results == (hands_on(e) && kind == TOUCH_WRITES)) {
        race_operand(t->race, e->core, e->pipe, &o);
        access_each(a, range, t->race);
    }
}

static void tell(struct race *r, const struct npu *n, const struct npu_event *e,
                 bool results)
{
    struct told t = {r, e, results};

    npu_touch(n, e->core, e->pipe, told, &t);
}

static void begins(struct race *r, const struct npu *n, const struct npu_event *e)
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
        tell(r, n, e, true);
    }
}

static void ends(struct race *r, const struct npu *n, const struct npu_event *e)
{
    race_end(r, e->core, e->pipe, e->now);
    tell(r, n, e, false);
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

void race_event(struct race *r, const struct npu *n, const struct npu_event *e)
{
    switch (e->what) {
    case NPU_PUSHED:
        push(r, e);
        break;
    case NPU_BEGINS:
        begins(r, n, e);
        break;
    case NPU_ENDS:
        ends(r, n, e);
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
