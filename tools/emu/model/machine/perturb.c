/* SPDX-License-Identifier: MIT
 *
 * Perturbation: with a seed other than 0 the machine takes its time wherever the contract
 * leaves it any. A correct kernel computes the same bytes under every seed; one that
 * leans on the timing does not.
 *
 * Delayed are the begin of a command whose semaphores are there, its end, and the rise of
 * an interrupt line; what happens in one cycle happens in another order. Everything else
 * is as ever: sources are read at the (late) begin, destinations change at the (late)
 * end.
 *
 * Invariant: a delay depends on the seed, core, pipe, number of the command on that pipe
 * and kind alone, in integers, and all of that is state: a run is repeated exactly, and
 * so is what follows a snapshot. The shapes of the delays are our own choice: mostly
 * none, some of a few cycles, a few longer than any transfer of a tile.
 */
#include "tools/emu/model/machine/perturb.h"

#include "tools/emu/model/machine/event.h"
#include "tools/emu/model/machine/sem.h"

enum kind { KIND_BEGIN, KIND_END, KIND_LINE, KIND_TEMPER, KIND_ORDER };

/* Everything of one core that is not a pipe's. */
#define NO_PIPE NPU_PIPES

/* Steele, Lea, Flood: Fast splittable pseudorandom number generators, 2014 (splitmix64).
 */
static uint64_t mix(uint64_t x)
{
    x += 0x9e3779b97f4a7c15u;
    x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9u;
    x = (x ^ x >> 27) * 0x94d049bb133111ebu;
    return x ^ x >> 31;
}

static uint64_t draw(const struct npu_state *s, enum kind kind, unsigned core,
                     unsigned pipe, uint64_t number)
{
    return mix(mix(s->seed << 32 | core << 16 | pipe << 8 | kind) ^ number);
}

/* How delays are spread: of 256 draws so many are below 2^4, 2^8, 2^10 and 2^13 cycles,
 * the rest is none. Each pipe has one temper for a whole run, so that some seeds have one
 * engine lag far behind another. */
static const struct temper {
    uint8_t of_4, of_8, of_10, of_13;
} tempers[] = {{8, 0, 0, 0}, {112, 8, 0, 0}, {64, 24, 6, 2}, {64, 96, 48, 8}};

static uint32_t delay(const struct npu_state *s, enum kind kind, unsigned core,
                      unsigned pipe, uint64_t number)
{
    const struct temper *t = &tempers[draw(s, KIND_TEMPER, core, pipe, kind) % 4];
    uint64_t d = draw(s, kind, core, pipe, number);
    uint32_t which = (uint32_t)(d & 0xff), cycles = (uint32_t)(d >> 32);

    if (which < t->of_13) {
        return cycles % PERTURB_MOST;
    }
    which -= t->of_13;
    if (which < t->of_10) {
        return cycles % (1u << 10);
    }
    which -= t->of_10;
    if (which < t->of_8) {
        return cycles % (1u << 8);
    }
    which -= t->of_8;
    return which < t->of_4 ? cycles % (1u << 4) : 0;
}

bool perturb_hold(struct npu *n, unsigned core, unsigned pipe, bool ready)
{
    struct npu_state *s = n->s;
    struct npu_pipe *p = &s->core[core].pipe[pipe];
    const struct cmd_head *head = &p->queue[p->head].head;

    if (s->seed == 0 || !ready) {
        p->hold = 0;
        return false;
    }
    if (p->hold == 0 && sem_has(n, core, head->wait_sem, head->wait_n, 2)) {
        p->hold = s->now + delay(s, KIND_BEGIN, core, pipe, p->serial << 8 | p->tries++);
    }
    if (s->now < p->hold) {
        return true;
    }
    p->hold = 0; /* what it waited for may be gone: then it waits as ever */
    return false;
}

uint32_t perturb_end(const struct npu *n, unsigned core, unsigned pipe)
{
    const struct npu_pipe *p = &n->s->core[core].pipe[pipe];

    return n->s->seed ? delay(n->s, KIND_END, core, pipe, p->serial) : 0;
}

bool perturb_line(struct npu *n, unsigned core, bool rise)
{
    struct npu_state *s = n->s;
    struct npu_core *c = &s->core[core];
    uint64_t due = c->line_due;

    if (s->seed == 0) {
        return false;
    }
    if (!rise) {
        due = 0;
    } else if (due == 0) {
        due = s->now + delay(s, KIND_LINE, core, NO_PIPE, c->line_rises++);
    }
    due = due > s->now ? due : 0;
    if (due != c->line_due) {
        c->line_due = due;
        npu_update_next(c);
    }
    return due != 0;
}

struct order perturb_order(const struct npu_state *s)
{
    uint64_t d;

    if (s->seed == 0) {
        return (struct order){0, 0};
    }
    d = draw(s, KIND_ORDER, NPU_CHIP, NO_PIPE, s->now);
    return (struct order){(unsigned)(d >> 32) % s->cores, d % NPU_PIPES};
}
