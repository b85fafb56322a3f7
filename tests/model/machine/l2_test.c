/* SPDX-License-Identifier: MIT
 *
 * L2 and HBM: what a line that is there costs and one that is not, what has to go, who
 * passes by, and what shares HBM. Profile a2: 183 cycles and 160 B/c from L2 to L1, 150
 * more for what comes from HBM; a set has 16 lines, 12 MiB apart.
 */
#include "tests/host/data.h"
#include "tests/model/rig.h"
#include "tests/test.h"
#include "tools/emu/model/machine/state/state.h"

enum { KIB = 1024, WARM_16K = 183 + 103, LINES_16K = 32 };

static union cmd read_l1(uint64_t gm, uint32_t bytes)
{
    union cmd c = rig_copy_in(0, gm, bytes);

    c.head.opcode = OP_COPY_GM_L1;
    return c;
}

static union cmd write_ub(uint64_t gm, uint32_t bytes)
{
    union cmd c = rig_command(OP_COPY_UB_GM, TYPE_NONE);

    c.copy_out.dst = RIG_GM_BASE + gm;
    c.copy_out.len_bytes = bytes;
    c.copy_out.n_blocks = 1;
    return c;
}

static uint64_t counted(enum pipe pipe, enum pmu_counter counter)
{
    return rig_read(&rig, 0, rig_pipe(pipe, counter));
}

/* Lines of an access that were and were not there. */
static bool found(union cmd c, uint64_t hits, uint64_t misses)
{
    enum pipe pipe = pipe_of(&c);
    uint64_t hit = counted(pipe, PMU_L2_HIT), miss = counted(pipe, PMU_L2_MISS);

    run(c);
    hit = counted(pipe, PMU_L2_HIT) - hit;
    miss = counted(pipe, PMU_L2_MISS) - miss;
    test_note("%u hits, %u misses", (unsigned)hit, (unsigned)miss);
    return hit == hits && miss == misses;
}

TEST(l2, hit_and_miss)
{
    uint64_t cold = cycles_of(read_l1(0, 16 * KIB));

    /* as much on its way as from L2, for 183 + 150 cycles instead of 183 */
    ok(cold == 183 + 150 + 103 + (103 * 150 + 182) / 183, "l2/a_miss_is_slower");
    ok(cycles_of(read_l1(0, 16 * KIB)) == WARM_16K, "l2/a_hit_is_not");
    ok(cycles_of(read_l1(8 * KIB, 16 * KIB)) ==
           183 + 150 + 103 + (51 * 150 + 182) / 183 + 1,
       "l2/half_of_each_costs_half");
    rig_write(&rig, NPU_CHIP, CHIP_CTRL, CHIP_CTRL_L2);
    ok(cycles_of(read_l1(0, 16 * KIB)) == cold, "l2/can_be_emptied");
    rig_write(&rig, 0, CORE_CTRL, CORE_CTRL_RESET);
    rig_write(&rig, NPU_CHIP, CHIP_CTRL, CHIP_CTRL_RESET);
    ok(cycles_of(read_l1(0, 16 * KIB)) == WARM_16K, "l2/outlives_resets_of_cores");
}

TEST(l2, counts)
{
    ok(found(read_l1(0, 16 * KIB), 0, LINES_16K), "l2/counts_misses");
    ok(found(read_l1(0, 16 * KIB), LINES_16K, 0), "l2/counts_hits");
    ok(found(read_l1(512 - 1, 2), 2, 0), "l2/a_line_for_each_512_bytes");
    ok(found(write_ub(0, 16 * KIB), LINES_16K, 0), "l2/writes_find_what_was_read");
    ok(found(write_ub(64 * KIB, 4 * KIB), 0, 8), "l2/writes_allocate");
    ok(found(read_l1(64 * KIB, 4 * KIB), 8, 0), "l2/reads_find_what_was_written");
    rig_write(&rig, 0, PMU_SELECT, EVENT_L2_WRITE_MISS);
    ok(rig_read(&rig, 0, PMU_COUNT) == 8, "l2/by_the_numbers_of_the_profiler");
}

TEST(l2, bypass)
{
    union cmd c = read_l1(0, 4 * KIB);

    c.head.flags = CMD_NO_L2;
    ok(found(c, 0, 8) && found(c, 0, 8), "l2/a_hint_leaves_l2_as_it_is");
    ok(found(read_l1(0, 4 * KIB), 0, 8) && found(c, 8, 0), "l2/but_finds_what_is_there");
}

TEST(l2, hint_of_another_chip)
{
    struct rig r;
    union cmd c = read_l1(0, 32);

    rig_open(&r, 1, PROFILE_ascend910);
    c.head.flags = CMD_NO_L2;
    rig_push(&r, 0, PIPE_MTE2, &c);
    ok(rig_error(&r, 0, PIPE_MTE2) == NPU_ERR_CHIP, "l2/the_910_has_no_hints");
    rig_close(&r);
}

/* A small chip, whose 8 MiB the rig's GM nearly fills twice: sets are 512 KiB apart. */
enum { APART = 8 * 1024 * KIB / L2_WAYS };

TEST(l2, replaces_the_oldest)
{
    struct rig r;
    uint64_t *misses;

    rig_open(&r, 1, PROFILE_ascend310);
    misses = &r.npu.s->core[0].pipe[PIPE_MTE2].counter[PMU_INDEX_L2_MISS];
    for (unsigned i = 0; i < 2 * RIG_GM_BYTES / APART; i++) {
        union cmd c = read_l1(i % (RIG_GM_BYTES / APART) * APART, 32);
        rig_push(&r, 0, PIPE_MTE2, &c);
        rig_drain(&r);
    }
    ok(*misses == RIG_GM_BYTES / APART, "l2/lines_of_a_set_stay");
    ok(r.npu.s->l2_lines == RIG_GM_BYTES / APART, "l2/knows_how_many_it_has");
    rig_close(&r);
}

/* Cores want one line: the second finds it on its way, and need not fetch it again. */
TEST(l2, on_its_way)
{
    struct rig r;
    union cmd c = read_l1(0, 16 * KIB);
    const struct npu_flow *first, *second, *third;

    rig_open(&r, 3, PROFILE_a2);
    third = &r.npu.s->core[2].pipe[PIPE_MTE2].flow;
    first = &r.npu.s->core[0].pipe[PIPE_MTE2].flow;
    second = &r.npu.s->core[1].pipe[PIPE_MTE2].flow;
    rig_push(&r, 0, PIPE_MTE2, &c);
    rig_push(&r, 1, PIPE_MTE2, &c);
    ok(first->misses == LINES_16K && first->hbm == 256, "l2/the_first_fetches");
    ok(second->misses == LINES_16K && second->late == 16 * KIB && second->hbm == 0,
       "l2/on_its_way_is_missing_but_fetched_once");
    rig_push(&r, 2, PIPE_MTE2, &c);
    ok(first->same_line == 0 && second->same_line == 1 && third->same_line == 2,
       "l2/whoever_comes_to_a_line_waits_for_the_others");
    ok(first->left == 16 * KIB * 256 && third->left == 16 * KIB * 1024 / 1000 * 256,
       "l2/12_of_1000_for_each_of_them");
    rig_drain(&r);
    rig_push(&r, 1, PIPE_MTE2, &c);
    ok(second->misses == 0, "l2/has_come_when_the_command_ends");
    rig_close(&r);
}

/* What has been written has to go to HBM before another line can have its place. */
TEST(l2, dirty_lines)
{
    struct rig r;
    const struct npu_flow *f;
    union cmd c[] = {write_ub(0, 512), write_ub(APART, 512), write_ub(512, 128)};

    rig_open(&r, 1, PROFILE_ascend310);
    f = &r.npu.s->core[0].pipe[PIPE_MTE3].flow;
    rig_push(&r, 0, PIPE_MTE3, &c[0]);
    ok(f->hbm == 0, "l2/a_whole_line_is_not_fetched");
    rig_drain(&r);
    r.npu.l2[L2_WAYS - 1] = r.npu.l2[0]; /* as if fifteen others had been used since */
    for (unsigned i = 0; i < L2_WAYS - 1; i++) {
        r.npu.l2[i] = (100 + i) << 3 | 1;
    }
    rig_push(&r, 0, PIPE_MTE3, &c[1]);
    ok(f->hbm == 256, "l2/a_dirty_line_goes_to_hbm");
    rig_drain(&r);
    rig_push(&r, 0, PIPE_MTE3, &c[2]);
    ok(f->hbm == 256 * 512 / 128, "l2/a_part_of_a_line_is_fetched_whole");
    rig_close(&r);
}

/* 16 cores that miss want 16 * 88 of HBM's 784 bytes a cycle; hits are held up by what L2
 * passes on of that only: of their 160, 2703 / sqrt(2703^2 + 784^2) are left. */
TEST(l2, hbm)
{
    enum { CORES = 17, BYTES = 128 * KIB };
    struct rig r;
    union cmd c;
    uint64_t warm, cold = 0;

    rig_open(&r, CORES, PROFILE_a2);
    c = read_l1(0, BYTES);
    rig_push(&r, CORES - 1, PIPE_MTE2, &c);
    rig_drain(&r);
    for (unsigned core = 0; core < CORES; core++) {
        c = read_l1(core == CORES - 1 ? 0 : BYTES * (core + 1), BYTES);
        rig_push(&r, core, PIPE_MTE2, &c);
    }
    warm = r.npu.s->core[CORES - 1].pipe[PIPE_MTE2].end - r.now;
    for (unsigned core = 0; core + 1 < CORES; core++) {
        uint64_t took = r.npu.s->core[core].pipe[PIPE_MTE2].end - r.now;
        cold = took > cold ? took : cold;
    }
    ok(warm == 183 + (BYTES * 256ull + 39338) / 39339, "l2/hits_do_not_share_hbm");
    ok(cold == 183 + 150 + (BYTES + 48) / 49, "l2/misses_share_hbm");
    rig_close(&r);
}

/* Cycles of a transfer of core 0 while others read; L2 has it all. */
static uint64_t beside_readers(unsigned others, bool writes)
{
    enum pipe pipe = writes ? PIPE_MTE3 : PIPE_MTE2;
    union cmd mine = writes ? write_ub(0, 64 * KIB) : rig_copy_in(0, 0, 64 * KIB);
    uint64_t took = 0;
    struct rig r;

    rig_open(&r, others + 1, PROFILE_a2);
    for (unsigned turn = 0; turn < 2; turn++) {
        for (unsigned core = 1; core <= others; core++) {
            union cmd c = rig_copy_in(0, core * 64 * KIB, 64 * KIB);
            rig_push(&r, core, PIPE_MTE2, &c);
        }
        rig_push(&r, 0, pipe, &mine);
        took = r.npu.s->core[0].pipe[pipe].end - r.now;
        rig_drain(&r);
    }
    rig_close(&r);
    return took;
}

/* 8 others ask L2 for 1000 bytes a cycle. Of its own 125 a read has 2703 / sqrt(2703^2 +
 * 1000^2) left, of 78 a write 3784 / sqrt(3784^2 + 951^2), for those have 951 left. */
TEST(l2, meets_others)
{
    ok(beside_readers(0, false) == 192 + 525, "l2/alone_a_read_meets_nobody");
    ok(beside_readers(8, false) == 192 + 560, "l2/reads_meet_each_other");
    ok(beside_readers(0, true) == 127 + 841, "l2/alone_a_write_meets_nobody");
    ok(beside_readers(8, true) == 127 + 867, "l2/a_write_meets_reads");
    rig_prices(TIMING_v1);
    ok(beside_readers(8, false) == 192 + 525, "l2/under_v1_nobody_does");
}

TEST(l2, snapshot)
{
    struct npu *n = &rig.npu;

    run(read_l1(0, 16 * KIB));
    ok(npu_restored(n, &rig.config, rig.now), "l2/a_snapshot_is_accepted");
    n->l2[1] = n->l2[0];
    ok(!npu_restored(n, &rig.config, rig.now), "l2/refuses_a_line_that_is_there_twice");
    n->l2[1] = 0;
    n->s->l2_lines++;
    ok(!npu_restored(n, &rig.config, rig.now), "l2/refuses_another_number_of_lines");
    n->s->l2_lines--;
    n->l2[0] = UINT32_MAX;
    ok(!npu_restored(n, &rig.config, rig.now), "l2/refuses_a_line_beyond_gm");
    n->l2[0] = 0;
    n->l2[1] = 1;
    ok(!npu_restored(n, &rig.config, rig.now), "l2/refuses_a_gap_in_a_set");
}
