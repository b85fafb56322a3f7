/* SPDX-License-Identifier: MIT
 *
 * Those of `plants` that two cores make together.
 */
#include "hal/chip.h"
#include "tests/broken/plants.h"

static void set_atomic(uint8_t op, enum type type)
{
    union cmd cmd;

    mte_set_atomic(&cmd, op, type);
    GO(PIPE_MTE3, &cmd);
}

/* One core adds to a sum that the other one sets. */
void atomic_beside_plain(void *arg)
{
    union cmd cmd;

    (void)arg;
    fill_ub();
    task_barrier();
    if (task_block() == 0 || right) {
        set_atomic(ATOMIC_ADD, TYPE_S32);
    }
    mte_ub_to_gm(&cmd, gm + FAR, 0, BYTES);
    GO(PIPE_MTE3, &cmd); /* one, two */
    set_atomic(ATOMIC_NONE, TYPE_NONE);
}

void adds_beside_maxima(void *arg)
{
    union cmd cmd;

    (void)arg;
    fill_ub();
    task_barrier();
    set_atomic(task_block() == 0 || right ? ATOMIC_ADD : ATOMIC_MAX, TYPE_S32);
    mte_ub_to_gm(&cmd, gm + FAR, 0, BYTES);
    GO(PIPE_MTE3, &cmd); /* one, two */
    set_atomic(ATOMIC_NONE, TYPE_NONE);
}

/* The harts have met, but what they have asked for has not ended. */
void barrier_of_harts(void *arg)
{
    union cmd cmd;

    (void)arg;
    fill_ub();
    task_barrier();
    mte_ub_to_gm(&cmd, gm + FAR + task_block() * BYTES, 0, BYTES);
    GO(PIPE_MTE3, &cmd); /* one */
    if (right) {
        task_drain();
    }
    task_barrier();
    mte_gm_to_ub(&cmd, FAR, gm + FAR + (1 - task_block()) * BYTES, BYTES);
    GO(PIPE_MTE2, &cmd); /* two */
}

/* The barrier by commands: what arrives is a load, and not the store. */
void wrong_pipe_arrives(void *arg)
{
    union cmd cmd;

    (void)arg;
    fill_ub();
    task_barrier();
    mte_ub_to_gm(&cmd, gm + FAR + task_block() * BYTES, 0, BYTES);
    GO_SYNC(PIPE_MTE3, &cmd, NONE, right ? LAUNCH_ARRIVE : NONE); /* one */
    mte_gm_to_ub(&cmd, 2 * FAR, gm, BYTES);
    GO_SYNC(PIPE_MTE2, &cmd, NONE, right ? NONE : LAUNCH_ARRIVE);
    mte_gm_to_ub(&cmd, FAR, gm + FAR + (1 - task_block()) * BYTES, BYTES);
    GO_SYNC(PIPE_MTE2, &cmd, LAUNCH_GO, NONE); /* two */
}

/* A message by a semaphore of the chip, of which the reader takes another one. */
void wrong_semaphore(void *arg)
{
    union cmd cmd;

    (void)arg;
    fill_ub();
    task_barrier();
    if (task_block() == 0) {
        mte_ub_to_gm(&cmd, gm + FAR, BYTES, BYTES);
        GO_SYNC(PIPE_MTE3, &cmd, NONE, TO_A);
        mte_ub_to_gm(&cmd, gm + FAR, 0, BYTES);
        GO_SYNC(PIPE_MTE3, &cmd, NONE, TO_B); /* one */
        task_drain();
        task_barrier();
    } else {
        mte_gm_to_ub(&cmd, FAR, gm + FAR, BYTES);
        GO_SYNC(PIPE_MTE2, &cmd, right ? TO_B : TO_A, NONE); /* two */
        task_drain();
        task_barrier();
        task_wait(right ? TO_A : TO_B, 1);
    }
}

/* Each core waits for itself alone. */
void drains_its_own(void *arg)
{
    union cmd cmd;

    (void)arg;
    fill_ub();
    task_barrier();
    mte_ub_to_gm(&cmd, gm + FAR + task_block() * BYTES, 0, BYTES);
    GO(PIPE_MTE3, &cmd); /* one */
    task_drain();
    if (right) {
        task_barrier();
    }
    mte_gm_to_ub(&cmd, FAR, gm + FAR + (1 - task_block()) * BYTES, BYTES);
    GO(PIPE_MTE2, &cmd); /* two */
}

/* A C variable tells the other core that all is there. */
void flag_in_memory(void *arg)
{
    volatile uint32_t *flag = (volatile uint32_t *)(gm + 2 * FAR);
    union cmd cmd;

    (void)arg;
    fill_ub();
    task_barrier();
    if (task_block() == 0) {
        mte_ub_to_gm(&cmd, gm + FAR, 0, BYTES);
        GO(PIPE_MTE3, &cmd); /* one */
        task_drain();
        *flag = 1;
    } else {
        while (!*flag) {
            task_yield();
        }
    }
    if (right) {
        task_barrier();
    }
    if (task_block() == 1) {
        mte_gm_to_ub(&cmd, FAR, gm + FAR, BYTES);
        GO(PIPE_MTE2, &cmd); /* two */
    }
}

/* Shares of 1000 bytes, of which each is rounded up to whole blocks. */
void shares_meet(void *arg)
{
    union cmd cmd;

    (void)arg;
    fill_ub();
    task_barrier();
    mte_ub_to_gm(&cmd, gm + FAR + task_block() * 1000, 0, right ? 1000 : 1024);
    GO(PIPE_MTE3, &cmd); /* one, two */
}
