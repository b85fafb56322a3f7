/* SPDX-License-Identifier: MIT
 *
 * Those of `plants` in which the hart itself does something too early or too late.
 */
#include <stdlib.h>
#include <string.h>

#include "hal/chip.h"
#include "tests/broken/plants.h"

/* Sums of UB that the hart adds up, as soon as they were asked for. */
void hart_loads_ub(void *arg)
{
    const volatile float *ub = chip_local(task_core(), NPU_MEM_UB, FAR);
    union cmd cmd;

    (void)arg;
    fill_ub();
    work_on(BYTES);
    vector_add(&cmd, TYPE_F32, FAR, 0, 0);
    GO_SYNC(PIPE_V, &cmd, NONE, DONE); /* one */
    if (right) {
        task_wait(DONE, 1);
    }
    (void)ub[8]; /* two */
    task_wait(DONE, right ? 0 : 1);
}

/* The hart writes the next constant over the last one. */
void hart_stores_l1(void *arg)
{
    volatile uint32_t *l1 = chip_local(task_core(), NPU_MEM_L1, 0);
    union cmd cmd;

    (void)arg;
    for (unsigned i = 0; i < 8; i++) {
        l1[i] = 1;
    }
    mte_l1_to_ub(&cmd, 0, 0, 32);
    GO_SYNC(PIPE_MTE1, &cmd, NONE, DONE); /* one */
    if (right) {
        task_wait(DONE, 1);
    }
    l1[7] = 2; /* two */
    task_wait(DONE, right ? 0 : 1);
}

/* Room in the queue is taken for the end of what was in it. */
void hart_looks_at_room(void *arg)
{
    volatile char *result = gm;
    union cmd cmd;

    (void)arg;
    fill_ub();
    mte_ub_to_gm(&cmd, gm, 0, BYTES);
    GO(PIPE_MTE3, &cmd); /* one */
    while (pipe_free(task_core(), PIPE_MTE3) != PIPE_DEPTH) {
        task_yield();
    }
    if (right) {
        task_drain();
    }
    (void)result[0]; /* two */
}

/* So is the value of a semaphore. */
void hart_looks_at_a_value(void *arg)
{
    volatile char *result = gm;
    union cmd cmd;

    (void)arg;
    fill_ub();
    mte_ub_to_gm(&cmd, gm, 0, BYTES);
    GO_SYNC(PIPE_MTE3, &cmd, NONE, DONE); /* one */
    while (sem_value(task_core(), DONE) == 0) {
        task_yield();
    }
    task_wait(DONE, right);
    (void)result[0]; /* two */
    task_wait(DONE, !right);
}

/* Long enough, on this machine. */
void hart_sleeps(void *arg)
{
    volatile char *result = gm;
    union cmd cmd;

    (void)arg;
    fill_ub();
    mte_ub_to_gm(&cmd, gm, 0, BYTES);
    GO_SYNC(PIPE_MTE3, &cmd, NONE, DONE); /* one */
    task_sleep_until(chip_cycle() + 100000);
    task_wait(DONE, right);
    (void)result[0]; /* two */
    task_wait(DONE, !right);
}

/* The hart wants back what it has said is free, and may be before the next load. */
void hart_takes_it_away(void *arg)
{
    union cmd cmd;

    (void)arg;
    fill_ub();
    work_on(BYTES);
    task_post(FREE, 1);
    for (unsigned i = 0; i < 4; i++) {
        mte_gm_to_ub(&cmd, 0, gm + i * BYTES, BYTES);
        GO_SYNC(PIPE_MTE2, &cmd, FREE, FULL); /* one */
        vector_add(&cmd, TYPE_F32, FAR, 0, 2 * FAR);
        GO_SYNC(PIPE_V, &cmd, FULL, FREE);
    }
    if (right) {
        task_drain();
    }
    task_wait(FREE, 1); /* two */
}

/* A workspace is given back when the last command that uses it has been issued. */
void hart_gives_back_too_early(void *arg)
{
    char *space = malloc(2 * BYTES);
    union cmd cmd;

    (void)arg;
    fill_ub();
    mte_ub_to_gm(&cmd, space + BYTES, 0, 256);
    GO(PIPE_MTE3, &cmd); /* two */
    if (right) {
        task_drain();
    }
    free(space);
}

/* The hart is the consumer, and looks at its buffer once more; the load that comes next has
 * been issued. */
void hart_uses_it_behind_free(void *arg)
{
    struct tque *in =
        tque_init(tpipe_open(), "in", VECIN, PIPE_MTE2, TQUE_HART, 1, BYTES);
    const volatile char *ub;
    uint32_t x = 0;
    union cmd cmd;

    (void)arg;
    for (unsigned i = 0; i < 2; i++) {
        x = tque_alloc(in);
        mte_gm_to_ub(&cmd, x, gm, BYTES);
        tque_enque(in, x, &cmd);
        GO(PIPE_MTE2, &cmd); /* one */
    }
    x = tque_deque(in);
    ub = chip_local(task_core(), NPU_MEM_UB, x);
    if (right) {
        (void)ub[4];
    }
    tque_free(in, x, NULL);
    if (!right) {
        (void)ub[4]; /* two */
    }
    x = tque_deque(in);
    tque_free(in, x, NULL);
}

/* The result goes to a local variable of a function that has returned. */
__attribute__((noinline)) static void to_a_local(void)
{
    volatile char result[256];
    union cmd cmd;

    mte_ub_to_gm(&cmd, (void *)(uintptr_t)result, 0, sizeof(result));
    GO(PIPE_MTE3, &cmd); /* one */
    if (right) {
        task_drain();
    }
}

__attribute__((noinline)) static void uses_the_stack(void)
{
    volatile char other[512];

    for (unsigned i = 0; i < sizeof(other); i++) {
        other[i] = (char)i; /* two */
    }
}

void on_the_stack(void *arg)
{
    (void)arg;
    fill_ub();
    to_a_local();
    uses_the_stack();
    task_drain();
}

/* A sum that nobody has set to 0 is loaded, added to and stored. */
void from_malloc(void *arg)
{
    char *sums = right ? calloc(BYTES, 1) : malloc(BYTES);
    union cmd cmd;

    (void)arg;
    fill_ub();
    mte_gm_to_ub(&cmd, FAR, sums, BYTES);
    GO(PIPE_MTE2, &cmd); /* one */
    task_drain();
    work_on(BYTES);
    vector_add(&cmd, TYPE_F32, FAR, FAR, 0);
    GO(PIPE_V, &cmd);
    task_drain();
    mte_ub_to_gm(&cmd, gm, FAR, BYTES);
    GO(PIPE_MTE3, &cmd); /* two */
    task_drain();
    free(sums);
}

/* A list has grown, and the command goes by where it was. */
void old_address(void *arg)
{
    char *list = calloc(BYTES, 1);
    uintptr_t before = (uintptr_t)list; /* compilers see through what is freed */
    char *longer = realloc(list, 64 * BYTES);
    uintptr_t from = right ? (uintptr_t)longer : before;
    union cmd cmd;

    (void)arg;
    mte_gm_to_ub(&cmd, 0, (const void *)from, BYTES);
    GO(PIPE_MTE2, &cmd); /* two */
    task_drain();
    free(longer);
}
