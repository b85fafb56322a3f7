/* SPDX-License-Identifier: MIT
 *
 * Register-level tests of the model: no CPU, the test steps the time. Each cycle count
 * below is worked out from profile.def by hand (profile a2).
 */
#include <string.h>

#include "tests/host/data.h"
#include "tests/model/rig.h"
#include "tests/test.h"

#define USUAL_LINES (CORE_IRQ_STATUS_FAULT | CORE_IRQ_STATUS_SEM | CORE_IRQ_STATUS_QUEUE)

static uint64_t counter(struct rig *r, enum pipe pipe, enum pmu_counter counter)
{
    return rig_read(r, 0, rig_pipe(pipe, counter));
}

TEST(machine, identity)
{
    struct rig r;
    uint64_t id;

    rig_open(&r, 2, PROFILE_ascend910);
    id = rig_read(&r, NPU_CHIP, CHIP_ID);
    ok(field_get(CHIP_ID_WORD, id) == CHIP_ID_MAGIC, "chip/has_its_magic");
    ok(rig_read(&r, NPU_CHIP, CHIP_CORES) == 2, "chip/tells_its_cores");
    ok(rig_read(&r, NPU_CHIP, CHIP_PROFILE) == PROFILE_ascend910,
       "chip/tells_its_profile");
    ok(rig_read(&r, NPU_CHIP, CHIP_COST + 8 * COST_UB_BYTES) == 262144,
       "chip/shows_the_profile_as_capabilities");
    ok(rig_read(&r, 1, CORE_ID) == 1, "core/knows_its_number");
    ok(rig_read(&r, 0, rig_pipe(PIPE_V, PIPE_FREE)) == PIPE_DEPTH,
       "pipe/is_empty_at_reset");
    rig_close(&r);
}

TEST(machine, access)
{
    struct rig r;

    rig_open(&r, 1, PROFILE_a2);
    ok(npu_read(&r.npu, 0, NPU_CHIP, CHIP_ID, 4) == CHIP_ID_MAGIC,
       "access/reads_a_low_half");
    ok(npu_read(&r.npu, 0, NPU_CHIP, CHIP_ID + 4, 4) == CONTRACT_VERSION,
       "access/reads_a_high_half");
    npu_peek(&r.npu, 0, 0, 0x7ff8, 8);
    ok(rig_read(&r, 0, CORE_FAULT) == 0, "access/a_debugger_disturbs_nothing");
    npu_read(&r.npu, 0, 0, CORE_ID, 2);
    ok(field_get(CORE_FAULT_CODE, rig_read(&r, 0, CORE_FAULT)) == NPU_ERR_ACCESS,
       "access/refuses_two_bytes");
    ok(field_get(CORE_FAULT_SIZE, rig_read(&r, 0, CORE_FAULT)) == 2,
       "access/tells_the_size");
    rig_write(&r, 0, CORE_CTRL, CORE_CTRL_CLEAR);
    ok(rig_read(&r, 0, CORE_FAULT) == 0, "access/fault_can_be_cleared");
    npu_write(&r.npu, 0, 0, CORE_IRQ_ENABLE + 4, 1, 4);
    ok(field_get(CORE_FAULT_CODE, rig_read(&r, 0, CORE_FAULT)) == NPU_ERR_ACCESS,
       "access/refuses_to_write_a_high_half");
    rig_write(&r, 0, CORE_CTRL, CORE_CTRL_CLEAR);
    rig_write(&r, 0, CORE_ID, 7);
    ok(field_get(CORE_FAULT_CODE, rig_read(&r, 0, CORE_FAULT)) == NPU_ERR_READ_ONLY &&
           rig_read(&r, 0, CORE_FAULT_ADDR) == CORE_ID &&
           rig_read(&r, 0, CORE_FAULT_VALUE) == 7,
       "access/names_a_write_to_a_read_only_register");
    rig_write(&r, 0, CORE_CTRL, CORE_CTRL_CLEAR);
    rig_write(&r, NPU_CHIP, CHIP_BUSY, 7);
    ok(field_get(CORE_FAULT_CODE, rig_read(&r, 0, CORE_FAULT)) == NPU_ERR_READ_ONLY &&
           rig_read(&r, 0, CORE_FAULT_ADDR) == CHIP_BUSY,
       "access/core_0_tells_of_one_of_the_chip");
    rig_write(&r, 0, CORE_CTRL, CORE_CTRL_CLEAR);
    rig_read(&r, 0, 0x7ff8);
    ok(field_get(CORE_FAULT_CODE, rig_read(&r, 0, CORE_FAULT)) == NPU_ERR_ACCESS,
       "access/refuses_an_offset_without_a_register");
    rig_close(&r);
}

TEST(machine, semaphores)
{
    struct rig r;

    rig_open(&r, 2, PROFILE_a2);
    rig_write(&r, 0, SEM_POST + 8 * 5, 3);
    ok(rig_read(&r, 0, SEM_VALUE + 8 * 5) == 3, "sem/posts");
    ok(rig_read(&r, 1, SEM_VALUE + 8 * 5) == 0, "sem/first_64_belong_to_the_core");
    rig_write(&r, 0, SEM_TAKE + 8 * 5, 4);
    ok(!rig_read(&r, 0, SEM_TAKEN) && rig_read(&r, 0, SEM_VALUE + 8 * 5) == 3,
       "sem/a_take_of_too_many_changes_nothing");
    rig_write(&r, 0, SEM_TAKE + 8 * 5, 3);
    ok(rig_read(&r, 0, SEM_TAKEN) && rig_read(&r, 0, SEM_VALUE + 8 * 5) == 0,
       "sem/takes");
    rig_write(&r, 1, SEM_POST + 8 * 100, 1);
    ok(rig_read(&r, 0, SEM_VALUE + 8 * 100) == 1, "sem/last_64_belong_to_the_chip");

    rig_write(&r, 0, CORE_IRQ_ENABLE, USUAL_LINES);
    rig_write(&r, 0, SEM_ARM + 8 * 100, 2);
    ok(!r.irq[0], "sem/no_interrupt_below_the_armed_count");
    rig_write(&r, 1, SEM_POST + 8 * 100, 1);
    ok(r.irq[0] && !r.irq[1], "sem/interrupt_on_the_core_that_armed_it");
    ok(rig_read(&r, 0, SEM_READY + 8) == 1ull << (100 - 64), "sem/shows_which_is_ready");
    rig_write(&r, 0, SEM_ARM + 8 * 100, 0);
    ok(!r.irq[0], "sem/interrupt_falls_with_its_cause");

    rig_write(&r, 0, SEM_POST + 8 * 5, SEM_MAX);
    rig_write(&r, 0, SEM_POST + 8 * 5, 1);
    ok(field_get(CORE_FAULT_CODE, rig_read(&r, 0, CORE_FAULT)) == NPU_ERR_SEM_OVERFLOW &&
           rig_read(&r, 0, SEM_VALUE + 8 * 5) == SEM_MAX,
       "sem/overflow_is_a_fault_and_posts_nothing");
    ok(r.irq[0], "core/a_fault_raises_the_interrupt");
    rig_close(&r);
}

/* GM -> UB of 1200 bytes: 192 + 1200 / 125 = 202 cycles. */
TEST(machine, copy)
{
    struct rig r;
    union cmd c = rig_copy_in(64, 0, 1200);

    rig_prices(TIMING_v1);
    rig_open(&r, 1, PROFILE_a2);
    for (unsigned i = 0; i < 1200; i++) {
        r.gm[i] = (uint8_t)(i * 7);
    }
    rig_to(&r, 1000);
    rig_push(&r, 0, PIPE_MTE2, &c);
    ok(npu_next(&r.npu) == 1202, "mte2/copy_takes_fixed_plus_bytes_over_rate");
    memset(r.gm, 0, 1200);
    rig_to(&r, 1201);
    ok(r.npu.mem[0][NPU_MEM_UB][65] == 0,
       "mte2/destination_does_not_change_before_the_end");
    rig_to(&r, 1202);
    ok(r.npu.mem[0][NPU_MEM_UB][65] == 7 &&
           r.npu.mem[0][NPU_MEM_UB][64 + 1199] == 1199 * 7 % 256,
       "mte2/sources_are_read_at_the_begin");
    ok(r.npu.mem[0][NPU_MEM_UB][64 + 1200] == 0, "mte2/writes_not_a_byte_more");
    ok(counter(&r, PIPE_MTE2, PMU_BUSY) == 202 &&
           counter(&r, PIPE_MTE2, PMU_BYTES_READ) == 1200,
       "pmu/counts_busy_cycles_and_bytes");
    ok(counter(&r, PIPE_MTE2, PMU_STALL_EMPTY) == 1000, "pmu/counts_empty_cycles");
    ok(rig_read(&r, 0, PMU_FIRST) == 1000 && rig_read(&r, 0, PMU_LAST) == 1202,
       "pmu/keeps_first_and_last_cycle");
    rig_write(&r, 0, PMU_SELECT, EVENT_MTE2_INSTR);
    ok(rig_read(&r, 0, PMU_COUNT) == 1, "pmu/selects_an_event_by_its_number");
    ok(r.maps == 0, "host/every_mapping_is_given_back");
    rig_close(&r);
}

/* Rows below 512 bytes cost as much as 512: 4 rows of 128 bytes = 2048 / 125. */
TEST(machine, short_rows)
{
    struct rig r;
    union cmd c = rig_copy_in(0, 0, 128);

    rig_prices(TIMING_v1);
    rig_open(&r, 1, PROFILE_a2);
    c.copy_in.n_blocks = 4;
    c.copy_in.src_gap = 128;
    for (unsigned i = 0; i < 1024; i++) {
        r.gm[i] = (uint8_t)(i / 128);
    }
    rig_push(&r, 0, PIPE_MTE2, &c);
    ok(npu_next(&r.npu) == 192 + 17, "mte2/short_rows_are_slow");
    rig_drain(&r);
    ok(r.npu.mem[0][NPU_MEM_UB][127] == 0 && r.npu.mem[0][NPU_MEM_UB][128] == 2 &&
           r.npu.mem[0][NPU_MEM_UB][511] == 6,
       "mte2/gathers_blocks_with_gaps");
    rig_close(&r);
}

/* fp16, side by side in GM. */
static union cmd nd2nz(unsigned rows, unsigned cols)
{
    union cmd c = rig_command(OP_ND2NZ_GM_L1, TYPE_F16);

    c.nd2nz.src = RIG_GM_BASE;
    c.nd2nz.n_rows = c.nd2nz.dst_c0_stride = (uint16_t)rows;
    c.nd2nz.n_cols = (uint16_t)cols;
    c.nd2nz.src_pitch = cols;
    c.nd2nz.n_mats = 1;
    c.nd2nz.dst_row_stride = 1;
    return c;
}

/* 32 KiB take 780 + 32768 / 1400 cycles, behind another 20 + 32768 / 141. */
TEST(machine, nd2nz_next)
{
    struct rig r;
    union cmd c = nd2nz(64, 256), nop = rig_command(OP_NOP, TYPE_NONE);

    rig_prices(TIMING_v1);
    rig_open(&r, 1, PROFILE_a2);
    rig_push(&r, 0, PIPE_MTE2, &c);
    rig_push(&r, 0, PIPE_MTE2, &c);
    rig_push(&r, 0, PIPE_MTE2, &nop);
    rig_push(&r, 0, PIPE_MTE2, &c);
    rig_to(&r, npu_next(&r.npu));
    ok(r.now == 804, "mte2/nd2nz_alone_waits_for_memory");
    rig_to(&r, npu_next(&r.npu));
    ok(r.now == 804 + 20 + 233, "mte2/nd2nz_behind_another_does_not");
    rig_drain(&r);
    ok(rig_read(&r, 0, PMU_LAST) == 1057 + 1 + 804, "mte2/nd2nz_behind_a_nop_does_again");
    rig_close(&r);
}

/* The published ND to NZ curve of one core, cycles (profile.md, 1.4). */
TEST(machine, nd2nz_curve)
{
    static const struct {
        unsigned kib, cycles;
    } points[] = {{4, 780}, {16, 794}, {64, 826}, {128, 1150}, {192, 1615}};
    struct rig r;

    rig_prices(TIMING_v1);
    for (unsigned i = 0; i < sizeof(points) / sizeof(points[0]); i++) {
        union cmd c = nd2nz(points[i].kib * 2, 256);
        uint64_t cycles;
        rig_open(&r, 1, PROFILE_a2);
        rig_push(&r, 0, PIPE_MTE2, &c);
        cycles = npu_next(&r.npu);
        ok(cycles + 9 > points[i].cycles && cycles < points[i].cycles + 9,
           "mte2/nd2nz_of_%u_KiB_within_1_percent_of_the_published_time", points[i].kib);
        rig_close(&r);
    }
}

/* A take by one core lets the line of another fall. */
TEST(machine, chip_semaphores)
{
    struct rig r;
    union cmd c = rig_command(OP_NOP, TYPE_NONE);

    rig_open(&r, 2, PROFILE_a2);
    rig_write(&r, 0, CORE_IRQ_ENABLE, USUAL_LINES);
    rig_write(&r, 0, SEM_ARM + 8 * 64, 1);
    rig_write(&r, 1, SEM_POST + 8 * 64, 1);
    ok(r.irq[0], "sem/a_post_by_another_core_is_announced");
    rig_write(&r, 1, SEM_TAKE + 8 * 64, 1);
    ok(!r.irq[0], "sem/a_take_by_another_core_is_too");
    rig_write(&r, 1, SEM_POST + 8 * 64, 1);
    c.head.wait_sem[0] = 64;
    c.head.wait_n[0] = 1;
    rig_push(&r, 1, PIPE_V, &c);
    ok(!r.irq[0], "sem/and_a_take_by_a_command");
    rig_write(&r, 1, SEM_POST + 8 * 70, 3);
    rig_write(&r, NPU_CHIP, CHIP_CTRL, CHIP_CTRL_RESET);
    ok(rig_read(&r, 0, SEM_VALUE + 8 * 70) == 0, "chip/reset_clears_its_semaphores");
    rig_close(&r);
}

TEST(machine, idle_line)
{
    struct rig r;
    union cmd c = rig_copy_in(0, 0, 1200);

    rig_open(&r, 1, PROFILE_a2);
    rig_push(&r, 0, PIPE_MTE2, &c);
    rig_write(&r, 0, CORE_IRQ_ENABLE, CORE_IRQ_STATUS_IDLE);
    ok(!r.irq[0], "core/is_not_idle_while_a_command_runs");
    rig_drain(&r);
    ok(r.irq[0], "core/tells_when_the_last_command_has_ended");
    rig_close(&r);
}

TEST(machine, power_on_reset)
{
    struct rig r;
    union cmd c = rig_command(OP_MMAD, TYPE_F16);

    rig_open(&r, 1, PROFILE_a2);
    rig_to(&r, 500);
    npu_reset(&r.npu, 500);
    ok(counter(&r, PIPE_V, PMU_STALL_EMPTY) == 0,
       "core/power_on_reset_clears_the_counters");
    c.mmad.m = c.mmad.n = c.mmad.k = 16;
    npu_init(&r.npu, &r.config);
    r.now = 0;
    rig_push(&r, 0, PIPE_M, &c);
    ok(npu_next(&r.npu) == 62 + 1, "cube/nothing_is_back_to_back_with_nothing");
    rig_close(&r);
}

TEST(machine, order_and_waits)
{
    struct rig r;
    union cmd c = rig_command(OP_NOP, TYPE_NONE), d = c;

    rig_open(&r, 1, PROFILE_a2);
    c.head.wait_sem[0] = 3;
    c.head.wait_n[0] = 2;
    c.head.wait_sem[1] = 3;
    c.head.wait_n[1] = 1;
    c.head.post_sem[0] = 4;
    c.head.post_n[0] = 5;
    rig_push(&r, 0, PIPE_V, &c);
    rig_push(&r, 0, PIPE_V, &d);
    rig_write(&r, 0, SEM_POST + 8 * 3, 2);
    ok(npu_next(&r.npu) == NPU_NEVER, "pipe/two_waits_on_one_semaphore_add_up");
    ok(rig_read(&r, 0, SEM_VALUE + 8 * 3) == 2, "pipe/takes_all_or_nothing");
    ok(field_get(PIPE_STATUS_STATE, rig_read(&r, 0, rig_pipe(PIPE_V, PIPE_STATUS))) ==
           PIPE_WAITING,
       "pipe/tells_that_it_waits");
    rig_to(&r, 40);
    rig_write(&r, 0, SEM_POST + 8 * 3, 1);
    ok(npu_next(&r.npu) == 41, "pipe/begins_in_the_cycle_of_the_post");
    rig_to(&r, 41);
    ok(rig_read(&r, 0, SEM_VALUE + 8 * 4) == 5, "pipe/posts_at_the_end");
    ok(npu_next(&r.npu) == 42, "pipe/next_command_follows_at_once");
    rig_drain(&r);
    ok(counter(&r, PIPE_V, PMU_STALL_SEM) == 40 && counter(&r, PIPE_V, PMU_BUSY) == 2,
       "pmu/counts_cycles_that_wait_for_a_semaphore");
    rig_close(&r);
}

TEST(machine, queue)
{
    struct rig r;
    union cmd c = rig_command(OP_NOP, TYPE_NONE);

    rig_open(&r, 1, PROFILE_a2);
    rig_write(&r, 0, CORE_IRQ_ENABLE, USUAL_LINES);
    c.head.wait_sem[0] = 1;
    c.head.wait_n[0] = 1;
    for (unsigned i = 0; i < PIPE_DEPTH; i++) {
        memcpy(r.gm + i * CMD_BYTES, &c, CMD_BYTES);
    }
    rig_write(&r, 0, rig_pipe(PIPE_M, PIPE_PUSH),
              RIG_GM_BASE | field_put(PIPE_PUSH_MORE, PIPE_DEPTH - 1));
    ok(rig_read(&r, 0, rig_pipe(PIPE_M, PIPE_FREE)) == 0, "queue/one_store_pushes_32");
    rig_write(&r, 0, rig_pipe(PIPE_M, PIPE_ARM), 16);
    rig_write(&r, 0, SEM_POST + 8, 15);
    rig_drain(&r);
    ok(!r.irq[0], "queue/no_interrupt_below_half");
    rig_write(&r, 0, SEM_POST + 8, 1);
    rig_drain(&r);
    ok(r.irq[0], "queue/interrupt_when_half_empty");
    rig_write(&r, 0, rig_pipe(PIPE_M, PIPE_PUSH),
              RIG_GM_BASE | field_put(PIPE_PUSH_MORE, 16));
    ok(rig_error(&r, 0, PIPE_M) == NPU_ERR_QUEUE_FULL, "queue/overflow_is_a_fault");
    rig_write(&r, 0, rig_pipe(PIPE_M, PIPE_CTRL), PIPE_CTRL_RESET);
    ok(rig_error(&r, 0, PIPE_M) == 0 &&
           rig_read(&r, 0, rig_pipe(PIPE_M, PIPE_FREE)) == PIPE_DEPTH,
       "queue/reset_empties_it");
    rig_write(&r, 0, rig_pipe(PIPE_M, PIPE_PUSH), RIG_GM_BASE + 4);
    ok(rig_error(&r, 0, PIPE_M) == NPU_ERR_PUSH_ADDR,
       "queue/refuses_an_unaligned_command");
    rig_write(&r, 0, rig_pipe(PIPE_V, PIPE_PUSH), 0x10000000);
    ok(rig_error(&r, 0, PIPE_V) == NPU_ERR_PUSH_ADDR,
       "queue/refuses_a_command_outside_dram");
    rig_close(&r);
}

/* 16 fractals of Mmad: 62 + 16 first, 9 + 16 behind another. */
TEST(machine, mmad_cost)
{
    struct rig r;
    union cmd c = rig_command(OP_MMAD, TYPE_F16);

    rig_open(&r, 1, PROFILE_a2);
    c.head.flags = MMAD_INIT;
    c.mmad.m = c.mmad.n = 32;
    c.mmad.k = 64;
    rig_to(&r, 10);
    rig_push(&r, 0, PIPE_M, &c);
    rig_push(&r, 0, PIPE_M, &c);
    ok(npu_next(&r.npu) == 10 + 62 + 16, "cube/first_mmad_fills_its_pipeline");
    rig_to(&r, npu_next(&r.npu));
    ok(npu_next(&r.npu) == 88 + 9 + 16, "cube/next_mmad_overlaps_it");
    rig_drain(&r);
    ok(counter(&r, PIPE_M, PMU_OPS) == 2 * 32 * 32 * 64, "pmu/counts_multiply_adds");
    rig_close(&r);
}

/* 32 cores read 12 KiB each at 125 B/c: 4000 wanted, 2030 there, so 63.4375 each; then
 * 12288 / 63.4375 = 193.7 cycles instead of 98.3. In 96 rows of 128 bytes they take
 * 96 * 512 / 125 = 393.2 cycles, but want only 1000 B/c. */
TEST(machine, shared_bandwidth)
{
    struct rig r;
    union cmd c = rig_copy_in(0, 0, 12288);
    uint64_t begin;

    rig_prices(TIMING_v1);
    rig_open(&r, 32, PROFILE_a2);
    for (unsigned i = 0; i < 32; i++) {
        rig_push(&r, i, PIPE_MTE2, &c);
    }
    rig_to(&r, 192 + 193);
    ok(rig_read(&r, 31, CORE_STATUS) & CORE_STATUS_RUNNING,
       "bandwidth/is_shared_by_cores");
    rig_drain(&r);
    ok(rig_read(&r, 0, PMU_LAST) == 192 + 194 && rig_read(&r, 31, PMU_LAST) == 192 + 194,
       "bandwidth/equal_wants_end_together");
    ok(counter(&r, PIPE_MTE2, PMU_STALL_BW) == 194 - 99,
       "pmu/counts_cycles_lost_to_others");
    rig_push(&r, 3, PIPE_MTE2, &c);
    rig_drain(&r);
    ok(rig_read(&r, 3, PMU_LAST) == 386 + 192 + 99,
       "bandwidth/is_whole_again_afterwards");
    begin = r.now;
    c.copy_in.len_bytes = c.copy_in.src_gap = 128;
    c.copy_in.n_blocks = 96;
    for (unsigned i = 0; i < 32; i++) {
        rig_push(&r, i, PIPE_MTE2, &c);
    }
    rig_drain(&r);
    ok(rig_read(&r, 31, PMU_LAST) == begin + 192 + 394,
       "bandwidth/short_rows_draw_only_their_bytes");
    rig_close(&r);
}

static uint64_t chip(struct rig *r, uint32_t reg)
{
    return npu_read(&r->npu, r->now, NPU_CHIP, reg, 8);
}

/* One register tells what all cores do. */
TEST(machine, chip_status)
{
    struct rig r;
    union cmd c = rig_copy_in(0, 0, 12288), wait = rig_command(OP_NOP, TYPE_NONE);

    rig_open(&r, 32, PROFILE_a2);
    wait.head.wait_sem[0] = 5;
    wait.head.wait_n[0] = 1;
    rig_push(&r, 31, PIPE_MTE2, &c);
    rig_push(&r, 3, PIPE_V, &wait);
    ok(chip(&r, CHIP_BUSY) == (1ull << 31 | 1u << 3), "chip/tells_busy_cores");
    ok(chip(&r, CHIP_RUNNING) == 1ull << 31, "chip/tells_running_cores");
    rig_write(&r, 2, SEM_ARM + 8 * 7, 1);
    rig_write(&r, 2, SEM_POST + 8 * 7, 1);
    ok(chip(&r, CHIP_WANTED) == 0, "chip/wants_nothing_that_is_not_enabled");
    rig_write(&r, 2, CORE_IRQ_ENABLE, CORE_IRQ_STATUS_SEM);
    ok(chip(&r, CHIP_WANTED) == 1u << 2, "chip/tells_cores_that_want_the_hart");
    rig_drain(&r);
    ok(chip(&r, CHIP_RUNNING) == 0 && chip(&r, CHIP_BUSY) == 1u << 3,
       "chip/waiting_is_busy_but_not_running");
    rig_close(&r);
}

TEST(machine, alarm)
{
    struct rig r;

    rig_open(&r, 2, PROFILE_a2);
    rig_write(&r, 1, CORE_IRQ_ENABLE, CORE_IRQ_STATUS_ALARM);
    rig_write(&r, 1, CORE_ALARM, 1000);
    ok(npu_next(&r.npu) == 1000, "alarm/is_an_event");
    rig_to(&r, 999);
    ok(!r.irq[1] && !(rig_read(&r, 1, CORE_IRQ_STATUS) & CORE_IRQ_STATUS_ALARM),
       "alarm/is_quiet_before_its_cycle");
    rig_to(&r, 1000);
    ok(r.irq[1], "alarm/raises_the_line_at_its_cycle");
    ok(npu_next(&r.npu) == NPU_NEVER, "alarm/goes_off_once");
    rig_write(&r, 1, CORE_ALARM, 0);
    ok(!r.irq[1], "alarm/falls_when_cleared");
    rig_write(&r, 1, CORE_ALARM, 10);
    ok(r.irq[1], "alarm/in_the_past_is_due");
    rig_write(&r, 1, CORE_CTRL, CORE_CTRL_RESET);
    ok(!r.irq[1] && rig_read(&r, 1, CORE_ALARM) == 0, "alarm/is_cleared_by_a_reset");
    rig_close(&r);
}

/* The opcode of command i of a pipe, QUEUE_CMD. */
static unsigned queued(struct rig *r, enum pipe pipe, unsigned i)
{
    uint32_t word = ((uint32_t)pipe * PIPE_DEPTH + i) * CMD_BYTES / 8;

    return (uint16_t)rig_read(r, 0, QUEUE_CMD + 8 * word);
}

TEST(machine, history)
{
    struct rig r;
    union cmd copy = rig_copy_in(0, 0, 64), nop = rig_command(OP_NOP, TYPE_NONE);

    rig_open(&r, 1, PROFILE_a2);
    rig_push(&r, 0, PIPE_MTE2, &copy);
    rig_push(&r, 0, PIPE_MTE2, &nop);
    ok(queued(&r, PIPE_MTE2, 0) == OP_COPY_GM_UB && queued(&r, PIPE_MTE2, 1) == OP_NOP &&
           queued(&r, PIPE_MTE2, 2) == 0,
       "queue/shows_what_is_queued");
    rig_drain(&r);
    ok(queued(&r, PIPE_MTE2, PIPE_DEPTH - 1) == OP_NOP &&
           queued(&r, PIPE_MTE2, PIPE_DEPTH - 2) == OP_COPY_GM_UB &&
           queued(&r, PIPE_MTE2, PIPE_DEPTH - 3) == 0,
       "queue/keeps_what_has_ended");
    rig_write(&r, 0, rig_pipe(PIPE_MTE2, PIPE_CTRL), PIPE_CTRL_RESET);
    ok(queued(&r, PIPE_MTE2, PIPE_DEPTH - 1) == 0, "queue/forgets_at_a_reset");
    rig_close(&r);
}
