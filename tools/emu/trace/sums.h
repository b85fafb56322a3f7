/* SPDX-License-Identifier: MIT
 *
 * What the commands of a launch have done, added up for each core: what the tables of a
 * profile are made of.
 */
#ifndef TOOLS_EMU_TRACE_SUMS_H
#define TOOLS_EMU_TRACE_SUMS_H

#include "tools/emu/trace/follow.h"

/* Types that tables tell apart. */
enum sums_type { SUMS_F32, SUMS_F16, SUMS_S32, SUMS_S16, SUMS_S8, SUMS_MISC, SUMS_TYPES };
enum { SUMS_MEMS = NPU_MEM_COUNT + 1 };

struct pipe_sums {
    uint64_t commands, bytes;    /* written, or read if nothing is */
    uint64_t ran, shared;        /* cycles; of these lost on shared paths */
    uint64_t waited;             /* for semaphores and marks, and held up */
    uint64_t bank_groups, banks; /* cycles */
    uint64_t hits, misses;
    uint64_t typed[SUMS_TYPES]; /* cycles, by the type of the command */
    uint64_t instructions[SUMS_TYPES], ops[SUMS_TYPES];
    uint64_t read[SUMS_MEMS], written[SUMS_MEMS]; /* bytes of each memory */
    uint64_t path
        [SUMS_MEMS]
        [SUMS_MEMS]; /* bytes from one to the other; those of GM, if one of them is that */
};

struct core_sums {
    uint64_t first,
        last; /* cycles: the first begin, the last end; 0: there was no command */
    struct pipe_sums pipe[NPU_PIPES];
};

struct sums {
    struct core_sums core[NPU_MAX_CORES];
};

void sums_ended(struct sums *s, const struct npu_event *e, const struct followed *c);
/* First and last cycle of any core; false: no command has ended. */
bool sums_span(const struct sums *s, uint64_t *first, uint64_t *last);

#endif
