/* SPDX-License-Identifier: MIT
 *
 * Order among what has been read of a trace: commands by their begins, what the hart did, the
 * launches that are wanted, and units from who posted them to who took them.
 */
#ifndef TOOLS_PROFILE_ARRANGE_H
#define TOOLS_PROFILE_ARRANGE_H

#include "tools/profile/trace.h"

/* Who posted the unit that a command took, until all commands are known. */
struct post {
    uint16_t core, by_core;
    uint8_t pipe, by_pipe; /* 0: the hart, or nobody that is known */
    uint64_t number, by_number, cycles;
    uint32_t sem;
};

struct posts {
    struct post *post;
    uint32_t n;
};

/* Why that is not possible, or NULL. */
const char *trace_arrange(struct trace *t, const struct posts *posts,
                          const struct window *window);

#endif
