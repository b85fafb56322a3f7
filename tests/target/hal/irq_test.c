/* SPDX-License-Identifier: MIT
 *
 * Sleeping: irq_wait returns when an engine has done what the hart asked to be told of.
 */
#include "hal/chip.h"
#include "hal/irq.h"
#include "hal/mte.h"
#include "hal/sem.h"
#include "tests/target/test.h"

enum { SEM = 10 };

static uint8_t gm[4096] __attribute__((aligned(512)));

TEST(irq, engine_s_post_wakes_the_hart)
{
    uint64_t sleeps = irq_sleeps(), begin = chip_cycle();
    union cmd cmd;

    mte_gm_to_ub(&cmd, 0, gm, 4096);
    cmd_post(&cmd, SEM, 1);
    sem_arm(0, SEM, 1);
    CHECK_EQ(sem_armed(0, SEM), 1u);
    CHECK_OK(pipe_push(0, PIPE_MTE2, &cmd));
    irq_wait();
    sem_arm(0, SEM, 0);
    CHECK_EQ(sem_value(0, SEM), 1u);
    CHECK(irq_sleeps() > sleeps);
    CHECK(chip_cycle() - begin >= chip_cost(COST_GM_UB_FIXED));
    CHECK_OK(sem_try_take(0, SEM, 1));
}

TEST(irq, sleep_ends_at_the_armed_count)
{
    union cmd cmd;

    cmd_nop(&cmd);
    cmd_post(&cmd, SEM, 1);
    sem_arm(0, SEM, 20);
    for (unsigned i = 0; i < 20; i++) {
        CHECK_OK(pipe_push(0, PIPE_MTE3, &cmd));
    }
    irq_wait();
    CHECK_EQ(sem_value(0, SEM), 20u);
    sem_arm(0, SEM, 0);
    CHECK_OK(sem_try_take(0, SEM, 20));
}

TEST_CYCLES(irq, room_in_a_queue_wakes_the_hart)
{
    union cmd cmd;

    mte_gm_to_ub(&cmd, 0, gm, 32); /* long enough for the hart to get to sleep */
    for (unsigned i = 0; i < PIPE_DEPTH; i++) {
        CHECK_OK(pipe_push(0, PIPE_MTE2, &cmd));
    }
    pipe_arm(0, PIPE_MTE2, 8);
    CHECK(pipe_free(0, PIPE_MTE2) < 8);
    irq_wait();
    pipe_arm(0, PIPE_MTE2, 0);
    CHECK(pipe_free(0, PIPE_MTE2) >= 8);
    pipe_reset(0, PIPE_MTE2);
}

TEST_CYCLES(irq, wait_returns_at_once_for_what_is_there)
{
    uint64_t begin;

    sem_post(0, SEM, 1);
    sem_arm(0, SEM, 1);
    begin = chip_cycle();
    irq_wait();
    irq_wait(); /* the line has not fallen in between */
    CHECK(chip_cycle() - begin < 200);
    sem_arm(0, SEM, 0);
    CHECK_OK(sem_try_take(0, SEM, 1));
}

TEST(irq, every_core_can_wake_the_hart)
{
    union cmd cmd;

    cmd_nop(&cmd);
    cmd_post(&cmd, SEM, 1);
    for (unsigned core = 0; core < chip_cores(); core++) {
        sem_arm(core, SEM, 1);
        CHECK_OK(pipe_push(core, PIPE_V, &cmd));
        irq_wait();
        sem_arm(core, SEM, 0);
        CHECK_OK(sem_try_take(core, SEM, 1));
    }
}
