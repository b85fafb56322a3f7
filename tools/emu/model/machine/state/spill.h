/* SPDX-License-Identifier: MIT
 *
 * What a queue that is full holds besides, in a machine that is asked what it would do with
 * queues that never are (npu.h, struct npu_changes): SPILL commands of each pipe, in memory that
 * the host lends (npu.spill; NULL: queues end where they do), so no snapshot has it.
 */
#ifndef TOOLS_EMU_MODEL_MACHINE_STATE_SPILL_H
#define TOOLS_EMU_MODEL_MACHINE_STATE_SPILL_H

#include "tools/emu/model/machine/state/state.h"

enum { SPILL = 4096 };

struct spilled {
    union cmd cmd;
    struct npu_from from;
    uint64_t pushed; /* cycle */
};
struct npu_spill {
    uint32_t head, n;
    struct spilled at[SPILL];
};

static inline struct npu_spill *spill_of(const struct npu *n, unsigned core,
                                         unsigned pipe)
{
    return n->spill ? &n->spill[core * NPU_PIPES + pipe] : NULL;
}

/* Commands behind those of the queue. */
static inline uint32_t spilled(const struct npu *n, unsigned core, unsigned pipe)
{
    return n->spill ? spill_of(n, core, pipe)->n : 0;
}

/* Commands that may be pushed. */
static inline uint32_t queue_room(const struct npu *n, unsigned core, unsigned pipe)
{
    const struct npu_pipe *p = &n->s->core[core].pipe[pipe];

    return PIPE_DEPTH - p->count + (n->spill ? SPILL - spilled(n, core, pipe) : 0);
}

/* Of these as many as software sees. All slots are free where nothing is left: who waits for
 * the end of all commands waits for that, and sleeps meanwhile. */
static inline uint32_t queue_free(const struct npu *n, unsigned core, unsigned pipe)
{
    uint32_t room = queue_room(n, core, pipe), left = n->s->core[core].pipe[pipe].count;
    uint32_t most = left ? PIPE_DEPTH - 1 : PIPE_DEPTH;

    return room < most ? room : most;
}

#endif
