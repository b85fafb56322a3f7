/* SPDX-License-Identifier: MIT
 *
 * Commands of the Vector, one at a time.
 */
#ifndef SCHED_VECTOR_H
#define SCHED_VECTOR_H

#include "hal/vector.h"
#include "sched/sched.h"

static inline void task_vector(union cmd *cmd)
{
    task_issue(PIPE_V, cmd);
}

/* From here on a command is of so many elements. */
static inline void task_vector_count(uint32_t elements)
{
    union cmd cmd;

    vector_count(&cmd, elements);
    task_vector(&cmd);
}

#endif
