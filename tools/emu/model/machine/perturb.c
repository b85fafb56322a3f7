/* SPDX-License-Identifier: MIT
 *
 * Perturbation: with a seed other than 0 the machine takes its time wherever the contract
 * leaves it any. A correct kernel computes the same bytes under every seed; one that
 * leans on the timing does not.
 *
 * Delayed are the begin of a command whose semaphores are there, its end, all begins of a
 * core that had nothing to do, the rise of an interrupt line, and the hart at an access
 * to a register; what happens in one cycle happens in another order. Everything else is
 * as ever: sources are read at the (late) begin, destinations change at the (late) end.
 *
 * Invariant: a delay depends on the seed, core, pipe, number of the command on that pipe
 * and kind alone, in integers, and all of that is state: a run is repeated exactly, and
 * so is what follows a snapshot. So each can be left out alone, too, as `only` does. The
 * shapes of the delays are our own choice: mostly none, some of a few cycles, a few longer
 * than any transfer of a tile.
 */
#include "tools/emu/model/machine/perturb.h"

#include "tools/emu/model/machine/event.h"
#include "tools/emu/model/machine/sem.h"

/* What is drawn besides delays, see enum npu_delay. */
enum { DRAW_TEMPER = 3, DRAW_ORDER = 4 };

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

static uint64_t draw(const struct npu_state *s, unsigned kind, unsigned core,
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

static uint32_t drawn(const struct npu_state *s, enum npu_delay kind, unsigned core,
                      unsigned pipe, uint64_t number)
{
    const struct temper *t = &tempers[draw(s, DRAW_TEMPER, core, pipe, kind) % 4];
    uint64_t d = draw(s, kind, core, pipe, number);
    /* The hart makes several accesses for a command. */
    uint32_t which = (uint32_t)(d & (kind == NPU_LATE_HART ? 0x3ff : 0xff));
    uint32_t cycles = (uint32_t)(d >> 32);

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

static bool stays(const struct npu *n, uint64_t key)
{
    size_t first = 0, end = n->only ? n->only->n : 0;

    while (first < end) {
        size_t at = first + (end - first) / 2;
        if (n->only->key[at] == key) {
            return true;
        }
        first = n->only->key[at] < key ? at + 1 : first;
        end = n->only->key[at] < key ? end : at;
    }
    return !n->only;
}

static uint32_t delay(const struct npu *n, enum npu_delay kind, unsigned core,
                      unsigned pipe, uint64_t number)
{
    uint32_t cycles = drawn(n->s, kind, core, pipe, number);
    uint64_t key = (uint64_t)kind << 60 | (uint64_t)core << 52 | (uint64_t)pipe << 48 |
                   (number & (((uint64_t)1 << 48) - 1));

    if (cycles == 0 || !stays(n, key)) {
        return 0;
    }
    event_delay(n, kind, core, pipe, key, cycles);
    return cycles;
}

uint64_t perturb_digest(const struct npu_only *only)
{
    uint64_t digest = only != NULL;

    for (size_t i = 0; only && i < only->n; i++) {
        digest = mix(digest ^ only->key[i]);
    }
    return digest;
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
        p->hold =
            s->now + delay(n, NPU_LATE_BEGIN, core, pipe, p->serial << 8 | p->tries++);
        p->hold = p->hold < s->core[core].start ? s->core[core].start : p->hold;
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

    return n->s->seed ? delay(n, NPU_LATE_END, core, pipe, p->serial) : 0;
}

void perturb_push(struct npu *n, unsigned core)
{
    struct npu_core *c = &n->s->core[core];

    for (unsigned p = 0; p < NPU_PIPES; p++) {
        if (c->pipe[p].count) {
            return;
        }
    }
    if (n->s->seed) {
        c->start = n->s->now + delay(n, NPU_LATE_CORE, core, NO_PIPE, c->starts++);
    }
}

void npu_slow_hart(struct npu *n)
{
    struct npu_state *s = n->s;

    if (s->seed) {
        s->hart_late += delay(n, NPU_LATE_HART, NPU_CHIP, NO_PIPE, s->hart_accesses++);
    }
}

uint64_t npu_hart_late(const struct npu *n)
{
    return n->s->hart_late;
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
        due = s->now + delay(n, NPU_LATE_LINE, core, NO_PIPE, c->line_rises++);
    }
    due = due > s->now ? due : 0;
    if (due != c->line_due) {
        c->line_due = due;
        npu_update_next(c);
    }
    return due != 0;
}

struct order perturb_order(const struct npu *n)
{
    const struct npu_state *s = n->s;
    uint64_t d;

    if (s->seed == 0 || !stays(n, NPU_OTHER_ORDER)) {
        return (struct order){0, 0};
    }
    d = draw(s, DRAW_ORDER, NPU_CHIP, NO_PIPE, s->now);
    return (struct order){(unsigned)(d >> 32) % s->cores, d % NPU_PIPES};
}
