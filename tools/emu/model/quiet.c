/* SPDX-License-Identifier: MIT
 *
 * How long nobody needs to look: while the hart sleeps it sees nothing of the machine
 * but the interrupt lines, so the host may let events pass in one go up to a cycle before
 * which no armed condition can come true. That cycle is found from the queues: a queue
 * has room only after so many commands, a semaphore is posted only by a command that
 * names it, and no command takes less than its cost without any wait.
 *
 * Events keep their exact cycles; only the host's work is batched. A fault that happens
 * while the hart sleeps may therefore be announced later than it happens, but always in
 * the same cycle.
 */
#include "tools/emu/model/state.h"

/* Cycle at which the first command behind the running one can begin at the earliest. The
 * running one may still get faster when others stop sharing its bandwidth. */
static uint64_t next_begin(const struct npu *n, const struct npu_pipe *p)
{
    return p->state == PIPE_RUNNING && p->nominal > n->s->now ? p->nominal : n->s->now;
}

/* The earliest end of the index-th command of the queue. */
static uint64_t least_end(const struct npu *n, const struct npu_pipe *p, unsigned index)
{
    uint64_t cycle = next_begin(n, p);

    for (unsigned i = p->state == PIPE_RUNNING; i <= index; i++) {
        cycle += p->least[(p->head + i) % PIPE_DEPTH];
    }
    return cycle;
}

/* The earliest cycle at which `armed` slots can be free. */
static uint64_t room_at(const struct npu *n, const struct npu_pipe *p)
{
    unsigned room = PIPE_DEPTH - p->count;

    if (p->state == PIPE_STOPPED || p->arm > PIPE_DEPTH) {
        return NPU_NEVER;
    }
    return p->arm <= room ? n->s->now : least_end(n, p, p->arm - room - 1);
}

/* The earliest cycle at which a command of this pipe can post one of the semaphores. */
static uint64_t post_at(const struct npu *n, const struct npu_pipe *p,
                        const uint64_t sems[2])
{
    if (p->state == PIPE_STOPPED) {
        return NPU_NEVER;
    }
    for (unsigned i = 0; i < p->count; i++) {
        const struct cmd_head *h = &p->queue[(p->head + i) % PIPE_DEPTH].head;
        for (unsigned j = 0; j < 2; j++) {
            unsigned sem = h->post_sem[j] % SEM_COUNT;
            if (h->post_n[j] && (sems[sem / 64] >> (sem % 64) & 1)) {
                return least_end(n, p, i);
            }
        }
    }
    return NPU_NEVER;
}

static uint64_t min_cycle(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

uint64_t npu_quiet(const struct npu *n)
{
    const struct npu_state *s = n->s;
    uint64_t quiet = NPU_NEVER, chip = 0, next = npu_next(n);

    for (unsigned c = 0; c < s->cores; c++) {
        chip |= s->core[c].armed[1];
        if (s->core[c].irq_level) {
            return next;
        }
    }
    for (unsigned c = 0; c < s->cores; c++) {
        const struct npu_core *core = &s->core[c];
        const uint64_t sems[2] = {core->armed[0], chip};
        for (unsigned i = 0; i < NPU_PIPES; i++) {
            const struct npu_pipe *p = &core->pipe[i];
            if (p->count && p->arm) {
                quiet = min_cycle(quiet, room_at(n, p));
            }
            if (p->count && (sems[0] || sems[1])) {
                quiet = min_cycle(quiet, post_at(n, p, sems));
            }
        }
    }
    return quiet == NPU_NEVER || quiet < next ? next : quiet;
}
