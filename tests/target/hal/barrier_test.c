/* SPDX-License-Identifier: MIT
 *
 * The barrier units through their driver: the cores meet without the hart. The rules of
 * the unit one by one: tests/model/machine/barrier_test.c.
 */
#include <string.h>

#include "hal/chip.h"
#include "hal/pipe.h"
#include "hal/sem.h"
#include "sched/sched.h"
#include "tests/target/test.h"

enum { UNIT = 5, ARRIVE = SEM_CORE + 40, GO = 12, DONE = 13, ROUNDS = 20 };

/* Issues a command that arrives and one that goes on, and never waits for the barrier. */
static void meet(void *arg)
{
    union cmd arrive, go;

    (void)arg;
    cmd_nop(&arrive);
    cmd_post(&arrive, ARRIVE, 1);
    cmd_nop(&go);
    cmd_wait(&go, GO, 1);
    cmd_post(&go, DONE, 1);
    for (unsigned i = 0; i < ROUNDS; i++) {
        task_issue(PIPE_MTE2, &arrive);
        task_issue(PIPE_V, &go);
        task_wait(DONE, 1);
    }
}

TEST(barrier, cores_meet_without_the_hart)
{
    struct sched_report report;
    unsigned cores = chip_cores();

    barrier_set(UNIT, ARRIVE, cores, GO, UINT32_MAX);
    for (unsigned c = 0; c < cores; c++) {
        CHECK_OK(task_create("meet", c, meet, NULL));
    }
    CHECK_OK(sched_run(&report));
    barrier_set(UNIT, ARRIVE, 0, GO, 0);
    sem_post(0, ARRIVE, 1);
    CHECK_OK(sem_try_take(0, ARRIVE, 1));
}

/* The last core to arrive never does: nobody goes. */
TEST(barrier, holds_those_that_came)
{
    barrier_set(UNIT, ARRIVE, 2, GO, 1);
    sem_post(0, ARRIVE, 1);
    CHECK_EQ(sem_value(0, GO), 0u);
    CHECK_EQ(sem_value(0, ARRIVE), 1u);
    chip_reset();
    CHECK_EQ(sem_value(0, ARRIVE), 0u);
    sem_post(0, ARRIVE, 2);
    CHECK_OK(sem_try_take(0, ARRIVE, 2));
}

TEST(barrier, target_overflow_is_told)
{
    struct fault fault;
    char text[160];

    barrier_set(UNIT, ARRIVE, 1, GO, 1);
    sem_post(0, GO, SEM_MAX);
    sem_post(0, ARRIVE, 1);
    CHECK(core_fault(0, &fault));
    CHECK_EQ(fault.code, NPU_ERR_SEM_OVERFLOW);
    fault_text(&fault, text, sizeof(text));
    CHECK(strstr(text, "core 0: barrier unit 5 posts semaphore 12\n  SEM_OVERFLOW") !=
          NULL);
    chip_reset();
    core_reset(0);
}
