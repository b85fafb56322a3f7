/* SPDX-License-Identifier: MIT
 *
 * What a command will do, worked out once, when it has become the head of its queue and
 * before it touches anything. A plan follows from the command, the special registers of
 * its pipe and the profile; so it is not part of the state, and is made again for what a
 * snapshot brings back.
 */
#ifndef TOOLS_EMU_MODEL_PLAN_H
#define TOOLS_EMU_MODEL_PLAN_H

#include "tools/emu/model/access.h"

/* What a transfer shares: the chip's way to GM, reading or writing; L1 of its core. */
enum { POOL_READ = 1, POOL_WRITE = 2, POOL_GM = 3, POOL_FROM_L1 = 4, POOL_TO_L1 = 8 };

/* Which command has to have ended in the very cycle for `fixed_next` to count; or every
 * cycle that the command has waited in its queue is one less, down to that. */
enum plan_behind { BEHIND_NOTHING, BEHIND_ANY, BEHIND_ITS_KIND, BEHIND_WAITING };

struct plan {
    struct access src[4], dst;
    struct access also; /* a second, local, destination; its rows follow in the stage */
    uint8_t n_src;
    bool has_dst;
    bool in_order;             /* rows of dst may overlap: the last one stays */
    uint8_t pools;             /* POOL_* */
    uint8_t behind;            /* enum plan_behind */
    uint32_t fixed;            /* cycles */
    uint32_t fixed_next;       /* instead, if it begins directly behind another one */
    uint64_t work;             /* bytes, or cycles with rate 1 */
    uint32_t rate;             /* per cycle */
    uint32_t latency;          /* of GM, with all that is read in L2 */
    uint64_t ops;              /* for the PMU */
    uint64_t bank_group, bank; /* cycles of `work` that conflicts in UB cost */
    uint64_t at_least;         /* cycles that the work takes however fast it could go */
    uint64_t stage_bytes;      /* that run() fills, 0: those of dst and also */
};

static inline uint64_t plan_bytes_read(const struct plan *plan)
{
    uint64_t bytes = 0;

    for (unsigned i = 0; i < plan->n_src; i++) {
        bytes += access_bytes(&plan->src[i]);
    }
    return bytes;
}

static inline uint64_t plan_bytes_written(const struct plan *plan)
{
    return plan->has_dst ? access_bytes(&plan->dst) + access_bytes(&plan->also) : 0;
}

#endif
