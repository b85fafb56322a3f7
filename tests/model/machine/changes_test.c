/* SPDX-License-Identifier: MIT
 *
 * A machine that takes other numbers than its profile's: what its commands then cost, and
 * that software does not see it.
 */
#include <stdlib.h>
#include <string.h>

#include "tests/model/rig.h"
#include "tests/test.h"

static struct rig r;
static struct npu_changes changes;

/* A chip with what is in `changes`. */
static void open_changed(void)
{
    rig_prices(TIMING_v1);
    rig_open(&r, 1, PROFILE_a2);
    r.config.changes = &changes;
    npu_init(&r.npu, &r.config);
}

static void change(enum npu_cost c, uint32_t value)
{
    changes.changed[c] = true;
    changes.cost[c] = value;
}

static uint64_t cycles(union cmd c, enum pipe pipe)
{
    uint64_t begin = r.now;

    rig_push(&r, 0, pipe, &c);
    rig_drain(&r);
    return r.now - begin;
}

/* 12288 bytes: 100 + 12288 / 250 instead of 192 + 12288 / 125. */
TEST(changes, prices)
{
    memset(&changes, 0, sizeof(changes));
    change(COST_GM_UB_FIXED, 100);
    change(COST_GM_UB_RATE, 250);
    open_changed();
    ok(cycles(rig_copy_in(0, 0, 12288), PIPE_MTE2) == 150, "changes/commands_cost_that");
    ok(rig_read(&r, NPU_CHIP, CHIP_COST + 8 * COST_GM_UB_RATE) == 125 &&
           rig_read(&r, NPU_CHIP, CHIP_COST + 8 * COST_GM_UB_FIXED) == 192,
       "changes/software_reads_the_profile");
    rig_close(&r);
}

/* VADD as F32 of 8 repeats: the blocks of both sources lie in the same groups, so each
 * repeat takes a cycle more (vector.md, "Banks"). */
TEST(changes, banks)
{
    union cmd c = rig_command(OP_VADD, TYPE_F32);
    uint64_t usual, freed;

    c.vec2.src0 = 65536;
    c.vec2.src1 = 2 * 65536;
    c.vec2.dst_blk = c.vec2.src0_blk = c.vec2.src1_blk = 1;
    c.vec2.dst_rep = c.vec2.src0_rep = c.vec2.src1_rep = 8;
    c.vec2.repeat = 8;
    memset(&changes, 0, sizeof(changes));
    open_changed();
    usual = cycles(c, PIPE_V);
    rig_close(&r);
    changes.free_banks = true;
    open_changed();
    freed = cycles(c, PIPE_V);
    test_note("%llu, %llu", (unsigned long long)usual, (unsigned long long)freed);
    ok(usual - freed == 8 && rig_read(&r, 0, rig_pipe(PIPE_V, PMU_BANK_GROUP)) == 0 &&
           rig_read(&r, 0, rig_pipe(PIPE_V, PMU_BANK)) == 0,
       "changes/banks_are_free");
    rig_close(&r);
}

static uint64_t now;

static uint64_t clock_now(void *ctx)
{
    (void)ctx;
    return now;
}

/* A hundred instructions pass, and no cycle. */
TEST(changes, hart)
{
    struct npu_host host;

    memset(&changes, 0, sizeof(changes));
    changes.free_hart = true;
    open_changed();
    host = *r.npu.host;
    host.clock = clock_now;
    r.npu.host = &host;
    now = 0;
    npu_init(&r.npu, &r.config);
    ok(npu_cycle(&r.npu, 100) == 0 && npu_clock(&r.npu, 1) > 10000,
       "changes/hart_takes_no_time");
    rig_close(&r);
}

/* A hundred commands where 32 have room: all are held, run in their order and are told of. */
TEST(changes, queues)
{
    enum { COMMANDS = 100 };
    union cmd nop = rig_command(OP_NOP, TYPE_NONE);
    void *spill = calloc(1, npu_spill_bytes(1));

    memset(&changes, 0, sizeof(changes));
    changes.endless = true;
    rig_prices(TIMING_v1);
    rig_open(&r, 1, PROFILE_a2);
    r.config.changes = &changes;
    r.npu.spill = spill;
    npu_init(&r.npu, &r.config);
    nop.head.wait_sem[0] = 1;
    nop.head.wait_n[0] = 1;
    for (unsigned i = 0; i < COMMANDS; i++) {
        nop.head.post_n[0] = i == COMMANDS - 1;
        nop.head.post_sem[0] = 2;
        rig_push(&r, 0, PIPE_V, &nop);
    }
    ok(rig_read(&r, 0, rig_pipe(PIPE_V, PIPE_FREE)) == PIPE_DEPTH - 1 &&
           rig_read(&r, 0, rig_pipe(PIPE_V, PIPE_LEFT)) == COMMANDS,
       "changes/queues_have_room");
    for (unsigned i = 0; i < COMMANDS - 1; i++) {
        rig_write(&r, 0, SEM_POST + 8, 1);
        rig_drain(&r);
    }
    ok(rig_read(&r, 0, SEM_VALUE + 16) == 0 &&
           rig_read(&r, 0, rig_pipe(PIPE_V, PIPE_LEFT)) == 1,
       "changes/queues_keep_the_order");
    rig_write(&r, 0, SEM_POST + 8, 1);
    rig_drain(&r);
    ok(rig_read(&r, 0, SEM_VALUE + 16) == 1 &&
           rig_read(&r, 0, rig_pipe(PIPE_V, PMU_COMMANDS)) == COMMANDS &&
           rig_read(&r, 0, rig_pipe(PIPE_V, PIPE_FREE)) == PIPE_DEPTH,
       "changes/queues_lose_nothing");
    ok(!npu_restored(&r.npu, &r.config, r.now), "changes/no_snapshot_of_endless_queues");
    r.npu.spill = NULL;
    rig_close(&r);
    free(spill);
}

/* A snapshot of a machine with other numbers is of another one. */
TEST(changes, snapshots)
{
    struct npu_config plain;

    memset(&changes, 0, sizeof(changes));
    change(COST_GM_UB_RATE, 250);
    open_changed();
    plain = r.config;
    plain.changes = NULL;
    ok(npu_restored(&r.npu, &r.config, 0), "changes/snapshot_of_the_same");
    ok(!npu_restored(&r.npu, &plain, 0), "changes/snapshot_of_other_prices");
    changes.changed[COST_GM_UB_RATE] = false;
    changes.free_hart = true;
    ok(!npu_restored(&r.npu, &r.config, 0), "changes/snapshot_of_another_hart");
    rig_close(&r);
}
