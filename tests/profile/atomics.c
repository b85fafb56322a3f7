/* SPDX-License-Identifier: MIT
 *
 * Cores that add up in GM. Atomic stores may come in any order; those that hand a token from
 * core to core have one, and only one of them works.
 */
#include "hal/mte.h"
#include "sched/tque.h"
#include "tests/profile/bottleneck.h"

enum { TILE = 64 << 10, ROUNDS = 8 };

void slow_atomics(void *at_once)
{
    unsigned block = task_block(), blocks = task_blocks();
    bool token = !*(bool *)at_once;
    struct tpipe *pipe = tpipe_open();
    struct tque *q = tque_init(pipe, "x", VECIN, PIPE_MTE2, PIPE_MTE3, 2, TILE);
    union cmd cmd;

    mte_set_atomic(&cmd, ATOMIC_ADD, TYPE_F32);
    task_issue(PIPE_MTE3, &cmd);
    for (unsigned i = 0; i < ROUNDS; i++) {
        bool first = i == 0 && block == 0, last = i == ROUNDS - 1 && block == blocks - 1;
        uint32_t x = tque_alloc(q);
        mte_gm_to_ub(&cmd, x, slow_x + (block * ROUNDS + i) % 24 * TILE, TILE);
        tque_enque(q, x, &cmd);
        task_issue(PIPE_MTE2, &cmd);
        x = tque_deque(q);
        mte_ub_to_gm(&cmd, slow_y + (i + block) % blocks * TILE, x, TILE);
        if (token && !first) {
            cmd_wait(&cmd, SEM_CORE + block, 1);
        }
        tque_free(q, x, &cmd);
        if (token && !last) {
            cmd_post(&cmd, SEM_CORE + (block + 1) % blocks, 1);
        }
        task_issue(PIPE_MTE3, &cmd);
    }
    mte_set_atomic(&cmd, ATOMIC_NONE, TYPE_NONE);
    task_issue(PIPE_MTE3, &cmd);
}
