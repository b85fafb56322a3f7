/* SPDX-License-Identifier: MIT
 *
 * Commands by pipe: a lane is a pipe of a core that has run any, its commands in order.
 */
#ifndef TOOLS_PROFILE_LANE_H
#define TOOLS_PROFILE_LANE_H

#include "tools/profile/trace.h"

#define LANE_NONE (UINT32_MAX - 1)

struct lanes {
    uint32_t n;
    uint32_t *first; /* n + 1: of order */
    uint32_t *order; /* numbers of commands */
    uint16_t *core;
    uint8_t *pipe;
    uint32_t *of; /* by core * NPU_PIPES + pipe: the lane, or LANE_NONE */
    uint32_t slots;
};

void lanes_make(struct lanes *l, const struct trace *t);
void lanes_free(struct lanes *l);
/* Command `number` of a pipe, or LANE_NONE. */
uint32_t lane_number(const struct lanes *l, const struct trace *t, unsigned core,
                     unsigned pipe, uint64_t number);

#endif
