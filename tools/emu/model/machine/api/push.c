/* SPDX-License-Identifier: MIT
 *
 * Commands come to a queue: from the hart, or from what the queue could not hold when the hart
 * pushed them, where none is ever full (spill.h).
 */
#include "tools/emu/model/machine/state/defect.h"
#include "tools/emu/model/machine/event.h"
#include "tools/emu/model/machine/hart.h"
#include "tools/emu/model/machine/perturb.h"
#include "tools/emu/model/machine/pipe.h"
#include "tools/emu/model/machine/state/spill.h"
#include "tools/emu/model/mem.h"

/* To the end of a queue that has room. */
static void append(struct npu *n, unsigned core, unsigned pipe,
                   const struct spilled *next)
{
    struct npu_pipe *p = &n->s->core[core].pipe[pipe];
    unsigned slot = (p->head + p->count) % PIPE_DEPTH;

    p->queue[slot] = next->cmd;
    p->from[slot] = next->from;
    p->pushed[slot] = next->pushed;
    event_command(n, core, pipe, NPU_PUSHED, slot, NULL);
    p->count++;
}

void pipe_refill(struct npu *n, unsigned core, unsigned pipe)
{
    struct npu_spill *spill = spill_of(n, core, pipe);

    if (spill && spill->n) {
        append(n, core, pipe, &spill->at[spill->head]);
        spill->head = (spill->head + 1) % SPILL;
        spill->n--;
    }
}

void pipe_push(struct npu *n, unsigned core, unsigned pipe, uint64_t value)
{
    struct npu_state *s = n->s;
    struct npu_pipe *p = &s->core[core].pipe[pipe];
    uint64_t addr = field_get(PIPE_PUSH_ADDR, value);
    unsigned count = (unsigned)field_get(PIPE_PUSH_MORE, value) + 1;
    struct npu_fault fault = {.addr = addr, .value = value};
    struct npu_from hart = {.scalar = hart_scalar(n, core)};
    const void *from;

    if (count > queue_room(n, core, pipe)) {
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
    perturb_push(n, core);
    p->head_since = p->count ? p->head_since : s->now;
    for (unsigned i = 0; i < count; i++) {
        struct spilled next = {.pushed = s->now};
        memcpy(&next.cmd, (const uint8_t *)from + i * CMD_BYTES, CMD_BYTES);
        defect_skip(s, core, &next.cmd.head);
        if (next.cmd.head.pc == 0 && hart.pc == 0 && n->host->hart) {
            n->host->hart(n->ctx, &hart.pc, &hart.ra);
        }
        next.from = hart;
        if (p->count < PIPE_DEPTH) {
            append(n, core, pipe, &next);
        } else {
            struct npu_spill *spill = spill_of(n, core, pipe);
            spill->at[(spill->head + spill->n++) % SPILL] = next;
        }
    }
    n->host->gm_unmap(n->ctx, (void *)(uintptr_t)from, addr, count * CMD_BYTES, false);
}
