/* SPDX-License-Identifier: MIT
 *
 * How mistakes are told: what fault_text says, bad pushes, and what the scheduler makes
 * of faults and deadlocks of its tasks. After each the next run must work.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "hal/chip.h"
#include "hal/fixpipe.h"
#include "hal/mte.h"
#include "hal/sem.h"
#include "hal/vector.h"
#include "sched/sched.h"
#include "tests/target/test.h"

enum { SEM = 10 };

static uint8_t gm[4096] __attribute__((aligned(512)));

/* --- text --- */

TEST(fault_text, names_pipe_field_value_and_rule)
{
    struct fault f;
    union cmd cmd;
    char text[256];

    mte_gm_to_ub(&cmd, 48, gm, 64);
    cmd.head.tag = 7;
    CHECK_OK(pipe_push(0, PIPE_MTE2, &cmd));
    CHECK(core_fault(0, &f));
    CHECK(fault_text(&f, text, sizeof(text)) > 0);
    pipe_reset(0, PIPE_MTE2);
    CHECK_STR(
        text,
        "core 0 pipe MTE2: COPY_GM_UB.dst = 48 (0x30)\n"
        "  ALIGN: the field is not a multiple of its unit (first byte in UB or L1)");
}

TEST(fault_text, gives_begin_and_end_of_an_access)
{
    struct fault f;
    union cmd cmd;
    char text[256], want[256];
    uint32_t size = chip_mem(NPU_MEM_UB);

    mte_ub_to_gm(&cmd, gm, size - 32, 64);
    CHECK_OK(pipe_push(0, PIPE_MTE3, &cmd));
    CHECK(core_fault(0, &f));
    CHECK(fault_text(&f, text, sizeof(text)) > 0);
    pipe_reset(0, PIPE_MTE3);
    CHECK(strstr(text, "COPY_UB_GM.src") != NULL);
    CHECK(strstr(text, "BOUNDS: the access ends beyond the memory") != NULL);
    snprintf(want, sizeof(want), "src = 0x%x", (unsigned)size - 32);
    CHECK(strstr(text, want) != NULL);
    snprintf(want, sizeof(want), "ends at 0x%x", (unsigned)size + 32);
    CHECK(strstr(text, want) != NULL);
}

TEST(fault_text, names_a_register)
{
    struct fault f;
    char text[256];

    write64(core_base(0) + CORE_ID, 9);
    CHECK(core_fault(0, &f));
    CHECK(fault_text(&f, text, sizeof(text)) > 0);
    write64(core_base(0) + CORE_CTRL, CORE_CTRL_CLEAR);
    CHECK_STR(text, "core 0: register access at offset 0x0, value 0x9\n"
                    "  READ_ONLY: this register cannot be written");
}

TEST(fault_text, never_writes_beyond_its_buffer)
{
    struct fault f = {.pipe = PIPE_V, .code = NPU_ERR_OPCODE, .opcode = 0xfff};
    char text[16];

    memset(text, 'x', sizeof(text));
    CHECK(fault_text(&f, text, 10) > 10);
    CHECK_EQ(text[9], 0);
    CHECK_EQ(text[10], 'x');
}

/* --- pushes that no driver makes --- */

static void push_raw(enum pipe pipe, uint64_t value, unsigned code)
{
    struct fault f;

    write64(pipe_base(0, pipe) + PIPE_PUSH, value);
    CHECK(core_fault(0, &f));
    CHECK_EQ(f.pipe, pipe);
    CHECK_STR(npu_error_name(f.code), npu_error_name(code));
    CHECK_EQ(f.value, value);
    CHECK_EQ(f.addr, field_get(PIPE_PUSH_ADDR, value));
    CHECK_EQ(f.opcode, 0u);
    pipe_reset(0, pipe);
    CHECK(!core_fault(0, &f));
    CHECK_EQ(pipe_free(0, pipe), PIPE_DEPTH);
}

TEST(fault, push_to_a_full_queue)
{
    union cmd cmd;

    cmd_nop(&cmd);
    cmd_wait(&cmd, SEM, 1);
    for (unsigned i = 0; i < PIPE_DEPTH; i++) {
        CHECK_OK(pipe_push(0, PIPE_V, &cmd));
    }
    push_raw(PIPE_V, (uintptr_t)&cmd, NPU_ERR_QUEUE_FULL);
}

TEST(fault, push_of_more_than_a_queue_holds)
{
    union cmd cmd;

    cmd_nop(&cmd);
    push_raw(PIPE_V, (uintptr_t)&cmd | field_put(PIPE_PUSH_MORE, PIPE_DEPTH),
             NPU_ERR_QUEUE_FULL);
}

TEST(fault, push_from_an_unaligned_address)
{
    push_raw(PIPE_M, (uintptr_t)gm + 4, NPU_ERR_PUSH_ADDR);
}

TEST(fault, push_from_outside_dram)
{
    push_raw(PIPE_FIX, (uintptr_t)chip_local(0, NPU_MEM_UB, 0), NPU_ERR_PUSH_ADDR);
    push_raw(PIPE_FIX, 0xfffffffffffff8, NPU_ERR_PUSH_ADDR);
}

/* --- faults of tasks --- */

static bool finished;

static void good_task(void *arg)
{
    union cmd cmd;

    cmd_nop(&cmd);
    cmd_post(&cmd, SEM, 1);
    task_issue(*(enum pipe *)arg, &cmd);
    task_wait(SEM, 1);
    finished = true;
}

/* A run of one task that uses the pipe. */
static void check_next_run_works(enum pipe pipe)
{
    struct sched_report report;

    finished = false;
    CHECK_OK(task_create("good", 0, good_task, &pipe));
    CHECK_OK(sched_run(&report));
    CHECK(finished);
    CHECK_STR(report.text, "");
}

static void bad_task(void *arg)
{
    union cmd cmd;

    (void)arg;
    task_tag(41);
    mte_gm_to_ub(&cmd, 16, gm, 64);
    cmd_post(&cmd, SEM, 1);
    task_issue(PIPE_MTE2, &cmd);
    task_wait(SEM, 1);
    finished = true; /* never */
}

static void bystander(void *arg)
{
    (void)arg;
    task_wait(SEM + 1, 1);
}

TEST(sched, fault_ends_the_run_with_its_report)
{
    struct sched_report report;

    finished = false;
    CHECK_OK(task_create("bystander", 0, bystander, NULL));
    CHECK_OK(task_create("bad", 0, bad_task, NULL));
    CHECK_EQ(sched_run(&report), ERR_FAULT);
    CHECK(!finished);
    CHECK_STR(npu_error_name(report.fault.code), "ALIGN");
    CHECK_EQ(report.fault.field, offsetof(struct cmd_copy_in, dst));
    CHECK_EQ(report.fault.tag & 0xffffff, 41u);
    CHECK_STR(report.task, "bad");
    CHECK(report.fault.pc > (uintptr_t)bad_task);
    CHECK(report.fault.pc < (uintptr_t)bad_task + 256);
    CHECK(strstr(report.text, "COPY_GM_UB.dst = 16 (0x10)") != NULL);
    check_next_run_works(PIPE_MTE2);
}

static void access_task(void *arg)
{
    (void)arg;
    write64(core_base(0) + CORE_ID, 1);
    task_wait(SEM, 1);
}

TEST(sched, bad_register_access_ends_the_run)
{
    struct sched_report report;

    CHECK_OK(task_create("access", 0, access_task, NULL));
    CHECK_EQ(sched_run(&report), ERR_FAULT);
    CHECK_STR(npu_error_name(report.fault.code), "READ_ONLY");
    check_next_run_works(PIPE_V);
}

/* --- deadlocks --- */

/* A task that waits for ever, and what is told of it. */
static void check_deadlock(const char *name, void (*fn)(void *arg), const char *told)
{
    struct sched_report report;

    CHECK_OK(task_create(name, 0, fn, NULL));
    CHECK_EQ(sched_run(&report), ERR_DEADLOCK);
    CHECK(strstr(report.text, told) != NULL);
}

static void wait_for_nobody(void *arg)
{
    (void)arg;
    task_wait(33, 2);
    finished = true; /* never */
}

TEST_CYCLES(sched, deadlock_is_told_at_once)
{
    uint64_t begin = chip_cycle();
    struct sched_report report;

    finished = false;
    sem_post(0, 33, 1);
    CHECK_OK(task_create("lonely", 0, wait_for_nobody, NULL));
    CHECK_EQ(sched_run(&report), ERR_DEADLOCK);
    CHECK(chip_cycle() - begin < 100000);
    CHECK(!finished);
    CHECK(strstr(report.text, "deadlock at cycle ") == report.text);
    CHECK(strstr(report.text,
                 "for semaphore 33 of core 0: 1 of 2, tests/target/sched/fault_test.c:") !=
          NULL);
    check_next_run_works(PIPE_V);
}

static void issue_and_wait(void *arg)
{
    union cmd cmd;

    (void)arg;
    cmd_nop(&cmd);
    cmd_wait(&cmd, 34, 1);
    cmd_post(&cmd, SEM, 1);
    task_issue(PIPE_FIX, &cmd);
    task_issue(PIPE_FIX, &cmd);
    task_wait(SEM, 1);
}

TEST(sched, deadlock_names_the_pipe_that_waits)
{
    struct sched_report report;

    CHECK_OK(task_create("issuer", 0, issue_and_wait, NULL));
    CHECK_EQ(sched_run(&report), ERR_DEADLOCK);
    CHECK(strstr(report.text, "for semaphore 10 of core 0: 0 of 1") != NULL);
    CHECK(strstr(report.text, "pipe FIX of core 0 waits with 2 command(s)") != NULL);
    check_next_run_works(PIPE_FIX);
}

static void read_what_nobody_passes(void *arg)
{
    union cmd cmd;

    (void)arg;
    fixpipe_to_ub(
        &cmd, 0, 0,
        &(struct fixpipe_tile){.type = TYPE_F32, .m = 16, .n = 16, .unit = UNIT_PASS});
    task_issue(PIPE_FIX, &cmd);
}

TEST(sched, deadlock_names_a_pipe_that_waits_for_marks)
{
    check_deadlock("reader", read_what_nobody_passes,
                   "needs units of L0C that no Mmad has marked");
    check_next_run_works(PIPE_FIX);
}

static void fill_a_queue(void *arg)
{
    union cmd cmd;

    (void)arg;
    cmd_nop(&cmd);
    cmd_wait(&cmd, 34, 1);
    for (unsigned i = 0; i <= PIPE_DEPTH; i++) {
        task_issue(PIPE_V, &cmd);
    }
}

TEST(sched, deadlock_names_a_queue_without_room)
{
    check_deadlock("filler", fill_a_queue, "for room in V of core 0");
    check_next_run_works(PIPE_V);
}

/* Each waits for what the other would post. */
static void embrace(void *arg)
{
    unsigned mine = arg ? 35 : 36, other = arg ? 36 : 35;

    task_wait(other, 1);
    sem_post(task_core(), mine, 1);
}

TEST(sched, deadlock_names_every_task)
{
    static char yes;
    struct sched_report report;

    CHECK_OK(task_create("left", 0, embrace, NULL));
    CHECK_OK(task_create("right", 0, embrace, &yes));
    CHECK_EQ(sched_run(&report), ERR_DEADLOCK);
    CHECK(strstr(report.text, "for semaphore 35") != NULL);
    CHECK(strstr(report.text, "for semaphore 36") != NULL);
    check_next_run_works(PIPE_V);
}

/* What the tasks have left on any core or the chip is gone. */
TEST(sched, deadlock_clears_semaphores)
{
    unsigned last = chip_cores() - 1;
    struct sched_report report;
    char text[160];

    sem_post(last, 40, 4);
    sem_post(last, SEM_CORE, 5);
    CHECK_OK(task_create("lonely", last, wait_for_nobody, NULL));
    CHECK_EQ(sched_run(&report), ERR_DEADLOCK);
    CHECK_EQ(sched_leftovers(last, text, sizeof(text)), 0u);
}

/* The text has room for some; the rest must not run over its end. */
TEST(sched, deadlock_of_many_fits_its_text)
{
    struct sched_report report;

    for (unsigned i = 0; i < TASK_MAX; i++) {
        CHECK_OK(task_create("one of very many tasks", 0, wait_for_nobody, NULL));
    }
    CHECK_EQ(sched_run(&report), ERR_DEADLOCK);
    CHECK_EQ(strlen(report.text), sizeof(report.text) - 1);
    check_next_run_works(PIPE_V);
}

static void issue_and_leave(void *arg)
{
    union cmd cmd;

    (void)arg;
    cmd_nop(&cmd);
    cmd.head.type = TYPE_F16;
    task_issue(PIPE_V, &cmd);
}

TEST(sched, fault_after_the_last_task_has_ended_is_not_lost)
{
    struct sched_report report;

    CHECK_OK(task_create("leaver", 0, issue_and_leave, NULL));
    CHECK_EQ(sched_run(&report), ERR_FAULT);
    CHECK_STR(npu_error_name(report.fault.code), "TYPE");
    check_next_run_works(PIPE_V);
}

static void wait_in_the_pipe_and_leave(void *arg)
{
    union cmd cmd;

    (void)arg;
    cmd_nop(&cmd);
    cmd_wait(&cmd, 60, 1);
    task_issue(PIPE_V, &cmd);
}

TEST(sched, command_that_waits_for_ever_behind_the_last_task_is_a_deadlock)
{
    check_deadlock("leaver", wait_in_the_pipe_and_leave,
                   "pipe V of core 0 waits with 1 command(s)");
    check_next_run_works(PIPE_V);
}

/* Polls for ever past a pipe that has stopped. */
static void poller(void *arg)
{
    (void)arg;
    issue_and_leave(NULL);
    for (;;) {
        task_yield();
    }
}

TEST(sched, fault_ends_a_task_that_only_polls)
{
    struct sched_report report;

    CHECK_OK(task_create("poller", 0, poller, NULL));
    CHECK_EQ(sched_run(&report), ERR_FAULT);
    check_next_run_works(PIPE_V);
}

/* Something is in flight when everybody begins to wait, but it will wake nobody. */
static void copy_then_wait(void *arg)
{
    union cmd cmd;

    mte_gm_to_ub(&cmd, 0, gm, sizeof(gm));
    task_issue(PIPE_MTE2, &cmd);
    if (arg) {
        task_wait(61, 1);
    } else {
        cmd_nop(&cmd);
        cmd_wait(&cmd, 61, 1);
        task_issue(PIPE_MTE2, &cmd);
    }
}

TEST(sched, deadlock_behind_a_running_command_is_told_when_it_ends)
{
    struct sched_report report;
    uint64_t begin = chip_cycle();

    CHECK_OK(task_create("copier", 0, copy_then_wait, gm));
    CHECK_EQ(sched_run(&report), ERR_DEADLOCK);
    CHECK(strstr(report.text, "for semaphore 61") != NULL);
    CHECK(strtoull(strstr(report.text, "at cycle ") + 9, NULL, 10) - begin < 20000);
    check_next_run_works(PIPE_V);
}

TEST(sched, deadlock_of_a_queue_behind_the_last_task_is_told_too)
{
    check_deadlock("copier", copy_then_wait, "pipe MTE2 of core 0 waits");
    check_next_run_works(PIPE_V);
}
