/* SPDX-License-Identifier: MIT
 *
 * The barrier units of the chip: each rule of hal/contract/chip.md.
 */
#include "tests/host/data.h"
#include "tests/model/rig.h"
#include "tests/test.h"

enum { WATCH = 3, ARRIVE = SEM_CORE + WATCH, GO = 9 };

static uint64_t unit_value(unsigned count, uint32_t cores)
{
    return field_put(CHIP_BARRIER_WATCH, WATCH) | field_put(CHIP_BARRIER_COUNT, count) |
           field_put(CHIP_BARRIER_TARGET, GO) | field_put(CHIP_BARRIER_CORES, cores);
}

static void set_unit(struct rig *r, unsigned unit, unsigned count, uint32_t cores)
{
    rig_write(r, NPU_CHIP, CHIP_BARRIER + 8 * unit, unit_value(count, cores));
}

TEST(barrier, register)
{
    struct rig r;
    bool off = true;

    rig_open(&r, 2, PROFILE_a2);
    for (unsigned i = 0; i < ROW_CHIP_BARRIER; i++) {
        off &= rig_read(&r, NPU_CHIP, CHIP_BARRIER + 8 * i) == 0;
    }
    rig_post(&r, 0, ARRIVE, 1);
    ok(off && rig_sem(&r, 0, ARRIVE) == 1, "barrier/is_off_at_power_on");
    rig_write(&r, NPU_CHIP, CHIP_BARRIER + 8 * 15, ~unit_value(0, 0) & ~0xff00ull);
    ok(rig_read(&r, NPU_CHIP, CHIP_BARRIER + 8 * 15) == 0xffffffff0036003c &&
           npu_peek(&r.npu, 0, NPU_CHIP, CHIP_BARRIER + 8 * 15 + 4, 4) == 0xffffffff,
       "barrier/keeps_its_fields_only");
    rig_close(&r);
}

/* The first of the chip's semaphores. */
TEST(barrier, first)
{
    struct rig r;

    rig_open(&r, 1, PROFILE_a2);
    rig_write(&r, NPU_CHIP, CHIP_BARRIER,
              field_put(CHIP_BARRIER_COUNT, 2) | field_put(CHIP_BARRIER_TARGET, GO) |
                  field_put(CHIP_BARRIER_CORES, 1));
    rig_post(&r, 0, SEM_CORE, 2);
    ok(rig_sem(&r, 0, SEM_CORE) == 0 && rig_sem(&r, 0, GO) == 1,
       "barrier/watches_the_first_semaphore_of_the_chip");
    rig_close(&r);
}

TEST(barrier, counts)
{
    struct rig r;

    rig_open(&r, 3, PROFILE_a2);
    set_unit(&r, 2, 3, 5);
    rig_post(&r, 0, ARRIVE, 1);
    rig_post(&r, 1, ARRIVE, 1);
    ok(rig_sem(&r, 0, ARRIVE) == 2 && rig_sem(&r, 0, GO) == 0,
       "barrier/waits_below_its_count");
    rig_post(&r, 2, ARRIVE, 1);
    ok(rig_sem(&r, 0, ARRIVE) == 0 && rig_sem(&r, 0, GO) == 1 && rig_sem(&r, 2, GO) == 1,
       "barrier/counts_posts_of_the_hart");
    ok(rig_sem(&r, 1, GO) == 0, "barrier/leaves_other_cores_alone");
    rig_post(&r, 1, ARRIVE, 4);
    ok(rig_sem(&r, 1, ARRIVE) == 1 && rig_sem(&r, 0, GO) == 2, "barrier/fires_again");
    rig_post(&r, 1, ARRIVE, 9);
    ok(rig_sem(&r, 1, ARRIVE) == 1 && rig_sem(&r, 0, GO) == 5 && rig_sem(&r, 2, GO) == 5,
       "barrier/repeats_while_it_holds_enough");
    set_unit(&r, 2, 0, 5);
    rig_post(&r, 0, ARRIVE, 7);
    ok(rig_sem(&r, 0, ARRIVE) == 8, "barrier/count_0_turns_it_off");
    set_unit(&r, 2, 8, 7);
    ok(rig_sem(&r, 0, ARRIVE) == 0 && rig_sem(&r, 1, GO) == 1,
       "barrier/fires_when_it_is_set");
    set_unit(&r, 2, 1, 0xfffffff8);
    rig_post(&r, 0, ARRIVE, 1);
    ok(rig_sem(&r, 0, ARRIVE) == 0 && rig_sem(&r, 0, GO) == 6 &&
           rig_read(&r, 0, CORE_FAULT) == 0,
       "barrier/passes_over_cores_that_do_not_exist");
    rig_close(&r);
}

/* A NOP that posts ARRIVE, or one that waits for a semaphore. */
static void push_nop(struct rig *r, unsigned core, enum pipe pipe, unsigned wait,
                     unsigned posts)
{
    union cmd c = rig_command(OP_NOP, TYPE_NONE);

    c.head.wait_sem[0] = (uint8_t)wait;
    c.head.wait_n[0] = wait != 0;
    c.head.post_sem[0] = ARRIVE;
    c.head.post_n[0] = (uint8_t)posts;
    rig_push(r, core, pipe, &c);
}

static uint64_t pipe_state(struct rig *r, unsigned core, enum pipe pipe)
{
    return field_get(PIPE_STATUS_STATE, rig_read(r, core, rig_pipe(pipe, PIPE_STATUS)));
}

TEST(barrier, commands)
{
    struct rig r;

    rig_open(&r, 4, PROFILE_a2);
    set_unit(&r, 0, 3, 15);
    for (unsigned c = 0; c < 4; c++) {
        push_nop(&r, c, PIPE_V, GO, 0);
    }
    rig_write(&r, 3, SEM_ARM + 8 * GO, 1);
    rig_write(&r, 2, SEM_ARM + 8 * ARRIVE, 1);
    rig_write(&r, 2, CORE_IRQ_ENABLE, CORE_IRQ_STATUS_SEM);
    rig_write(&r, 3, CORE_IRQ_ENABLE, CORE_IRQ_STATUS_SEM);
    rig_to(&r, 100);
    push_nop(&r, 0, PIPE_M, 0, 1);
    push_nop(&r, 1, PIPE_MTE3, 0, 1);
    rig_to(&r, 101);
    ok(r.irq[2], "barrier/leaves_the_line_of_an_armed_watch_up");
    rig_post(&r, 2, GO, 1); /* core 2's command needs no barrier; its GO stays */
    rig_to(&r, 150);
    push_nop(&r, 3, PIPE_FIX, 0, 1);
    ok(pipe_state(&r, 0, PIPE_V) == PIPE_WAITING, "barrier/a_command_posts_at_its_end");
    rig_to(&r, 151);
    ok(rig_sem(&r, 0, ARRIVE) == 0 && rig_sem(&r, 2, GO) == 1,
       "barrier/counts_posts_of_commands");
    ok(pipe_state(&r, 0, PIPE_V) == PIPE_RUNNING &&
           pipe_state(&r, 3, PIPE_V) == PIPE_RUNNING && npu_next(&r.npu) == 152,
       "barrier/a_waiting_command_begins_in_that_cycle");
    ok(!r.irq[3] && !r.irq[2], "barrier/a_command_takes_before_the_line_rises");
    rig_drain(&r);
    push_nop(&r, 1, PIPE_V, 0, 3);
    rig_drain(&r);
    ok(r.irq[3], "barrier/raises_the_line_of_a_core_that_armed_it");
    rig_close(&r);
}

TEST(barrier, order)
{
    struct rig r;

    rig_open(&r, 2, PROFILE_a2);
    set_unit(&r, 4, 2, 2);
    set_unit(&r, 7, 2, 1);
    push_nop(&r, 0, PIPE_V, ARRIVE, 0);
    push_nop(&r, 0, PIPE_M, 0, 2);
    rig_drain(&r);
    ok(pipe_state(&r, 0, PIPE_V) == PIPE_WAITING && rig_sem(&r, 1, GO) == 1,
       "barrier/comes_before_commands");
    rig_post(&r, 0, ARRIVE, 1);
    ok(pipe_state(&r, 0, PIPE_V) == PIPE_RUNNING, "barrier/leaves_what_is_too_little");
    ok(rig_sem(&r, 0, GO) == 0, "barrier/lower_unit_takes_first");
    push_nop(&r, 0, PIPE_MTE1, GO, 0);
    set_unit(&r, 4, 0, 0);
    set_unit(&r, 7, 0, 0);
    rig_post(&r, 0, ARRIVE, 2);
    set_unit(&r, 7, 2, 1);
    ok(pipe_state(&r, 0, PIPE_MTE1) == PIPE_RUNNING,
       "barrier/commands_begin_when_it_is_set");
    rig_close(&r);
}

TEST(barrier, overflow)
{
    struct rig r;

    rig_open(&r, 3, PROFILE_a2);
    set_unit(&r, 1, 2, 7);
    rig_post(&r, 1, GO, SEM_MAX);
    rig_write(&r, 1, CORE_IRQ_ENABLE, CORE_IRQ_STATUS_FAULT);
    rig_post(&r, 0, ARRIVE, 2);
    ok(field_get(CORE_FAULT_CODE, rig_read(&r, 1, CORE_FAULT)) == NPU_ERR_SEM_OVERFLOW &&
           field_get(CORE_FAULT_SIZE, rig_read(&r, 1, CORE_FAULT)) == 0 &&
           rig_read(&r, 1, CORE_FAULT_ADDR) == CHIP_BARRIER + 8 &&
           rig_read(&r, 1, CORE_FAULT_VALUE) == unit_value(2, 7) && r.irq[1],
       "barrier/overflow_is_a_fault_of_that_core");
    ok(rig_sem(&r, 1, GO) == SEM_MAX && rig_sem(&r, 0, GO) == 1 &&
           rig_sem(&r, 2, GO) == 1 && rig_sem(&r, 0, ARRIVE) == 0 &&
           rig_read(&r, 0, CORE_FAULT) == 0,
       "barrier/overflow_lets_the_others_go");
    rig_close(&r);
}

TEST(barrier, reset)
{
    struct rig r;

    rig_open(&r, 2, PROFILE_a2);
    set_unit(&r, 1, 2, 3);
    rig_post(&r, 0, ARRIVE, 1);
    rig_write(&r, 0, CORE_CTRL, CORE_CTRL_RESET);
    rig_post(&r, 0, ARRIVE, 1);
    ok(rig_sem(&r, 0, GO) == 1, "barrier/reset_of_a_core_does_not");
    rig_write(&r, NPU_CHIP, CHIP_CTRL, CHIP_CTRL_RESET);
    ok(rig_read(&r, NPU_CHIP, CHIP_BARRIER + 8) == 0,
       "barrier/reset_of_the_chip_turns_it_off");
    set_unit(&r, 1, 2, 3);
    npu_reset(&r.npu, 0);
    ok(rig_read(&r, NPU_CHIP, CHIP_BARRIER + 8) == 0, "barrier/power_on_turns_it_off");
    rig_close(&r);
}
