/* SPDX-License-Identifier: MIT
 *
 * A command that only waits for a unit of a semaphore and posts one of another; 0: of none.
 */
#ifndef TESTS_TARGET_NOP_H
#define TESTS_TARGET_NOP_H

#include "sched/sched.h"

static inline void issue_nop(enum pipe pipe, unsigned wait, unsigned post)
{
    union cmd cmd;

    cmd_nop(&cmd);
    if (wait) {
        cmd_wait(&cmd, wait, 1);
    }
    if (post) {
        cmd_post(&cmd, post, 1);
    }
    task_issue(pipe, &cmd);
}

#endif
